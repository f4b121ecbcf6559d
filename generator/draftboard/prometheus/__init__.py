"""A real Prometheus: asking one over HTTP, running a private one, and loading it with a past."""

from draftboard.prometheus.client import Client, Series
from draftboard.prometheus.promtool import Promtool
from draftboard.prometheus.server import Server

__all__ = ["Client", "Promtool", "Series", "Server"]
