"""Requests, many in one array: what each wants, and how far it is."""

import numpy as np
from numpy.typing import NDArray

Batch = NDArray[np.void]
"""Rows of `REQUEST`."""
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

REQUEST = np.dtype(
    [
        ("kind", "i8"),  # which of the server's kinds of request
        ("arrived", "f8"),  # all times are in simulated seconds
        ("scheduled", "f8"),
        ("first", "f8"),  # of its first token; NaN before
        ("last", "f8"),  # of its last token so far
        ("prompt", "i8"),  # tokens
        ("cached", "i8"),  # tokens of the prompt that need not be computed
        ("wanted", "i8"),  # tokens of the whole answer
        ("most", "i8"),  # tokens after which it is cut off
        ("cut", "?"),  # whether the answer would be longer
        ("made", "i8"),  # tokens so far
        ("preempted", "i8"),  # times
    ]
)


def no_requests() -> Batch:
    """An empty batch."""
    return np.empty(0, REQUEST)


def joined(*batches: Batch) -> Batch:
    """All of them, in this order. numpy's own concatenation compares the types of all fields each time."""
    parts = [batch for batch in batches if len(batch)]
    if len(parts) < 2:  # noqa: PLR2004
        return parts[0] if parts else no_requests()
    whole = np.empty(sum(map(len, parts)), REQUEST)
    end = 0
    for part in parts:
        begin, end = end, end + len(part)
        whole[begin:end] = part
    return whole


def uncomputed(batch: Batch) -> Integers:
    """Tokens that each must compute before it goes on: of its prompt, and after a preemption of its answer too."""
    held: Integers = batch["prompt"] - batch["cached"] + batch["made"]
    return held


def blocks(batch: Batch, block_size: int) -> Integers:
    """KV-cache blocks that each holds or needs."""
    needed: Integers = -(-(batch["prompt"] + batch["made"]) // block_size)
    return needed
