"""The verdict at the temperature of production, from the nearest that was swept."""

from collections.abc import Sequence

from draftboard.sweep.objects import Production, Row


def at_production(temperature: float, rows: Sequence[Row]) -> Production | None:
    """The verdict of the nearest row, the warmer one of two, and why production may be otherwise; None without one."""
    measured = [row for row in rows if row.answered]
    if not measured:
        return None
    # Rounded: 0.4 and 0.8 are equally far from 0.6, though their differences are not.
    nearest = min(measured, key=lambda row: (round(abs(row.temperature - temperature), 6), -row.temperature))
    return Production(
        temperature=temperature,
        measured_at=nearest.temperature,
        verdict=nearest.server.verdict,
        rule_of_thumb=nearest.rule_of_thumb,
        warnings=_warnings(temperature, nearest.temperature),
    )


def _warnings(wanted: float, measured: float) -> tuple[str, ...]:
    if measured == wanted:
        return ()
    warnings = [f"{wanted:g} was not swept: this is measured at {measured:g}, the nearest; add it to --temperatures"]
    if measured == 0:
        warnings.append(f"temperature 0 takes the likeliest token each time, which tells nothing about {wanted:g}")
    if measured < wanted:
        warnings.append("this is optimistic: as temperature rises, a drafter guesses the sampled token less often")
    return tuple(warnings)
