"""Whether two models write the same tokens: their vocabularies, compared entry by entry rather than by size."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftboard.errors import DraftboardError

MAX_BYTES = 128_000_000
"""Several times the largest tokenizer.json that is published."""


@dataclass(frozen=True)
class Vocabulary:
    """Which token each id stands for, in short."""

    size: int
    sha256: str
    """Of all pairs of token and id, added tokens too: equal exactly when the same ids mean the same tokens."""


def read_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary of a Hugging Face tokenizer.json. Merges and normalisers are not compared.

    Raises:
        DraftboardError: it cannot be read, is too large, or is no such file.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DraftboardError(
            f"{path}: cannot read the tokenizer: {error.strerror or error}; name a tokenizer.json"
        ) from None
    if len(text) > MAX_BYTES:
        raise DraftboardError(f"{path}: larger than {MAX_BYTES} bytes; this is no tokenizer.json")
    try:
        tokens = _tokens(json.loads(text))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError):
        raise DraftboardError(f"{path}: no vocabulary at model.vocab; name a Hugging Face tokenizer.json") from None
    canonical = json.dumps(sorted(tokens.items()), ensure_ascii=True)
    return Vocabulary(len(tokens), hashlib.sha256(canonical.encode()).hexdigest())


def _tokens(document: Any) -> dict[str, int]:  # noqa: ANN401  (whatever the file held)
    """Token to id: BPE and WordPiece keep a table, Unigram a list of token and score whose index is the id."""
    vocab = document["model"]["vocab"]
    listed = vocab.items() if isinstance(vocab, dict) else ((entry[0], index) for index, entry in enumerate(vocab))
    added = ((entry["content"], entry["id"]) for entry in document.get("added_tokens") or ())
    tokens = {str(token): int(number) for token, number in (*listed, *added)}
    if not tokens:
        raise ValueError("empty")
    return tokens
