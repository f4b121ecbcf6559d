"""Users' files: read within a size limit, written atomically; a mistake in a document becomes one line."""

import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from draftboard.errors import DraftboardError

STDIN = Path("-")
"""What a user types for standard input."""
_SHOWN = 60


class Table(BaseModel):
    """Frozen and strict: an unknown key or a wrong type is an error. Docstrings of fields are their descriptions."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, use_attribute_docstrings=True
    )


def is_pipe(path: Path) -> bool:
    """Whether standard input is named, as `-`, or a pipe that a shell made: `<(curl ...)`. Both have a writer."""
    return path == STDIN or str(path).startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd/"))


def saved_bytes(path: Path, what: str, most: int = 1_000_000, *, pipes: bool = False) -> bytes:
    """The content of a file of at most `most` bytes, else DraftboardError; of a regular file unless `pipes` is set."""
    try:
        # A pipe without a writer would block for ever.
        if not pipes and path.exists() and not path.is_file():
            raise DraftboardError(f"{path}: cannot read the {what}: not a regular file")
        with (Path("/dev/stdin") if pipes and path == STDIN else path).open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise DraftboardError(f"{path}: cannot read the {what}: {error.strerror or error}") from None
    if len(content) > most:
        raise DraftboardError(f"{path}: exceeds {most / 1e6:g} MB; not a {what}")
    return content


def require_new(target: Path, *, force: bool) -> None:
    """Raise DraftboardError where a file exists, unless `force` is set, or its folder does not exist."""
    require_folder(target)
    if target.exists() and not force:
        raise DraftboardError(f"{target}: exists: choose another path, or replace it with --force")


def require_folder(target: Path) -> None:
    """Raise DraftboardError where the folder of a file does not exist."""
    if not target.parent.is_dir():
        raise DraftboardError(f"{target}: {target.parent} is not a folder: create it, or choose another path")


@contextmanager
def whole(target: Path, what: str) -> Iterator[Path]:
    """Yield a path to write to, then move the file to `target` atomically. An error leaves `target` unchanged."""
    if target.exists() and not target.is_file():
        raise DraftboardError(f"{target}: cannot write the {what}: not a regular file; choose another path")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            staged = Path(folder) / target.name
            yield staged
            staged.replace(target)
    except OSError as error:
        reason = error.strerror or error
        raise DraftboardError(f"{target}: cannot write the {what}: {reason}; choose another path") from None


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The file as TOML; DraftboardError where it cannot be read, is too large, or is not TOML."""
    try:
        return tomllib.loads(saved_bytes(path, f"{what} file", pipes=True).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DraftboardError(f"{path}: not valid TOML: it is not UTF-8 text: save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DraftboardError(f"{path}: not valid TOML: {_one_line(error)}") from None


def first_mistake(error: ValidationError, model: type[BaseModel], what: str) -> str:
    """One line for the first of pydantic's errors in a document of `model`, and the number of further errors."""
    first, *more = error.errors(include_url=False)
    key, text = ".".join(str(part) for part in first["loc"]) or what, repr(first["input"])
    given = f"{key} = {text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}"
    match first["type"]:
        case "extra_forbidden":
            line = f"unknown key {key!r}; known here: {_known_keys(model, first['loc'])}"
        case "literal_error" if first["loc"][-1] == "[key]":
            known = first["ctx"]["expected"].replace("'", "")
            line = f"unknown key {key.removesuffix('.[key]')!r}; known here: {known}"
        case "missing":
            line = f"{key} is missing and has no default"
        case "value_error":
            reason = str(first["ctx"]["error"])
            line = f"{key}: {reason}" if isinstance(first["input"], dict) else f"{given} {reason}"
        case "model_type" | "dict_type":
            line = f"{given} is not allowed: must be a table of {what}"
        case "tuple_type":
            line = f"{given} is not allowed: must be a list in brackets"
        case _:
            line = f"{given} is not allowed: {first['msg'][0].lower()}{first['msg'][1:]}"
    return _one_line(line) + (f" (and {len(more)} more)" if more else "")


def _known_keys(model: Any, location: tuple[int | str, ...]) -> str:  # noqa: ANN401  (a model or a list of them)
    for part in location[:-1]:
        if part in model.model_fields:  # else an index of a list, or a key of a table of tables
            model = model.model_fields[part].annotation
            model = next((inner for inner in get_args(model) if hasattr(inner, "model_fields")), model)
    return ", ".join(field.alias or name for name, field in model.model_fields.items())


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
