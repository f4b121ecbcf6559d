"""What is asked: prompts from a file, or a few of our own. Their text goes to the server and nowhere else."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from draftboard.errors import DraftboardError

_MOST_BYTES = 16_000_000
_MOST_PROMPTS = 10_000
_MOST_TAGS = 50
_LONGEST_TAG = 60


@dataclass(frozen=True)
class Prompt:
    """A text to complete."""

    text: str = field(repr=False)
    tag: str = ""
    """What kind of request it stands for; empty where nobody says."""


@dataclass(frozen=True)
class Prompts:
    """What a sweep asks, in turn."""

    all: tuple[Prompt, ...]
    source: str
    """Where they are from, fit to be shown."""


def read_prompts(path: Path) -> Prompts:
    """Prompts of a file: plain text, one a line, or JSON lines `{"prompt": ..., "tag": ...}`, if the first begins so.

    Empty lines and other keys are left out.

    Raises:
        DraftboardError: the file cannot be read, is too large, or a line is no prompt; lines are not quoted.
    """
    lines = [(number, line) for number, line in enumerate(_text(path).split("\n"), 1) if line.strip()]
    if not lines:
        raise DraftboardError(f"{path}: holds no prompt: write one a line")
    if len(lines) > _MOST_PROMPTS:
        raise DraftboardError(f"{path}: {len(lines):,} prompts: at most {_MOST_PROMPTS:,} can be taken")
    if not lines[0][1].lstrip().startswith("{"):
        prompts = [Prompt(line.strip("\r")) for _, line in lines]
    else:
        prompts = [_from_json(line, f"{path}: line {number}") for number, line in lines]
    tags = {prompt.tag for prompt in prompts}
    if len(tags) > _MOST_TAGS:
        raise DraftboardError(f"{path}: {len(tags):,} tags: at most {_MOST_TAGS} groups can be told apart")
    return Prompts(tuple(prompts), str(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DraftboardError(f"{path}: cannot read the prompts: {error.strerror or error}") from None
    if len(content) > _MOST_BYTES:
        raise DraftboardError(f"{path}: larger than {_MOST_BYTES / 1e6:g} MB: a sweep takes fewer prompts")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DraftboardError(f"{path}: the prompts are not UTF-8 text") from None


def _from_json(line: str, where: str) -> Prompt:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    text, tag = (found.get("prompt"), found.get("tag", "")) if isinstance(found, dict) else (None, "")
    if not isinstance(text, str) or not text or not _encodes(text):
        raise DraftboardError(f'{where} is no JSON of the form {{"prompt": "...", "tag": "..."}}')
    if not isinstance(tag, str) or len(tag) > _LONGEST_TAG or not tag.isprintable():
        raise DraftboardError(f"{where}: the tag must be a text of at most {_LONGEST_TAG} printable characters")
    return Prompt(text, tag)


def _encodes(text: str) -> bool:
    """JSON can spell half a character, which no request can carry."""
    return all(not "\ud800" <= character <= "\udfff" for character in text)


_TURNS = "User: My parcel has not arrived.\nAgent: I am sorry to hear that. May I have your order number?\n"
_REPORT = (
    "The pump was serviced in March. The pump ran without a fault until June. In June the pump lost pressure twice, "
    "and the seal of the pump was replaced. Since the seal was replaced the pump has run without a fault."
)
BUILT_IN = Prompts(
    (
        Prompt("def is_prime(n: int) -> bool:\n    '''Whether n is a prime number.'''\n", "code"),
        Prompt("class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n", "code"),
        Prompt(f"{_REPORT}\n\nThe same in one sentence: ", "summary"),
        Prompt(f"Correct the spelling and repeat the text otherwise unchanged.\n\n{_REPORT}\n\n", "editing"),
        Prompt('{"name": "Ada", "born": 1815}\n{"name": "Alan", "born": 1912}\n{"name": "Grace", "born": ', "data"),
        Prompt(f"{_TURNS}User: It is 4711.\nAgent:", "chat"),
        Prompt("Explain step by step why the sky is blue in the day and red in the evening.\n", "explanation"),
        Prompt("A lighthouse keeper writes to her sister about the strangest night of the winter.\n\nDear ", "story"),
    ),
    "built-in prompts",
)
"""For a first look: from what drafts well, repetition, to what drafts badly. Nothing replaces your own traffic."""
