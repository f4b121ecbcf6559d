"""vLLM's releases: the keys, methods and flags of each, by `releases.toml`, which a script makes of their sources."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from pydantic_core import from_json

from draftboard import catalogue, reading
from draftboard.access import Access
from draftboard.catalogue import Metric
from draftboard.doctor.finding import shown
from draftboard.errors import DraftboardError
from draftboard.output import shortened
from draftboard.reading import fetch

_DATA = tomllib.loads((files("draftboard.doctor") / "releases.toml").read_text())
RELEASES: tuple[str, ...] = tuple(_DATA["releases"])
OLDEST, NEWEST = RELEASES[0], RELEASES[-1]
HOLDS: Mapping[str, str] = _DATA["holds"]
"""What each key may hold."""
# At most four numbers, then whatever a build adds. A build without tags calls itself 0.1.dev, whatever it is.
_VERSION = re.compile(r"v?(?!0\.1\.dev)([0-9]{1,4}(?:\.[0-9]{1,4}){1,3})(?![0-9])[\w.+-]{0,60}", re.ASCII)
# As in `vllm/vllm-openai:v0.32.0@sha256:...`, and in the default of a variable of Compose.
_IMAGE = re.compile(r"(?:^|[/:-])vllm[\w.-]*:([\w.+-]+)", re.ASCII)
_EVERY_PATCH = 10_000


@cache
def _numbers(release: str) -> tuple[int, ...]:
    numbers = tuple(int(number) for number in release.split("."))
    return numbers if len(numbers) > 2 else (*numbers, _EVERY_PATCH)  # noqa: PLR2004  (0.33 is the newest 0.33)


@dataclass(frozen=True)
class Span:
    """The first and the last release that has something."""

    first: str
    last: str

    def __str__(self) -> str:
        """In words."""
        if self.last == NEWEST:
            return f"vLLM {self.first} or newer"
        return f"vLLM {self.last} or older" if self.first == OLDEST else f"only vLLM {self.first} to {self.last}"


def spans(table: Mapping[str, Sequence[str]]) -> dict[str, Span]:
    """The spans of names."""
    return {name: Span(*span) for name, span in table.items()}


KEYS = spans(_DATA["keys"])
CHOICES = {key: spans(table) for key, table in _DATA["choices"].items()}
"""The words that a key may hold, where only these."""
FLAGS = spans(_DATA["flags"])


@dataclass(frozen=True)
class Release:
    """The release that checks are for; without a version it is unknown, and taken for the newest that was read."""

    version: str = ""  # as the user or the server writes it
    unknown_because: str = ""

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers."""
        match = _VERSION.fullmatch(self.version)
        return _numbers(match[1] if match else NEWEST)

    @cached_property
    def read_as(self) -> str:
        """The release whose source is taken for it: the newest one read that is not newer, or else the oldest."""
        return next((one for one in reversed(RELEASES) if _numbers(one) <= self.numbers), OLDEST)

    @property
    def is_newer(self) -> bool:
        """Whether its line is newer than all that were read: it may have what they lack."""
        return self.numbers[:2] > _numbers(NEWEST)[:2]

    @property
    def is_certain(self) -> bool:
        """Whether the sources that were read tell what it has."""
        return bool(self.version) and not self.is_newer and self.numbers >= _numbers(OLDEST)

    def may_lack(self, metric: Metric) -> bool:
        """Whether it is older than a metric, or newer than its last release; any metric of some releases if unknown."""
        if not self.version:
            return metric.since != catalogue.OLDEST or bool(metric.until)
        return not metric.exists_in(".".join(map(str, self.numbers)))

    def has(self, span: Span) -> bool:
        """Whether it has what the releases of the span have."""
        return _numbers(span.first) <= _numbers(self.read_as) <= _numbers(span.last)

    def among(self, table: Mapping[str, Span]) -> list[str]:
        """The names that it has."""
        return [name for name, span in table.items() if self.has(span)]


UNKNOWN = Release()


def latest(table: Mapping[str, Span]) -> tuple[str, str]:
    """Of these names the one that came last to vLLM, and with which release; without names the oldest release."""
    name = max(table, key=lambda name: _numbers(table[name].first), default="")
    return name, table[name].first if name else OLDEST


def release_of(version: str | None, sources: Sequence[str], access: Access) -> Release:
    """The release that a user names, else the servers among the sources; raises DraftboardError where it is none."""
    if version is None:
        return _reported_by([source for source in sources if not reading.is_saved(source)], access)
    if not _VERSION.fullmatch(version):
        raise DraftboardError(f"--vllm-version: {shown(version)} is not a release: write one such as {NEWEST}")
    return Release(version)


def release_of_image(image: str) -> Release:
    """The release in the tag of an image of vLLM; unknown for other images, and for tags such as `latest`."""
    found = _IMAGE.search(image)
    return Release(found[1]) if found and _VERSION.fullmatch(found[1]) else UNKNOWN


def _reported_by(servers: Sequence[str], access: Access) -> Release:
    """The release that servers tell at /version; unknown where they tell none, or different ones."""
    versions = [*dict.fromkeys(_reported_version(fetch.version(server, access)) for server in servers)]
    if "" in versions:
        return Release(unknown_because="a server names none at /version")
    if len(versions) > 1:
        return Release(unknown_because=f"the servers run {shortened(versions)}")
    return Release(*versions)


def _reported_version(answer: str) -> str:
    try:
        document = from_json(answer)
    except ValueError:
        return ""
    version = document.get("version") if isinstance(document, dict) else None
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else ""
