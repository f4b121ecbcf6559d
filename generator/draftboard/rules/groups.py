"""Rule groups: a recording rule for every signal with a record, an alerting rule for every alert."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from draftboard.alerts import Alert, asked
from draftboard.durations import Duration
from draftboard.settings import Settings
from draftboard.signals import FAMILIES, Level, Scope
from draftboard.signals.signal import Unit


@dataclass(frozen=True, kw_only=True)
class RecordingRule:
    """`record` is the value of `expr`."""

    record: str
    expr: str


@dataclass(frozen=True, kw_only=True)
class AlertingRule:
    """`alert` fires once `expr` has held for `hold`."""

    alert: str
    expr: str
    hold: Duration
    keep_firing_for: Duration
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other, at one time."""

    name: str
    interval: Duration
    rules: tuple[RecordingRule | AlertingRule, ...]


class _Dumper(yaml.SafeDumper):
    """Multi-line expressions as blocks, lists below their key, every rule in full: what is reviewed is readable."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002
        return True

    def text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _Dumper.text)
_Dumper.add_multi_representer(str, _Dumper.text)  # PromQL


def to_yaml(groups: Iterable[Group]) -> str:
    """The rule file that holds these groups; a duration of 0s is left out."""
    document = [
        {"name": group.name, "interval": str(group.interval), "rules": [_entry(rule) for rule in group.rules]}
        for group in groups
    ]
    return yaml.dump({"groups": document}, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def _entry(rule: RecordingRule | AlertingRule) -> dict[str, Any]:
    texts = {"for" if key == "hold" else key: value for key, value in vars(rule).items() if value != Duration(0)}
    return {key: str(value) if isinstance(value, Duration) else value for key, value in texts.items()}


def recording_groups(settings: Settings) -> tuple[Group, ...]:
    """One group for each family: rates by engine, their sums by model, then what is computed from them."""
    scope = Scope(settings)
    groups = (
        Group(
            name=f"draftboard-{name}",
            interval=settings.rules.evaluation_interval,
            rules=tuple(
                RecordingRule(record=record, expr=signal.definition(scope.at(level)))
                for signal in family
                for level in sorted(signal.levels, key=list(Level).index)  # engines before the models that sum them
                if (record := signal.record_at(level, settings))
            ),
        )
        for name, family in FAMILIES.items()
    )
    return tuple(group for group in groups if group.rules)


def alerting_groups(settings: Settings) -> tuple[Group, ...]:
    """One group for each subject, evaluated as often as the records that it reads."""
    return tuple(
        Group(
            name=f"draftboard-{subject}-alerts",
            interval=settings.rules.evaluation_interval,
            rules=tuple(_alerting_rule(alert, settings) for alert in alerts),
        )
        for subject, alerts in asked(settings).items()
    )


def _alerting_rule(alert: Alert, settings: Settings) -> AlertingRule:
    patience, who, value = alert.patience(settings), _who(alert.level, settings), _value(alert.signal.unit)
    return AlertingRule(
        alert=alert.name,
        expr=alert.condition(settings),
        hold=patience.hold,
        keep_firing_for=patience.keep_firing_for,
        labels={"severity": patience.severity},
        annotations={
            "summary": alert.summary,
            "description": alert.filled(
                alert.description, settings, who=who, value=value, beside=_queried(alert, settings)
            ),
            "runbook_url": f"{settings.links.runbooks}/{alert.name}.md",
            "dashboard_url": _dashboard_url(alert, settings),
        },
    )


def _who(level: Level, settings: Settings) -> str:
    """The alerting series in words; a label without a value is left out."""
    labels = settings.labels
    method = _if_set(labels.spec_method, " ({})")
    model = _label(labels.model_name) + method + _if_set(labels.variant, " [{}]")
    return {
        Level.MODEL: model,
        Level.SERVICE: f"{_label(labels.model_name)} of job {_label(labels.job)}",
        Level.ENGINE: f"{model} engine {_label(labels.engine)} at {_label(labels.instance)}",
        Level.TARGET: f"{_label(labels.instance)} of job {_label(labels.job)}{method}",
        Level.MONITOR: f"{_label(labels.instance)} of job {_label(labels.job)}",
        Level.HOST: _label(labels.host),
        Level.FLEET: "all servers",
    }[level]


def _value(unit: Unit) -> str:
    """`$value`, formatted: shares and factors in percent, small numbers with two decimals."""
    if unit is Unit.PREEMPTIONS_PER_REQUEST:
        return '{{ $value | printf "%.2f" }}'
    in_percent = unit in {Unit.RATIO, Unit.TIMES, Unit.TIMES_NOW}
    return f"{{{{ $value | {'humanizePercentage' if in_percent else 'humanize'} }}}}"


def _queried(alert: Alert, settings: Settings) -> str:
    """A pipeline of templates that finds the signal beside the alert's, of the same labels."""
    if alert.beside is None:
        return ""
    labels = (*alert.level.labels(settings), *alert.signal.by)
    matchers = ",".join(f"{label}=%q" for label in labels)
    values = " ".join(f"$labels.{label}" for label in labels)
    return f"printf `{alert.beside.record_at(alert.level, settings)}{{{matchers}}}` {values} | query"


def _dashboard_url(alert: Alert, settings: Settings) -> str:
    """The alert's dashboard, filtered to its model or server; an engine is shown beside the others of its model."""
    labels, carried = settings.labels, () if alert.level is Level.MONITOR else alert.level.labels(settings)
    server = (labels.instance,) if alert.level is Level.TARGET else ()
    filters = (labels.job, labels.model_name, labels.spec_method, labels.variant, *server)
    chosen = "&".join(f"var-{one}={{{{ $labels.{one} | urlquery }}}}" for one in filters if one in carried)
    return f"{settings.links.grafana}/d/draftboard-{alert.dashboard}" + (f"?{chosen}" if chosen else "")


def _label(name: str) -> str:
    return f"{{{{ $labels.{name} }}}}"


def _if_set(name: str, text: str) -> str:
    return f"{{{{ with $labels.{name} }}}}{text.format('{{ . }}')}{{{{ end }}}}"
