"""What a user typed: read within limits, each mistake told in one line."""

import json
from typing import Any

from draftboard.doctor.finding import shown

MAX_CHARACTERS = 100_000
_VARIABLE = "it holds a variable of the shell: give its value"


def checked(text: str) -> str:
    """The text, if it is one that a shell could have passed on.

    Raises:
        ValueError: it is too long, not UTF-8, or holds characters that a terminal would obey.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"longer than {MAX_CHARACTERS:,} characters")
    for character in text:
        if not character.isprintable() and character not in "\n\t\r":
            raise ValueError(f"holds the character {shown(character)}, which is no text")
    return text


def read_object(text: str) -> dict[str, Any]:
    """The text as a JSON object.

    Raises:
        ValueError: it is none; says where, in one line, without repeating it.
    """
    try:
        value = json.loads(checked(text), parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise ValueError(f"not JSON: {error.msg} at {place}{_hint(text)}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"JSON, but {_kind(value)} where an object in braces is needed")  # noqa: TRY004
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"not JSON: {constant} is no number there")


def _hint(text: str) -> str:
    start = text.strip()
    if start.startswith("$"):
        return f"; {_VARIABLE}"
    if start.startswith("-"):
        return "; a command line goes to --command"
    if start.startswith("{") and '"' not in start:
        return "; keys and texts need double quotes, so put single quotes around the whole for the shell"
    return ""


def _kind(value: object) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
