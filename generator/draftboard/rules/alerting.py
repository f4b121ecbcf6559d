"""Alerting rules: condition, patience and annotations of every alert."""

from draftboard.alerts import SUBJECTS, Alert
from draftboard.rules.text import AlertingRule, Group
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.signal import Unit


def alerting_groups(settings: Settings) -> tuple[Group, ...]:
    """One group for each subject, evaluated as often as the records that it reads."""
    return tuple(
        Group(
            name=f"draftboard-{subject}-alerts",
            interval=settings.rules.evaluation_interval,
            rules=tuple(_rule(alert, settings) for alert in alerts),
        )
        for subject, alerts in SUBJECTS.items()
    )


def _rule(alert: Alert, settings: Settings) -> AlertingRule:
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
    model = f"{_label(labels.model_name)}{_if_set(labels.spec_method, ' ({})')}{_if_set(labels.variant, ' [{}]')}"
    match level:
        case Level.MODEL:
            return model
        case Level.ENGINE:
            return f"{model} engine {_label(labels.engine)} at {_label(labels.instance)}"
        case Level.TARGET:
            return f"{_label(labels.instance)} of job {_label(labels.job)}{_if_set(labels.spec_method, ' ({})')}"
        case Level.HOST:
            return _label(labels.host)
        case Level.FLEET:
            return "all servers"


def _value(unit: Unit) -> str:
    """`$value`, formatted: shares and factors in percent, small numbers with two decimals."""
    if unit is Unit.PREEMPTIONS_PER_REQUEST:
        return '{{ $value | printf "%.2f" }}'
    template = "humanizePercentage" if unit in {Unit.RATIO, Unit.TIMES} else "humanize"
    return f"{{{{ $value | {template} }}}}"


def _dashboard_url(alert: Alert, settings: Settings) -> str:
    """The alert's dashboard, filtered to its model or server; an engine is shown beside the others of its model."""
    labels, carried = settings.labels, alert.level.labels(settings)
    server = (labels.instance,) if alert.level is Level.TARGET else ()
    filters = (labels.job, labels.model_name, labels.spec_method, labels.variant, *server)
    chosen = [label for label in filters if label in carried]
    variables = "&".join(f"var-{label}={{{{ $labels.{label} | urlquery }}}}" for label in chosen)
    return f"{settings.links.grafana}/d/draftboard-{alert.dashboard}" + (f"?{variables}" if variables else "")


def _label(name: str) -> str:
    return f"{{{{ $labels.{name} }}}}"


def _if_set(name: str, text: str) -> str:
    return f"{{{{ with $labels.{name} }}}}{text.format('{{ . }}')}{{{{ end }}}}"
