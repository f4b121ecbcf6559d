"""Write the ranges of costs that published measurements let one assume, and show how they do on rows left out.

`make costs` runs it after a change to the measurements or to the fit.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import draftboard.evidence
from draftboard.evidence.assumed import LONG_PROMPT, assumed
from draftboard.evidence.fit import PROBABILITY, Ranges, Spread, fit
from draftboard.evidence.measurements import Measurement, published
from draftboard.evidence.range import Range, Ruling, expected_speedup, ruling

PATH = Path(draftboard.evidence.__file__).with_name("ranges.toml")
HEADER = f"""\
# Generated from measurements.toml by `make costs`. Do not edit.
#
# low and high hold one more origin with a probability of {PROBABILITY:.0%}; overheads in plain steps, knee in tokens.

"""


@dataclass(frozen=True)
class LeftOut:
    """A row, and what ranges from the rows of all other origins say of it."""

    row: Measurement
    speedup: Range

    @property
    def held(self) -> bool:
        return self.row.speedup in self.speedup

    @property
    def says(self) -> Ruling:
        return ruling(self.speedup)

    @property
    def wrong(self) -> bool:
        """Whether it says the contrary of what was measured."""
        return {Ruling.PAYS: self.row.speedup < 1, Ruling.COSTS: self.row.speedup > 1}.get(self.says, False)


def speedup_of(row: Measurement, ranges: Ranges) -> Range:
    prompt_tokens = LONG_PROMPT + 1 if row.unlike == "prompts" else None
    costs = assumed(row.method, prompt_tokens=prompt_tokens, pipeline=row.unlike == "pipeline", ranges=ranges)
    step_cost = costs.step_cost(row.load)
    assert step_cost, row
    return expected_speedup(row.tokens_per_step, step_cost)


def left_out() -> Iterator[LeftOut]:
    """Every row, judged without those of its origin."""
    for origin in published().origins:
        ranges = fit(published().without(origin))
        for row in published().measurement:
            if row.origin == origin:
                yield LeftOut(row, speedup_of(row, ranges))


def text() -> str:
    """The file of the ranges."""
    ranges = fit(published())
    spreads: dict[str, Spread] = {"knee": ranges.knee}
    spreads |= {f"overhead.{kind}": spread for kind, spread in ranges.overhead.items()}
    lines = [f"unlike = {ranges.unlike:.3g}", f"largest_batch = {ranges.largest_batch}"]
    for name, one in spreads.items():
        lines += ["", f"[{name}]", *(f"{end} = {getattr(one, end):.3g}" for end in ("low", "middle", "high"))]
        lines.append(f"origins = {one.origins}")
    return HEADER + "\n".join(lines) + "\n"


def main() -> None:
    PATH.write_text(text(), encoding="utf-8")
    rows = list(left_out())
    for one in rows:
        row, speedup = one.row, one.speedup
        sys.stdout.write(
            f"{row.origin:22} {row.method:12} K={row.drafted:<2} batch {row.batch:<3} "
            f"measured {row.speedup:.2f}, assumed {speedup}: {one.says}{'' if one.held else ', not held'}\n"
        )
    sys.stdout.write(
        f"{sum(one.held for one in rows)} of {len(rows)} held, {sum(one.wrong for one in rows)} wrong verdicts, "
        f"{sum(one.says is not Ruling.UNCLEAR for one in rows)} verdicts\n"
    )


if __name__ == "__main__":
    main()
