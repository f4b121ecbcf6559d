"""Saved reports: their JSON Schema, and the reading of what `draftboard report --json` wrote."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

from draftboard import output
from draftboard.errors import DraftboardError
from draftboard.files import is_pipe, saved_bytes
from draftboard.report.objects import SCHEMA_VERSION, Report

_MOST_BYTES = 32_000_000
_BEGINS_A_PAGE = b"# "
_A_PAGE = (
    "{path}: a saved /metrics page, not a report. Make a report of two pages of that server, `draftboard report "
    "--before PAGE --after PAGE --json`, or compare the addresses of running servers"
)
_LARGEST = 1e30
_LATEST = 253_402_300_799  # The end of the year 9999, after which nothing can be shown as a date.


def schema() -> str:
    """JSON Schema of a report."""
    return output.schema(Report, SCHEMA_VERSION)


def load_report(path: Path) -> Report:
    """A report that was saved as JSON. DraftboardError: the file cannot be read, or holds no report of this version."""
    content = saved_bytes(path, "report", _MOST_BYTES, pipes=is_pipe(path))
    if content.startswith(_BEGINS_A_PAGE):
        raise DraftboardError(_A_PAGE.format(path=path))
    try:
        report = output.from_json(Report, content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        what = f"not a report as `draftboard report --json` writes it: {where}: {first['msg']}"
        raise DraftboardError(f"{path}: {what}") from None
    # What is read is computed with and printed.
    for leaf in _leaves(asdict(report)):
        if isinstance(leaf, str):
            if not leaf.isprintable():
                raise DraftboardError(f"{path}: contains control characters, which could change the terminal")
        elif abs(leaf) > _LARGEST:
            raise DraftboardError(f"{path}: value out of range (> {_LARGEST:g})")
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
