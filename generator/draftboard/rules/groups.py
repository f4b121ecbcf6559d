"""Rule groups: a recording rule for every signal with a record, an alerting rule for every alert."""

from draftboard.alerts import SUBJECTS, Alert
from draftboard.rules.text import AlertingRule, Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import FAMILIES, Level, Scope
from draftboard.signals.signal import Unit


def recording_groups(settings: Settings) -> tuple[Group, ...]:
    """One group for each family: rates by engine, their sums by model, then what is computed from them."""
    groups = (
        Group(
            name=f"draftboard-{name}",
            interval=settings.rules.evaluation_interval,
            rules=tuple(
                RecordingRule(record=record, expr=signal.definition(Scope(settings, level)))
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
        for subject, alerts in SUBJECTS.items()
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
            "description": alert.filled(alert.description, settings, who=who, value=value),
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
        Level.ENGINE: f"{model} engine {_label(labels.engine)} at {_label(labels.instance)}",
        Level.TARGET: f"{_label(labels.instance)} of job {_label(labels.job)}{method}",
        Level.HOST: _label(labels.host),
        Level.FLEET: "all servers",
    }[level]


def _value(unit: Unit) -> str:
    """`$value`, formatted: shares and factors in percent, small numbers with two decimals."""
    if unit is Unit.PREEMPTIONS_PER_REQUEST:
        return '{{ $value | printf "%.2f" }}'
    return f"{{{{ $value | {'humanizePercentage' if unit in {Unit.RATIO, Unit.TIMES} else 'humanize'} }}}}"


def _dashboard_url(alert: Alert, settings: Settings) -> str:
    """The alert's dashboard, filtered to its model or server; an engine is shown beside the others of its model."""
    labels, carried = settings.labels, alert.level.labels(settings)
    server = (labels.instance,) if alert.level is Level.TARGET else ()
    filters = (labels.job, labels.model_name, labels.spec_method, labels.variant, *server)
    chosen = "&".join(f"var-{one}={{{{ $labels.{one} | urlquery }}}}" for one in filters if one in carried)
    return f"{settings.links.grafana}/d/draftboard-{alert.dashboard}" + (f"?{chosen}" if chosen else "")


def _label(name: str) -> str:
    return f"{{{{ $labels.{name} }}}}"


def _if_set(name: str, text: str) -> str:
    return f"{{{{ with $labels.{name} }}}}{text.format('{{ . }}')}{{{{ end }}}}"
