"""Alerting rules: an alert's definition, its patience from the settings, and the words that reach a phone."""

from draftboard.promql import binary, number
from draftboard.rules.alerts import ALERTS, Alert
from draftboard.rules.group import AlertingRule, Group
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.signal import Unit


def alerting_groups(settings: Settings) -> tuple[Group, ...]:
    """All alerts in one group, evaluated at the pace of the records that they read."""
    rules = tuple(_rule(alert, settings) for alert in ALERTS)
    return (Group(name="draftboard-speculation-alerts", interval=settings.rules.evaluation_interval, rules=rules),)


def condition(alert: Alert, settings: Settings) -> str:
    """The expression that an alert watches."""
    scope = Scope(settings, alert.level)
    beyond = binary(alert.watched(scope, alert.signal), alert.operator, number(alert.limit(settings)))
    if alert.guard is None:
        return beyond
    matching = f"ignoring ({', '.join(alert.signal.by)})" if alert.signal.by else ""
    return binary(beyond, "and", alert.guard(scope), matching)


def _rule(alert: Alert, settings: Settings) -> AlertingRule:
    patience = getattr(settings.alerts, alert.name)
    description = alert.description.format(
        who=_who(alert.level, settings),
        value=_value(alert.signal.unit),
        before=settings.rules.compare_with,
        baseline=settings.rules.baseline,
    )
    return AlertingRule(
        alert=alert.name,
        expr=condition(alert, settings),
        hold=patience.hold,
        keep_firing_for=patience.keep_firing_for,
        labels={"severity": patience.severity},
        annotations={
            "summary": alert.summary,
            "description": description,
            "runbook_url": f"{settings.links.runbooks}/{alert.name}.md",
            "dashboard_url": _dashboard_url(alert, settings),
        },
    )


def _who(level: Level, settings: Settings) -> str:
    """The alerting series in words; labels that nobody set leave no trace."""
    labels = settings.labels
    model = f"{_label(labels.model_name)}{_if_set(labels.spec_method, ' ({})')}{_if_set(labels.variant, ' [{}]')}"
    match level:
        case Level.MODEL:
            return model
        case Level.ENGINE:
            return f"{model} engine {_label(labels.engine)} at {_label(labels.instance)}"
        case Level.TARGET:
            return f"{_label(labels.instance)} of job {_label(labels.job)}{_if_set(labels.spec_method, ' ({})')}"


def _value(unit: Unit) -> str:
    """`$value` as people read it: shares and factors in percent."""
    template = "humanizePercentage" if unit in {Unit.RATIO, Unit.TIMES} else "humanize"
    return f"{{{{ $value | {template} }}}}"


def _dashboard_url(alert: Alert, settings: Settings) -> str:
    """The dashboard of the alerting model; of an engine too, since its siblings are what to hold it against."""
    labels = settings.labels
    arm = (labels.spec_method, labels.variant)
    chosen = (labels.job, *arm) if alert.level is Level.TARGET else (labels.job, labels.model_name, *arm)
    variables = "&".join(f"var-{label}={{{{ $labels.{label} | urlquery }}}}" for label in chosen)
    return f"{settings.links.grafana}/d/draftboard-{alert.dashboard}?{variables}"


def _label(name: str) -> str:
    return f"{{{{ $labels.{name} }}}}"


def _if_set(name: str, text: str) -> str:
    return f"{{{{ with $labels.{name} }}}}{text.format('{{ . }}')}{{{{ end }}}}"
