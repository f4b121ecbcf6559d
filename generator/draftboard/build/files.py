"""Every generated file as text, by its path below the output folder."""

import json
import textwrap
from collections.abc import Callable
from functools import partial

from draftboard.alerts import ALERTS, runbook
from draftboard.build import stack
from draftboard.dashboards import DASHBOARDS, Dashboard, uid
from draftboard.rules import alerting_groups, recording_groups, to_yaml
from draftboard.settings import Settings
from draftboard.signals import Edition

RECORDING = "alerts/recording.rules.yaml"
ALERTING = "alerts/alerting.rules.yaml"
_FOLDERS = {Edition.RECORDS: "dashboards", Edition.RAW: "dashboards/standalone"}
RUNBOOKS = "alerts/runbooks"
PATTERNS = (
    "alerts/*.rules.yaml",
    *(f"{RUNBOOKS}/{prefix}*.md" for prefix in ("SpecDecode", "VLLM", "Draftboard")),
    *(f"{folder}/draftboard-*.json" for folder in _FOLDERS.values()),
)
"""Paths in folders that hold generated files only: what matches and is not built any more is left over."""
_WHY_LONG_GROUPS = """\
A group is a family of signals that are made of each other, because the order is the point: a record that reads another
must be evaluated after it and at the same time, which only rules of one group are. So two groups have more than the
usual twenty rules.
"""
_MADE_BY = "Made by `draftboard build`: edit the generator or your settings, not this file."


def render(settings: Settings) -> dict[str, str]:
    """All files: the same settings give the same bytes."""
    return {path: text() for path, text in artifacts(settings).items()}


def artifacts(settings: Settings) -> dict[str, Callable[[], str]]:
    """All files by path, each as the function that makes its text."""
    return {
        RECORDING: lambda: _commented(_MADE_BY, _WHY_LONG_GROUPS) + to_yaml(recording_groups(settings)),
        ALERTING: lambda: _commented(_MADE_BY) + to_yaml(alerting_groups(settings)),
        **{f"{RUNBOOKS}/{alert.name}.md": partial(runbook, alert, settings) for alert in ALERTS},
        **{
            f"{folder}/{uid(build.__name__, edition)}.json": partial(_dashboard, build, settings, edition)
            for build in DASHBOARDS
            for edition, folder in _FOLDERS.items()
        },
        **{path: partial(stack.text, path, settings, _MADE_BY) for path in stack.TEMPLATES},
    }


def _dashboard(build: Callable[..., Dashboard], settings: Settings, edition: Edition) -> str:
    document = build(settings, edition).document
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _commented(*texts: str) -> str:
    return "".join(textwrap.indent(f"{text.rstrip()}\n", "# ") for text in texts)
