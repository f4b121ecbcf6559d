"""A report as typed objects. JSON is made of these same objects, and `docs/schemas/report.schema.json` describes them.

Shares run from 0 to 1, times are in seconds, rates are per second. None says that something is not known: the server
does not expose it, or nothing happened that it could be measured by.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from draftboard import output
from draftboard.catalogue.dialects import DialectName
from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes
from draftboard.history import Change
from draftboard.intervals import Estimate
from draftboard.output import Described
from draftboard.signals import ALL, acceptance, comparison, costs, depth, economics, traffic, users

OF_PROMETHEUS = (
    comparison.acceptance_change,
    users.measured_speedup,
    costs.step_cost,
)  # Printed only where they are known.
LINES = (
    *(economics.expected_speedup, acceptance.tokens_per_step, economics.needed_per_step),
    *(economics.affordable_inflation, acceptance.coverage, economics.step_speedup),
    *(acceptance.acceptance, acceptance.acceptance_length, economics.break_even, acceptance.draft_length),
    *(depth.configured_k, economics.best_k, economics.best_speedup, economics.longer_gain),
    *(acceptance.share_from_drafts, traffic.wasted_tokens),
    *OF_PROMETHEUS,
)
"""What is printed of speculation, a line each, in this order: fields of `Speculation`, `Traffic` or `ModelReport`."""
SCHEMA_VERSION = 2  # Grows whenever a field is removed or means something else; new fields do not change it.


class Origin(StrEnum):
    """Where the numbers are from."""

    SCRAPES = "two scrapes"
    PAGES = "two saved pages"
    LIFETIME = "one saved page: totals since the server started"
    PROMETHEUS = "Prometheus"


@dataclass(frozen=True, kw_only=True)
class Sample(Described):
    """How much the judgement rests on."""

    drafts: float
    """Drafts verified. From Prometheus an estimate, as every increase is."""
    draft_tokens: float | None
    accepted_tokens: float | None
    accepted_per_position: tuple[float, ...]
    """Accepted tokens by position in the draft, from 0; empty where the counter is not exposed."""
    least: float
    """Drafts under which there is no verdict."""

    @property
    def acceptance(self) -> float | None:
        """Accepted / drafted tokens."""
        return (
            self.accepted_tokens / self.draft_tokens if self.draft_tokens and self.accepted_tokens is not None else None
        )


@dataclass(frozen=True, kw_only=True)
class Speculation(Described):
    """What drafting yields. A field means what the signal of its name means."""

    acceptance: float | None
    band: str | None
    """The same in words, where the sample is large enough. A rule of thumb, not comparable across K."""
    acceptance_length: float | None
    break_even: float | None
    draft_length: float | None
    configured_k: int | None
    lowest_k: int | None
    """Under configured_k where K differs between engines or changed: then positions are not judged."""
    draft_cost: float
    verify_inflation: float
    """v: time of a verify step over a plain one."""
    step_cost: float | None = None
    """Measured: a decode step over the baseline's in batches of the same size; only of a Prometheus with the rules."""
    needed_per_step: float | None
    expected_speedup: float | None
    """Of the load: over all decode steps."""
    step_speedup: float | None
    affordable_inflation: float | None
    best_k: int | None
    best_speedup: float | None
    shorter_gain: float | None
    longer_gain: float | None
    coverage: float | None
    share_from_drafts: float | None
    draft_efficiency: float | None
    wasted_tokens: float | None
    alpha_hat: float | None
    first_position: float | None
    last_position: float | None
    survival: tuple[float, ...]
    conditional_acceptance: tuple[float, ...]
    accepted_length_share: tuple[float, ...]
    tokens_per_step_at: tuple[float, ...]
    speedup_at: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Latency(Described):
    """A time as a distribution. A percentile of 0 stands for below resolution: less than `resolution`, nobody knows."""

    count: float
    """Samples: requests, or steps."""
    mean: float
    """Exact."""
    p50: float
    p95: float
    p99: float
    resolution: float
    """The histogram's first bound."""
    unresolved: float
    """Share of samples under it."""


@dataclass(frozen=True, kw_only=True)
class Latencies(Described):
    """What users wait for, and how long steps take. None: not exposed, or nothing finished in the time."""

    first_token: Latency | None = None
    """Time to first token (TTFT)."""
    per_token: Latency | None = None
    """Time per output token (TPOT), one sample a finished request."""
    step: Latency | None = None
    """One sample a request and step: under speculation not what users feel."""
    end_to_end: Latency | None = None
    """Arrival to last token (E2E)."""


