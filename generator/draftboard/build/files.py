"""Every generated file as text, by its path below the output folder."""

import json
import re
import textwrap
from pathlib import PurePosixPath
from typing import Any

from draftboard.alerts import ALERTS, runbooks
from draftboard.build import stack
from draftboard.build.inhibition import OURS
from draftboard.dashboards import DASHBOARDS
from draftboard.rules import WHY_LONG_GROUPS, alerting_groups, recording_groups, to_yaml
from draftboard.settings import Settings
from draftboard.signals import Edition

RECORDING = "alerts/recording.rules.yaml"
ALERTING = "alerts/alerting.rules.yaml"
RUNBOOKS = "alerts/runbooks"
_MADE_BY = "Made by `draftboard build`: edit the generator or your settings, not this file."


def render(settings: Settings) -> dict[str, str]:
    """All files: the same settings give the same bytes."""
    files = {
        RECORDING: _commented(f"{_MADE_BY}\n{WHY_LONG_GROUPS}") + to_yaml(recording_groups(settings)),
        ALERTING: _commented(f"{_MADE_BY}\n") + to_yaml(alerting_groups(settings)),
        **{f"{RUNBOOKS}/{name}.md": text for name, text in runbooks(ALERTS, settings).items()},
    }
    for build in DASHBOARDS:
        for edition, folder in ((Edition.RECORDS, "dashboards"), (Edition.RAW, "dashboards/standalone")):
            dashboard = build(settings, edition)
            files[f"{folder}/{dashboard.uid}.json"] = _json(dashboard.document)
    return files | stack.render(settings, _MADE_BY)


def is_generated(path: PurePosixPath) -> bool:
    """Whether a path below the output folder is of the kind that we write, so that a stray one is left over."""
    folder, name = str(path.parent), path.name
    match folder:
        case "alerts":
            return name.endswith(".rules.yaml")
        case "alerts/runbooks":
            return re.fullmatch(rf"{OURS}\.md", name) is not None
        case "dashboards" | "dashboards/standalone":
            return name.startswith("draftboard-") and name.endswith(".json")
        case _:
            return False


def _commented(text: str) -> str:
    return textwrap.indent(text, "# ")


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
