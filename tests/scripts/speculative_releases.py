"""Read what releases of vLLM know of speculation, and add it to the doctor's data file.

Usage: PYTHONPATH=generator:tests python -m scripts.speculative_releases vllm-0.33.0.tar.gz ...
Source distributions are enough, and wheels where a release has none. Nothing of them is built or run: their source is
parsed. A release must be newer than those in the file; --anew reads all again.
Exit status: 0 success, 2 failure (one line on stderr).
"""

import argparse
import ast
import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from draftboard.doctor.command import READ_HERE
from draftboard.doctor.names import FLAGS

DATA = Path(__file__).parents[2] / "generator/draftboard/doctor/releases.toml"
CONFIGURATIONS = ("vllm/config/speculative.py", "vllm/config/__init__.py", "vllm/config.py")
COMMAND_LINES = ("vllm/engine/arg_utils.py", "vllm/entrypoints/openai/cli_args.py")
WATCHED = {*READ_HERE, *FLAGS, "enable_log_requests"}  # flags that the doctor has something to say about
NAME = re.compile(r"vllm-(\d+(?:\.\d+)+)[-.].*")
HEAD = """\
# What releases of vLLM know of speculation, by the first and the last release read that has it.
# Made by tests/scripts/speculative_releases.py from their sources; do not edit.
"""
Spans = dict[str, list[str]]


class NotReadError(Exception):
    """A file cannot be read as a release of vLLM."""


@dataclass
class Known:
    """What the releases know that were read so far."""

    releases: list[str] = field(default_factory=list)
    keys: Spans = field(default_factory=dict)
    choices: dict[str, Spans] = field(default_factory=dict)  # of keys that hold one of a few words
    flags: Spans = field(default_factory=dict)
    holds: dict[str, str] = field(default_factory=dict)  # of keys, as the newest release that has them says

    def add(self, release: str, keys: dict[str, tuple[str, list[str]]], flags: Iterable[str]) -> None:
        """Add a release that is newer than all others."""
        if self.releases and _numbers(release) <= _numbers(self.releases[-1]):
            raise NotReadError(f"{release} is not newer than {self.releases[-1]}, which was read")
        before = self.releases[-1] if self.releases else ""
        self.releases.append(release)
        _extend(self.keys, keys, before, release)
        _extend(self.flags, flags, before, release)
        for key, (holds, choices) in keys.items():
            self.holds[key] = holds
            _extend(self.choices.setdefault(key, {}), choices, before, release)


def _extend(spans: Spans, names: Iterable[str], before: str, release: str) -> None:
    for name in names:
        span = spans.setdefault(name, [release, before])
        if span[1] not in {before, release}:
            raise NotReadError(f"{release} has {name} again, which {before} had not: the file holds one span of each")
        span[1] = release


def _numbers(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def read(archive: Path) -> tuple[str, dict[str, tuple[str, list[str]]], list[str]]:
    """The release of an archive, its keys with what each holds and its choices, and its watched flags."""
    if not (name := NAME.fullmatch(archive.name)):
        raise NotReadError(f"{archive}: not named as a distribution of vLLM, such as vllm-0.33.0.tar.gz")
    try:
        sources = dict(_members(archive))
    except FileNotFoundError:
        raise NotReadError(f"{archive}: no such file") from None
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError):
        raise NotReadError(f"{archive}: not an archive that can be read") from None
    trees = [ast.parse(sources[path]) for path in CONFIGURATIONS if path in sources]
    keys = next(filter(None, map(keys_of, trees)), {})
    if not keys:
        raise NotReadError(f"{archive}: no class SpeculativeConfig in {', '.join(CONFIGURATIONS)}")
    flags = {flag for path in COMMAND_LINES if path in sources for flag in flags_of(ast.parse(sources[path]))}
    return name[1], keys, sorted(flags & WATCHED)


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    wanted = {*CONFIGURATIONS, *COMMAND_LINES}
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((path, wheel.read(path)) for path in wheel.namelist() if path in wanted)
        return
    with tarfile.open(archive) as distribution:
        for member in distribution:
            path = member.name.partition("/")[2]
            if path in wanted and (content := distribution.extractfile(member)):
                yield path, content.read()


def keys_of(tree: ast.Module) -> dict[str, tuple[str, list[str]]]:
    """The fields of SpeculativeConfig, each with what it holds and with its choices; empty without that class."""
    aliases = {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "SpeculativeConfig"]
    fields = [node for of in classes for node in of.body if isinstance(node, ast.AnnAssign)]
    return {
        node.target.id: (_holds(node), sorted(_choices(node.annotation, aliases)))
        for node in fields
        if isinstance(node.target, ast.Name)
    }


def _choices(node: ast.expr, aliases: dict[str, ast.expr]) -> set[str]:
    """The words of all Literals in an annotation, through the module's own names for them."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in aliases and not isinstance(aliases[part.id], ast.Name):
            found |= _choices(aliases[part.id], aliases)
        elif isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal":
            found |= {c.value for c in ast.walk(part.slice) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return found


def _holds(node: ast.AnnAssign) -> str:
    """What a field may hold, in the doctor's words; "anything" where the annotation alone does not say it."""
    names = {part.id for part in ast.walk(node.annotation) if isinstance(part, ast.Name)}
    plain = names - {"Optional"} if names - {"Optional"} <= {"bool", "int", "float", "str"} else set()
    bounds = {}
    if isinstance(node.value, ast.Call):
        bounds = {word.arg: word.value.value for word in node.value.keywords if isinstance(word.value, ast.Constant)}
    least = 1 if bounds.get("gt") == 0 else bounds.get("ge", 0)
    words = {
        "bool": "true or false",
        "str": "a non-empty string",
        "int": f"a whole number of at least {least}" if least in {0, 1} else "anything",
        "float": "a number of at least 0" if bounds.get("ge") == 0 else "anything",
    }
    return words[plain.pop()] if len(plain) == 1 else "anything"


def flags_of(tree: ast.Module) -> set[str]:
    """Flags of a command line, with underscores: texts that begin so, and fields that become flags."""
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    fields = {
        statement.target.id
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    return {text.removeprefix("--").replace("-", "_") for text in texts if text.startswith("--")} | fields


def written(known: Known) -> str:
    """The data file."""
    lines = [HEAD, "releases = ["]
    lines += [f'    "{release}",' for release in known.releases]
    lines += ["]", "", "[keys]", *_lines(known.keys)]
    for key, spans in known.choices.items():
        if spans:
            lines += ["", f"[choices.{key}]", *_lines(spans)]
    lines += ["", "# Flags of the command line that the doctor has something to say about.", "[flags]"]
    lines += _lines(known.flags)
    lines += ["", "# What a key may hold, by its annotation in the newest release that has it.", "[holds]"]
    lines += [f'{key} = "{holds}"' for key, holds in known.holds.items()]
    return "\n".join(lines) + "\n"


def _lines(spans: Spans) -> list[str]:
    return [f'{name} = ["{first}", "{last}"]' for name, (first, last) in spans.items()]


def main() -> int:
    """Read the archives and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    parser.add_argument("--data", type=Path, default=DATA, help=f"The data file. Default: {DATA}.")
    parser.add_argument("--anew", action="store_true", help="Forget what the file says.")
    given = parser.parse_args()
    known = Known() if given.anew else Known(**tomllib.loads(given.data.read_text()))
    try:
        for release, keys, flags in sorted(map(read, given.archives), key=lambda one: _numbers(one[0])):
            known.add(release, keys, flags)
    except NotReadError as error:
        sys.stderr.write(f"speculative_releases.py: {error}\n")
        return 2
    given.data.write_text(written(known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
