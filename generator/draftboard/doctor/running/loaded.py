"""Whether the rules are loaded, under the names that the dashboards read, and evaluated without errors."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from draftboard.doctor.finding import Empty, Finding, few, note, problem, warning
from draftboard.doctor.running.readers import Reader
from draftboard.doctor.running.stored import Stored, record_pattern
from draftboard.prometheus import LoadedRule
from draftboard.rules import RecordingRule, alerting_groups, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.decisions import state

_FILES = "alerts/recording.rules.yaml and alerts/alerting.rules.yaml"


def explain(
    rules: Sequence[LoadedRule] | None, stored: Stored, settings: Settings, readers: Sequence[Reader]
) -> Iterator[Finding]:
    """What keeps records and alerts from being there; `rules` is None where the server evaluates none at all."""
    recorded = state.record_at(Level.MODEL, settings) in stored.state_records
    loaded = {rule.name for rule in rules or ()}
    wanted = _wanted(settings)
    if broken := [rule for rule in rules or () if rule.error and rule.name in wanted]:
        names = list(dict.fromkeys(rule.name for rule in broken))
        yield problem(few(names), f"cannot be evaluated: {broken[0].error}", "mend what the message names")
    if not loaded & wanted:
        yield from _none(stored, settings, readers, recorded=recorded)
    elif missing := sorted(wanted - loaded):
        yield _some(missing, wanted, rules or (), settings)
    elif not recorded and any(server.answers for server in stored.servers):
        fix = "wait for two evaluations; then look at Prometheus' log"
        yield warning("rules", "loaded, but they have recorded nothing", fix)


def _wanted(settings: Settings) -> set[str]:
    groups = (*recording_groups(settings), *alerting_groups(settings))
    return {rule.record if isinstance(rule, RecordingRule) else rule.alert for group in groups for rule in group.rules}


def _none(stored: Stored, settings: Settings, readers: Sequence[Reader], *, recorded: bool) -> Iterator[Finding]:
    if recorded:
        what = "this Prometheus evaluates none of them, but the records are there: another ruler makes them"
        yield note("rules", what, "look there for errors and alerts: they cannot be seen from here")
        return
    if other := _other_window(stored, settings):
        yield _with_records(_built_otherwise(other, settings), readers)
        return
    told = problem(
        "rules",
        f"not loaded: all that reads records stays empty, {len(_alerts(readers))} alerts never fire",
        f"rule_files: {_FILES} (`draftboard build`); the dashboards below dashboards/standalone need none",
    )
    yield _with_records(told, readers)


def _some(missing: Sequence[str], wanted: set[str], rules: Sequence[LoadedRule], settings: Settings) -> Finding:
    window = re.compile(record_pattern(state))
    other = sorted(rule.name for rule in rules if window.fullmatch(rule.name) and rule.name not in wanted)
    if other:
        return _built_otherwise(other, settings)
    told = problem(
        "rules",
        f"{len(missing)} of {len(wanted)} are not loaded: {few(missing)}",
        f"load {_FILES} as `draftboard build` writes them with these settings",
    )
    alerts, records = ([name for name in missing if (":" in name) is record] for record in (False, True))
    return replace(told, empty=Empty(alerts=tuple(alerts), records=tuple(records)))


def _other_window(stored: Stored, settings: Settings) -> list[str]:
    return sorted(stored.state_records - {str(state.record_at(Level.MODEL, settings))})


def _built_otherwise(other: Sequence[str], settings: Settings) -> Finding:
    return problem(
        "rules",
        f"built with another window: {other[0]} is there, {state.record_at(Level.MODEL, settings)} is not",
        "give the settings that they were built with to --settings, or build and load rules and dashboards anew",
    )


def _with_records(told: Finding, readers: Sequence[Reader]) -> Finding:
    """With all that reads records."""
    panels = dict.fromkeys(panel for reader in readers if reader.from_records for panel in reader.panels)
    records = tuple(record for reader in readers for record in reader.records)
    return replace(told, empty=Empty(tuple(panels), _alerts(readers), records))


def _alerts(readers: Sequence[Reader]) -> tuple[str, ...]:
    return tuple(alert for reader in readers for alert in reader.alerts)
