"""What Prometheus stores of the results of a rule, evaluation by evaluation: records, or how an alert holds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from draftboard.catalogue import around
from draftboard.durations import Duration
from draftboard.prometheus import Series
from draftboard.rules import AlertingRule, RecordingRule


@dataclass
class Hold:
    """An alert for one series.

    It is pending from the first evaluation that holds. It fires at the first that is `pending_period` later, if all
    between hold too. It resolves at the first that does not, or, once firing, when none has held for `keep_firing_for`.
    """

    pending_period: Duration
    keep_firing_for: Duration
    active: float | None = None
    """Since when it is pending or fires."""
    firing: float | None = None
    _failing: float | None = None

    def evaluated(self, now: float, *, holds: bool) -> None:
        """At the next evaluation the expression held or not."""
        if holds:
            self.active, self._failing = now if self.active is None else self.active, None
            if self.firing is None and now - self.active >= self.pending_period.seconds:
                self.firing = now
        else:
            self._failing = now if self._failing is None else self._failing
            if self.firing is None or now - self._failing >= self.keep_firing_for.seconds:
                self.active = self.firing = None


def stretches(
    holding: Iterable[float], evaluations: Iterable[float], pending_period: Duration, keep_firing_for: Duration
) -> Iterator[tuple[float, float]]:
    """First and last evaluation of each firing, given the evaluations at which the expression held."""
    held, last, since, hold = set(holding), 0.0, None, Hold(pending_period, keep_firing_for)
    for now in evaluations:
        hold.evaluated(now, holds=now in held)
        if since is not None and hold.firing is None:
            yield since, last
        since, last = hold.firing, now
    if since is not None:
        yield since, last


class Output:
    """What a rule makes. An alert's holds go on from one call to the next."""

    def __init__(self, rule: RecordingRule | AlertingRule) -> None:
        self.rule = rule
        self._holds: dict[tuple[tuple[str, str], ...], Hold] = {}

    def of(self, found: Iterable[Series], evaluations: Sequence[float]) -> Iterator[Series]:
        """Of what its expression had at evaluations: records, or `ALERTS` and `ALERTS_FOR_STATE`."""
        rule = self.rule
        by_labels = {tuple(sorted(series.unnamed.items())): series.samples for series in found}
        if isinstance(rule, RecordingRule):
            for labels, samples in by_labels.items():
                yield Series({**dict(labels), "__name__": rule.record}, samples)
            return
        for labels in by_labels:
            self._holds.setdefault(labels, Hold(rule.pending_period, rule.keep_firing_for))
        for labels, hold in self._holds.items():
            own = {**dict(labels), **rule.labels, "alertname": rule.alert}
            yield from _active(own, hold, {at for at, _ in by_labels.get(labels, ())}, evaluations)


def _active(own: dict[str, str], hold: Hold, held: set[float], evaluations: Sequence[float]) -> Iterator[Series]:
    """The series of an alert that is pending or fires at some of the evaluations."""
    pending, firing, since = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    for at in evaluations:
        hold.evaluated(at, holds=at in held)
        if hold.active is not None:
            since.append((at, hold.active))
            (pending if hold.firing is None else firing).append((at, 1.0))
    for state, samples in (("pending", pending), ("firing", firing)):
        if samples:
            yield Series({**own, "__name__": around.ALERTS.name, "alertstate": state}, tuple(samples))
    if since:
        yield Series({**own, "__name__": around.ALERTS_FOR_STATE.name}, tuple(since))
