"""TOML files of users: read with a size limit, each mistake reported in one line."""

import tomllib
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from draftboard.errors import DraftboardError

MAX_BYTES = 1_000_000
_SHOWN = 60


class Table(BaseModel):
    """Frozen and strict: an unknown key or a wrong type is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The file as TOML; `what` names its content in errors.

    Raises:
        DraftboardError: the file cannot be read, is too large, or is not TOML.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or error
        raise DraftboardError(f"{path}: cannot read the {what}: {reason}; name an existing TOML file") from None
    if len(text) > MAX_BYTES:
        raise DraftboardError(f"{path}: larger than {MAX_BYTES} bytes; not a {what} file")
    try:
        return tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise DraftboardError(f"{path}: not valid TOML: {_one_line(error)}") from None


def first_mistake(error: ValidationError, model: type[BaseModel], what: str) -> str:
    """One line for the first of pydantic's errors in a document of `model`, and the number of further errors."""
    mistakes = error.errors(include_url=False)
    first = mistakes[0]
    key = ".".join(str(part) for part in first["loc"]) or what
    match first["type"]:
        case "extra_forbidden":
            text = f"unknown key {key!r}; known here: {_known_keys(model, first['loc'])}"
        case "missing":
            text = f"{key} is missing: it has no default"
        case "value_error":
            reason = str(first["ctx"]["error"])
            text = f"{key}: {reason}" if isinstance(first["input"], dict) else f"{key} = {_shown(first)} {reason}"
        case "model_type" | "dict_type":
            text = f"{key} = {_shown(first)} is not allowed: must be a table of {what}"
        case "tuple_type":
            text = f"{key} = {_shown(first)} is not allowed: must be a list in brackets"
        case _:
            text = f"{key} = {_shown(first)} is not allowed: {first['msg'][0].lower()}{first['msg'][1:]}"
    more = len(mistakes) - 1
    return _one_line(text) + (f" (and {more} more)" if more else "")


def _shown(mistake: Any) -> str:  # noqa: ANN401  (any TOML value)
    text = repr(mistake["input"])
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _known_keys(model: Any, location: tuple[int | str, ...]) -> str:  # noqa: ANN401  (a model or a list of them)
    """The keys allowed in the table of the unknown key."""
    for part in location[:-1]:
        if part in model.model_fields:  # else an index of a list, or a key of a table of tables
            model = model.model_fields[part].annotation
            model = next((inner for inner in get_args(model) if hasattr(inner, "model_fields")), model)
    return ", ".join(field.alias or name for name, field in model.model_fields.items())


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
