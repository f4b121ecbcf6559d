"""The template language of alert texts and runbooks: Jinja with `${...}`, because `{{ ... }}` belongs to Prometheus.

Every template reads the settings by their names, as in `${thresholds.drop}`.
"""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, TemplateError

from draftboard.errors import DraftboardError
from draftboard.settings import Settings


def _short(value: object) -> object:
    """Numbers without trailing zeros."""
    return f"{value:g}" if isinstance(value, float) else value


environment = Environment(
    loader=PackageLoader("draftboard.alerts", ""),
    variable_start_string="${",
    variable_end_string="}",
    undefined=StrictUndefined,
    finalize=_short,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (Markdown and YAML, not HTML)
)


def filled(text: str, alert: str, settings: Settings, **values: str) -> str:
    """A text of the alert with its placeholders filled in; one that names what does not exist is a DraftboardError."""
    try:
        return _parsed(text).render(dict(settings), **values)
    except TemplateError as error:
        raise DraftboardError(f"alert {alert}: cannot fill in {text!r}: {error}") from None


@cache
def _parsed(text: str) -> Template:
    return environment.from_string(text)
