"""The drafting methods that vLLM 0.32 knows, and what choosing one means."""

from dataclasses import dataclass

_NO_ASYNC = "vLLM switches asynchronous scheduling off for it"


@dataclass(frozen=True)
class Method:
    """One value of `method`."""

    since: str = ""
    """First vLLM release known to have it; empty where it is older than the releases that were read."""
    needs_model: bool = False
    """Whether a drafter must be named."""
    needs_length: bool = False
    """Whether the number of drafted tokens must be written, for there is no drafter whose configuration tells it."""
    says: str = ""
    """What one should know of it."""


METHODS: dict[str, Method] = {
    "ngram": Method(needs_length=True, says=_NO_ASYNC),
    "ngram_gpu": Method(since="0.18.0", needs_length=True),
    "suffix": Method(since="0.11.1", says=f"it needs the package arctic-inference, and {_NO_ASYNC}"),
    "draft_model": Method(
        since="0.15.0",
        needs_model=True,
        says="vLLM compares the sizes of both vocabularies only: equal size is not the same tokenizer",
    ),
    "eagle": Method(needs_model=True),
    "eagle3": Method(needs_model=True),
    "mtp": Method(since="0.11.0"),
    "medusa": Method(needs_model=True, says=_NO_ASYNC),
    "dflash": Method(since="0.20.0", needs_model=True),
    "dspark": Method(since="0.28.0"),
    "custom_class": Method(since="0.22.0", says=_NO_ASYNC),
    "extract_hidden_states": Method(),
}
UNUSABLE = {"mlp_speculator": "vLLM takes the name, but its V1 engine has no such drafter"}
MTP_SUFFIX = "_mtp"
"""Ending of the deprecated names, one a model family, that `mtp` covers."""
