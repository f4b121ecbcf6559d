"""Alerting rules: an alert's definition, its patience from the settings, and the words that reach a phone."""

from draftboard.expr.tree import ignoring, setting
from draftboard.rules.alerts import ON_SERVING, ON_SPECULATION, Alert
from draftboard.rules.group import AlertingRule, Group
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.signal import Unit


def alerting_groups(settings: Settings) -> tuple[Group, ...]:
    """A group for each subject, evaluated at the pace of the records that they read."""
    subjects = {"speculation": ON_SPECULATION, "serving": ON_SERVING}
    return tuple(
        Group(
            name=f"draftboard-{subject}-alerts",
            interval=settings.rules.evaluation_interval,
            rules=tuple(_rule(alert, settings) for alert in alerts),
        )
        for subject, alerts in subjects.items()
    )


def condition(alert: Alert, settings: Settings) -> str:
    """The expression that an alert watches."""
    beyond = (alert.watched or alert.signal).combined(alert.operator, setting(alert.limit))
    whole = beyond if alert.guard is None else beyond.combined("and", alert.guard, ignoring(*alert.signal.by))
    return Scope(settings, alert.level)(whole)


def _rule(alert: Alert, settings: Settings) -> AlertingRule:
    patience = getattr(settings.alerts, alert.name)
    description = alert.description.format(
        who=_who(alert.level, settings),
        value=_value(alert.signal.unit),
        before=settings.rules.compare_with,
        baseline=settings.rules.baseline,
        remember=settings.rules.remember,
        window=settings.rules.rate_window,
        slo=settings.slo.window,
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
        case Level.HOST:
            return _label(labels.host)
        case Level.FLEET:
            return "all servers"


def _value(unit: Unit) -> str:
    """`$value` as people read it: shares and factors in percent, small numbers without thousandths."""
    if unit is Unit.PREEMPTIONS_PER_REQUEST:
        return '{{ $value | printf "%.2f" }}'
    template = "humanizePercentage" if unit in {Unit.RATIO, Unit.TIMES} else "humanize"
    return f"{{{{ $value | {template} }}}}"


def _dashboard_url(alert: Alert, settings: Settings) -> str:
    """The dashboard of the alerting model or server; of an engine too its model's, whose other engines tell more."""
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
