"""The user's settings: `Settings()` holds the defaults, `load` reads a TOML file over them."""

from draftboard.settings.labels import Labels
from draftboard.settings.methods import known_methods, method_of, spelled
from draftboard.settings.model import SEVERITIES, Overlay, Settings, Severity, load
