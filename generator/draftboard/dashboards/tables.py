"""Tables: a row for each model, SLO, alert or engine, the worst on top."""

from collections.abc import Collection, Mapping
from typing import Any

from draftboard.dashboards import columns, fields
from draftboard.dashboards.charts import GRID_WIDTH, Charts, uid
from draftboard.dashboards.panels import Panel, override, query
from draftboard.signals import Signal, events

_ALERT = 32  # Letters of the longest alert's name, and room for its capitals.


class Tables(Charts):
    """Panels of kind table."""

    def table(
        self,
        title: str,
        *signals: Signal,
        says: str,
        action: str,
        worst: Collection[Signal],
        filled: Collection[Signal] = (),
        gauges: Collection[Signal] = (),
        linked: Mapping[Signal, tuple[str, str]] | None = None,
        height: int = 9,
        best_first: bool = False,
    ) -> Panel:
        """Latest values: a row for each model, engine or SLO, a column for each signal, and a link to its depth.

        Of columns that are `linked`, each cell leads to what the row is about on another dashboard, by its subject, and
        with the question that it answers.
        """
        own = tuple(dict.fromkeys(label for signal in signals for label in signal.by))
        scope = self._scope(signals[0].levels[-1], latest=True)
        asked = [one for one in signals if self._asked(one)]
        rows = {signal: columns.row_of(signal, *own) for signal in asked}
        by_ref = self._afforded(lambda signal: scope(rows[signal]), *asked)
        if not by_ref:
            return None
        heads = columns.row_heads(scope.labels, own, self.settings)
        links = {
            signal: columns.links_to(uid(subject, self.edition), question)
            for signal, (subject, question) in (linked or {}).items()
        }
        return self._panel(
            "table",
            *by_ref.values(),
            shown=_shown(signals[0].empty),
            targets=[query(scope(rows[one]), ref, instant=True, form="table") for ref, one in by_ref.items()],
            size=(GRID_WIDTH, height),
            title=title,
            says=says,
            action=action,
            overrides=[
                *columns.of_labels(heads, uid("depth", self.edition), self.settings),
                *(
                    columns.of_signal(
                        one, self.settings, filled=one in filled, gauge=one in gauges, links=links.get(one, ())
                    )
                    for one in by_ref.values()
                ),
            ],
            transformations=columns.one_row_each(by_ref, heads, self.settings, tuple(worst), best_first=best_first),
        )

    def alerts(self, *, width: int = 12, height: int = 9) -> Panel:
        """Firing alerts, the most urgent on top, each with a link to its runbook."""
        signals = {"A": events.alert_severity, "B": events.alert_age}
        scope = self._scope(events.alert_severity.levels[-1])
        heads = {"alertname": "Alert", "about": "Model or server"}
        runbook = [{"title": "Runbook", "url": f"{self.settings.links.runbooks}/${{__value.raw}}.md"}]
        return self._panel(
            "table",
            *signals.values(),
            title=events.firing_alerts.title,
            says=events.firing_alerts.description,
            action=events.firing_alerts.action,
            shown=_shown(events.firing_alerts.empty),
            targets=[query(scope(one), ref, instant=True, form="table") for ref, one in signals.items()],
            size=(width, height),
            overrides=[
                fields.TEXT_AS_IT_IS,
                columns.of_signal(events.alert_severity, self.settings, filled=True),
                override("byName", heads["alertname"], links=runbook, custom_width=columns.wide_enough(_ALERT)),
                override("byName", heads["about"], custom_wrapText=True),
                columns.of_signal(events.alert_age, self.settings),
            ],
            transformations=columns.one_row_each(
                signals, heads, self.settings, tuple(signals.values()), first=("Value #A",)
            ),
        )

    def listing(self, signal: Signal, *, width: int = 12) -> Panel:
        """The series of a signal: a row for each, a column for each label."""
        scope = self._scope(signal.levels[-1])
        if not self._afforded(scope, signal):
            return None
        heads = columns.engine_heads(signal, self.settings)
        return self._panel(
            "table",
            signal,
            shown=_shown(signal.empty),
            targets=[query(self._scope(signal.levels[-1], latest=True)(signal), instant=True, form="table")],
            options={"sortBy": [{"displayName": next(iter(heads.values())), "desc": False}]},
            size=(width, 8),
            overrides=[fields.TEXT_AS_IT_IS, *columns.label_widths(heads)],
            transformations=columns.labels_only(heads, self.settings),
        )


def _shown(empty: str) -> dict[str, Any]:
    return {"noValue": empty, "unit": "string", "thresholds": fields.NO_THRESHOLDS}
