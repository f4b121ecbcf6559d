"""A plan: pairs of blocks, in each of which chance decides which arm comes first."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from draftboard import output
from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes, whole
from draftboard.output import Described

MOST_PAIRS = 500
_Text = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00-\x1f\x7f]+$")]
_Seconds = Annotated[float, Field(gt=0, le=7 * 86_400)]


@dataclass(frozen=True)
class Arm(Described):
    """A way to serve."""

    name: _Text
    command: _Text
    """Switches the whole fleet to it: a restart with another K, or another route. It is printed, never run."""


class Block(NamedTuple):
    """A stretch of time with one arm."""

    pair: int
    arm: int
    start: float
    """When the arm begins, in Unix seconds."""
    counted: float
    """From when it counts: the washout is over."""
    end: float


@dataclass(frozen=True, kw_only=True)
class Experiment(Described):
    """The plan, as it is saved."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    schema_version: Literal[1] = 1
    arms: tuple[Arm, Arm]
    """The baseline, and what is tried against it."""
    start: Annotated[float, Field(ge=0, le=4e9)]
    """Of the first block, in Unix seconds."""
    block: _Seconds
    """Length of a block, in seconds."""
    washout: Annotated[float, Field(ge=0)]
    """Seconds at the begin of each block that do not count: requests of the other arm end, and caches fill."""
    first: Annotated[tuple[Annotated[int, Field(ge=0, le=1)], ...], Field(min_length=1, max_length=MOST_PAIRS)]
    """Of each pair of blocks the arm that comes first, 0 or 1, drawn at random."""

    def blocks(self) -> Iterator[Block]:
        """All of them in time."""
        for number in range(2 * len(self.first)):
            pair, second = divmod(number, 2)
            start = self.start + number * self.block
            yield Block(pair, self.first[pair] ^ second, start, start + self.washout, start + self.block)


def plan(arms: tuple[Arm, Arm], *, start: float, block: float, washout: float, pairs: int) -> Experiment:
    """Draw the order; DraftboardError where a block ends before its washout does, or arms have one name."""
    if arms[0].name == arms[1].name:
        raise DraftboardError(f"both arms are named {arms[0].name!r}: give each its own name")
    if washout >= block:
        raise DraftboardError("nothing of a block counts: give a --washout shorter than --block")
    drawn = random.SystemRandom()
    first = tuple(drawn.randint(0, 1) for _ in range(pairs))
    return Experiment(arms=arms, start=start, block=block, washout=washout, first=first)


def save(experiment: Experiment, path: Path) -> None:
    """Write the plan, atomically."""
    with whole(path, "plan") as staged:
        staged.write_text(output.as_json(experiment) + "\n", encoding="utf-8")


def load(path: Path) -> Experiment:
    """A saved plan; DraftboardError where it is none."""
    try:
        return TypeAdapter(Experiment).validate_json(saved_bytes(path, "plan"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise DraftboardError(f"{path}: not a plan of `draftboard experiment plan`: {where}: {first['msg']}") from None
