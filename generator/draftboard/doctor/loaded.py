"""Rules that a Prometheus has loaded, against those that this build writes with the settings."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from draftboard import __version__
from draftboard.doctor.finding import Finding
from draftboard.durations import Duration
from draftboard.output import shortened
from draftboard.prometheus import Client, LoadedRule
from draftboard.rules import RELEASES, AlertingRule, alerting_groups, recording_groups
from draftboard.settings import Settings
from draftboard.signals.monitoring import GROUPS

_WORDS_OR_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|\s+')
_SPAN = "(?=[0-9])" + "".join(f"(?:[0-9]{{1,9}}{unit})?" for unit in "wdhms")
_DURATION = re.compile(rf"(?<=[\[:t]){_SPAN}(?=[]:)\W]|$)")  # After `[`, `:` or `offset`.
_NUMBER = re.compile(r"(?<![\w.:])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.:])")
_MATCHER = re.compile(r'\w+(?:=~|!~|!=|=)"(?:[^"\\]|\\.)*"')
_SELECTED = re.compile(r'\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\}')
_RANGE = re.compile(rf"\[({_SPAN})[]:]")
_AGE = "(time() - last_over_time(prometheus_tsdb_lowest_timestamp_seconds[1d]))"
_KEPT = {
    "time": "prometheus_tsdb_retention_limit_seconds > 0",
    "size": f"({_AGE} > 86400) * (prometheus_tsdb_retention_limit_bytes > 0) / prometheus_tsdb_storage_blocks_bytes",
}
"""Seconds of samples that each limit keeps; that by size at the growth so far, of a day or more."""
_RELEASE = re.compile(r'"release", "([^"]*)"')


class ReadOnce(Client):
    """A Prometheus whose rules are read once, however many examinations look at them."""

    _read: list[LoadedRule] | None = None

    def rules(self) -> list[LoadedRule]:
        """All rules that were evaluated when they were first read."""
        if self._read is None:
            self._read = super().rules()
        return self._read


def of_ours(rules: Sequence[LoadedRule]) -> list[LoadedRule]:
    """Those of groups that a build of Draftboard names."""
    return [rule for rule in rules if rule.group.startswith(GROUPS)]


def of_other_builds(rules: Sequence[LoadedRule], settings: Settings) -> Iterator[Finding]:
    """Rules of another release or of other settings: changed expressions, names that are gone, two copies."""
    groups = (*recording_groups(settings, settings.rules.ruler), *alerting_groups(settings))
    built = {
        (rule.alert, _plain(rule.expr), rule.pending_period.seconds)
        if isinstance(rule, AlertingRule)
        else (rule.record, _plain(rule.expr), 0)
        for group in groups
        for rule in group.rules
    }
    wanted = {name for name, *_ in built} - {*RELEASES.values()}
    releases = sorted(
        {found for rule in rules if rule.name in RELEASES.values() for found in _RELEASE.findall(rule.query)}
    )
    words = {"loaded": ", ".join(releases) or "of no release (0.1.0 is the first)", "own": __version__}
    ours = [rule for rule in rules if rule.name in wanted]
    equal = {rule.name for rule in ours if (rule.name, _plain(rule.query), rule.duration) in built}
    if stale := sorted({rule.name for rule in ours if rule.query} - equal):
        yield Finding.of("stale-rules", "rules", count=len(stale), names=shortened(stale), **words)
    left = sorted({rule.name for rule in of_ours(rules)} - wanted - {*RELEASES.values()})
    if left:
        yield Finding.of("foreign-rules", "rules", count=len(left), names=shortened(left), **words)
    if twice := sorted(name for name, count in Counter(rule.name for rule in ours).items() if count > 1):
        yield Finding.of("rules-twice", "rules", count=len(twice), names=shortened(twice))


def of_short_retention(rules: Sequence[LoadedRule], client: Client, time: float) -> Iterator[Finding]:
    """Limits that keep less than rules look back, such as those on error budgets.

    Where several Prometheus are scraped, none says which is the one that is examined.
    """
    ranges = {text for rule in of_ours(rules) for text in _RANGE.findall(rule.query)}
    longest = Duration(max((Duration.parse(text).seconds for text in ranges), default=0))
    for limit, seconds in _KEPT.items():
        kept = client.query(seconds, time)
        if len(kept) == 1 and kept[0].samples[-1][1] < longest.seconds:
            days = f"{kept[0].samples[-1][1] / 86_400:.0f}"
            yield Finding.of("short-retention", f"retention by {limit}", days=days, longest=longest)


def _plain(expression: str) -> str:
    """PromQL without blanks outside of texts, matchers in one order, numbers and durations in one form.

    Servers format expressions anew: 1e6 becomes 1e+06, 1e-12 becomes 0.000000000001, 7d becomes 1w.
    """
    text = _WORDS_OR_TEXTS.sub(lambda found: found[0] if found[0].startswith('"') else "", expression)
    text = _DURATION.sub(lambda found: f"{Duration.parse(found[0]).seconds}s", text)
    text = _NUMBER.sub(lambda found: repr(float(found[0])), text)
    return _SELECTED.sub(_sorted, text.replace("by()", ""))


def _sorted(selector: re.Match[str]) -> str:
    return "{" + ",".join(sorted(_MATCHER.findall(selector[1]))) + "}"
