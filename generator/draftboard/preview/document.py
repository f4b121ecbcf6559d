"""A dashboard's JSON as Grafana reads it, as far as a preview draws it: what it does not draw is left unread."""

import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from draftboard.errors import DraftboardError

Json = dict[str, Any]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Place(_Part):
    """Where a panel stands on the grid of 24 columns."""

    h: int = Field(8, ge=1, le=100)
    w: int = Field(12, ge=1, le=24)
    x: int = Field(0, ge=0, le=23)
    y: int = Field(0, ge=0, le=100_000)


class Target(_Part):
    """One query."""

    expr: str
    ref_id: str = Field(alias="refId")
    legend: str = Field("", alias="legendFormat")
    format: str = "time_series"
    instant: bool = False
    interval: str = ""


class Step(_Part):
    """From `value` upwards the colour is this one; the lowest step has no bound."""

    color: str
    value: float | None = None


class Thresholds(_Part):
    """Colours by value."""

    steps: tuple[Step, ...] = ()


class Mapping(_Part):
    """Words and colours for values."""

    type: str
    options: Json


class Mode(_Part):
    """How something is done; which ways there are depends on what it is."""

    mode: str = ""


class SeriesColour(Mode):
    """Where the colour of a series comes from."""

    fixed: str = Field("", alias="fixedColor")


class Cell(_Part):
    """What a table's cell is."""

    type: str = "auto"


class Style(_Part):
    """`custom` of a field: how it is drawn."""

    axis_label: str = Field("", alias="axisLabel")
    fill_opacity: float = Field(0, alias="fillOpacity")
    line_width: float = Field(1, alias="lineWidth")
    span_nulls: bool = Field(False, alias="spanNulls")
    stacking: Mode = Mode()
    thresholds_style: Mode = Field(Mode(), alias="thresholdsStyle")
    cell: Cell = Field(Cell(), alias="cellOptions")


class Fields(_Part):
    """How values are shown: unit, range, words and colours."""

    unit: str = ""
    decimals: int | None = Field(None, ge=0, le=20)
    min: float | None = None
    max: float | None = None
    no_value: str = Field("", alias="noValue")
    mappings: tuple[Mapping, ...] = ()
    thresholds: Thresholds = Thresholds()
    color: SeriesColour = SeriesColour()
    custom: Style = Style()


class Matcher(_Part):
    """Which fields an override is for."""

    id: str
    options: Any = None


class Property(_Part):
    """What an override sets."""

    id: str
    value: Any = None


class Override(_Part):
    """Other ways of showing for some fields."""

    matcher: Matcher
    properties: tuple[Property, ...] = ()


class FieldConfig(_Part):
    """How all fields are shown, and how some."""

    defaults: Json = {}
    overrides: tuple[Override, ...] = ()


class Legend(_Part):
    """Of what a legend consists."""

    shown: bool = Field(True, alias="showLegend")
    calcs: tuple[str, ...] = ()


class Palette(_Part):
    """Colours of a heatmap's cells."""

    fill: str = "dark-orange"
    exponent: float = 0.5


class LeastValue(_Part):
    """Cells below it are left out."""

    le: float | None = None


class Options(_Part):
    """What a kind of panel lets one choose."""

    legend: Legend = Legend()
    color: Palette = Palette()
    filter_values: LeastValue = Field(LeastValue(), alias="filterValues")
    text_mode: str = Field("auto", alias="textMode")
    content: str = ""


class Transformation(_Part):
    """A change of query results before they are shown."""

    id: str
    options: Json = {}


class Panel(_Part):
    """One panel, or a row that holds the panels below it while collapsed."""

    type: str
    title: str = ""
    description: str = ""
    place: Place = Field(Place(), alias="gridPos")
    interval: str = ""
    options: Options = Options()
    config: FieldConfig = Field(FieldConfig(), alias="fieldConfig")
    targets: tuple[Target, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    collapsed: bool = False
    repeat: str = ""
    panels: tuple[Self, ...] = ()


class Current(_Part):
    """What is chosen of a variable."""

    text: str | tuple[str, ...] = ""
    value: str | tuple[str, ...] = ""


class Variable(_Part):
    """A choice above the panels."""

    name: str
    label: str = ""
    all_value: str | None = Field(None, alias="allValue")
    current: Current = Current()


class Annotation(_Part):
    """Events that are marked on graphs."""

    name: str = ""
    expr: str = ""
    enable: bool = True
    colour: str = Field("blue", alias="iconColor")
    title: str = Field("", alias="titleFormat")


class _Annotations(_Part):
    list: tuple[Annotation, ...] = ()


class _Templating(_Part):
    list: tuple[Variable, ...] = ()


class Times(_Part):
    """The span of time that is shown, as Grafana writes it."""

    since: str = Field("now-6h", alias="from")
    until: str = Field("now", alias="to")


class Dashboard(_Part):
    """One dashboard."""

    uid: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")
    title: str
    description: str = ""
    panels: tuple[Panel, ...]
    time: Times = Times()
    templating: _Templating = _Templating()
    annotations: _Annotations = _Annotations()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Choices above the panels."""
        return self.templating.list


def read(document: Json, where: str) -> Dashboard:
    """The dashboard in a JSON document.

    Raises:
        DraftboardError: it is none.
    """
    try:
        return Dashboard.model_validate(document)
    except ValidationError as error:
        raise DraftboardError(f"{where}: not a dashboard of Grafana's classic schema: {first_of(error)}") from None


def parse(text: str, where: str) -> Dashboard:
    """The same of JSON text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DraftboardError(
            f"{where}: not JSON: {error}; name a folder that `draftboard build` has written"
        ) from None
    return read(document, where)


def first_of(error: ValidationError) -> str:
    """Where the first mistake is, and what it is, in one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the document"
    return f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}"
