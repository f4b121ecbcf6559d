"""Which raw series each panel, alert and record is made of, and which of them fall silent without some."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from draftboard.alerts import ALERTS, Alert
from draftboard.catalogue import CATALOGUE, Presence
from draftboard.dashboards import DASHBOARDS
from draftboard.doctor.finding import Empty
from draftboard.settings import Settings
from draftboard.signals import ALL, Edition, Level, Scope, Signal

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_RECORD = re.compile(rf"\b({'|'.join(level.value for level in Level)}):\w+:\w+")
_ALTERNATIVES = {"or", "unless"}
SAMPLES = frozenset(part.name for metric in CATALOGUE for part in metric.parts)
"""Every name that an expression may read."""
_OF_GPUS = {metric.name for metric in CATALOGUE if metric.presence is Presence.GPU_EXPORTER}


@dataclass(frozen=True)
class Reader:
    """What an expression reads, by the names in its text; and everything that shows or watches it."""

    reads: frozenset[str]
    has_alternatives: bool
    """Whether it may have samples though a part of it has none."""
    from_records: bool = False
    """Whether its panels need the rules."""
    panels: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    records: tuple[str, ...] = ()

    def silent_without(self, missing: Collection[str]) -> bool:
        """Whether it has no sample for certain, where none of these series is there."""
        gone = self.reads & set(missing)
        return bool(gone) and (gone == self.reads or not self.has_alternatives)


def silenced_by(missing: Collection[str], readers: Iterable[Reader]) -> Empty:
    """All that stays empty while these series are missing."""
    silent = [reader for reader in readers if reader.silent_without(missing)]
    return Empty(
        panels=tuple(dict.fromkeys(panel for reader in silent for panel in reader.panels)),
        alerts=tuple(alert for reader in silent for alert in reader.alerts),
        records=tuple(record for reader in silent for record in reader.records),
    )


def all_readers(settings: Settings) -> tuple[Reader, ...]:
    """Every panel, alert and record: panels by the signal that they show."""
    shown = _shown(settings)
    return (
        *(_panels(signal, shown[signal.name], settings) for signal in ALL if signal.name in shown),
        *(_reader(_watched(alert, settings), alerts=(alert.name,)) for alert in ALERTS),
        *_recorded(settings),
    )


def _shown(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Panels, by the name of a signal that they show."""
    places: dict[str, dict[str, None]] = {}
    for dashboard in (build(settings, Edition.RECORDS) for build in DASHBOARDS):
        for name, panel in dashboard.shows:
            places.setdefault(name, {})[f"{dashboard.uid}: {panel}"] = None
    return {name: tuple(panels) for name, panels in places.items()}


def _panels(signal: Signal, panels: tuple[str, ...], settings: Settings) -> Reader:
    by_name = [Scope(settings, level, Edition.RECORDS)(signal) for level in signal.levels]
    recorded = any(_RECORD.search(_TEXT.sub("", text)) for text in by_name)
    reader = _reader(*_everywhere(signal, settings), panels=panels)
    # Of machines: the engines' series only choose among them, and choose all where they tell nothing.
    reads = reader.reads & _OF_GPUS if signal.levels == (Level.HOST,) else reader.reads
    return replace(reader, reads=reads, from_records=recorded)


def _everywhere(signal: Signal, settings: Settings) -> tuple[str, ...]:
    """Its expressions at all levels: no list tells at which of them a panel shows it."""
    return tuple(dict.fromkeys(signal.expr(_raw(settings, level)) for level in signal.levels))


def _watched(alert: Alert, settings: Settings) -> str:
    """What an alert needs: its signal, and its guard."""
    scope = _raw(settings, alert.level)
    return alert.watched(scope, alert.signal) + (f" and {alert.guard(scope)}" if alert.guard else "")


def _recorded(settings: Settings) -> Iterator[Reader]:
    for signal in ALL:
        for level in signal.levels:
            if record := signal.record_at(level, settings):
                yield _reader(signal.expr(_raw(settings, level)), records=(record,))


def _raw(settings: Settings, level: Level) -> Scope:
    """From here an expression names raw series only."""
    return Scope(settings, level, Edition.RAW)


def _reader(
    *expressions: str, panels: tuple[str, ...] = (), alerts: tuple[str, ...] = (), records: tuple[str, ...] = ()
) -> Reader:
    words = frozenset(_NAME.findall(_TEXT.sub("", " or ".join(expressions))))
    return Reader(words & SAMPLES, bool(words & _ALTERNATIVES), panels=panels, alerts=alerts, records=records)
