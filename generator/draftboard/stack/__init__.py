"""The configuration of the monitoring itself, from the same settings as the rules: Jinja2 templates, filled in."""

from draftboard.stack.files import render

__all__ = ["render"]
