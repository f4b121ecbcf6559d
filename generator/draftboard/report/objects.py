"""A report as typed objects. JSON is made of these same objects, and `docs/schemas/report.schema.json` describes them.

Shares run from 0 to 1, times are in seconds, rates are per second. None: not exposed, or nothing was measured.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from draftboard.attribution import Explanation
from draftboard.catalogue.dialects import DialectName
from draftboard.history import Change
from draftboard.intervals import Estimate
from draftboard.output import Described
from draftboard.report.bound import LINE, FromSignal, lines
from draftboard.report.choices import Chosen
from draftboard.report.classes import RequestClass
from draftboard.report.numbers import Latencies, Part, Sample, Speculation, Traffic
from draftboard.signals import comparison, traffic, users

SCHEMA_VERSION = 2  # Grows whenever a field is removed or means something else; new fields do not change it.


class Origin(StrEnum):
    """Where the numbers are from."""

    SCRAPES = "two scrapes"
    PAGES = "two saved pages"
    LIFETIME = "one saved page: totals since the server started"
    PROMETHEUS = "Prometheus"


RESTARTED, APPEARED = "restarted in between: what it counted before is lost", "appeared in between"
"""Notes on engines that counted for a part of the time."""


@dataclass(frozen=True, kw_only=True)
class Broken(Described):
    """An identity that vLLM's counters hold, and these do not."""

    identity: str
    """Its name, as the records label it; positions_missing is known to reports alone."""
    says: str
    error: float
    """How far it is broken, as a share."""
    engine: str
    """Whose counters."""


@dataclass(frozen=True, kw_only=True)
class Verdict(Described):
    """Whether it pays, what to do, and why."""

    says: str | None
    """The verdict in the words of the signal of that name, with what it rests on; None where it is withheld, or where
    nothing was drafted."""
    advice: str | None
    """What to change; None where the verdict is withheld or positions are not exposed."""
    reasons: tuple[str, ...]
    """In sentences, the weightiest first."""
    withheld: str | None = None
    """Why drafts that were counted get no verdict, in a few words; None where they do, or where there are none."""
    basis: str | None = None
    """What the verdict rests on: `measured` against a baseline, `measured by steps`, `own steps without a draft`,
    `own step times`, `calibrated` or `assumed`."""
    headline: str | None = None
    """The verdict with its range, where it rests on assumed costs; what it depends on, where it is unclear."""


@dataclass(frozen=True, kw_only=True)
class Waiting(Described):
    """Whether users wait, whatever speculation yields."""

    requests: float | None = None
    """Requests in the queue, at the end."""
    first_token: float | None = None
    """Mean time to first token, in seconds."""
    says: str | None = None
    """For what users wait; None where they do not, or where neither number is known."""


@dataclass(frozen=True, kw_only=True)
class Judged(Described):
    """A model or an engine."""

    state: str
    """What it is doing, in the words of the signal of that name."""
    verdict: Verdict
    sample: Sample | None
    """None where nothing was drafted."""
    speculation: Speculation | None
    """None where nothing was drafted."""
    latency: Latencies
    traffic: Traffic
    notes: tuple[str, ...]
    """What must be known to read the numbers: restarts, foreign names, old releases."""
    waiting: Waiting = Waiting()
    """Beside the verdict: a gain in decoding helps nobody who is still in the queue."""
    health: str | None = None
    """The worst of its servers, users and economics, in the words of the signal of that name. Only a Prometheus with
    the rules knows alerts and servers that are gone."""


@dataclass(frozen=True, kw_only=True)
class EngineReport(Judged):
    """One engine."""

    engine: str
    """As vLLM numbers it."""
    server: str
    """Where it was read."""
    length_to_others: float | None
    """Its mean acceptance length over that of its model's other engines together; None where none of them drafts."""


@dataclass(frozen=True, kw_only=True)
class ModelReport(Judged):
    """One model: its engines together, as sums, never as means of ratios."""

    model: str
    """The first served name; aliases and adapters are counted under it. Empty where a server names none."""
    method: str | None
    """Of drafting, as given or labelled; vLLM does not export it."""
    labels: dict[str, str]
    """Further labels that tell it from others of the same name, as Prometheus keeps them."""
    acceptance_by_request: float | None
    """Mean of the engines' acceptance, weighted by their finished requests, where several engines are told of. The
    counters weigh by drafted tokens: bad drafters, which draft more often for the same answer, weigh more there."""
    acceptance_change: Annotated[
        float | None, FromSignal(comparison.acceptance_change, LINE, after=traffic.wasted_tokens, if_known=True)
    ]
    """Acceptance now over acceptance before; only Prometheus knows."""
    measured_speedup: Annotated[
        float | None, FromSignal(users.measured_speedup, LINE, after=comparison.acceptance_change, if_known=True)
    ]
    """Time per output token of the model's baseline over its own; only Prometheus knows, where a baseline runs."""
    broken: tuple[Broken, ...]
    """Identities of the counters that do not hold."""
    engines: tuple[EngineReport, ...]
    """Of Prometheus only where asked for."""
    measured_speedup_interval: Estimate | None = None
    """With its 95 % interval, from the scatter of both variants between parts of the time; None where unknown."""
    standardised_speedup: Estimate | None = None
    """The measured speedup at equal lengths of prompts and answers: parts of the time reweighted; None where lengths
    are alike, or where the parts do not allow it."""
    last_change: Change | None = None
    """Of K, method, variant or speculation within a week, and what it did; of a Prometheus with the rules only."""
    explanation: Explanation | None = None
    """Why its figures changed in the last six hours, where its acceptance dropped; of a Prometheus only."""
    chosen: tuple[Chosen, ...] = ()
    """Draft lengths by batch, where engines with the plugin choose them."""
    classes: tuple[RequestClass, ...] = ()
    """Classes of its requests; of a Prometheus only, where the lens runs and sees nearly all drafts."""
    parts: tuple[Part, ...] = ()
    """The time in parts of about one length, in order; empty where two pages, or one, are all there is."""


@dataclass(frozen=True, kw_only=True)
class Sampling(Described):
    """How requests asked for tokens, as whoever made the report said: vLLM does not export it."""

    temperature: float | None = None
    """0 is greedy. Draft acceptance depends on it."""
    top_p: float | None = None
    """Probability mass that tokens are sampled from."""
    max_tokens: float | None = None
    """Most tokens of an answer."""


@dataclass(frozen=True, kw_only=True)
class Report(Described):
    """What some servers did over a time."""

    schema_version: int
    origin: Origin
    sources: tuple[str, ...]
    """What was read; credentials are left out."""
    taken_at: float | None
    """End of the time, in Unix seconds; None where saved pages do not tell."""
    seconds: float | None
    """How long it was; None where nobody knows, and then there are no rates."""
    models: tuple[ModelReport, ...]
    notes: tuple[str, ...]
    """What concerns all of them."""
    sampling: Sampling = Sampling()
    dialect: DialectName = "vllm"
    """Of the series that were read: numbers that they cannot give are null."""


LINES = lines(Speculation, Traffic, ModelReport)
"""What is printed of a model that drafts, a line each."""
