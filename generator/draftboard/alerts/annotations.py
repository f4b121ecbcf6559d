"""The annotations of an alert: what a notification says, as a template that Prometheus or Grafana fills in."""

from draftboard.alerts.alert import Alert
from draftboard.alerts.platforms import platforms
from draftboard.alerts.templating import environment, filled
from draftboard.settings import Settings
from draftboard.signals.signal import Unit

_COUNTS = (
    Unit.REQUESTS,
    Unit.ENGINES,
    Unit.SERVERS,
    Unit.RESTARTS,
    Unit.EVALUATIONS,
    Unit.NOTIFICATIONS,
    Unit.FAILURES,
    Unit.SERIES,
)
_FORMATS = (
    dict.fromkeys((Unit.RATIO, Unit.TIMES, Unit.TIMES_NOW), 'printf "%.3g" | humanizePercentage')
    | dict.fromkeys(_COUNTS, 'printf "%.0f"')
    | {Unit.PREEMPTIONS_PER_REQUEST: 'printf "%.2f"'}
)
"""How the value of a unit is formatted. Others: `_MEASURED`. Prometheus extrapolates a count in a window to parts of an
event. A share has a third digit, so that 99.6 % of the servers do not read as all."""
_MEASURED = 'printf "%.2g" | humanize'


def annotations(alert: Alert, settings: Settings, *, by_grafana: bool = False) -> dict[str, str]:
    """Summary, description, links, and a command that asks for the value now, by name.

    Grafana's templates have neither external labels nor queries.
    """
    carried = alert.level.labels(settings)
    module = environment.get_template("annotations.j2").make_module(
        {
            **dict(settings),
            "level": alert.level.value,
            "carried": carried,
            "external_labels": not by_grafana,
            "format": _FORMATS.get(alert.signal.unit, _MEASURED),
            "beside_record": alert.beside and not by_grafana and alert.beside.record_name(alert.level, settings),
            "beside_labels": (*carried, *alert.signal.by),
            "record": alert.signal.record_name(alert.level, settings),
            "alert": alert.name,
        }
    )
    parts = {
        name: str(vars(module)[name])
        for name in ("about", "who", "value", "beside", "variables", "query", "model", "of_placeholders")
    }
    promtool = next(iter(platforms(settings.runbooks).values())).run("promtool")
    made = {
        "summary": alert.summary.removesuffix(".") + parts["about"],
        "description": filled(alert.description, alert.name, settings, **parts),
        "runbook_url": f"{settings.links.runbooks}/{alert.name}.md{parts['of_placeholders']}",
        "command": f"{promtool} query instant {settings.runbooks.prometheus} '{parts['query']}'",
    }
    if alert.explained:
        made["explanation"] = (
            f"draftboard history --prometheus {settings.runbooks.prometheus} --explain{parts['model']}"
        )
    if settings.links.grafana:
        page = settings.rules.uid_of(alert.dashboard)
        made["dashboard_url"] = f"{settings.links.grafana}/d/{page}{parts['variables']}"
    return made
