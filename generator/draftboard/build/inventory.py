"""Every signal, and where it is recorded, shown and watched."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from draftboard.alerts import of_settings
from draftboard.dashboards import places
from draftboard.expr.reads import metrics_of
from draftboard.expr.to_promql import definition
from draftboard.output import Described
from draftboard.rules import records
from draftboard.settings import Settings
from draftboard.signals import ALL, Scope


@dataclass(frozen=True)
class Entry(Described):
    """One signal."""

    name: str
    title: str
    question: str
    description: str
    """What it says."""
    action: str
    """What to do about it, or what it helps to decide."""
    note: str
    """What it does not say, and where it has no value; empty where there is nothing to add."""
    metrics: tuple[str, ...]
    """Names of the metrics whose raw series it reads, itself or through other signals."""
    unit: str
    better: str
    """`higher`, `lower` or `neither`."""
    expr: str
    """PromQL as the rules evaluate it."""
    records: tuple[str, ...]
    panels: tuple[str, ...]
    """Dashboard uid and panel title."""
    alerts: tuple[str, ...]

    @property
    def sought(self) -> str:
        """What a search looks through."""
        return "\n".join((self.name, self.title, self.question, *self.metrics, *self.records, *self.alerts)).lower()


@dataclass(frozen=True, kw_only=True)
class Inventory(Described):
    """Every signal, in the order of definition."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    signals: tuple[Entry, ...]

    def matching(self, words: Collection[str]) -> "Inventory":
        """Those signals whose names, question, metrics, records or alerts contain every word, in any case."""
        entries = tuple(entry for entry in self.signals if all(word.lower() in entry.sought for word in words))
        return replace(self, signals=entries)


def inventory(settings: Settings) -> Inventory:
    """All signals under these settings."""
    shown, alerts, recorded = places(settings), of_settings(settings), records(settings)
    signals = tuple(
        Entry(
            name=signal.name,
            title=signal.title,
            question=signal.question,
            description=signal.described(settings),
            action=signal.action,
            note=signal.note,
            metrics=metrics_of(signal, Scope(settings, signal.levels[-1])),
            unit=signal.unit.words or signal.unit.name.lower(),
            better=signal.better.value,
            expr=str(definition(signal, Scope(settings, signal.levels[-1]))),
            records=tuple(
                record for level in signal.levels if (record := signal.record_name(level, settings)) in recorded
            ),
            panels=shown.get(signal.name, ()),
            alerts=tuple(alert.name for alert in alerts if alert.signal is signal),
        )
        for signal in ALL
        if signal.exists(settings)
    )
    return Inventory(signals=signals)
