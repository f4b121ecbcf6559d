"""What Alertmanager would have sent: routes, grouping, inhibition, intervals and repeats of the settings.

Follows Alertmanager's dispatcher and its deduplication (dispatch.go, notify.go): a group is looked at `group_wait`
after its first alert and then every `group_interval`, until all of its alerts are over. Inhibited alerts are left out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from draftboard.alerts import WATCHDOG
from draftboard.build.stack import Inhibition, inhibitions
from draftboard.lab.notified.firing import Fired
from draftboard.lab.notified.result import Kind, Notification
from draftboard.settings import Settings


@dataclass(frozen=True)
class _Route:
    """How the alerts of a severity are sent, in seconds."""

    severity: str
    wait: int
    interval: int
    repeat: int


_Keys = frozenset[tuple[object, ...]]


@dataclass(frozen=True)
class _Log:
    """Alertmanager's notification log of a group: what its last message said."""

    at: float
    firing: _Keys = frozenset()
    resolved: _Keys = frozenset()


def sent(fired: Sequence[Fired], settings: Settings, *, step: int) -> list[Notification]:
    """The messages, in order. An alert is over one evaluation (`step` seconds) after it fired last."""
    labels = settings.labels
    grouping = (*labels.scope, labels.job, labels.model_name)
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Fired]] = defaultdict(list)
    for one in fired:
        if one.alert != WATCHDOG and one.severity != "none":
            shared = tuple((name, one.labels[name]) for name in grouping if one.labels.get(name))
            groups[one.severity, shared].append(one)
    muted = _Muted(fired, tuple(inhibitions(settings)), step)
    notify = settings.stack.notify
    messages: list[Notification] = []
    for (severity, shared), alerts in groups.items():
        critical = severity == "critical"
        interval = notify.group_interval_critical if critical else notify.group_interval
        repeat = notify.repeat_critical if critical else notify.repeat_others
        route = _Route(severity, notify.group_wait.seconds, interval.seconds, repeat.seconds)
        messages += _of_group(alerts, route, muted, step, dict(shared))
    return sorted(messages, key=lambda message: message.at)


def _of_group(
    alerts: Sequence[Fired], route: _Route, muted: "_Muted", step: int, group: dict[str, str]
) -> Iterator[Notification]:
    waiting, log = sorted(alerts, key=lambda one: one.since), _Log(0.0)
    while waiting:
        at, flushed = waiting[0].since + route.wait, waiting[0].since - 1
        members: set[Fired] = set()
        while True:
            members |= {one for one in waiting if flushed < one.since <= at}
            flushed = at
            audible = sorted((one for one in members if not muted.at(one, at)), key=lambda one: (one.since, one.alert))
            firing = [one for one in audible if at < one.until + step]
            keys = frozenset(one.key for one in firing)
            now = _Log(at, keys, frozenset(one.key for one in audible) - keys)
            if audible and (kind := _kind(log, now, route.repeat)):
                log = now
                names = dict.fromkeys(one.alert for one in firing or audible)
                yield Notification(at, route.severity, kind, tuple(names), group, len(firing))
            members = {one for one in members if at < one.until + step}
            if not members:
                break
            at += route.interval
        waiting = [one for one in waiting if one.since > flushed]


def _kind(last: _Log, now: _Log, repeat: int) -> Kind | None:
    """What a message says, or None where Alertmanager has nothing to send."""
    if now.firing - last.firing:
        return "changed" if last.firing & now.firing else "new"
    if not now.firing:
        return "resolved" if last.firing else None
    if now.resolved - last.resolved:
        return "changed"
    return "repeated" if last.at <= now.at - repeat else None


class _Muted:
    """Which alerts are inhibited, and when."""

    def __init__(self, fired: Sequence[Fired], rules: Sequence[Inhibition], step: int) -> None:
        self._causes: dict[str, list[Fired]] = defaultdict(list)
        for one in fired:
            self._causes[one.alert].append(one)
        self._rules = rules
        self._step = step

    def at(self, target: Fired, time: float) -> bool:
        """Whether a cause of the alert fires at a time, with the same labels."""
        return any(
            one.since <= time < one.until + self._step and _equal(one.labels, target.labels, rule.equal)
            for rule in self._rules
            if target.alert in rule.explained
            for one in self._causes[rule.cause]
        )


def _equal(one: Mapping[str, str], other: Mapping[str, str], labels: Sequence[str]) -> bool:
    return all(one.get(label, "") == other.get(label, "") for label in labels)
