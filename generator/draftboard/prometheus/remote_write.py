"""The body of a remote write 1.0: series in protobuf, in blocks of Snappy that are not compressed.

https://prometheus.io/docs/specs/prw/remote_write_spec and https://github.com/google/snappy/blob/main/format_description.txt
"""

import struct
from collections.abc import Iterable, Mapping, Sequence

HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
_DOUBLE, _BYTES = 1, 2  # wire types
_LITERAL = b"\xf4"  # its length follows in two bytes
_LONGEST_LITERAL = 1 << 16
_MORE = 1 << 7


def body(series: Iterable[tuple[Mapping[str, str], Sequence[tuple[float, float]]]]) -> bytes:
    """Of labels, the name among them, and samples as (Unix seconds, value)."""
    written = b"".join(_field(1, _labels(labels) + _samples(samples)) for labels, samples in series)
    pieces = (written[at : at + _LONGEST_LITERAL] for at in range(0, len(written), _LONGEST_LITERAL))
    return _varint(len(written)) + b"".join(_LITERAL + struct.pack("<H", len(piece) - 1) + piece for piece in pieces)


def _labels(labels: Mapping[str, str]) -> bytes:
    pairs = sorted((name.encode(), text.encode()) for name, text in labels.items() if text)
    return b"".join(_field(1, _field(1, name) + _field(2, text)) for name, text in pairs)


def _samples(samples: Iterable[tuple[float, float]]) -> bytes:
    value, at_ms = bytes([1 << 3 | _DOUBLE]), bytes([2 << 3])
    return b"".join(_field(2, value + struct.pack("<d", of) + at_ms + _varint(round(at * 1000))) for at, of in samples)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | _BYTES]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; a further byte follows where the eighth is set."""
    result = bytearray()
    while number >= _MORE:
        result.append(number % _MORE + _MORE)
        number //= _MORE
    return bytes((*result, number))
