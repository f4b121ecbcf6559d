"""The exits of text: one function for each sink.

Names and errors come from servers, and a document does not know which of its words do: all of them pass here, once.
Values of JSON stay as they are: its writer escapes what ends a string.
"""

import re
from json import dumps

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
"""Stands for each character that ends a line, moves a cursor, changes the direction of reading, or is invisible."""
_JOINER = "\N{WORD JOINER}"
# Drawn as nothing, though Unicode counts them as printable: fillers, blanks, and selectors, which can spell out a text.
_DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# A runner of GitHub obeys a line that begins with "::"; older ones, Azure's and TeamCity's obey "##[" anywhere.
_OBEYED_LINE = re.compile(r"^((?:[ \t]|\x1b\[[0-9;]*m)*):(?=:)", re.MULTILINE)
_OBEYED = re.compile(r"#(?=#(?:vso|teamcity)?\[)")
_REFERENCE = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=GH)(?=-\d)", re.IGNORECASE)
_MARKUP = re.compile(r"[\\`*_\[\]<>|#~$&]")
_ADDRESS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_BLOCK = re.compile(r"^(?=[-+=:])|^\d{1,9}(?=[.)](?: |$))")
_ANNOTATED = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _ANNOTATED | str.maketrans({":": "%3A", ",": "%2C"})


def terminal(text: str) -> str:
    """Text that stays on its line of a terminal or a log."""
    seen = _DRAWN_AS_NOTHING.sub(UNPRINTABLE, text)
    return "".join(character if character.isprintable() else UNPRINTABLE for character in seen)


def verbatim(text: str) -> str:
    """Lines of ours on a terminal, to copy."""
    return "\n".join(map(terminal, text.split("\n")))


def log(text: str) -> str:
    """What is printed, colours included, without a line that a CI system would obey."""
    return _OBEYED.sub(UNPRINTABLE, _OBEYED_LINE.sub(rf"\1{UNPRINTABLE}", text))


def markdown(text: str) -> str:
    """Text within a line of Markdown: no markup, link, image, formula, mention or reference."""
    escaped = _MARKUP.sub(r"\\\g<0>", _REFERENCE.sub(_JOINER, terminal(text)))
    return _ADDRESS.sub(r"\\", escaped)


def markdown_block(text: str) -> str:
    """Text that begins a line of Markdown, which it turns into no list, rule, heading or block of code."""
    return _BLOCK.sub(r"\g<0>\\", markdown(text).strip() or UNPRINTABLE)


def fence(text: str) -> str:
    """Lines of ours as a block of code, which nothing in them closes."""
    shown = verbatim(text.rstrip())
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    return f"{marks}\n{shown}\n{marks}"


def json(document: str) -> str:
    """A document in JSON, with the same values, which no terminal and no CI system obeys where it is printed."""
    if verbatim(document) != document:
        document = "".join(one if verbatim(one) == one else dumps(one)[1:-1] for one in document)
    return _OBEYED.sub(r"\\u0023", document)


def xml(text: str) -> str:
    """Text of an attribute, for a writer of XML: without the characters that XML does not have."""
    return terminal(text)


def annotation(kind: str, text: str, **properties: str) -> str:
    """A line that GitHub Actions shows beside a run: `kind` is notice, warning or error."""
    named = ",".join(f"{name}={terminal(value).translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{kind} {named}::{terminal(text).translate(_ANNOTATED)}"


def picture(text: str) -> str:
    """Text of a figure, which matplotlib must not read as a formula."""
    return terminal(text).replace("$", r"\$")
