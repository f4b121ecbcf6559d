"""The questions of Prometheus' HTTP API that Draftboard asks."""

import json
import time
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import ValidationError

from draftboard.access import Access, parsed_url, reason_of, shown
from draftboard.errors import DraftboardError
from draftboard.prometheus.answers import GROUPS, MATRIX, TARGETS, VECTOR, Rows

_Row = TypeVar("_Row")

_TIMEOUT_SECONDS = 30.0
_NOBODY = Access()
_MOST_WORDS = 300
_MOST_BYTES = 256_000_000
_MOST_SECONDS = 120.0
MOST_POINTS = 10_000
"""Prometheus answers at most 11,000 points a series: longer times are asked for in pieces."""


@dataclass(frozen=True)
class Series:
    """Labels, and samples as (Unix seconds, value)."""

    labels: dict[str, str]
    samples: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Target:
    """A server that Prometheus scrapes."""

    labels: dict[str, str]
    interval: str
    """Between two scrapes, as Prometheus writes it."""
    error: str
    """Why the last scrape failed, in Prometheus' words; empty where it did not."""


@dataclass(frozen=True)
class LoadedRule:
    """A rule that Prometheus evaluates."""

    name: str
    """Of the record or alert."""
    group: str
    error: str
    """Why the last evaluation failed; empty where it did not."""


class Client:
    """A Prometheus server, asked over HTTP. Use as a context manager."""

    def __init__(self, url: str, access: Access = _NOBODY) -> None:
        """Raise DraftboardError where the address, or the file of certificates, cannot be used."""
        parsed = parsed_url(url)
        self.url = shown(parsed)
        verify = access.certificates if parsed.scheme == "https" else False
        self._http = httpx.Client(base_url=parsed, timeout=_TIMEOUT_SECONDS, headers=access.headers, verify=verify)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def query(self, expr: str, time: float) -> list[Series]:
        """Value of every series at one time.

        Raises:
            DraftboardError: the server cannot be reached or refuses the query.
        """
        result = self._ask("query", VECTOR, {"query": expr, "time": time})
        return [Series(row.metric, (row.value,)) for row in result]

    def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        """Values of every series from start to end, in steps of so many seconds.

        Raises:
            DraftboardError: the server cannot be reached or refuses the query.
        """
        found: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        stretch = (MOST_POINTS - 1) * step
        begin = start
        while begin <= end:
            until = min(begin + stretch, end)
            span = {"start": begin, "end": until, "step": step}
            for row in self._ask("query_range", MATRIX, {"query": expr} | span):
                found.setdefault(tuple(sorted(row.metric.items())), []).extend(row.values)
            begin += stretch + step
        return [Series(dict(labels), tuple(samples)) for labels, samples in found.items()]

    def targets(self) -> list[Target]:
        """What is scraped now.

        Raises:
            DraftboardError: the server cannot be reached, or knows no targets, as one that only stores.
        """
        found = self._ask("targets?state=active", TARGETS)
        return [Target(row.labels, row.interval, _short(row.error)) for row in found]

    def rules(self) -> list[LoadedRule]:
        """What is evaluated.

        Raises:
            DraftboardError: the server cannot be reached, or evaluates no rules at all.
        """
        return [
            LoadedRule(rule.name, group.name, _short(rule.error))
            for group in self._ask("rules", GROUPS)
            for rule in group.rules
        ]

    def _ask(self, question: str, rows: Rows[_Row], parameters: dict[str, Any] | None = None) -> list[_Row]:
        """Those rows of the answer; long questions have parameters, which do not fit into an address."""
        try:
            answer = json.loads(self._content(question, parameters))
        except httpx.HTTPError as error:
            raise DraftboardError(f"{self.url}: Prometheus gives no answer: {_short(reason_of(error))}") from None
        except (ValueError, RecursionError):
            raise DraftboardError(f"{self.url}: Prometheus gives no answer: this is no Prometheus") from None
        match answer:
            case {"status": "success", "data": dict(data)} if isinstance(result := data.get(rows.part), list):
                try:
                    return rows.read(result)
                except ValidationError as error:
                    raise DraftboardError(f"{self.url}: {_mistake(error)}") from None
            case {"error": reason}:
                raise DraftboardError(f"{self.url}: Prometheus refuses the query: {_short(reason)}")
        raise DraftboardError(f"{self.url}: Prometheus gives no answer: this is no Prometheus")

    def _content(self, question: str, parameters: dict[str, Any] | None) -> bytes:
        """What it answers, within limits of size and time."""
        content, until = bytearray(), time.monotonic() + _MOST_SECONDS
        method = "POST" if parameters else "GET"
        with self._http.stream(method, f"/api/v1/{question}", data=parameters) as response:
            if response.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
                raise DraftboardError(f"{self.url}: authentication required: use --token-file")
            if response.is_redirect:
                raise DraftboardError(f"{self.url}: redirects; name the address of Prometheus itself")
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _MOST_BYTES or time.monotonic() > until:
                    raise DraftboardError(f"{self.url}: Prometheus answers too much, or too slowly")
        return bytes(content)


def _short(words: object) -> str:
    """One line, whatever the server said."""
    text = " ".join(str(words).split())
    return text if len(text) <= _MOST_WORDS else text[:_MOST_WORDS] + "..."


def _mistake(error: ValidationError) -> str:
    where = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
    return f"Prometheus gives no answer that can be read: row {_short(where)} has another shape than Prometheus' own"
