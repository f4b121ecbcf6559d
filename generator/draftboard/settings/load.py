"""Reading a settings file: TOML that overlays the defaults."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from draftboard.errors import DraftboardError
from draftboard.settings.model import Settings

MAX_BYTES = 1_000_000
_SHOWN = 60


def load(path: Path | None) -> Settings:
    """Read the settings in `path` over the defaults; without a path, the defaults.

    Raises:
        DraftboardError: the file cannot be read, is not TOML, or holds something that is not allowed.
    """
    if path is None:
        return Settings()
    document = _read(path)
    try:
        return Settings.model_validate(_overlaid(Settings().model_dump(mode="json", by_alias=True), document))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {_first_mistake(error)}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or error
        raise DraftboardError(f"{path}: cannot read the settings: {reason}; name an existing TOML file") from None
    if len(text) > MAX_BYTES:
        raise DraftboardError(f"{path}: larger than {MAX_BYTES} bytes; this is no settings file")
    try:
        return tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise DraftboardError(f"{path}: not valid TOML: {_one_line(error)}") from None


def _overlaid(defaults: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The document over the defaults, table by table: naming one key of a table keeps its other defaults."""
    merged = defaults | document
    for key, default in defaults.items():
        if isinstance(default, dict) and isinstance(merged[key], dict):
            merged[key] = _overlaid(default, merged[key])
    return merged


def _first_mistake(error: ValidationError) -> str:
    """One line for the first of pydantic's errors, and how many more there are."""
    mistakes = error.errors(include_url=False)
    first = mistakes[0]
    key = ".".join(str(part) for part in first["loc"]) or "settings"
    match first["type"]:
        case "extra_forbidden":
            text = f"unknown key {key!r}; known here: {_known_keys(first['loc'])}"
        case "value_error":
            reason = str(first["ctx"]["error"])
            text = f"{key}: {reason}" if isinstance(first["input"], dict) else f"{key} = {_shown(first)} {reason}"
        case "model_type" | "dict_type":
            text = f"{key} = {_shown(first)} is not allowed: must be a table of settings"
        case "tuple_type":
            text = f"{key} = {_shown(first)} is not allowed: must be a list in brackets"
        case _:
            text = f"{key} = {_shown(first)} is not allowed: {first['msg'][0].lower()}{first['msg'][1:]}"
    more = len(mistakes) - 1
    return _one_line(text) + (f" (and {more} more)" if more else "")


def _shown(mistake: Any) -> str:  # noqa: ANN401  (pydantic's input is whatever the file held)
    text = repr(mistake["input"])
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _known_keys(location: tuple[int | str, ...]) -> str:
    """The keys allowed where the unknown one stood."""
    model: Any = Settings
    for part in location[:-1]:
        model = model.model_fields[part].annotation
    return ", ".join(field.alias or name for name, field in model.model_fields.items())


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
