"""A scenario: servers, their requests, events and the alerts that must fire. Read from TOML; needs no numpy."""

from itertools import accumulate, pairwise
from math import isclose, pi, sin
from operator import mul
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.files import Table, first_mistake, read_toml
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT, AboveZero, Delay, MethodName, Positive, Ratio
from draftboard.settings.labels import LabelName

_Name = Annotated[str, Field(pattern=r"^[\w./-]{1,80}$")]
_Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
_FOLDER = Path(__file__).parent / "scenarios"
_METHODS, _COSTS = Settings().methods, Settings().draft_cost
_DAY_SECONDS = 86_400
_OWN_LABELS = {"job", "instance", "spec_method", "variant", "model_name", "engine"}

Share = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(strict=False, max_length=LONGEST_DRAFT)]

_LEARNED = {
    "chat": 0.75,
    "code": 0.82,
    "summarisation": 0.78,
    "creative": 0.68,
}  # alpha of a trained drafter, a heuristic
_LOOKUP = {
    "chat": 0.35,
    "code": 0.6,
    "summarisation": 0.75,
    "creative": 0.15,
}  # as high as text repeats itself, a heuristic


class Bursts(Table):
    """Text that comes in easy and hard stretches of random length; at its end the next is drawn anew."""

    easy: Share  # probability of acceptance in an easy stretch, if all before were accepted
    hard: Share  # the same in a hard one
    easy_share: Share = 0.5  # of the text
    stretch_tokens: Annotated[float, Field(ge=1, le=10_000)] = 50.0  # mean length; 1: every token by itself


class Requests(Table):
    """One kind of request: how well it can be drafted, how long it is, how much of it is cached."""

    alpha: Share | None = None  # probability of acceptance, the same at every position if all before were accepted
    rates: Shares = ()  # by position: share of drafts accepted at least so deep; never rises
    workload: Literal["chat", "code", "summarisation", "creative"] | None = None  # its alpha, usual for the method
    bursts: Bursts | None = None  # acceptance by stretch of text, so that a draft's position does not tell it
    temperature: Annotated[float, Field(ge=0, le=5)] | None = None  # its class for the lens; acceptance is given above
    share: AboveZero = 1.0  # of requests, relative to the other kinds
    prompt_tokens: _Tokens = 500  # mean; prompts are spread log-normally around it
    output_tokens: _Tokens = 250  # mean of the answers that end by themselves; they are spread log-normally around it
    max_tokens: _Tokens = 1000  # where an answer is cut off
    cached: Share = 0.0  # part of each prompt that the prefix cache holds
    fully_cached: Share = 0.0  # share of requests with one uncomputed token, which makes a phantom draft
    abandoned: Share = 0.0  # share of requests whose client goes away in the midst of the answer

    @model_validator(mode="after")
    def _one_of_four(self) -> Self:
        given = self.alpha is not None, bool(self.rates), self.workload is not None, self.bursts is not None
        if sum(given) != 1:
            raise ValueError("needs one of alpha, rates, workload and bursts")
        if any(after > before for before, after in pairwise(self.rates)):
            raise ValueError("survival rises with position, which prefix acceptance excludes")
        return self

    def survival(self, positions: int, *, lookup: bool) -> tuple[float, ...]:
        """By position: share of full-length drafts that are accepted at least so deep. Not of bursts."""
        usual = _LOOKUP if lookup else _LEARNED
        alpha = usual[self.workload] if self.workload else self.alpha or 0.0
        # Given that all before were accepted; nothing is known behind a position that none reaches.
        known = tuple(share / before for before, share in pairwise((1.0, *self.rates[:positions])) if before)
        return tuple(accumulate((*known, *(alpha,) * (positions - len(known))), mul))


class Load(Table):
    """How requests arrive at one engine: independently at a rate, or from clients that wait for their answers."""

    rate: Annotated[float, Field(ge=0, le=1000)] = 0.0  # mean requests a second (Poisson)
    daily_swing: Share = 0.0  # how far the rate swings around its mean in a day, which begins at the mean and rises
    burst_every: Positive | None = None
    burst_for: Positive = Duration(60)
    burst_factor: Annotated[float, Field(gt=0, le=100)] = 1.0
    clients: Annotated[int, Field(ge=0, le=10_000)] = 0  # each sends a request, waits for the answer, thinks, repeats
    think_seconds: AboveZero = 1.0  # mean of their thinking

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.rate and self.clients:
            raise ValueError("has both rate and clients: requests arrive one way or the other")
        return self

    def rate_at(self, time: float) -> float:
        """Requests a second that arrive at a time: the day's curve and the bursts."""
        rate = self.rate * (1 + self.daily_swing * sin(2 * pi * time / _DAY_SECONDS))
        burst = self.burst_every is not None and time % self.burst_every.seconds < self.burst_for.seconds
        return rate * self.burst_factor if burst else rate


