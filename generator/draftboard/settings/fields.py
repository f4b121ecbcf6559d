"""Types of settings, each with the sentence that says what is allowed."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from draftboard.durations import Duration
from draftboard.settings.templated import checked_template

LONGEST_DRAFT = 99  # Drafted tokens a step that anything is computed for: far more than any drafter drafts.
_MATCHER = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"([^"\\$\n{}]*)"\s*')


def written(pattern: str, rule: str) -> AfterValidator:
    """A text must match the whole pattern (ASCII); `rule` is the pattern in words."""

    def matching(value: str) -> str:
        if not re.fullmatch(pattern, value, re.ASCII):
            raise ValueError(rule)
        return value

    return AfterValidator(matching)


def _duration(value: object) -> object:
    if isinstance(value, str):
        return Duration.parse(value)
    if isinstance(value, Duration):
        return value
    raise ValueError('must be a duration in quotes, such as "15s", "5m" or "1h30m"')


def _at_most(most: str, *, above: int = -1) -> AfterValidator:
    def checked(value: Duration) -> Duration:
        if value.seconds <= above:
            raise ValueError(f"must be longer than {above}s")
        if value > Duration.parse(most):
            raise ValueError(f"must be at most {most}")
        return value

    return AfterValidator(checked)


def _selector(value: str) -> str:
    """Normalise label matchers; only plain regular expressions, which mean the same in Python and RE2."""
    matchers = []
    for part in value.split(",") if value.strip() else ():
        match = _MATCHER.fullmatch(part)
        if match is None:
            raise ValueError('must be label matchers such as cluster="prod",job=~"vllm.*"')
        label, operator, text = match.groups()
        if "~" in operator:
            if not re.fullmatch(r"[\w .*|()/:-]*", text, re.ASCII) or "**" in text:
                raise ValueError("may use only letters, digits and . * | ( ) / : - _ in a regular expression")
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"has a regular expression that does not compile: {error}") from None
        matchers.append(f'{label}{operator}"{text}"')
    return ",".join(matchers)


_Duration = Annotated[Duration, BeforeValidator(_duration), PlainSerializer(str)]
Positive = Annotated[_Duration, _at_most("366d", above=0)]
Delay = Annotated[_Duration, _at_most("7d")]
OneLine = Annotated[str, written(r"[^\x00-\x1f\x7f]{1,1000}", "must be one line of 1 to 1000 characters")]
Templated = Annotated[OneLine, AfterValidator(checked_template)]
"""A text in which Prometheus expands templates."""


def plain_spelling(method: str) -> str:
    """The name of a method without case, hyphens and blanks."""
    return re.sub("[^a-z0-9]", "", method.lower())


METHOD_NAME = r"[A-Za-z0-9_-]+", "must be a method name: letters, digits, _ and -"
MethodName = Annotated[str, written(*METHOD_NAME)]
ModelPattern = Annotated[
    str,
    written(
        r"[\w.*|()/:-]{1,200}",
        "must be a model's name, or a regular expression of letters, digits and . * | ( ) / : - _",
    ),
]
Currency = Annotated[str, written("[A-Za-z]{1,8}", "must be the name of a currency in letters, such as USD")]
_WEB = r"https?://[\w.~:/@%+,\[\]-]+(?<!/)"
Url = Annotated[str, written(_WEB, "must be an http(s) address without query or trailing slash")]
Selector = Annotated[str, AfterValidator(_selector)]
Share = Annotated[float, Field(gt=0, lt=1)]
Ratio = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
AboveZero = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
_Inflation = Annotated[float, Field(ge=1, le=1000)]
_BatchSize = Annotated[str, written("[1-9][0-9]{0,4}", "must be a number of requests, such as 8")]


def _by_batch(value: object) -> object:
    return value if isinstance(value, dict) else {"1": value}


def _as_one(value: dict[str, float]) -> float | dict[str, float]:
    return next(iter(value.values())) if len(value) == 1 else value


WHOLE = "whole"
"""Marks a table whose keys are points of one curve: those of the default belong to another."""
InflationByBatch = Annotated[
    dict[_BatchSize, _Inflation],
    WHOLE,
    Field(min_length=1, max_length=64),
    BeforeValidator(_by_batch),
    PlainSerializer(_as_one),
]
"""Verify inflation by batch size; one number is the same at any."""