@dataclass(frozen=True, kw_only=True)
class Traffic(Described):
    """The load under which all this was measured: compare only what had the same."""

    generation_tokens: float | None
    """Generated tokens per second."""
    prompt_tokens: float | None
    """Prompt tokens per second."""
    request_rate: float | None
    """Finished requests per second."""
    tokens_per_step: float | None
    """(Generated tokens - first tokens) / decode steps: over all steps, drafted or not; 1 without speculation."""
    prompt_length: float | None
    """Prompt tokens for each first token: the mean length of prompts, as far as they were answered."""
    answer_length: float | None
    """Generated tokens for each first token: the mean length of answers, as far as they were begun and ended here."""
    generated: float | None
    """Generated tokens in all the time."""
    requests: float | None
    """Finished requests in all the time."""
    unfinished: float | None
    """Share of started requests that neither finished nor still run; None with too few requests."""
    requests_running: float | None
    """At the end, engines together."""
    requests_waiting: float | None
    kv_cache_usage: float | None
    """At the end, of the fullest engine."""
    prefix_cache_hits: float | None
    """Prompt tokens found in the engines' own prefix caches over those looked up. Full hits lower acceptance a little:
    they enter speculation with placeholder drafts (vLLM 0.28 and newer)."""
    batch: float | None = None
    """Running requests per engine: from Prometheus the mean over the time, else at the end."""
    engines: float | None = None


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
    """What the verdict rests on: `measured` against a baseline, `measured by steps`, `calibrated` or `assumed`."""


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


@dataclass(frozen=True, kw_only=True)
class Part(Described):
    """What was counted in a part of the time: intervals rest on the scatter of parts."""

    requests: float
    """Finished, with a known time per output token."""
    seconds_per_token: float
    """Their times per output token, summed."""
    drafts: float
    """Drafts verified."""
    draft_tokens: float
    accepted_tokens: float


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
    acceptance_change: float | None
    """Acceptance now over acceptance before; only Prometheus knows."""
    measured_speedup: float | None
    """Time per output token of the model's baseline over its own; only Prometheus knows, where a baseline runs."""
    broken: tuple[Broken, ...]
    """Identities of the counters that do not hold."""
    engines: tuple[EngineReport, ...]
    """Of Prometheus only where asked for."""
    measured_speedup_interval: Estimate | None = None
    """With its 95 % interval, by the scatter of both arms between the parts of the time; None where there is none."""
    last_change: Change | None = None
    """Of K, method, variant or speculation within a week, and what it did; of a Prometheus with the rules only."""
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


_REPORT = TypeAdapter(Report)
_MOST_BYTES = 32_000_000
_LARGEST = 1e30
_LATEST = 253_402_300_799  # The end of the year 9999, after which nothing can be shown as a date.


def schema() -> str:
    """JSON Schema of a report. Fields that are named as signals are described as those are."""
    document = json.loads(output.schema(Report, SCHEMA_VERSION))
    for part in (Speculation, Traffic):
        properties = document["$defs"][part.__name__]["properties"]
        for signal in ALL:
            if signal.name in properties:
                properties[signal.name].setdefault(
                    "description", f"{signal.title}. {signal.description} {signal.note}".rstrip()
                )
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def load_report(path: Path) -> Report:
    """A report that was saved as JSON. DraftboardError: the file cannot be read, or holds no report of this version."""
    try:
        report = _REPORT.validate_json(saved_bytes(path, "report", _MOST_BYTES))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        what = f"not a report as `draftboard report --json` writes it: {where}: {first['msg']}"
        raise DraftboardError(f"{path}: {what}") from None
    # What is read is computed with and printed.
    for leaf in _leaves(asdict(report)):
        if isinstance(leaf, str):
            if not leaf.isprintable():
                raise DraftboardError(f"{path}: holds text with control characters, which could redraw the terminal")
        elif abs(leaf) > _LARGEST:
            raise DraftboardError(f"{path}: holds a number over {_LARGEST:g}, which no server ever counts")
    if report.taken_at is not None and not 0 <= report.taken_at <= _LATEST:
        raise DraftboardError(f"{path}: taken_at: {report.taken_at:g} is not a time in Unix seconds")
    if report.schema_version != SCHEMA_VERSION:
        raise DraftboardError(f"{path}: a report of version {report.schema_version}; this reads {SCHEMA_VERSION}")
    return report


def _leaves(part: object) -> Iterator[str | float]:
    if isinstance(part, dict):
        yield from _leaves([*part, *part.values()])
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _leaves(inner)
    elif isinstance(part, str | int | float):
        yield part
