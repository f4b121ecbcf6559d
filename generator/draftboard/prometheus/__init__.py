"""Prometheus: its HTTP API, private processes, and loading a recording."""

from draftboard.prometheus.client import Client, LoadedRule, Series, Target
from draftboard.prometheus.process import Program, Promtool, Server, start_alertmanager, stop
