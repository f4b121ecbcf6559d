"""The user's settings: `Settings()` holds the defaults, `load` reads a TOML file over them."""

from draftboard.settings.model import SEVERITIES, Labels, Overlay, Settings, Severity, load
