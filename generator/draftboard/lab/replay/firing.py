"""Which alerts would have fired, from when to when: the holds of Prometheus' rule manager, on a replayed past."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from draftboard.durations import Duration
from draftboard.lab.replay.evaluate import Replay
from draftboard.output import Described
from draftboard.rules import alerting_groups
from draftboard.rules.alerts import WATCHDOG
from draftboard.rules.group import AlertingRule


@dataclass(frozen=True)
class Firing(Described):
    """One alert for one series, from its first to its last evaluation (Unix seconds), and its value at the first."""

    alert: str
    severity: str
    summary: str
    labels: dict[str, str]
    since: float
    until: float
    value: float


def firings(replay: Replay) -> list[Firing]:
    """All but the watchdog's, in the order in which they would have fired."""
    rules = (rule for group in alerting_groups(replay.settings) for rule in group.rules)
    watching = (rule for rule in rules if isinstance(rule, AlertingRule) and rule.alert != WATCHDOG)
    found = (firing for rule in watching for firing in _of_rule(rule, replay))
    return sorted(found, key=lambda firing: (firing.since, firing.alert, sorted(firing.labels.items())))


def _of_rule(rule: AlertingRule, replay: Replay) -> Iterator[Firing]:
    count = round((replay.end - replay.start) / replay.step) + 1
    evaluations = [replay.start + index * replay.step for index in range(count)]
    severity, summary = rule.labels["severity"], rule.annotations["summary"]
    for series in replay.client.query_range(rule.expr, replay.start, replay.end, replay.step):
        values = dict(series.samples)
        labels = {name: value for name, value in series.labels.items() if name != "__name__"}
        for since, until in stretches(values, evaluations, rule.hold, rule.keep_firing_for):
            yield Firing(rule.alert, severity, summary, labels, since, until, values[since])


def stretches(
    holding: Iterable[float], evaluations: Iterable[float], hold: Duration, keep_firing_for: Duration
) -> Iterator[tuple[float, float]]:
    """First and last evaluation of each firing, given the evaluations at which the expression held.

    An alert is pending from the first evaluation that holds and fires at the first that is `hold` later, if all
    between hold too. It resolves at the first that does not, or, once firing, when none has held for `keep_firing_for`.
    """
    held = set(holding)
    pending_since = firing_since = failing_since = None
    last = 0.0
    for now in evaluations:
        if now in held:
            failing_since = None
            pending_since = now if pending_since is None else pending_since
            if firing_since is None and now - pending_since >= hold.seconds:
                firing_since = now
        else:
            failing_since = now if failing_since is None else failing_since
            if firing_since is None or now - failing_since >= keep_firing_for.seconds:
                if firing_since is not None:
                    yield firing_since, last
                pending_since = firing_since = None
        last = now
    if firing_since is not None:
        yield firing_since, last
