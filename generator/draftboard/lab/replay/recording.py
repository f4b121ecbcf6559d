"""A recording: a page of OpenMetrics text with timestamps, perhaps compressed."""

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from draftboard.errors import DraftboardError

MAX_BYTES = 4_000_000_000
LATEST = 4_102_444_800
"""The year 2100: later times are milliseconds, as the older text format has them."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Recording:
    """The text on disk, and the Unix times of its first and last sample."""

    path: Path
    first: float
    last: float


def unpacked(source: Path, folder: Path) -> Recording:
    """The recording as plain text in `folder`.

    Raises:
        DraftboardError: it cannot be read, is too large, or has a sample without a timestamp or out of time.
    """
    target = folder / "recording.om"
    try:
        _copy(source, target)
        first, last = _span(target)
    except (OSError, EOFError, zlib.error) as error:
        raise DraftboardError(f"{source}: cannot read the recording: {error}") from None
    except ValueError as error:
        expected = "OpenMetrics text with a timestamp on every sample, in order"
        raise DraftboardError(f"{source}: not {expected}: {error}") from None
    return Recording(target, first, last)


def _copy(source: Path, target: Path) -> None:
    unpack = gzip.open if source.suffix == ".gz" else open
    with unpack(source, "rb") as packed, target.open("wb") as plain:
        size = 0
        while chunk := packed.read(_CHUNK):
            size += len(chunk)
            if size > MAX_BYTES:
                raise OSError(f"larger than {MAX_BYTES} bytes unpacked")
            plain.write(chunk)


def _span(path: Path) -> tuple[float, float]:
    """Times of the first and last sample: the last word of every line that is no comment, exemplars apart."""
    first, last = float("inf"), float("-inf")
    before, since = "", float("-inf")
    with path.open(encoding="utf-8") as text:
        for number, line in enumerate(text, start=1):
            if line.startswith("#"):
                continue
            series, labels, rest = line.partition(" # ")[0].rpartition("}")
            series, *value_and_time = (series, *rest.split()) if labels else rest.split()
            if len(value_and_time) != 2:  # noqa: PLR2004
                raise ValueError(f"line {number}")
            time = float(value_and_time[1])
            if not 0 <= time < LATEST:
                raise ValueError(f"line {number}: timestamps must be seconds since 1970, not {value_and_time[1]}")
            # promtool leaves out a sample that comes late, and says nothing.
            if series == before and time <= since:
                raise ValueError(f"line {number}: the samples of a series must follow each other in time")
            before, since = series, time
            first, last = min(first, time), max(last, time)
    if first > last:
        raise ValueError("no sample")
    return first, last
