"""Rules that a Prometheus has loaded, against those that this build writes with the settings."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from draftboard import __version__
from draftboard.doctor.finding import Finding, shortened
from draftboard.durations import Duration
from draftboard.prometheus import LoadedRule
from draftboard.rules import RELEASES, AlertingRule, alerting_groups, recording_groups
from draftboard.settings import Settings

_OURS = "draftboard-"
_WORDS_OR_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|\s+')
_DURATION = re.compile(r"(?<=[\[:t])(?:\d+[wdhms])+(?=[]:)\W]|$)")  # After `[`, `:` or `offset`.
_NUMBER = re.compile(r"(?<![\w.:])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.:])")
_MATCHER = re.compile(r'\w+(?:=~|!~|!=|=)"(?:[^"\\]|\\.)*"')
_SELECTED = re.compile(r'\{((?:[^"{}]|"(?:[^"\\]|\\.)*")*)\}')
_RELEASE = re.compile(r'"release", "([^"]*)"')


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
    left = sorted({rule.name for rule in rules if rule.group.startswith(_OURS)} - wanted - {*RELEASES.values()})
    if left:
        yield Finding.of("foreign-rules", "rules", count=len(left), names=shortened(left), **words)
    if twice := sorted(name for name, count in Counter(rule.name for rule in ours).items() if count > 1):
        yield Finding.of("rules-twice", "rules", count=len(twice), names=shortened(twice))


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
