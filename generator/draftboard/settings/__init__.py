"""What a user may want otherwise: `Settings()` holds the defaults, `load` reads a TOML file over them."""

from draftboard.settings.load import load
from draftboard.settings.model import Labels, Settings

__all__ = ["Labels", "Settings", "load"]
