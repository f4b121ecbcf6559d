"""Replays that evaluate only what a test reads: each recording rule costs a replay time."""

from collections.abc import Iterable
from dataclasses import replace

from draftboard.rules import Group, RecordingRule, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.traffic import generation_tokens
from support.rulefiles import series_in


def behind(asked: Iterable[str], settings: Settings) -> tuple[tuple[Group, ...], frozenset[str]]:
    """The recording rules that these expressions depend on, and the names of all series that they and those read."""
    groups = recording_groups(settings)
    reads = [
        (rule.record, series_in(rule.expr))
        for group in groups
        for rule in group.rules
        if isinstance(rule, RecordingRule)
    ]
    # Without the first a replay would know of no vLLM server.
    series = {str(generation_tokens.record_name(Level.ENGINE, settings))}
    new = series.union(*map(series_in, asked))
    while new:
        series |= new
        new = set().union(*(names for record, names in reads if record in new)) - series
    kept = (
        replace(group, rules=tuple(rule for rule in group.rules if getattr(rule, "record", "") in series))
        for group in groups
    )
    return tuple(kept), frozenset(series)
