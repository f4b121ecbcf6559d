"""A comparison as JSON, and what that JSON holds."""

import json
from typing import Any

from pydantic import TypeAdapter

from draftboard.compare.objects import SCHEMA_VERSION, Comparison

_COMPARISON = TypeAdapter(Comparison)


def as_json(comparison: Comparison) -> str:
    """The comparison as JSON, as the schema describes it."""
    return _COMPARISON.dump_json(comparison, indent=2).decode()


def schema() -> str:
    """JSON Schema of a comparison, from the objects themselves."""
    document: dict[str, Any] = _COMPARISON.json_schema(mode="serialization")
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    return json.dumps(document, indent=2, sort_keys=True) + "\n"
