"""The kinds of value a setting can have, each with the sentence that says what is allowed."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from draftboard.durations import Duration

LONGEST_DRAFT = 99
"""Drafted tokens a step that anything is computed for: far more than any drafter drafts."""
RESERVED_LABELS = frozenset(
    # Labels that a record adds, labels of vLLM's own series, and names that dashboards use as variables.
    {
        "accepted",
        "alertname",
        "alertstate",
        "datasource",
        "draft_cost",
        "gpu",
        "identity",
        "k",
        "le",
        "position",
        "reached",
        "series",
    }
    | {"severity", "slo", "source", "reason", "state", "status", "finished_reason", "verify_inflation"},
)


def written(pattern: str, rule: str) -> AfterValidator:
    """A text must match the whole pattern (ASCII); the rule says so in words."""

    def matching(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(rule)
        return value

    return AfterValidator(matching)


def _duration(value: object) -> object:
    if isinstance(value, Duration):
        return value
    if not isinstance(value, str):
        raise ValueError('must be a duration in quotes, such as "15s", "5m" or "1h30m"')  # noqa: TRY004
    return Duration.parse(value)


def _positive(value: Duration) -> Duration:
    if value.seconds <= 0:
        raise ValueError("must be longer than 0s")
    if value.seconds > 366 * 86_400:
        raise ValueError("must be at most 366d")
    return value


def _hold(value: Duration) -> Duration:
    if value.seconds > 7 * 86_400:
        raise ValueError("must be at most 7d")
    return value


def _free(value: str) -> str:
    if value in RESERVED_LABELS:
        raise ValueError("is a label name that records, vLLM or dashboards use themselves: choose another")
    return value


_MATCHER = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"([^"\\$\n{}]*)"\s*')


def _selector(value: str) -> str:
    """Normalise label matchers; only plain regular expressions, which Python and RE2 read alike."""
    if not value.strip():
        return ""
    matchers = []
    for part in value.split(","):
        match = _MATCHER.fullmatch(part)
        if match is None:
            raise ValueError('must be label matchers such as cluster="prod",job=~"vllm.*"')
        label, operator, text = match.groups()
        if "~" in operator:
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"has a regular expression that does not compile: {error}") from None
            if not re.fullmatch(r"[\w .*|()/:-]*", text, re.ASCII) or "**" in text:
                raise ValueError("may use only letters, digits and . * | ( ) / : - _ in a regular expression")
        matchers.append(f'{label}{operator}"{text}"')
    return ",".join(matchers)


Positive = Annotated[Duration, BeforeValidator(_duration), AfterValidator(_positive), PlainSerializer(str)]
Hold = Annotated[Duration, BeforeValidator(_duration), AfterValidator(_hold), PlainSerializer(str)]
LabelKey = Annotated[
    str,
    written(r"(?!__)[a-zA-Z_]\w*", "must be a label name: letters, digits and _, not starting with a digit or __"),
]
LabelName = Annotated[LabelKey, AfterValidator(_free)]
MethodName = Annotated[str, written(r"[A-Za-z0-9_-]+", "must be a method name: letters, digits, _ and -")]
Url = Annotated[
    str,
    written(r"https?://[\w.~:/@%+,\[\]-]+(?<!/)", "must be an http(s) address without query or trailing slash"),
]
Selector = Annotated[str, AfterValidator(_selector)]
Share = Annotated[float, Field(gt=0, lt=1)]
Ratio = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
