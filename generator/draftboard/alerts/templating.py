"""The template language of alert texts and runbooks: Jinja with `${...}`, because `{{ ... }}` belongs to Prometheus.

Every template reads the settings by their names, as in `${thresholds.drop}`.
"""

from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, TemplateError

from draftboard.errors import DraftboardError
from draftboard.quantity import RATE_WINDOW, SILENCE, Setting, span_text
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
        return _parsed(text).render(_context(settings), **values)
    except TemplateError as error:
        raise DraftboardError(f"alert {alert}: cannot fill in {text!r}: {error}") from None


@dataclass(frozen=True)
class _Rules:
    """`[rules]` with durations that are still open."""

    settings: Settings

    def __getattr__(self, name: str) -> str:
        return span_text(_DERIVED.get(name) or Setting(f"rules.{name}"), self.settings)


_DERIVED = {"rate_window": RATE_WINDOW, "silence": SILENCE}


def _context(settings: Settings) -> dict[str, object]:
    return dict(settings) | ({"rules": _Rules(settings)} if settings.left_open else {})


@cache
def _parsed(text: str) -> Template:
    return environment.from_string(text)