class Server(Table):
    """Equal servers of one model. Every number is of one engine."""

    model: _Name
    variant: Annotated[str, Field(pattern=r"^[\w.-]{0,40}$")] = ""  # target label of an A/B comparison
    labels: dict[LabelName, _Name] = Field(default={})  # further target labels
    instances: Annotated[int, Field(ge=1, le=1000)] = 1
    engines: Annotated[int, Field(ge=1, le=64)] = 1  # data-parallel ranks; several make a page of several processes

    method: MethodName = _METHODS.baseline  # how it drafts; the same is the target label `spec_method`
    k: Annotated[int, Field(ge=1, le=LONGEST_DRAFT)] | None = None  # longest draft: the server's num_speculative_tokens
    coverage: Share = 1.0  # share of decode steps that find a draft; under 1 only where drafts are looked up
    draft_lengths: Shares = ()  # of lookups: share of drafts with 1, 2 ... tokens; all have K where it is empty
    draft_cost: Ratio | None = None  # c: time of drafting one token over one plain step; default: the method's
    verify_inflation: Annotated[float, Field(ge=1, le=100)] = 1.0  # v: a verify step over a plain one in a small batch
    verify_budget: _Tokens | None = None  # adaptive verification: drafted tokens in a step that are verified at most

    step_seconds: Annotated[float, Field(ge=0.001, le=100)] = 0.02  # t: a plain decode step of one sequence
    saturation_tokens: AboveZero = 400.0  # in a step, where arithmetic takes as long as reading weights: v grows
    prefill_tokens_per_second: AboveZero = 20_000.0
    max_num_seqs: Annotated[int, Field(ge=1, le=4096)] = 256
    max_model_len: _Tokens = 8192
    kv_blocks: _Tokens = 20_000
    block_size: _Tokens = 16
    queue_limit: Annotated[int, Field(ge=1, le=100_000)] | None = None  # of waiting requests; more are turned away
    lens: bool = False  # whether it counts requests by class, as the middleware of deploy/vllm/probe does
    kv_transfer: bool = False  # a decode node of disaggregated serving: prompts arrive computed by another server

    load: Load = Load()
    requests: Annotated[tuple[Requests, ...], Field(strict=False, min_length=1, max_length=20)] = (Requests(alpha=0.7),)

    @property
    def speculates(self) -> bool:
        """Whether it starts with a speculative configuration."""
        return self.method != _METHODS.baseline

    @property
    def looks_up(self) -> bool:
        """Whether its drafts are copied from the text."""
        return self.method in _METHODS.lookup

    @property
    def c(self) -> float:
        """Time of drafting one token over one plain step."""
        return _COSTS.by_method.get(self.method, _COSTS.default) if self.draft_cost is None else self.draft_cost

    def without_speculation(self) -> "Server":
        """This server, started without its speculative configuration."""
        return self.model_copy(update={"method": _METHODS.baseline, "k": None, "coverage": 1.0, "draft_lengths": ()})

    @field_validator("labels")
    @classmethod
    def _free_names(cls, labels: dict[str, str]) -> dict[str, str]:
        if taken := sorted(_OWN_LABELS & labels.keys()):
            raise ValueError(f"names {taken[0]!r}, which simulated servers have already: choose another")
        return labels

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if self.speculates and self.k is None:
            raise ValueError(f"method = {self.method!r} needs k, the longest draft: 1 or more")
        if not self.speculates and self.k is not None:
            raise ValueError(f"k = {self.k} needs a method: method = {self.method!r} drafts nothing")
        if (self.coverage < 1 or self.draft_lengths) and not self.looks_up:
            methods = ", ".join(_METHODS.lookup)
            raise ValueError(f"coverage and draft_lengths belong to lookups: method must be one of {methods}")
        if self.verify_budget is not None and not self.speculates:
            raise ValueError(f"verify_budget needs a method: method = {self.method!r} drafts nothing")
        whole = len(self.draft_lengths) == self.k and isclose(sum(self.draft_lengths), 1, abs_tol=1e-6)
        if self.draft_lengths and not whole:
            raise ValueError("draft_lengths must name a share for each length from 1 to k and add up to 1")
        if self.kv_blocks * self.block_size < self.max_model_len:
            raise ValueError("kv_blocks x block_size must hold one sequence of max_model_len")
        self.require_fit(self.requests)
        return self

    def require_fit(self, kinds: tuple[Requests, ...]) -> None:
        """Raise ValueError when it cannot serve such requests."""
        for kind in kinds:
            if kind.prompt_tokens + kind.max_tokens > self.max_model_len:
                limit = f"max_model_len = {self.max_model_len}"
                raise ValueError(f"{limit} is too short for prompt_tokens + max_tokens of its requests")
            if kind.rates and len(kind.rates) < (self.k or 0):
                raise ValueError(f"rates has {len(kind.rates)} positions, k = {self.k} needs as many")


