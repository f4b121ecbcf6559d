"""Whether to speculate at all: checks as a table of rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from draftboard.evidence import Range
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
    range: Range | None = None  # of the speedup then

    def __post_init__(self) -> None:
        within("vocab size", min((size for size in self.vocab_sizes if size is not None), default=1), 1, 1e9)
        within("temperature", self.temperature or 0, 0, 100)
        within("validated temperature", self.validated_temperature or 0, 0, 100)

    @property
    def has_draft_model(self) -> bool:
        """Whether a second model drafts, which must have the target's vocabulary."""
        return self.method == DRAFT_MODEL

    @property
    def sizes_differ(self) -> bool:
        """Whether both vocabulary sizes are known, and not equal."""
        return len({*self.vocab_sizes} - {None}) > 1

    @property
    def same_tokens(self) -> bool | None:
        """Whether ids stand for the same tokens; None where a vocabulary is unknown."""
        return None if None in self.vocabularies else self.vocabularies[0] == self.vocabularies[1]

    @property
    def at_production(self) -> bool:
        """Whether acceptance was measured at the temperature of production."""
        return self.temperature == self.validated_temperature

    @property
    def pays(self) -> bool:
        """Whether the expected speedup is clearly above 1."""
        return (self.speedup or 0) >= self.pays_clearly

    @property
    def effective(self) -> float | None:
        """Speedup where the KV cache bounds the number of concurrent requests."""
        return None if self.speedup is None or self.tokens_lost is None else self.speedup * (1 - self.tokens_lost)

    @property
    def pays_when_bounded(self) -> bool:
        """Whether that speedup is above 1."""
        return (self.effective or 0) > 1


class Rule(NamedTuple):
    """The outcome of a check where a field of the situation has this value; without a field, in any case."""

    check: str
    outcome: str  # pass, warn, fail, unknown or skipped
    reason: str  # {s} is the situation
    field: str = ""
    value: object = None


_BOUNDED = "speedup {s.effective:.2f} where the KV cache bounds concurrency"
RULES = (
    Rule("objective", "fail", "drafts shorten decode steps, not the time to first token", "slo", "ttft"),
    Rule("objective", "unknown", "give the objective: --slo", "slo"),
    Rule("objective", "pass", "{s.slo}: decode steps determine it"),
    Rule("tokenizer", "skipped", "{s.method} has no draft model", "has_draft_model", value=False),
    Rule("tokenizer", "fail", "vocab_size {s.vocab_sizes[0]} is not {s.vocab_sizes[1]}", "sizes_differ", value=True),
    Rule("tokenizer", "unknown", "give --target-tokenizer and --draft-tokenizer", "same_tokens"),
    Rule("tokenizer", "pass", "ids stand for the same tokens", "same_tokens", value=True),
    Rule("tokenizer", "fail", "ids stand for different tokens: drafts are noise"),
    Rule("memory", "unknown", "give --target-params, --draft-params, --gpus and --gpu-gb", "starts"),
    Rule("memory", "fail", "the weights do not fit: see `draftboard plan vram`", "starts", value=False),
    Rule("memory", "unknown", "give layers, KV heads and head dim of both models", "requests"),
    Rule("memory", "fail", "the KV cache is too small for one request of this context", "requests", 0),
    Rule("memory", "pass", "{s.requests} requests of this context fit with the draft"),
    Rule("acceptance", "unknown", "give --alpha or --survival", "speedup"),
    Rule("acceptance", "unknown", "give the --temperature of production", "temperature"),
    Rule("acceptance", "unknown", "give the --validated-temperature of the measurement", "validated_temperature"),
    Rule("acceptance", "pass", "measured at the temperature of production", "at_production", value=True),
    Rule("acceptance", "warn", "measured at {s.validated_temperature:g}: measure at {s.temperature:g}"),
    Rule("speedup", "unknown", "needs acceptance", "speedup"),
    Rule("speedup", "fail", "no draft length is expected to be faster than plain decoding", "speedup", 1),
    Rule("speedup", "unknown", "{s.range} at assumed costs: give c and v", "assumed", value=True),
    Rule("speedup", "warn", "{s.speedup:.2f} expected: about even", "pays", value=False),
    Rule("speedup", "pass", "{s.speedup:.2f} expected"),
    Rule("concurrency", "unknown", "needs acceptance, and the KV of both models", "effective"),
    Rule("concurrency", "warn", _BOUNDED, "pays_when_bounded", value=False),
    Rule("concurrency", "pass", _BOUNDED),
)
"""Of each check the first that applies is its outcome."""


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
    checks: dict[str, Check] = {}
    for rule in RULES:
        if rule.check not in checks and (not rule.field or getattr(situation, rule.field) == rule.value):
            checks[rule.check] = Check(rule.check, rule.outcome, rule.reason.format(s=situation))
    failed = "; ".join(f"{check.name} ({check.reason})" for check in checks.values() if check.outcome == "fail")
    unsettled = ", ".join(check.name for check in checks.values() if check.outcome in {"warn", "unknown"})
    passed = "every check that applies passes; compare with a baseline"
    decision = "leave off" if failed else "measure first" if unsettled else "use"
    return DecidePlan(
        verdict=f"{decision.capitalize()}: {failed or unsettled or passed}.",
        notes=("Checks rest on expectations: where they and your load test differ, the test is right.",),
        decision=decision,
        checks=tuple(checks.values()),
    )
