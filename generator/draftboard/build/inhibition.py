"""Inhibition rules for Alertmanager, from what the alerts say of each other."""

from collections.abc import Iterator
from dataclasses import dataclass

from draftboard.alerts import ALERTS, Alert
from draftboard.settings import SEVERITIES, Settings

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
    return (*_explanations(settings), *_critical_first(settings))


def _explanations(settings: Settings) -> Iterator[Inhibition]:
    """What explains an alert silences it, unless it is the lesser of the two: a page is never held back by a ticket.

    Neither could both silence each other then, for an inhibited alert still inhibits.
    """

    def carried(alert: Alert) -> tuple[str, ...]:
        return (*alert.level.labels(settings), *alert.signal.by)

    rank = {alert.name: SEVERITIES.index(alert.patience(settings).severity) for alert in ALERTS}
    for cause in ALERTS:
        by_labels: dict[tuple[str, ...], list[str]] = {}
        for alert in ALERTS:
            if cause.name in alert.explained_by and rank[cause.name] >= rank[alert.name]:
                # A label that only one of them has would never be equal.
                shared = tuple(label for label in carried(cause) if label in carried(alert))
                by_labels.setdefault(shared, []).append(alert.name)
        for equal, names in by_labels.items():
            source, target = f'alertname="{cause.name}"', f'alertname=~"{"|".join(names)}"'
            yield Inhibition(f"{cause.name} explains it.", (source,), (target,), equal)


def _critical_first(settings: Settings) -> Iterator[Inhibition]:
    """Of a model or a server in critical trouble, lesser alerts can wait. What others' alerts mean is not known.

    Alerts on one of several things of a model (objectives, identities) are sent all the same: the critical one may be
    about another.
    """
    labels = settings.labels
    one_of_several = "|".join(alert.name for alert in ALERTS if alert.signal.by)
    ours, critical = f'alertname=~"{OURS}"', 'severity="critical"'
    lesser = ('severity=~"warning|info"', ours, f'alertname!~"{one_of_several}"')
    for kind, own, wider, equal in (
        ("model", labels.model_name, labels.engine, labels.model_level),
        ("server", labels.instance, labels.model_name, labels.target_level),
    ):
        yield Inhibition(
            why=f"While a {kind} is in critical trouble, its lesser troubles and those of its engines can wait.",
            source=(critical, ours, f'{own}!=""', f'{wider}=""'),
            target=(*lesser, f'{own}!=""'),
            equal=equal,
        )
