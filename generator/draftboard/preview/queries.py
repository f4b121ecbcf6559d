"""The queries of a panel, asked of Prometheus with the variables put in."""

from collections.abc import Mapping
from dataclasses import dataclass

from draftboard.errors import DraftboardError
from draftboard.preview.document import Annotation, Panel, Target
from draftboard.preview.frames import Frame, legend_of, one_a_series, one_table, printable
from draftboard.preview.times import Pace, Span, pace_of
from draftboard.preview.transformations import transformed
from draftboard.preview.variables import intervals, substituted
from draftboard.prometheus import Client, Series

MOST_SERIES = 1000
"""More in one panel is a mistake, and would be no picture."""
_MARKS_A_SPAN = 240


@dataclass(frozen=True)
class Event:
    """What an annotation marks on graphs."""

    start: float
    end: float
    title: str
    colour: str


@dataclass(frozen=True)
class Asker:
    """Whom to ask, of which time, with which variables chosen."""

    client: Client
    span: Span
    chosen: Mapping[str, str]

    def frames(self, panel: Panel) -> list[Frame]:
        """What the panel's queries find, transformed as it says.

        Raises:
            DraftboardError: a query is refused, finds too much, or a transformation is unknown.
        """
        frames: list[Frame] = []
        for target in panel.targets:
            pace = pace_of(panel, target, self.span)
            span = _aligned(self.span, pace)
            found = self._asked(target, pace, span)
            if len(found) > MOST_SERIES:
                raise DraftboardError(f"query {target.ref_id} finds {len(found)} series, more than {MOST_SERIES}")
            if target.format == "table":
                frames.append(one_table(found, target, alone=len(panel.targets) == 1))
            else:
                frames += one_a_series(found, target, span, pace)
        return transformed(frames, panel.transformations)

    def events(self, annotation: Annotation) -> list[Event]:
        """The stretches of time in which an annotation's query has samples that are not 0."""
        step = max(1, round(self.span.seconds / _MARKS_A_SPAN))
        values = {**self.chosen, **intervals(Pace(step, 4 * step), self.span)}
        found = self.client.query_range(
            substituted(annotation.expr, values), self.span.start, self.span.end, float(step)
        )
        return [event for series in found for event in _stretches(series, annotation, step)]

    def _asked(self, target: Target, pace: Pace, span: Span) -> list[Series]:
        expr = substituted(target.expr, {**self.chosen, **intervals(pace, self.span)})
        if target.instant:
            return self.client.query(expr, self.span.end)
        return self.client.query_range(expr, span.start, span.end, float(pace.step))


def _aligned(span: Span, pace: Pace) -> Span:
    """On multiples of the step, as Grafana asks: the same samples whenever it is asked."""
    return Span(span.start // pace.step * pace.step, span.end // pace.step * pace.step)


def _stretches(series: Series, annotation: Annotation, step: int) -> list[Event]:
    labels = {name: printable(value) for name, value in series.labels.items()}
    title = legend_of(labels, annotation.title or annotation.name)
    events: list[Event] = []
    for time in (time for time, value in series.samples if value):
        if events and time - events[-1].end <= step:
            events[-1] = Event(events[-1].start, time, title, annotation.colour)
        else:
            events.append(Event(time, time, title, annotation.colour))
    return events
