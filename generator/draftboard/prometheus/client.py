"""Prometheus' HTTP API: the endpoints that Draftboard calls, and the parts of the responses that it reads."""

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Self, TypeVar

import httpx
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from draftboard.access import Access
from draftboard.durations import LATEST
from draftboard.errors import DraftboardError
from draftboard.http import certificates, client, parsed_url, reason_of, refusal, shown
from draftboard.prometheus import remote_write

_TIMEOUT_SECONDS = 30.0
_NOBODY = Access()
_MOST_WORDS = 300
_MOST_BYTES = 256_000_000
_MOST_SECONDS = 120.0
_MOST_POINTS = 10_000  # Prometheus answers at most 11,000 points a series: longer times are asked for in pieces
_NEVER = datetime.fromtimestamp(0, UTC)
_Row = TypeVar("_Row")
_Seconds = Annotated[float, Field(ge=0, le=LATEST, allow_inf_nan=False)]
_Interval = Annotated[float, Field(ge=0.001, le=LATEST, allow_inf_nan=False)]
_Sample = tuple[_Seconds, float]  # Unix seconds, and the value; JSON holds it as text, as it has no NaN and no infinity


def _short(words: object) -> str:
    text = " ".join(str(words).split())
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS] + "..."


_Error = Annotated[str, Field(alias="lastError"), AfterValidator(_short)]


@dataclass(frozen=True)
class Series:
    """Labels, and samples as (Unix seconds, value)."""

    labels: Annotated[dict[str, str], Field(alias="metric")]
    samples: Annotated[tuple[_Sample, ...], Field(alias="values")]

    @property
    def unnamed(self) -> dict[str, str]:
        """The labels without the name of the metric."""
        return {name: text for name, text in self.labels.items() if name != "__name__"}


@dataclass(frozen=True)
class Target:
    """A server that Prometheus scrapes."""

    labels: dict[str, str]
    interval: Annotated[str, Field(alias="scrapeInterval")] = ""  # between two scrapes, as Prometheus writes it
    error: _Error = ""  # why the last scrape failed, in Prometheus' words; empty where it did not


@dataclass(frozen=True)
class LoadedRule:
    """A rule that Prometheus evaluates."""

    name: str  # of the record or alert
    group: str = ""
    error: _Error = ""  # why the last evaluation failed; empty where it did not
    query: str = ""  # the expression, as the server formats it
    duration: _Seconds = 0.0  # of an alert: seconds for which it is pending
    seconds: Annotated[_Seconds, Field(alias="evaluationTime")] = 0.0  # that its last evaluation took
    interval: _Interval = 60.0  # seconds between two evaluations of its group
    type: str = ""  # `recording` or `alerting`
    last: Annotated[datetime, Field(alias="lastEvaluation")] = _NEVER
    labels: dict[str, str] = field(default_factory=dict)  # that it adds

    @property
    def is_alert(self) -> bool:
        """Whether it is an alert."""
        return self.type == "alerting"

    @property
    def evaluated(self) -> float:
        """Unix seconds of its last evaluation; 0 of none."""
        return max(0.0, self.last.timestamp())


@dataclass(frozen=True)
class ActiveAlert:
    """An alert of a rule, with the labels that notifications have."""

    labels: dict[str, str]
    state: str  # `pending` or `firing`


@dataclass(frozen=True)
class _Instant:
    metric: dict[str, str]
    value: _Sample


@dataclass(frozen=True)
class _Group:
    name: str
    rules: tuple[LoadedRule, ...]
    interval: _Interval = 60.0


_INSTANTS, _SERIES = TypeAdapter(list[_Instant]), TypeAdapter(list[Series])
_TARGETS, _GROUPS = TypeAdapter(list[Target]), TypeAdapter(list[_Group])
_ALERTS = TypeAdapter(list[ActiveAlert])


