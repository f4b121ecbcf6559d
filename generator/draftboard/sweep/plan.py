"""What a sweep sends. The text of prompts goes to the server and nowhere else."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from draftboard.access import Access
from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes

_MOST_BYTES, _MOST = 16_000_000, {"prompts": 10_000, "tags": 50}


@dataclass(frozen=True)
class Prompt:
    """A text to complete."""

    text: Annotated[str, Field(alias="prompt", min_length=1)] = field(repr=False)
    tag: Annotated[str, Field(max_length=60, pattern=r"^[^\p{C}\p{Zl}\p{Zp}]*$")] = ""
    """The kind of request that it represents."""


_PROMPT = TypeAdapter(Prompt)


@dataclass(frozen=True)
class Prompts:
    """The prompts of a sweep, sent in turn."""

    all: tuple[Prompt, ...]
    source: str


def read_prompts(path: Path) -> Prompts:
    """Prompts of a file: plain text, one a line, or JSON lines of `prompt` and `tag`; errors do not quote them."""
    content = saved_bytes(path, "prompts file", _MOST_BYTES, pipes=True)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DraftboardError(f"{path}: the prompts are not UTF-8 text") from None
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise DraftboardError(f"{path}: contains no prompt: write one per line")
    in_json = text.lstrip().startswith("{")
    prompts = [_from_json(line, f"{path}: line {n}") if in_json else Prompt(line.strip("\r")) for n, line in lines]
    for what, count in {"prompts": len(prompts), "tags": len({prompt.tag for prompt in prompts})}.items():
        if count > _MOST[what]:
            raise DraftboardError(f"{path}: {count:,} {what}, at most {_MOST[what]:,} allowed")
    return Prompts(tuple(prompts), str(path))


def _from_json(line: str, where: str) -> Prompt:
    try:
        return _PROMPT.validate_json(line)
    except ValidationError as error:
        tag = "tag" in error.errors(include_url=False, include_input=False)[0]["loc"]
    # Outside the handler: its error holds the line.
    if tag:
        raise DraftboardError(f"{where}: the tag must be at most 60 printable characters")
    raise DraftboardError(f'{where} is not JSON of the form {{"prompt": "...", "tag": "..."}}')


BUILT_IN = replace(read_prompts(Path(__file__).with_name("prompts.jsonl")), source="built-in prompts")
"""For a first look: from repetitive text, which drafts well, to free text. No substitute for production prompts."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The server and the load, `requests` at each temperature."""

    server: str
    """`host:port` or a base address."""
    model: str = ""
    """As the server names it; empty: the name on its page of metrics."""
    temperatures: tuple[float, ...] = (0.0, 0.4, 0.8, 1.0)
    requests: int = 20
    prompts: Prompts = BUILT_IN
    concurrency: int = 4
    max_tokens: int = 200
    warm_up: int = 2
    """Requests before each temperature, excluded from results: they compile, and fill caches."""
    production_temperature: float | None = None
    """The one that the verdict refers to."""
    method: str = ""
    timeout: float = 120.0
    """Seconds per request."""
    access: Access = field(default_factory=Access)

    def prompts_of(self, requests: int) -> Iterator[Prompt]:
        """The first `requests` prompts, repeated as needed: the same ones at each temperature."""
        return islice(cycle(self.prompts.all), requests)
