"""Templates in texts of alerts, checked as far as Prometheus checks them when it loads rules."""

import re

_ACTION = re.compile(r"""\{\{-?\s*((?:"[^"]*"|`[^`]*`|'[^']*'|(?!\}\}|\{\{)[^"`'])*?)\s*-?\}\}""")
_OPENS = ("if", "with", "range")
_KEYWORDS = "else|if|with|range|end|define|template|block|break|continue"
_FUNCTIONS = frozenset(
    re.findall(
        r"\w+",
        """and call html index slice js len not or print printf println urlquery eq ge gt le lt ne true false nil
        args externalURL first graphLink humanize humanize1024 humanizeDuration humanizePercentage humanizeTimestamp
        label match now parseDuration pathPrefix query reReplaceAll safeHtml sortByLabel stripDomain stripPort strvalue
        tableLink title toDuration toFloat toLower toTime toUpper urlQueryEscape value""",
    )
)
"""What a template may call: Go's own functions, then Prometheus'."""
_CALLED = re.compile(
    rf"(?:^|[|(])\s*(?:(?:{_KEYWORDS})\b\s*)*(?:\$\w+(?:\s*,\s*\$\w+)?\s*:?=\s*)?(?!(?:{_KEYWORDS})\b)([a-zA-Z]\w*)"
)
_QUOTED = re.compile(r"""\"[^"]*"|`[^`]*`|'[^']*'""")


def checked_template(value: str) -> str:
    """The template; ValueError for an action or a block that is not closed, and for an unknown function."""
    rest, depth, actions = (
        _ACTION.sub("", value),
        0,
        [one for one in _ACTION.findall(value) if not one.startswith("/*")],
    )
    if "{{" in rest or "}}" in rest:
        raise ValueError("has a template that is not closed: write {{ ... }}, and quotes in pairs")
    for action in actions:
        word = action.split(maxsplit=1)[0] if action else ""
        if not word:
            raise ValueError("has an empty template {{ }}: write {{ $labels.name }}, for example")
        if unknown := {*_CALLED.findall(_QUOTED.sub('""', action))} - _FUNCTIONS:
            raise ValueError(f"calls {min(unknown)}, which is no function of Prometheus' templates")
        depth += (word in _OPENS) - (word == "end")
        if depth < 0:
            raise ValueError("has {{ end }} without {{ if }}, {{ with }} or {{ range }}")
    if depth:
        raise ValueError("has {{ if }}, {{ with }} or {{ range }} without {{ end }}")
    return value
