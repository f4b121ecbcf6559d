"""The user's settings: `Settings()` holds the defaults, `load` reads a TOML file over them."""

from draftboard.settings.model import Labels, Settings, load

__all__ = ["Labels", "Settings", "load"]
