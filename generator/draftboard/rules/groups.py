"""Rule groups: a recording rule for every signal with a record, an alerting rule for every alert."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from draftboard.alerts import Alert, asked
from draftboard.rulers import IN_ORDER, Ruler
from draftboard.rules.links import Definition, in_few_links
from draftboard.rules.packing import in_order, packed
from draftboard.rules.rule import AlertingRule, Group, RecordingRule
from draftboard.settings import Overlay, Settings
from draftboard.signals import FAMILIES, Level, Scope
from draftboard.signals.signal import Signal, Unit

_EVALUATED_WITH = {"verdict": "speculation"}
"""Families whose rules are of another family's groups, because they weigh what it says."""


def recording_groups(settings: Settings, ruler: Ruler = "prometheus") -> tuple[Group, ...]:
    """Groups of each family, cut where rulers refuse longer ones; each behind those whose records it reads."""
    scope = Scope(settings)
    families: dict[str, list[RecordingRule]] = {}
    definitions: list[Definition] = []
    for name, family in FAMILIES.items():
        of_family = [
            _definition(record, signal, scope.at(level))
            for signal in family
            for level in sorted(signal.levels, key=list(Level).index)  # engines before the models that sum them
            if (record := signal.record_at(level, settings))
        ]
        families.setdefault(_EVALUATED_WITH.get(name, name), []).extend(one.rule for one in of_family)
        definitions += of_family
    defined = [one.rule for one in definitions]
    written = {rule.record: rule for rule in (defined if ruler in IN_ORDER else in_few_links(definitions))}
    cut = [(name, tuple(group)) for name, family in families.items() for group in packed(family)]
    made, numbers = dict[str, tuple[RecordingRule, ...]](), Counter[str]()
    for place in in_order([group for _, group in cut], defined):
        name, group = cut[place]
        numbers[name] += 1
        made[f"{name}-{numbers[name]}" if numbers[name] > 1 else name] = tuple(written[rule.record] for rule in group)
    return _groups(made, settings)


def _definition(record: str, signal: Signal, scope: Scope) -> Definition:
    return Definition(
        rule=RecordingRule(record=record, expr=signal.definition(scope)),
        reads_series=signal.reads_series(scope),
        reading=lambda records: signal.definition(replace(scope, records=records)),
    )


def alerting_groups(settings: Settings, *, by_grafana: bool = False) -> tuple[Group, ...]:
    """One group for each subject, evaluated as often as the records that it reads.

    Texts for Grafana do without external labels and queries, which its templates do not have.
    """
    scope = Scope(settings)
    rules = {
        f"{subject}-alerts": tuple(_alerting_rule(alert, scope, by_grafana=by_grafana) for alert in alerts)
        for subject, alerts in asked(settings).items()
    }
    return _groups(rules, settings)


def _groups(rules: Mapping[str, tuple[RecordingRule | AlertingRule, ...]], settings: Settings) -> tuple[Group, ...]:
    """A group for each name that has rules."""
    interval, offset = settings.rules.evaluation_interval, settings.rules.query_offset
    return tuple(
        Group(name=f"draftboard-{name}", interval=interval, query_offset=offset, rules=inside)
        for name, inside in rules.items()
        if inside
    )


def _alerting_rule(alert: Alert, scope: Scope, *, by_grafana: bool) -> AlertingRule:
    settings = scope.settings
    patience, value = alert.patience(settings), _value(alert.signal.unit)
    for_all, own = settings.all_alerts, settings.alerts.get(alert.name, Overlay())
    who, where = _who(alert.level, settings), _where(alert.level, settings, external=not by_grafana)
    about = f": {who}{where}" if who else where
    made = {
        "summary": alert.summary.removesuffix(".") + about,
        "description": alert.filled(
            alert.description,
            settings,
            who=(who or "all servers") + where,
            value=value,
            beside='""' if by_grafana else _queried(alert, settings),
        ),
        "runbook_url": f"{settings.links.runbooks}/{alert.name}.md",
    }
    if settings.links.grafana:
        made["dashboard_url"] = f"{settings.links.grafana}/d/draftboard-{alert.dashboard}{_chosen(alert, settings)}"
    return AlertingRule(
        alert=alert.name,
        expr=alert.condition(scope),
        hold=patience.hold,
        keep_firing_for=patience.keep_firing_for,
        labels={"severity": patience.severity} | for_all.labels | own.labels,
        annotations=made | for_all.annotations | own.annotations,
    )


def _who(level: Level, settings: Settings) -> str:
    """The alerting series in words, without its job and scope; nothing for all servers together."""
    labels = settings.labels
    server = f"{{{{ $labels.{labels.instance} }}}}"
    method = _if_set(labels.spec_method, " ({})")
    service = f"{{{{ $labels.{labels.model_name} }}}}"
    model = service + method + _if_set(labels.variant, " [{}]")
    return {
        Level.MODEL: model,
        Level.SERVICE: service,
        Level.ENGINE: f"{model}{_if_set(labels.engine, ' engine {}')} at {server}",
        Level.TARGET: f"{_if_set(labels.model_name, '{} at ')}{server}{method}",
        Level.MONITOR: server,
        Level.HOST: f"{{{{ $labels.{labels.host} }}}}",
        Level.FLEET: "",
    }[level]


def _where(level: Level, settings: Settings, *, external: bool) -> str:
    """Job and scope in words, as in " of job vllm in eu-1/prod"; a label without a value is left out.

    Of the scope also what Prometheus adds to all that it sends, as its external labels, where there are any.
    """
    labels, carried = settings.labels, level.labels(settings)
    job = _if_set(labels.job, " of job {}") if labels.job in carried else ""
    texts = []
    for scope in labels.scope:
        sources = [f"$labels.{scope}"] * (scope in carried) + [f"$externalLabels.{scope}"] * external
        if sources:
            value = " ".join(["or", *sources] if len(sources) > 1 else sources)
            texts.append(f"{{{{ with {value} }}}}{{{{ $in }}}}{{{{ . }}}}")
    return job + ('{{ $in := " in " }}' if texts else "") + '{{ $in = "/" }}{{ end }}'.join([*texts, ""])


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


def _chosen(alert: Alert, settings: Settings) -> str:
    """The dashboard's variables: the alert's model or server; an engine is shown beside the others of its model.

    A label that the series lacks is left to the reader: of the scope it may still be an external label.
    """
    labels, carried = settings.labels, () if alert.level is Level.MONITOR else alert.level.labels(settings)
    server = (labels.instance,) if alert.level is Level.TARGET else ()
    filters = (labels.model_name, labels.spec_method, labels.variant, *server, *labels.scope)
    chosen = "".join(_if_set(one, f"&var-{one}={{}}", " | urlquery") for one in filters if one in carried)
    return f"?var-{labels.job}={{{{ $labels.{labels.job} | urlquery }}}}{chosen}" if labels.job in carried else ""


def _if_set(name: str, text: str, function: str = "") -> str:
    return f"{{{{ with $labels.{name} }}}}{text.format(f'{{{{ .{function} }}}}')}{{{{ end }}}}"
