"""Whether to speculate at all: of each check, the first row of a table whose condition holds is the outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from draftboard.output import Block, Described, Heading, Table, Text, columns
from draftboard.plan.basis import DRAFT_MODEL, FORMULAS, Formula, Plan, within
from draftboard.status import Status

Slo = Literal["ttft", "tpot", "throughput"]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """Input of the checks; None where it is unknown."""

    method: str = DRAFT_MODEL
    slo: Slo | None = None
    vocab_sizes: tuple[int | None, ...] = (None, None)  # of target and draft: vLLM compares them; they may be padded
    vocabularies: tuple[Mapping[str, int] | None, ...] = (None, None)  # token to id, of target and draft
    temperature: float | None = None
    validated_temperature: float | None = None  # at which acceptance was measured
    starts: bool | None = None
    requests: int | None = None
    tokens_lost: float | None = None  # as `VramPlan` has them, with the draft
    speedup: float | None = None  # expected at the best k; 1 where none pays
    pays_clearly: float = 1.0
    assumed: bool = True  # whether the speedup rests on an assumed c or v

    def __post_init__(self) -> None:
        within("vocab size", min((size for size in self.vocab_sizes if size is not None), default=1), 1, 1e9)
        within("temperature", self.temperature or 0, 0, 100)
        within("validated temperature", self.validated_temperature or 0, 0, 100)

    @property
    def effective(self) -> float | None:
        """Speedup where the KV cache bounds the number of concurrent requests."""
        return None if self.speedup is None or self.tokens_lost is None else self.speedup * (1 - self.tokens_lost)


_SIZES = "vocab_size {s.vocab_sizes[0]} is not {s.vocab_sizes[1]}"
_MEASURED = "give the --validated-temperature of the measurement"
_BOUNDED = "speedup {s.effective:.2f} where the KV cache bounds concurrency"
_CHECKS: tuple[tuple[str, str, Callable[[Situation], object], str], ...] = (
    ("objective", "fail", lambda s: s.slo == "ttft", "drafts shorten decode steps, not the time to first token"),
    ("objective", "unknown", lambda s: s.slo is None, "give the objective: --slo"),
    ("objective", "pass", lambda _: True, "{s.slo}: decode steps determine it"),
    ("tokenizer", "skipped", lambda s: s.method != DRAFT_MODEL, "{s.method} has no draft model"),
    ("tokenizer", "fail", lambda s: len({*s.vocab_sizes} - {None}) > 1, _SIZES),
    ("tokenizer", "unknown", lambda s: None in s.vocabularies, "give --target-tokenizer and --draft-tokenizer"),
    ("tokenizer", "pass", lambda s: s.vocabularies[0] == s.vocabularies[1], "ids stand for the same tokens"),
    ("tokenizer", "fail", lambda _: True, "ids stand for different tokens: drafts are noise"),
    ("memory", "unknown", lambda s: s.starts is None, "give --target-params, --draft-params, --gpus and --gpu-gb"),
    ("memory", "fail", lambda s: not s.starts, "the weights do not fit: see `draftboard plan vram`"),
    ("memory", "unknown", lambda s: s.requests is None, "give layers, KV heads and head dim of both models"),
    ("memory", "fail", lambda s: s.requests == 0, "the KV cache is too small for one request of this context"),
    ("memory", "pass", lambda _: True, "{s.requests} requests of this context fit with the draft"),
    ("acceptance", "unknown", lambda s: s.speedup is None, "give --alpha or --survival"),
    ("acceptance", "unknown", lambda s: s.temperature is None, "give the --temperature of production"),
    ("acceptance", "unknown", lambda s: s.validated_temperature is None, _MEASURED),
    (
        "acceptance",
        "pass",
        lambda s: s.temperature == s.validated_temperature,
        "measured at the temperature of production",
    ),
    ("acceptance", "warn", lambda _: True, "measured at {s.validated_temperature:g}: measure at {s.temperature:g}"),
    ("speedup", "unknown", lambda s: s.speedup is None, "needs acceptance"),
    ("speedup", "unknown", lambda s: s.assumed, "{s.speedup:.2f}, but with assumed c or v: give both"),
    ("speedup", "fail", lambda s: s.speedup == 1, "no draft length is expected to be faster than plain decoding"),
    ("speedup", "warn", lambda s: (s.speedup or 0) < s.pays_clearly, "{s.speedup:.2f} expected: about even"),
    ("speedup", "pass", lambda _: True, "{s.speedup:.2f} expected"),
    ("concurrency", "unknown", lambda s: s.effective is None, "needs acceptance, and the KV of both models"),
    ("concurrency", "warn", lambda s: (s.effective or 0) <= 1, _BOUNDED),
    ("concurrency", "pass", lambda _: True, _BOUNDED),
)


@dataclass(frozen=True)
class Check(Described):
    """The outcome of one check."""

    name: str
    outcome: str  # pass, warn, fail, unknown or skipped
    reason: str


@dataclass(frozen=True, kw_only=True)
class DecidePlan(Plan):
    """Checks, and the decision that follows from them."""

    plan: str = "decide"
    formulas: tuple[Formula, ...] = FORMULAS["decide"]
    decision: str  # use, measure first, or leave off
    checks: tuple[Check, ...]

    def blocks(self) -> tuple[Block, ...]:
        """One row for each check."""
        status = {"pass": Status.NEUTRAL, "warn": Status.WARN, "fail": Status.BAD}
        rows = ((c.name, Text(c.outcome, status.get(c.outcome, Status.QUIET)), c.reason) for c in self.checks)
        return (Heading("Checks"), Table(columns("Check", "Outcome", "Reason"), tuple(rows)))


def decide(situation: Situation) -> DecidePlan:
    """One failed check forbids speculation; a warning or an unknown asks for a measurement first."""
    found: dict[str, Check] = {}
    for name, outcome, holds, words in _CHECKS:
        if name not in found and holds(situation):
            found[name] = Check(name, outcome, words.format(s=situation))
    failed = "; ".join(f"{check.name} ({check.reason})" for check in found.values() if check.outcome == "fail")
    unsettled = ", ".join(check.name for check in found.values() if check.outcome in {"warn", "unknown"})
    passed = "every check that applies passes; compare with a baseline"
    decision = "leave off" if failed else "measure first" if unsettled else "use"
    return DecidePlan(
        verdict=f"{decision.capitalize()}: {failed or unsettled or passed}.",
        notes=("Checks rest on expectations: where they and your load test differ, the test is right.",),
        decision=decision,
        checks=tuple(found.values()),
    )
