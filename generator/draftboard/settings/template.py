"""The settings file that `draftboard init` writes: every key with its default and reason, read from the model."""

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

from pydantic.fields import FieldInfo

from draftboard import __version__
from draftboard.files import Table
from draftboard.settings.model import Settings

_WIDTH = 120
_BARE_KEY = re.compile(r"[\w-]+", re.ASCII)
_INTRODUCTION = f"""\
# Settings of Draftboard {__version__}: every key with its default. To change one, remove its # and write another value.
# Values marked "example" are not set by default. Heuristic: a rule of thumb without a measurement.
# Then run: draftboard build --config FILE --out FOLDER

"""


def template() -> str:
    """Its text, which sets nothing: all keys are comments."""
    return _INTRODUCTION + "\n".join(_table(Settings, ())) + "\n"


def _table(model: type[Table], path: tuple[str, ...]) -> Iterator[str]:
    """The keys of a table, then the tables in it, because TOML has no way back to the outer one."""
    inner: list[str] = []
    defaults = model.model_construct().model_dump(mode="json", by_alias=True)
    for name, field in model.model_fields.items():
        key, reason = field.alias or name, field.description or ""
        if table := _table_of(field):
            inner += _section(table, (*path, key), reason, field)
            continue
        yield from _comment(reason)
        default = defaults.get(key)
        if field.examples and not default:
            yield f"#{key} = {_toml(field.examples[0])}" + ("" if field.is_required() else "  # example")
        else:
            yield f"#{key} = {_toml(default)}"
    yield from inner


def _section(table: type[Table], path: tuple[str, ...], reason: str, field: FieldInfo) -> Iterator[str]:
    """A table with its heading: a comment where there is no table unless somebody writes it."""
    name = ".".join((*path, *(field.examples or ())))
    heading = f"[[{name}]]" if isinstance(field.default, tuple) else f"[{name}]"
    yield ""
    yield from _comment(reason or inspect.getdoc(table) or "")
    yield heading if isinstance(field.default, Table) else f"#{heading}"
    yield from _table(table, path)


def _table_of(field: FieldInfo) -> type[Table] | None:
    """The model of a field that holds a table, tables, or one by name."""
    candidates = (field.annotation, *get_args(field.annotation))
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, Table)), None)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent="# ", subsequent_indent="# ")


def _toml(value: Any) -> str:  # noqa: ANN401  (whatever JSON holds)
    if isinstance(value, dict):
        pairs = (f"{key if _BARE_KEY.fullmatch(key) else json.dumps(key)} = {_toml(v)}" for key, v in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
