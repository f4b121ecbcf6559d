"""A scenario: servers, their requests, what happens to them and which alerts that must raise. Read from TOML."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.files import Table, first_mistake, read_toml
from draftboard.lab.simulator.acceptance import Profile
from draftboard.settings import Settings
from draftboard.settings.fields import AboveZero, Hold, MethodName, Positive, Ratio
from draftboard.theory import LONGEST_DRAFT

_Name = Annotated[str, Field(pattern=r"^[\w./-]{1,80}$")]
_Share = Annotated[float, Field(ge=0, le=1)]
_Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
_BASELINE = Settings().methods.baseline
_LOOKUP = Settings().methods.lookup


class Requests(Profile):
    """One kind of request: how well it can be drafted, how long it is, how much of it is known already."""

    share: AboveZero = 1.0
    """Of requests, relative to the other kinds."""
    prompt_tokens: _Tokens = 500
    """Mean; prompts are spread log-normally around it."""
    output_tokens: _Tokens = 250
    """Mean of the answers that end by themselves; they are spread log-normally around it."""
    max_tokens: _Tokens = 1000
    """Where an answer is cut off."""
    cached: _Share = 0.0
    """Part of each prompt that the prefix cache holds."""
    fully_cached: _Share = 0.0
    """Share of requests whose whole prompt is cached: they enter with one uncomputed token, hence a phantom draft."""


class Load(Table):
    """How requests arrive at one engine: at a rate, in which case they never wait for each other, or from clients."""

    rate: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """Mean requests a second, arriving independently (Poisson)."""
    daily_swing: _Share = 0.0
    """How far the rate swings around its mean in the course of a day, which begins at its mean and rises."""
    burst_every: Positive | None = None
    burst_for: Positive = Duration(60)
    burst_factor: Annotated[float, Field(gt=0, le=100)] = 1.0
    clients: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Clients that each send a request, wait for the answer, think, and send the next."""
    think_seconds: AboveZero = 1.0
    """Mean of their thinking."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.rate and self.clients:
            raise ValueError("has both rate and clients: requests arrive one way or the other")
        return self


class Server(Table):
    """Alike servers of one model. Every number is of one engine."""

    model: _Name
    variant: Annotated[str, Field(pattern=r"^[\w.-]{0,40}$")] = ""
    """Target label of an A/B comparison."""
    instances: Annotated[int, Field(ge=1, le=1000)] = 1
    engines: Annotated[int, Field(ge=1, le=64)] = 1
    """Data-parallel ranks of each: more than one makes a page of several processes, as vLLM's default does."""

    method: MethodName = _BASELINE
    """How it drafts; the same is the target label `spec_method`."""
    k: Annotated[int, Field(ge=1, le=LONGEST_DRAFT)] | None = None
    """Longest draft: the server's num_speculative_tokens."""
    coverage: _Share = 1.0
    """Share of decode steps that find a draft; under 1 only where drafts are looked up in the text."""
    draft_lengths: Annotated[tuple[_Share, ...], Field(strict=False, max_length=LONGEST_DRAFT)] = ()
    """Share of drafts with 1, 2 ... tokens, of lookups; all have K where it is empty."""
    draft_cost: Ratio | None = None
    """c: time of drafting one token over one plain step. Default: what the rules assume of the method."""

    step_seconds: Annotated[float, Field(ge=0.001, le=100)] = 0.02
    """t: a plain decode step of one sequence."""
    saturation_tokens: AboveZero = 400.0
    """Tokens in one step at which arithmetic takes as long as reading the weights: v grows with the batch."""
    prefill_tokens_per_second: AboveZero = 20_000.0
    max_num_seqs: Annotated[int, Field(ge=1, le=4096)] = 256
    max_model_len: _Tokens = 8192
    kv_blocks: _Tokens = 20_000
    block_size: _Tokens = 16
    queue_limit: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Waiting requests over which more are turned away."""
    kv_transfer: bool = False
    """A decode node of disaggregated serving: prompts arrive computed by another server."""

    load: Load = Load()
    requests: Annotated[tuple[Requests, ...], Field(strict=False, min_length=1, max_length=20)] = (Requests(alpha=0.7),)

    @property
    def speculates(self) -> bool:
        """Whether it was started with a speculative configuration."""
        return self.method != _BASELINE

    @model_validator(mode="after")
    def _drafts_as_its_method_does(self) -> Self:
        if self.speculates and self.k is None:
            raise ValueError(f"method = {self.method!r} needs k, the longest draft: 1 or more")
        if not self.speculates and self.k is not None:
            raise ValueError(f"k = {self.k} needs a method: method = {_BASELINE!r} drafts nothing")
        varies = self.coverage < 1 or self.draft_lengths
        if varies and self.method not in _LOOKUP:
            raise ValueError(
                f"coverage and draft_lengths belong to lookups: method must be one of {', '.join(_LOOKUP)}"
            )
        if self.draft_lengths and (len(self.draft_lengths) != self.k or abs(sum(self.draft_lengths) - 1) > 1e-6):  # noqa: PLR2004
            raise ValueError("draft_lengths must name a share for each length from 1 to k and add up to 1")
        return self

    @model_validator(mode="after")
    def _holds_its_requests(self) -> Self:
        if self.kv_blocks * self.block_size < self.max_model_len:
            raise ValueError("kv_blocks x block_size must hold one sequence of max_model_len")
        self.require_fit(self.requests)
        return self

    def require_fit(self, kinds: tuple[Requests, ...]) -> None:
        """Raise ValueError when it cannot serve such requests."""
        for kind in kinds:
            if kind.prompt_tokens + kind.max_tokens > self.max_model_len:
                raise ValueError(
                    f"max_model_len = {self.max_model_len} is too short for prompt_tokens + max_tokens of its requests",
                )
            if kind.rates and len(kind.rates) < (self.k or 0):
                raise ValueError(f"rates has {len(kind.rates)} positions, k = {self.k} needs as many")


class Event(Table):
    """What changes at a time, for all servers of a model and variant or for one instance of them."""

    at: Hold
    model: _Name | None = None
    variant: str | None = None
    instance: Annotated[int, Field(ge=0, lt=1000)] | None = None
    requests: Annotated[tuple[Requests, ...], Field(strict=False, max_length=20)] = ()
    """New requests are of these kinds from now on."""
    load: Load | None = None
    coverage: _Share | None = None
    slowdown: Annotated[float, Field(ge=0.1, le=100)] | None = None
    """Every step takes so many times as long from now on."""
    restart: Hold | None = None
    """It stops, is down for so long, and starts with all counters at 0."""
    speculative: bool = True
    """Whether it then starts with its speculative configuration, whatever the label says."""

    @model_validator(mode="after")
    def _restarts_to_be_without(self) -> Self:
        if not self.speculative and self.restart is None:
            raise ValueError("speculative = false needs restart: a server drafts as it was started")
        return self

    def concerns(self, server: Server, number: int) -> bool:
        """Whether it happens to this instance of the servers."""
        return (
            self.model in {None, server.model}
            and self.variant in {None, server.variant}
            and self.instance in {None, number}
        )


class Expected(Table):
    """An alert that must fire. Those that no entry names must not."""

    alert: _Name
    since: Hold = Duration(0)
    """Before this it must be silent: the time of its cause."""
    within: Positive
    """And it must fire so soon after."""
    labels: dict[str, str] = Field(default={})
    """What it must be about; all its firings must be."""


class Scenario(Table):
    """A story with a known answer."""

    story: Annotated[str, Field(min_length=20, max_length=2000)]
    duration: Positive
    """How long it takes to tell."""
    server: Annotated[tuple[Server, ...], Field(strict=False, min_length=1, max_length=50)]
    event: Annotated[tuple[Event, ...], Field(strict=False, max_length=200)] = ()
    expect: Annotated[tuple[Expected, ...], Field(strict=False, max_length=50)] = ()

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        self._require_concerned_servers()
        return self

    def _require_concerned_servers(self) -> None:
        """Raise ValueError when an event happens to no server, or to one that cannot serve its requests."""
        for number, event in enumerate(self.event):
            concerned = [
                server
                for server in self.server
                if any(event.concerns(server, instance) for instance in range(server.instances))
            ]
            if not concerned:
                raise ValueError(f"event.{number} happens to no server: look at its model, variant and instance")
            for server in concerned:
                server.require_fit(event.requests)

    def scaled(self, *, engines: int | None = None, models: int = 1) -> "Scenario":
        """The same story with so many engines of each kind of server, each told of so many models.

        Raises:
            DraftboardError: something would happen to a server that there is no more.
        """
        servers = tuple(
            server.model_copy(
                update={
                    "model": server.model if number == 1 else f"{server.model}-{number}",
                    "instances": server.instances if engines is None else -(-engines // server.engines),
                },
            )
            for number in range(1, models + 1)
            for server in self.server
        )
        events = tuple(
            event
            if event.model is None or number == 1
            else event.model_copy(update={"model": f"{event.model}-{number}"})
            for event in self.event
            for number in (range(1, models + 1) if event.model else (1,))
        )
        told = self.model_copy(update={"server": servers, "event": events})
        try:
            told._require_concerned_servers()  # noqa: SLF001  (a copy of ours is not validated)
        except ValueError as error:
            raise DraftboardError(f"--engines {engines}: {error}") from None
        return told


def read(path: Path) -> Scenario:
    """The scenario in a file.

    Raises:
        DraftboardError: the file cannot be read, is not TOML, or tells something that cannot be.
    """
    try:
        return Scenario.model_validate(read_toml(path, "scenario"))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {first_mistake(error, Scenario, 'scenario')}") from None