class Event(Table):
    """What changes at a time, for all servers of a model and variant or for one instance of them."""

    at: Delay
    model: _Name | None = None
    variant: str | None = None
    instance: Annotated[int, Field(ge=0, lt=1000)] | None = None
    requests: Annotated[tuple[Requests, ...], Field(strict=False, max_length=20)] = ()  # kinds of new ones from now on
    load: Load | None = None
    coverage: Share | None = None
    restart: Delay | None = None  # it stops, is down for so long, and starts with all counters at 0
    speculative: bool = True  # whether it then starts with its speculative configuration, whatever the label says

    @model_validator(mode="after")
    def _restarts_to_be_without(self) -> Self:
        if not self.speculative and self.restart is None:
            raise ValueError("speculative = false needs restart: a server drafts as it was started")
        return self

    @property
    def passes(self) -> bool:
        """Whether all is as before once it is over: a restart that changes nothing else."""
        changes = self.requests or self.load or self.coverage is not None or not self.speculative
        return self.restart is not None and not changes

    def concerns(self, server: Server, number: int) -> bool:
        """Whether it happens to this instance of the servers."""
        wanted = (self.model, server.model), (self.variant, server.variant), (self.instance, number)
        return all(own in {None, given} for own, given in wanted)


class Expected(Table):
    """An alert that must fire. Alerts without an entry must not."""

    alert: _Name
    since: Delay = Duration(0)  # time of its cause: before this it must not fire
    within: Positive  # it must fire so soon after
    labels: dict[str, str] = Field(default={})  # labels that all its firings must have


class Scenario(Table):
    """Servers and events with a known outcome."""

    story: Annotated[str, Field(min_length=20, max_length=2000)]
    duration: Positive
    server: Annotated[tuple[Server, ...], Field(strict=False, min_length=1)]
    event: Annotated[tuple[Event, ...], Field(strict=False)] = ()
    expect: Annotated[tuple[Expected, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _events_concern_servers(self) -> Self:
        for number, event in enumerate(self.event):
            concerned = [one for one in self.server if any(event.concerns(one, i) for i in range(one.instances))]
            if not concerned:
                raise ValueError(f"event.{number} happens to no server: look at its model, variant and instance")
            for server in concerned:
                server.require_fit(event.requests)
        return self

    def scaled(self, *, engines: int | None = None, models: int = 1) -> "Scenario":
        """This scenario with so many engines of each kind of server, for so many models."""
        suffixes = ["", *(f"-{number}" for number in range(2, models + 1))]
        servers, events = [], []
        for suffix in suffixes:
            for one in self.server:
                instances = -(-engines // one.engines) if engines else one.instances
                servers.append(one.model_copy(update={"model": one.model + suffix, "instances": instances}))
        for event in self.event:
            named = [event.model + suffix for suffix in suffixes] if event.model else [None]
            events += [event.model_copy(update={"model": name}) for name in named]
        try:
            return Scenario.model_validate(dict(self) | {"server": servers, "event": events})
        except ValidationError as error:
            raise DraftboardError(f"--engines {engines}: {error.errors()[0]['ctx']['error']}") from None


def names() -> list[str]:
    """The scenarios that come with Draftboard, in order."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def find(name: str) -> Scenario:
    """A scenario by its name, or by the path of a TOML file; DraftboardError where it is none."""
    if not name.endswith(".toml") and name not in names():
        raise DraftboardError(f"scenario {name!r} is unknown: name a TOML file, or one of {', '.join(names())}")
    path = Path(name) if name.endswith(".toml") else _FOLDER / f"{name}.toml"
    try:
        return Scenario.model_validate(read_toml(path, "scenario"))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {first_mistake(error, Scenario, 'scenario')}") from None
