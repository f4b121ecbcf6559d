"""Whether to speculate at all: one table of checks, each decided by figures or by how vLLM works."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from draftboard.output import Block, Described, Heading, Table, Text, columns
from draftboard.plan.basis import DRAFT_MODEL, Formula, Plan, within
from draftboard.status import Status

Slo = Literal["ttft", "tpot", "throughput"]
Outcome = Literal["pass", "warn", "fail", "unknown", "skipped"]
Decision = Literal["use", "measure first", "leave off"]


@dataclass(frozen=True, kw_only=True)
class Situation:
    """What is known before speculation runs; None where it is not."""

    method: str = DRAFT_MODEL
    slo: Slo | None = None
    vocab_sizes: tuple[int | None, int | None] = (None, None)
    """`vocab_size` in config.json of target and draft: vLLM compares it; it may be padded."""
    vocabularies: tuple[Mapping[str, int] | None, Mapping[str, int] | None] = (None, None)
    """Token to id, of target and draft."""
    temperature: float | None = None
    """Of production."""
    validated_temperature: float | None = None
    """At which acceptance was measured."""
    starts: bool | None = None
    """Whether the weights of both models fit."""
    requests: int | None = None
    """Concurrent requests of the planned context that fit with the draft."""
    tokens_lost: float | None = None
    """Share of the KV cache's tokens that the draft costs."""
    speedup: float | None = None
    """Expected at the best k; 1 where none pays. From `pays_clearly` on it is more than about even."""
    pays_clearly: float = 1.0
    assumed: bool = True
    """Whether the speedup rests on a c or v that nobody measured."""

    def __post_init__(self) -> None:
        for size in self.vocab_sizes:
            within("vocab size", 1 if size is None else size, 1, 1e9)
        within("temperature", self.temperature or 0, 0, 100)
        within("validated temperature", self.validated_temperature or 0, 0, 100)

    @property
    def effective(self) -> float:
        """Speedup where the KV cache bounds the number of concurrent requests."""
        return (self.speedup or 0) * (1 - (self.tokens_lost or 0))


_CHECKS: dict[str, tuple[tuple[Outcome, Callable[[Situation], object], str], ...]] = {
    "objective": (
        ("fail", lambda s: s.slo == "ttft", "drafts shorten decode steps, not the time to first token"),
        ("unknown", lambda s: s.slo is None, "give the objective: --slo"),
        ("pass", lambda _: True, "{s.slo}: decode steps determine it"),
    ),
    "tokenizer": (
        ("skipped", lambda s: s.method != DRAFT_MODEL, "{s.method} has no draft model"),
        (
            "fail",
            lambda s: len({*s.vocab_sizes} - {None}) > 1,
            "vocab_size {s.vocab_sizes[0]} is not {s.vocab_sizes[1]}",
        ),
        ("unknown", lambda s: None in s.vocabularies, "give --target-tokenizer and --draft-tokenizer"),
        ("fail", lambda s: s.vocabularies[0] != s.vocabularies[1], "ids stand for different tokens: drafts are noise"),
        ("pass", lambda _: True, "ids stand for the same tokens"),
    ),
    "memory": (
        ("unknown", lambda s: s.starts is None, "give --target-params, --draft-params, --gpus and --gpu-gb"),
        ("fail", lambda s: not s.starts, "the weights do not fit: see `draftboard plan vram`"),
        ("unknown", lambda s: s.requests is None, "give layers, KV heads and head dim of both models"),
        ("fail", lambda s: s.requests == 0, "the KV cache is too small for one request of this context"),
        ("pass", lambda _: True, "{s.requests} requests of this context fit with the draft"),
    ),
    "acceptance": (
        ("unknown", lambda s: s.speedup is None, "give --alpha or --survival"),
        ("unknown", lambda s: s.temperature is None, "give the --temperature of production"),
        ("unknown", lambda s: s.validated_temperature is None, "give the --validated-temperature of the measurement"),
        ("pass", lambda s: s.temperature == s.validated_temperature, "measured at the temperature of production"),
        ("warn", lambda _: True, "measured at {s.validated_temperature:g}: measure at {s.temperature:g}"),
    ),
    "speedup": (
        ("unknown", lambda s: s.speedup is None, "needs acceptance"),
        ("unknown", lambda s: s.assumed, "{s.speedup:.2f}, but with assumed c or v: give both"),
        ("fail", lambda s: s.speedup == 1, "no draft length is expected to be faster than plain decoding"),
        ("warn", lambda s: (s.speedup or 0) < s.pays_clearly, "{s.speedup:.2f} expected: about even"),
        ("pass", lambda _: True, "{s.speedup:.2f} expected"),
    ),
    "concurrency": (
        ("unknown", lambda s: None in {s.speedup, s.tokens_lost}, "needs acceptance, and the KV of both models"),
        ("warn", lambda s: s.effective <= 1, "speedup {s.effective:.2f} where the KV cache bounds concurrency"),
        ("pass", lambda _: True, "speedup {s.effective:.2f} where the KV cache bounds concurrency"),
    ),
}
"""Of each check: outcome, condition, words. The first row whose condition holds is the outcome."""
_RULES = (
    Formula("objective", "TPOT or throughput", "the first token needs no decode step"),
    Formula("tokenizer", "one vocab_size, and one token for each id", "vLLM, unless use_heterogeneous_vocab is set"),
    Formula("memory", "weights fit, and one request of the context", "plan vram"),
    Formula("acceptance", "measured at the temperature of production", "sampling decides which tokens are accepted"),
    Formula("speedup", "best S(k) > 1 with measured c and v; warns below thresholds.pays_clearly", "plan k"),
    Formula("concurrency", "best S(k) x (1 - tokens lost to the draft) > 1", "plan cost"),
    Formula("decision", "a failed check: leave off; all pass or are skipped: use; else measure first", "definition"),
)


@dataclass(frozen=True)
class Check(Described):
    """The outcome of one check."""

    name: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, kw_only=True)
class DecidePlan(Plan):
    """Checks, and the decision that follows from them."""

    plan: str = "decide"
    formulas: tuple[Formula, ...] = _RULES
    decision: Decision
    checks: tuple[Check, ...]

    def blocks(self) -> tuple[Block, ...]:
        """One row for each check."""
        status = {"warn": Status.WARN, "fail": Status.BAD, "unknown": Status.QUIET, "skipped": Status.QUIET}
        rows = ((c.name, Text(c.outcome, status.get(c.outcome, Status.NEUTRAL)), c.reason) for c in self.checks)
        return (Heading("Checks"), Table(columns("Check", "Outcome", "Reason"), tuple(rows)))


def decide(situation: Situation) -> DecidePlan:
    """One failed check forbids speculation; a warning or an unknown asks for a measurement first."""
    checks = tuple(
        next(Check(name, outcome, words.format(s=situation)) for outcome, holds, words in rows if holds(situation))
        for name, rows in _CHECKS.items()
    )
    failed = "; ".join(f"{check.name} ({check.reason})" for check in checks if check.outcome == "fail")
    unsettled = ", ".join(check.name for check in checks if check.outcome in {"warn", "unknown"})
    decision: Decision = "leave off" if failed else "measure first" if unsettled else "use"
    reasons = failed or unsettled or "every check that applies passes; compare with a baseline"
    return DecidePlan(
        verdict=f"{decision.capitalize()}: {reasons}.",
        notes=("Checks rest on expectations: where they and your load test differ, the test is right.",),
        decision=decision,
        checks=checks,
    )
