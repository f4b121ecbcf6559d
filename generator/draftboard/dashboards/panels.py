"""Panels of current Grafana on grafanalib's base class, and their queries."""

from collections.abc import Sequence
from importlib import resources
from typing import Any, TypeAlias

import attr
import yaml
from grafanalib import core

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
GRAFANA: dict[str, Any] = yaml.safe_load((resources.files("draftboard.dashboards") / "grafana.yaml").read_text())
"""Grafana's options that are the same on every dashboard."""
_LETTERS_A_LINE = 150  # Of text across a screen of 1366 pixels.
# grafanalib is untyped, and so are its panels.
Panel: TypeAlias = Any


@attr.s(kw_only=True)
class ModernPanel(core.Panel):  # type: ignore[misc]  # grafanalib is untyped
    """Any modern panel. grafanalib's own panel classes write options that Grafana dropped years ago."""

    type: str = attr.ib()
    options: dict[str, Any] = attr.ib()
    fields: dict[str, Any] = attr.ib()
    overrides: Sequence[dict[str, Any]] = attr.ib(default=())
    size: tuple[int, int] = attr.ib()  # Width of 24 and height, in grid units.

    def to_json_data(self) -> dict[str, Any]:
        """The panel as Grafana's JSON, with some of grafanalib's legacy keys."""
        field_config = {"defaults": self.fields, "overrides": self.overrides}
        panel: dict[str, Any] = self.panel_json({"type": self.type, "options": self.options})
        return panel | {"fieldConfig": field_config}


def note(text: str, width: int) -> Panel:
    """A paragraph of Markdown as wide as the page, in full on a small screen."""
    own = GRAFANA["text"] | {"options": GRAFANA["text"]["options"] | {"content": text}}
    lines = -(-len(text) // _LETTERS_A_LINE)
    return ModernPanel(type="text", fields={}, size=(width, max(2, lines)), **own)


def query(
    expr: str, ref_id: str = "A", *, legend: str = "", instant: bool = False, form: str = "time_series"
) -> dict[str, Any]:
    """A Prometheus query; grafanalib's Target writes keys of other datasources."""
    shown = {"format": form, "legendFormat": legend, "instant": instant, "range": not instant}
    return {"datasource": DATASOURCE, "editorMode": "code", "expr": str(expr), "refId": ref_id, **shown}


def override(matcher: str, options: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """An override of field properties; `custom.x` is written `custom_x`."""
    return {
        "matcher": {"id": matcher, "options": options},
        "properties": [{"id": key.replace("custom_", "custom."), "value": value} for key, value in properties.items()],
    }
