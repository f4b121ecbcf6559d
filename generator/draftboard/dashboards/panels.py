"""Panels of current Grafana on grafanalib's base class: the options and the drawing style of each kind."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import attr
from grafanalib import core

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
LAST_AND_MEAN = ("lastNotNull", "mean")
# grafanalib is untyped, and so are its panels.
Panel: TypeAlias = Any


@attr.s(kw_only=True)
class ModernPanel(core.Panel):  # type: ignore[misc]  # grafanalib is untyped
    """Any modern panel. grafanalib's own panel classes write options that Grafana dropped years ago."""

    type: str = attr.ib()
    options: dict[str, Any] = attr.ib()
    fields: dict[str, Any] = attr.ib()
    overrides: Sequence[dict[str, Any]] = attr.ib(default=())
    size: tuple[int, int] = attr.ib()
    """Width of 24 and height, in grid units."""

    def to_json_data(self) -> dict[str, Any]:
        """The panel as Grafana's JSON, with some of grafanalib's legacy keys."""
        field_config = {"defaults": self.fields, "overrides": self.overrides}
        panel: dict[str, Any] = self.panel_json(
            {"type": self.type, "options": self.options, "fieldConfig": field_config}
        )
        return panel


def query(
    expr: str, ref_id: str, *, legend: str = "", instant: bool = False, form: str = "time_series"
) -> dict[str, Any]:
    """A Prometheus query; grafanalib's Target writes keys of other datasources."""
    return {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": str(expr),
        "format": form,
        "instant": instant,
        "legendFormat": legend,
        "range": not instant,
        "refId": ref_id,
    }


def override(matcher: str, options: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """An override of field properties; `custom.x` is written `custom_x`."""
    return {
        "matcher": {"id": matcher, "options": options},
        "properties": [{"id": key.replace("custom_", "custom."), "value": value} for key, value in properties.items()],
    }


def _legend(mode: str, calcs: Sequence[str] = ()) -> dict[str, Any]:
    return {"calcs": list(calcs), "displayMode": mode, "placement": "bottom", "showLegend": True}


def timeseries_style(*, axis: str, thresholds: bool, stacked: bool) -> dict[str, Any]:
    """`custom` of a time series: thin lines, gaps left open, thresholds dashed."""
    return {
        "axisLabel": axis,
        "drawStyle": "line",
        # Of many lines even a faint fill adds up, and hides the grid, the thresholds and each other.
        "fillOpacity": 40 if stacked else 0,
        "insertNulls": False,
        "lineInterpolation": "linear",
        "lineWidth": 1,
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if thresholds else "off"},
    }


def timeseries_options(calcs: Sequence[str]) -> dict[str, Any]:
    """Legend as a table with calculated values, one tooltip for all series."""
    return {"legend": _legend("table", calcs), "tooltip": {"mode": "multi", "sort": "desc"}}


def barchart_style(axis: str) -> dict[str, Any]:
    """`custom` of a bar chart."""
    return {"axisLabel": axis, "fillOpacity": 80, "lineWidth": 1}


BARCHART = {
    "barWidth": 0.9,
    "fullHighlight": False,
    "groupWidth": 0.8,
    "legend": _legend("list"),
    "orientation": "vertical",
    "showValue": "auto",
    "stacking": "none",
    "tooltip": {"mode": "multi", "sort": "none"},
    "xTickLabelRotation": 0,
}
TABLE = {"cellHeight": "sm", "showHeader": True}
STATE_TIMELINE = {
    "alignValue": "left",
    "legend": _legend("list"),
    "mergeValues": True,
    "rowHeight": 0.8,
    "showValue": "auto",
    "tooltip": {"mode": "single", "sort": "none"},
}
STATE_TIMELINE_STYLE = {"fillOpacity": 80, "insertNulls": False, "lineWidth": 0, "spanNulls": False}
STAT = {
    "colorMode": "value",
    "graphMode": "none",
    "justifyMode": "auto",
    "orientation": "auto",
    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    "textMode": "value_and_name",
}
# Of each frame the first number goes across, the others up.
SCATTER = {"legend": _legend("list"), "mapping": "auto", "series": [], "tooltip": {"mode": "single", "sort": "none"}}
SCATTER_STYLE = {
    "fillOpacity": 40,
    "pointShape": "circle",
    "pointSize": {"fixed": 5},
    "pointStrokeWidth": 1,
    "show": "points",
}
HEATMAP_STYLE = {"scaleDistribution": {"type": "linear"}}


def heatmap_options(unit: str) -> dict[str, Any]:
    """Buckets as they are; colour is the square root of the samples, which keeps a thin tail visible."""
    return {
        "calculate": False,
        "cellGap": 1,
        "color": {
            "exponent": 0.5,
            "fill": "dark-orange",
            "mode": "opacity",
            "reverse": False,
            "scale": "exponential",
            "scheme": "Oranges",
            "steps": 64,
        },
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "showColorScale": True, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": unit},
    }
