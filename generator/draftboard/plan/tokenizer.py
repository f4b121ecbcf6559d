"""Which token each id of a model stands for, read from its tokenizer.json."""

import json
from pathlib import Path

from draftboard.errors import DraftboardError

_LARGEST = 128_000_000
"""Bytes: several times the largest tokenizer.json that is published."""


def read_vocabulary(path: Path) -> dict[str, int]:
    """Token to id of a Hugging Face tokenizer.json, added tokens included. Merges and normalisers are not read.

    Raises:
        DraftboardError: it cannot be read, is too large, or has no vocabulary.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST + 1)
    except OSError as error:
        reason = error.strerror or error
        raise DraftboardError(f"{path}: cannot read the tokenizer: {reason}; name a tokenizer.json") from None
    if len(text) > _LARGEST:
        raise DraftboardError(f"{path}: larger than {_LARGEST} bytes; this is not a tokenizer.json")
    try:
        document = json.loads(text)
        vocab = document["model"]["vocab"]
        # BPE and WordPiece keep a table; Unigram a list of token and score, whose index is the id.
        listed = vocab.items() if isinstance(vocab, dict) else ((entry[0], index) for index, entry in enumerate(vocab))
        added = ((entry["content"], entry["id"]) for entry in document.get("added_tokens") or ())
        tokens = {str(token): int(number) for token, number in (*listed, *added)}
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError):
        tokens = {}
    if not tokens:
        raise DraftboardError(f"{path}: no vocabulary at model.vocab; name a Hugging Face tokenizer.json")
    return tokens
