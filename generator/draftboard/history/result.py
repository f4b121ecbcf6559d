"""A history as typed objects, which are also its JSON; docs/commands/history.md describes the fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from draftboard.attribution import Explanation
from draftboard.catalogue.probe import named
from draftboard.output import Described


@dataclass(frozen=True, kw_only=True)
class Setup(Described):
    """How a model's servers draft, by their series and labels."""

    k: int
    """Configured K; 0 without speculation."""
    method: str | None = None
    """The label spec_method."""
    variant: str | None = None
    """The label of that name."""
    verification: str | None = None
    """The label spec_verification."""
    runs: Mapping[str, str] = field(default_factory=dict)
    """What its engines run: vLLM's version, drafter, parallelism ... as the plugin exports it, or vllm_version as a
    target label; what is not known is left out."""

    def __str__(self) -> str:
        """In words."""
        drafting = f"{self.method or 'speculation'}, K {self.k}" if self.k else "no speculation"
        named = (f"variant {self.variant}" if self.variant else "", self.verification or "")
        return ", ".join(filter(None, (drafting, *named)))

    def differs(self, other: "Setup") -> tuple[str, ...]:
        """Which parts differ; a switch of speculation on or off covers method and K.

        A method label that is added is no difference.
        """
        if bool(self.k) != bool(other.k):
            own = ["speculation"]
        elif self.k:
            own = ["K"] if self.k != other.k else []
            own += ["method"] if self.method and other.method and self.method != other.method else []
        else:
            own = []
        own += ["variant"] if self.variant != other.variant else []
        own += ["verification"] if self.k and other.k and self.verification != other.verification else []
        # What one side does not know is no difference.
        own += [name for name, text in self.runs.items() if other.runs.get(name, text) != text]
        return tuple(own)

    def changes_to(self, later: "Setup") -> str:
        """In words, what differs; both whole where it is more than K or what engines run."""
        what = later.differs(self)
        own = [f"{named(name)} {self.runs[name]} -> {later.runs[name]}" for name in what if name in self.runs]
        if set(what) - {"K", *self.runs}:
            return ", ".join((f"{self} -> {later}", *own))
        return ", ".join((*([f"K {self.k} -> {later.k}"] if "K" in what else []), *own))


@dataclass(frozen=True, kw_only=True)
class Side(Described):
    """The time between a change and the one before or after it."""

    since: float
    """Unix seconds."""
    until: float
    """The end of the last window with the setup."""
    windows: int
    """With enough decode steps to know their step latency; a window is one of `rules.window`."""
    like: int
    """Of these, in batches of sizes that both sides had often enough: what the effects rest on."""
    steps: float
    """Decode steps in those, each counted for every request in it."""
    drafts: float
    """Drafts in those."""
    restarts: int
    """Of servers, without those of the change itself."""


@dataclass(frozen=True, kw_only=True)
class Effect(Described):
    """A figure before and after a change at like load, and the ratio of both."""

    before: float
    """Mean before the change, of windows at like load."""
    after: float
    """Mean after the change."""
    ratio: float
    """After / before."""
    low: float | None = None
    """Lower end of the ratio's 95 % interval; None without the extra `calibrate`."""
    high: float | None = None
    """Its upper end."""


@dataclass(frozen=True, kw_only=True)
class Change(Described):
    """A change and what it did."""

    at: float
    """Unix seconds: the first window of the new setup."""
    seen_before: float
    """The last window of the old one: it happened in between."""
    before: Setup
    """How it drafted."""
    after: Setup
    """How it drafted from then on."""
    what: tuple[str, ...]
    """Which of speculation, K, method, variant, verification and what engines run differ."""
    earlier: Side
    """The time before, from the change before it on."""
    later: Side
    """The time after, to the next change."""
    loads: tuple[int, ...]
    """Batch sizes that both sides had: running requests per engine, rounded up to a power of two.

    Empty where effects are those at an equal request rate, over batches of all sizes.
    """
    steps_of: Literal["pure decode steps", "all steps"]
    """What step latency is of: the plugin's, or the page's, which prefills lengthen."""
    acceptance_length: Effect | None
    """None where one side does not draft, or has too few windows with drafts."""
    step_latency: Effect | None
    """Seconds; the ratio is the change of step cost."""
    decode_speed: Effect | None
    """Tokens per second of a request's decoding, tokens per step over step latency: the ratio is the speedup."""
    time_per_token: Effect | None
    """Seconds, mean of finished requests: what users feel."""
    withheld: str | None
    """Why there are no effects; None where there are."""
    notes: tuple[str, ...]
    """What must be known to read the effects: what changed with it, roll-outs, gaps."""

    @property
    def compared_at(self) -> str:
        """What both sides have in common."""
        return "like load" if self.loads else "an equal request rate"


@dataclass(frozen=True, kw_only=True)
class ModelHistory(Described):
    """The changes of a model of a job."""

    model: str
    labels: dict[str, str]
    """Further labels of its records that do not depend on how it drafts."""
    now: Setup | None
    """The setup seen last; None where there never was a single one."""
    since: float | None
    last_seen: float
    changes: tuple[Change, ...]
    """The newest first."""
    notes: tuple[str, ...]
    explanation: Explanation | None = None
    """Why its figures changed most in the range, with --explain; None where they never changed clearly."""


@dataclass(frozen=True, kw_only=True)
class History(Described):
    """The changes of every model in a range."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    source: str
    """Address of the Prometheus."""
    since: float
    """Unix seconds: the beginning of the range."""
    until: float
    window: float
    """Seconds of a window."""
    models: tuple[ModelHistory, ...]
    notes: tuple[str, ...]
