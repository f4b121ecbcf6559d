"""Dashboard variables at their defaults, put into queries."""

import re
from collections.abc import Mapping, Sequence

from draftboard.errors import DraftboardError
from draftboard.preview.document import Dashboard, Variable
from draftboard.preview.times import Pace, Span

_ALL = "$__all"
_NAME = re.compile(r"\$(?:(\w+)|\{(\w+)(?::\w+)?\})")
# What has a meaning in a regular expression, and what PromQL's string takes for its own.
_SPECIAL = re.compile(r"([\\^$.*+?()\[\]{}|])")


def chosen(dashboard: Dashboard) -> dict[str, str]:
    """Each variable's default, as Grafana writes it into PromQL.

    Raises:
        DraftboardError: a default is only known to who asks the server for the choices.
    """
    return {one.name: _default(one, dashboard.uid) for one in dashboard.variables}


def _default(variable: Variable, uid: str) -> str:
    values = variable.current.value
    if _ALL in ((values,) if isinstance(values, str) else values):
        if variable.all_value is None:
            raise DraftboardError(f"{uid}: variable {variable.name!r}: chosen is All, and allValue is not given")
        return variable.all_value
    return values if isinstance(values, str) else _any_of(values)


def _any_of(values: Sequence[str]) -> str:
    """Several chosen values as a regular expression within PromQL's quotes."""
    escaped = [_SPECIAL.sub(r"\\\\\1", value) for value in values]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def intervals(pace: Pace, span: Span) -> dict[str, str]:
    """Grafana's own variables on time."""
    seconds = round(span.seconds)
    return {
        "__rate_interval": f"{pace.rate_interval}s",
        "__interval": f"{pace.step}s",
        "__interval_ms": f"{pace.step * 1000}",
        "__range": f"{seconds}s",
        "__range_s": f"{seconds}",
        "__range_ms": f"{seconds * 1000}",
    }


def substituted(text: str, values: Mapping[str, str]) -> str:
    """The text with every known variable replaced; an unknown one stays, as it does in Grafana."""
    return _NAME.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
