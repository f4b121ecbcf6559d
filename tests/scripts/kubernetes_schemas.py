"""Write what Kubernetes and the Prometheus operator take to `tests/data/kubernetes.schema.json`, unknown keys refused.

From packages of the group `kubernetes`, which take seconds to import: `make test` reads the file.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from conftest import ROOT

FILE = ROOT / "tests/data/kubernetes.schema.json"
OPERATED = ("PodMonitor", "PrometheusRule", "ServiceMonitor")
RELEASE = "1.37.0"
"""Of Kubernetes, as kubernetes-validate has it."""
_OWN = {"ConfigMap": "configmap-v1.json", "CronJob": "cronjob-batch-v1.json"}
_WORDS = ("title", "default", "description")


def schemas() -> dict[str, Any]:
    """A JSON Schema for each kind of object."""
    from cloudcoil.models.prometheus_operator import v1  # noqa: PLC0415

    operated = {kind: _strict(getattr(v1, kind).model_json_schema(by_alias=True)) for kind in OPERATED}
    return {kind: _own(file) for kind, file in _OWN.items()} | operated


def text() -> str:
    """The file's text."""
    return json.dumps(schemas(), indent=1, sort_keys=True) + "\n"


def _strict(schema: Any) -> Any:
    """The schema without its words, and without keys or values that it only tolerates."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if meant := [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]:
        return _strict(meant[0]) if len(meant) == 1 else {"anyOf": _strict(meant)}
    properties = schema.get("properties")
    kept = {key: _strict(value) for key, value in schema.items() if key not in (*_WORDS, "properties")}
    return kept | (
        {"properties": {name: _strict(one) for name, one in properties.items()}, "additionalProperties": False}
        if properties
        else {}
    )


def _own(file: str) -> Any:
    """A schema of Kubernetes' own, with the definitions that it reads."""
    from kubernetes_validate import utils  # noqa: PLC0415

    folder = f"kubernetes-json-schema/v{RELEASE}-local-strict"
    schema = utils.schema_contents(f"{folder}/{file}", RELEASE)
    everything = utils.schema_contents(f"{folder}/_definitions.json", RELEASE)["$defs"]
    needed: dict[str, Any] = {}
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = everything[name]
            waiting += _references(everything[name])
    whole = _strict({key: value for key, value in schema.items() if key != "$id"} | {"$defs": needed})
    return json.loads(re.sub(r'"[^"]*_definitions\.json#', '"#', json.dumps(whole)))


def _references(schema: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to."""
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str):
        yield reference.rpartition("/")[2]
    for one in inner:
        yield from _references(one)


if __name__ == "__main__":
    FILE.write_text(text())
