"""Inhibition rules for Alertmanager, from what the alerts say of each other."""

from collections.abc import Iterator
from dataclasses import dataclass

from draftboard.alerts import ALERTS, Alert
from draftboard.settings import SEVERITIES, Labels, Settings

OURS = "(SpecDecode|VLLM).+"
"""Our alerts but the watchdog, which nothing may silence."""


@dataclass(frozen=True)
class Inhibition:
    """While an alert matches `source`, those that match `target` with the same labels `equal` reach nobody."""

    why: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    equal: tuple[str, ...]


def inhibitions(settings: Settings) -> tuple[Inhibition, ...]:
    """First what explains what, then critical over the rest."""
    return (*_explanations(settings), *_critical_first(settings.labels))


def _explanations(settings: Settings) -> Iterator[Inhibition]:
    """What explains an alert silences it, unless it is the lesser of the two: a page is never held back by a ticket.

    Neither could both silence each other then, for an inhibited alert still inhibits.
    """
    for cause in ALERTS:
        by_labels: dict[tuple[str, ...], list[str]] = {}
        for alert in ALERTS:
            if cause.name in alert.explained_by and _rank(cause, settings) >= _rank(alert, settings):
                by_labels.setdefault(_shared(cause, alert, settings), []).append(alert.name)
        for equal, names in by_labels.items():
            yield Inhibition(
                why=f"{cause.name} explains it.",
                source=(f'alertname="{cause.name}"',),
                target=(f'alertname=~"{"|".join(names)}"',),
                equal=equal,
            )


def _rank(alert: Alert, settings: Settings) -> int:
    return SEVERITIES.index(alert.patience(settings).severity)


def _shared(cause: Alert, alert: Alert, settings: Settings) -> tuple[str, ...]:
    """Labels that both carry: one that only one of them has would never be equal."""
    carried = (*alert.level.labels(settings), *alert.signal.by)
    return tuple(label for label in (*cause.level.labels(settings), *cause.signal.by) if label in carried)


def _critical_first(labels: Labels) -> Iterator[Inhibition]:
    """Of a model or a server in critical trouble, lesser alerts can wait. What others' alerts mean is not known.

    Alerts on one of several things of a model (objectives, identities) are told all the same: the critical one may be
    about another.
    """
    one_of_several = "|".join(alert.name for alert in ALERTS if alert.signal.by)
    ours, critical = f'alertname=~"{OURS}"', 'severity="critical"'
    lesser = ('severity=~"warning|info"', ours, f'alertname!~"{one_of_several}"')
    of_a_model, of_a_server = f'{labels.model_name}!=""', f'{labels.instance}!=""'
    yield Inhibition(
        why="While a model is in critical trouble, its lesser troubles and those of its engines can wait.",
        source=(critical, ours, of_a_model, f'{labels.engine}=""'),
        target=(*lesser, of_a_model),
        equal=labels.model_level,
    )
    yield Inhibition(
        why="While a server is in critical trouble, its lesser troubles and those of its engines can wait.",
        source=(critical, ours, of_a_server, f'{labels.model_name}=""'),
        target=(*lesser, of_a_server),
        equal=labels.target_level,
    )
