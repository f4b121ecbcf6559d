"""A recording: a page of OpenMetrics text with timestamps, perhaps compressed."""

import gzip
import math
import re
import zlib
from pathlib import Path

from draftboard.errors import DraftboardError

MAX_BYTES = 4_000_000_000
LATEST = 4_102_444_800
"""The year 2100: later times are milliseconds, as in the older text format."""
_CHUNK = 1 << 20
_SAMPLE = re.compile(r'(?P<series>[\w:]+(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?) \S+ (?P<time>\S+)(?: # .*)?\n?')


def unpack(source: Path, target: Path) -> tuple[float, float]:
    """Write the recording as plain text; returns the Unix times of its first and last sample.

    Raises:
        DraftboardError: it cannot be read, is too large, or has a sample without a timestamp or out of order.
    """
    try:
        _copy(source, target)
        return _span(target)
    except (OSError, EOFError, zlib.error) as error:
        raise DraftboardError(f"{source}: cannot read the recording: {error}") from None
    except ValueError as error:
        expected = "OpenMetrics text with a timestamp on every sample, in order"
        raise DraftboardError(f"{source}: not {expected}: {error}") from None


def _copy(source: Path, target: Path) -> None:
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rb") as packed, target.open("wb") as plain:
        while chunk := packed.read(_CHUNK):
            if plain.tell() + len(chunk) > MAX_BYTES:
                raise OSError(f"larger than {MAX_BYTES} bytes unpacked")
            plain.write(chunk)


def _span(path: Path) -> tuple[float, float]:
    first, last = math.inf, -math.inf
    series, since = "", 0.0
    with path.open(encoding="utf-8") as text:
        for number, line in ((number, line) for number, line in enumerate(text, start=1) if not line.startswith("#")):
            sample = _SAMPLE.fullmatch(line)
            if not sample:
                raise ValueError(f"line {number}")
            time = float(sample["time"])
            if not 0 <= time < LATEST:
                raise ValueError(f"line {number}: timestamps must be seconds since 1970, not {sample['time']}")
            if sample["series"] == series and time <= since:  # promtool would leave it out without a word
                raise ValueError(f"line {number}: the samples of a series must follow each other in time")
            series, since = sample["series"], time
            first, last = min(first, time), max(last, time)
    if first > last:
        raise ValueError("no sample")
    return first, last
