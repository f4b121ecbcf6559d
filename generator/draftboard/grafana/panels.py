"""Panels of current Grafana on grafanalib's base class: each kind as its options and drawing style."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import attr
from grafanalib import core

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


# grafanalib is untyped, and so are its panels.
Panel: TypeAlias = Any
LAST_AND_MEAN = ("lastNotNull", "mean")


@attr.s(kw_only=True)
class _ModernPanel(core.Panel):  # type: ignore[misc]  # grafanalib is untyped
    """Any modern panel. grafanalib's own panel classes write options that Grafana dropped years ago."""

    type: str = attr.ib()
    options: dict[str, Any] = attr.ib()
    fields: dict[str, Any] = attr.ib()
    overrides: list[dict[str, Any]] = attr.ib(factory=list)
    size: tuple[int, int] = attr.ib()
    """Width of 24 and height, in grid units."""

    def to_json_data(self) -> dict[str, Any]:
        """The panel as Grafana's JSON, with some of grafanalib's legacy keys that `finish` takes away."""
        panel: dict[str, Any] = self.panel_json(
            {
                "type": self.type,
                "options": self.options,
                "fieldConfig": {"defaults": self.fields, "overrides": self.overrides},
            },
        )
        return panel


def make(**fields: Any) -> Panel:  # noqa: ANN401  (the fields of an untyped class)
    """A panel with these fields."""
    return _ModernPanel(**fields)


def query(expr: str, ref_id: str, *, legend: str = "", instant: bool = False, table: bool = False) -> dict[str, Any]:
    """A Prometheus query; grafanalib's Target writes keys of other datasources."""
    return {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": str(expr),
        "format": "table" if table else "time_series",
        "instant": instant,
        "legendFormat": legend,
        "range": not instant,
        "refId": ref_id,
    }


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
    return {
        "legend": {"calcs": list(calcs), "displayMode": "table", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


def barchart_style(*, axis: str) -> dict[str, Any]:
    """`custom` of a bar chart."""
    return {"axisLabel": axis, "fillOpacity": 80, "lineWidth": 1}


def barchart_options() -> dict[str, Any]:
    """Bars in groups, values written on them."""
    return {
        "barWidth": 0.9,
        "fullHighlight": False,
        "groupWidth": 0.8,
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "orientation": "vertical",
        "showValue": "auto",
        "stacking": "none",
        "tooltip": {"mode": "multi", "sort": "none"},
        "xTickLabelRotation": 0,
    }


def table_options() -> dict[str, Any]:
    """A table with its header; rows as the query gives them."""
    return {"cellHeight": "sm", "showHeader": True}


def state_timeline_style() -> dict[str, Any]:
    """`custom` of a state timeline."""
    return {"fillOpacity": 80, "insertNulls": False, "lineWidth": 0, "spanNulls": False}


def state_timeline_options() -> dict[str, Any]:
    """Equal states run together."""
    return {
        "alignValue": "left",
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "mergeValues": True,
        "rowHeight": 0.8,
        "showValue": "auto",
        "tooltip": {"mode": "single", "sort": "none"},
    }


def heatmap_style() -> dict[str, Any]:
    """`custom` of a heatmap."""
    return {"scaleDistribution": {"type": "linear"}}


def heatmap_options(unit: str) -> dict[str, Any]:
    """Buckets as they are, the colour of a cell by the square root of its samples, so that a thin tail is seen."""
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


def scatter_style() -> dict[str, Any]:
    """`custom` of an XY chart."""
    return {
        "fillOpacity": 40,
        "pointShape": "circle",
        "pointSize": {"fixed": 5},
        "pointStrokeWidth": 1,
        "show": "points",
    }


def scatter_options() -> dict[str, Any]:
    """Of each frame the first number across, the others up."""
    return {
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True},
        "mapping": "auto",
        "series": [],
        "tooltip": {"mode": "single", "sort": "none"},
    }


def by_name(name: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """An override for one column; `custom.x` is written `custom_x`."""
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key.replace("custom_", "custom."), "value": value} for key, value in properties.items()],
    }


def by_ending(word: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """An override for the series whose legend ends with a word."""
    return {
        "matcher": {"id": "byRegexp", "options": f"/(^| ){word}$/"},
        "properties": [{"id": key, "value": value} for key, value in properties.items()],
    }


def by_query(ref: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """An override for the series of one query."""
    return {
        "matcher": {"id": "byFrameRefID", "options": ref},
        "properties": [{"id": key, "value": value} for key, value in properties.items()],
    }


def stat_options() -> dict[str, Any]:
    """The latest value and the name of each series."""
    return {
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "textMode": "value_and_name",
    }
