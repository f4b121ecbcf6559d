"""The configuration of the monitoring itself, from the same settings as the rules: Jinja2 templates, filled in."""

from draftboard.stack.files import ALERTMANAGER, MESSAGES, PROMETHEUS, render

__all__ = ["ALERTMANAGER", "MESSAGES", "PROMETHEUS", "render"]
