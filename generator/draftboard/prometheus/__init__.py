"""Real servers: asking a Prometheus over HTTP, running private ones, and loading them with a past."""

from draftboard.prometheus.client import Client, LoadedRule, Series, Target
from draftboard.prometheus.process import Program, Promtool, Server, start_alertmanager, stop
