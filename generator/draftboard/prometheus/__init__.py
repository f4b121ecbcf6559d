"""A real Prometheus: asking one over HTTP, running a private one, and loading it with a past."""

from draftboard.prometheus.client import Client, LoadedRule, Series, Target
from draftboard.prometheus.promtool import Promtool
from draftboard.prometheus.server import Server

__all__ = ["Client", "LoadedRule", "Promtool", "Series", "Server", "Target"]