class Client:
    """A Prometheus server over HTTP. Use as a context manager.

    Every method raises DraftboardError where the server cannot be reached, rejects the query, or lacks the endpoint.
    """

    def __init__(self, url: str, access: Access = _NOBODY) -> None:
        """Raise DraftboardError where the address, or the file of certificates, cannot be used."""
        parsed = parsed_url(url)
        self.url = shown(parsed)
        verify = certificates(access) if parsed.scheme == "https" else False
        options = {"timeout": _TIMEOUT_SECONDS, "headers": access.headers, "verify": verify}
        self._http = client(httpx.Client, base_url=parsed, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def query(self, expr: str, time: float) -> list[Series]:
        """Value of every series at one time."""
        rows = self._ask("query", "result", _INSTANTS, {"query": expr, "time": time})
        return [Series(row.metric, (row.value,)) for row in rows]

    def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        """Values of every series from start to end, in steps of so many seconds.

        What a server in between adds to them, because it aligns times or caches answers, is left out.
        """
        series: dict[tuple[tuple[str, str], ...], list[_Sample]] = {}
        stretch = (_MOST_POINTS - 1) * step
        begin = start
        while begin <= end:
            last = min(begin + stretch, end)
            parameters = {"query": expr, "start": begin, "end": last, "step": step}
            for row in self._ask("query_range", "result", _SERIES, parameters):
                known = series.setdefault(tuple(sorted(row.labels.items())), [])
                known += (one for one in row.samples if begin - step / 2 < one[0] < last + step / 2)
            begin += stretch + step
        return [Series(dict(labels), tuple(samples)) for labels, samples in series.items()]

    def write(self, series: Iterable[Series]) -> None:
        """Store samples, the name of the metric among the labels, in a Prometheus that receives remote writes."""
        content = remote_write.body((one.labels, one.samples) for one in series)
        try:
            response = self._http.post("/api/v1/write", content=content, headers=remote_write.HEADERS)
        except httpx.HTTPError as error:
            reason = _short(reason_of(error, self._http.base_url))
            raise DraftboardError(f"{self.url}: no response from Prometheus: {reason}") from None
        if not response.is_success:
            raise DraftboardError(f"{self.url}: Prometheus rejects samples: {_short(response.text)}")

    def targets(self) -> list[Target]:
        """All targets that are scraped now."""
        return self._ask("targets?state=active", "activeTargets", _TARGETS)

    def alerts(self) -> list[ActiveAlert]:
        """All alerts that are pending or fire now."""
        return self._ask("alerts", "alerts", _ALERTS)

    def rules(self) -> list[LoadedRule]:
        """All rules that are evaluated."""
        groups = self._ask("rules", "groups", _GROUPS)
        return [replace(rule, group=group.name, interval=group.interval) for group in groups for rule in group.rules]

    def _ask(
        self, question: str, part: str, rows: TypeAdapter[list[_Row]], parameters: dict[str, Any] | None = None
    ) -> list[_Row]:
        """The rows of a part of the answer; long questions have parameters, which do not fit into an address."""
        try:
            status, content = self._content(question, parameters)
        except httpx.HTTPError as error:
            reason = _short(reason_of(error, self._http.base_url))
            raise DraftboardError(f"{self.url}: no response from Prometheus: {reason}") from None
        except UnicodeEncodeError:
            raise DraftboardError(f"{self.url}: a name in the query is not UTF-8: rename the model") from None
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            answer = None
        match answer:
            case {"status": "success", "data": dict(data)} if isinstance(result := data.get(part), list):
                try:
                    return rows.validate_python(result)
                except ValidationError as error:
                    where = _short(".".join(map(str, error.errors(include_url=False)[0]["loc"])))
                    raise DraftboardError(
                        f"{self.url}: unexpected response: row {where} does not match Prometheus' HTTP API"
                    ) from None
            case {"error": reason}:
                raise DraftboardError(f"{self.url}: Prometheus rejects the query: {_short(reason)}")
        raise DraftboardError(
            f"{self.url}: not a Prometheus server (HTTP {status} for /api/v1/{question.partition('?')[0]}): "
            "give Prometheus' own address with its path prefix, not that of Grafana or of a page"
        )

    def _content(self, question: str, parameters: dict[str, Any] | None) -> tuple[int, bytes]:
        """How and what it answers, within limits of size and time."""
        content, until = bytearray(), time.monotonic() + _MOST_SECONDS
        method = "POST" if parameters else "GET"
        with self._http.stream(method, f"/api/v1/{question}", data=parameters) as response:
            in_json = response.headers.get("Content-Type", "").startswith("application/json")
            # The API's own errors are read as answers: only they say what is wrong with a query.
            own = in_json and response.status_code not in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
            if not own and (reason := refusal(response)):
                raise DraftboardError(f"{self.url}: {reason}")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _MOST_BYTES or time.monotonic() > until:
                    raise DraftboardError(
                        f"{self.url}: the response exceeds {_MOST_BYTES / 1e6:g} MB or {_MOST_SECONDS:g} s"
                    )
        return response.status_code, bytes(content)
