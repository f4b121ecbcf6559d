"""Reading a settings file: TOML that overlays the defaults."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from draftboard.documents import first_mistake, read_toml
from draftboard.errors import DraftboardError
from draftboard.settings.model import Settings


def load(path: Path | None) -> Settings:
    """Read the settings in `path` over the defaults; without a path, the defaults.

    Raises:
        DraftboardError: the file cannot be read, is not TOML, or holds something that is not allowed.
    """
    if path is None:
        return Settings()
    document = read_toml(path, "settings")
    try:
        return Settings.model_validate(_overlaid(Settings().model_dump(mode="json", by_alias=True), document))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {first_mistake(error, Settings, 'settings')}") from None


def _overlaid(defaults: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The document over the defaults, table by table: naming one key of a table keeps its other defaults."""
    merged = defaults | document
    for key, default in defaults.items():
        if isinstance(default, dict) and isinstance(merged[key], dict):
            merged[key] = _overlaid(default, merged[key])
    return merged
