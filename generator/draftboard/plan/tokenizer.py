"""Vocabulary of a model: the token of each id, read from its tokenizer.json."""

import json
from pathlib import Path

from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes

_LARGEST = 128_000_000  # bytes: several times the largest published tokenizer.json


def read_vocabulary(path: Path) -> dict[str, int]:
    """Token to id of a Hugging Face tokenizer.json, added tokens included. Merges and normalisers are not read."""
    text = saved_bytes(path, "tokenizer", _LARGEST, pipes=True)
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
