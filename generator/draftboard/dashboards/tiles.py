"""Numbers in large type: one value, a row of tiles, and the wall, a tile for each model."""

from collections.abc import Sequence
from typing import Any

from draftboard.dashboards import columns, fields
from draftboard.dashboards.charts import Charts
from draftboard.dashboards.panels import GRAFANA, Panel, override, query
from draftboard.expr.tree import Expr, constant, first_of
from draftboard.signals import Level, Signal

_ABSENT = -1  # Stands on a wall for a value that a model does not have, so that its row stays.


class Tiles(Charts):
    """Panels of kind stat."""

    def stat(self, signal: Signal, *, width: int = 12) -> Panel:
        """Latest value of a signal, large, coloured by its steps."""
        if not self._afforded(self._scope(signal.levels[-1]), signal):
            return None
        targets = [self._series(signal, level=signal.levels[-1], instant=True)]
        shown = fields.by_threshold(signal, self.settings, fields.IN_CELLS)
        return self._panel("stat", signal, shown=shown, targets=targets, size=(width, 5))

    def tiles(
        self, title: str, *signals: Signal, width: int, large: bool = False, says: str = "", action: str = ""
    ) -> Panel:
        """Numbers side by side, each of which has its own colour where somebody should act."""
        scope = self._scope(Level.FLEET, latest=True)
        by_ref = self._afforded(scope, *signals)
        if not by_ref:
            return None
        first = next(iter(by_ref.values()))
        text = {"text": {"titleSize": 20, "valueSize": 54}} if large else {}
        named = {} if len(by_ref) > 1 else {"textMode": "value"}
        return self._panel(
            "stat",
            *by_ref.values(),
            title=title,
            says=says,
            action=action,
            options=GRAFANA["tiles"]["options"] | text | named,
            shown=fields.by_threshold(first, self.settings, fields.ON_TILES) | {"noValue": fields.NOTHING},
            targets=[query(scope(one), ref, legend=one.short, instant=True) for ref, one in by_ref.items()],
            size=(width, 5 if large else 3),  # At 1366 pixels a large name takes two lines.
            overrides=[
                override("byFrameRefID", ref, thresholds=fields.thresholds(one, self.settings, fields.ON_TILES))
                for ref, one in by_ref.items()
            ],
        )

    def wall(self, *signals: Signal, widths: Sequence[int], present: Signal, height: int) -> list[Panel]:
        """A row of tiles for each model: the first signal with its name, the others beside it, in one order."""
        made = []
        for signal, width in zip(signals, widths, strict=True):
            first = signal is signals[0]
            made.append(self._column(signal, width, height, present, named=first))
        return made

    def _column(self, signal: Signal, width: int, height: int, present: Signal, *, named: bool) -> Panel:
        scope, raw = self._scope(Level.MODEL), not self.edition.reads_records
        shown: Expr = signal
        if signal is not present and not raw:
            shown = first_of(signal & (present > 0), constant(_ABSENT, present))
        if not self._afforded(lambda _: scope(columns.of_model(shown)), signal):
            return None
        look = fields.by_threshold(signal, self.settings, fields.ON_WALLS if named else fields.ON_TILES)
        look |= {"decimals": 0, "mappings": [*look["mappings"], *fields.no_sample("transparent", str(_ABSENT))]}
        text: dict[str, Any] = {} if named else {"textMode": "value", "justifyMode": "center"}
        return self._panel(
            "stat",
            signal,
            options=GRAFANA["wall"]["options"] | text,
            shown=look | {"noValue": fields.NOTHING},
            # Prometheus sorts the series of a range by their labels; a short one shows nothing old.
            targets=[query(scope(columns.of_model(shown)), legend=self._name(Level.MODEL))],
            size=(width, height),
            timeFrom=str(self.settings.rules.evaluation_interval * 3),
            hideTimeOverride=True,
            transformations=[columns.SHORT_NAMES],
        )
