"""A plugin that mends vLLM for the CPU (0.31, 0.32), which samples drafted tokens at temperatures from unset memory.

`vllm.utils.cpu_triton_utils._expand_kernel_impl` writes each request's temperature into a copy of its output. What this
puts in its place is what the GPU's kernel does.
"""

from typing import Any

import torch
from vllm.v1.sample import rejection_sampler


def _repeated(x: Any, cu_num_tokens: Any, num_tokens: int, replace_from: float = 0, replace_to: float = 0) -> Any:
    """Each request's value for each of its drafted tokens, with one value replaced."""
    counts = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1))
    return x.where(x != replace_from, replace_to).repeat_interleave(counts, output_size=num_tokens)


def mend() -> None:
    """What vLLM calls in each of its processes."""
    rejection_sampler.expand_batch_to_tokens = _repeated
