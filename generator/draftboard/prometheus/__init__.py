"""Real servers: asking a Prometheus over HTTP, running private ones, and loading them with a past."""

from draftboard.prometheus.client import Client, LoadedRule, Series, Target
from draftboard.prometheus.process import Program, Promtool, stop
from draftboard.prometheus.server import Alertmanager, Server

__all__ = [
    "Alertmanager",
    "Client",
    "LoadedRule",
    "Program",
    "Promtool",
    "Series",
    "Server",
    "Target",
    "stop",
]
