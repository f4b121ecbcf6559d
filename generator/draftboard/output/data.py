"""Results as JSON, of the typed objects that documents show, and the JSON Schema that describes them."""

import json
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import PydanticSerializationError

from draftboard.output import escape

T = TypeVar("T")


class Described:
    """Base of what is written as JSON: docstrings of fields become descriptions; NaN and infinity are refused."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True, allow_inf_nan=False)


def as_json(answer: object, indent: int | None = 2) -> str:
    """The result as JSON, on one line with `indent` None."""
    kind: type = type(answer)
    adapter = _adapter(kind)
    try:
        written = adapter.dump_json(answer, indent=indent).decode()
    except PydanticSerializationError:  # Half of a character, which UTF-8 cannot hold.
        written = json.dumps(adapter.dump_python(answer, mode="json"), indent=indent)
    return escape.json(written)


def from_json(kind: type[T], content: bytes) -> T:
    """The result that JSON describes. pydantic.ValidationError: it does not describe one of this kind."""
    whole: type = kind
    return cast("T", _adapter(whole).validate_json(content))


@cache  # To make one takes as long as to read fifty reports.
def _adapter(kind: type) -> TypeAdapter[object]:
    return TypeAdapter(kind)


def schema(kind: type, version: int | None = None) -> str:
    """JSON Schema of a result; `version` overrides the schema version that its class declares."""
    document: dict[str, Any] = _adapter(kind).json_schema(mode="serialization")
    parts = {kind.__name__: document, **document.get("$defs", {})}
    # Pydantic reads the docstrings of a class' own fields only.
    for part in _dataclasses(kind):
        for base in part.__mro__[1:]:
            if is_dataclass(base) and part.__name__ in parts:
                inherited = _adapter(base).json_schema(mode="serialization").get("properties", {})
                parts[part.__name__]["properties"] |= inherited
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["properties"]["schema_version"]["const"] = kind.schema_version if version is None else version  # type: ignore[attr-defined]
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _dataclasses(kind: Any) -> set[type]:  # noqa: ANN401  (any annotation)
    own = {kind} if isinstance(kind, type) and is_dataclass(kind) else set()
    inner = [*getattr(kind, "__args__", ()), *(field.type for one in own for field in fields(one))]
    return own.union(*map(_dataclasses, inner))
