"""Rule files as each ruler takes them."""

import io
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml
from yaml.emitter import ScalarAnalysis

from draftboard.durations import Duration
from draftboard.rulers import Ruler
from draftboard.rules.rule import AlertingRule, Group, RecordingRule


@dataclass(frozen=True, kw_only=True)
class _Form:
    """How the files of a ruler differ from those of Prometheus."""

    notes: str = ""
    query_offset: str = "query_offset"  # What it calls that.
    besides: Mapping[str, Any] = field(default_factory=dict)  # Of every group.
    left_out: frozenset[str] = frozenset()  # Keys that it lacks.
    resource: str = ""  # The Kubernetes resource around the groups.
    in_seconds: bool = False  # Durations of Go have no days.


_FORMS: Mapping[Ruler, _Form] = {
    "prometheus": _Form(),
    "mimir": _Form(
        notes="For `mimirtool rules load --id=TENANT`: this file, by its name, replaces the namespace of that name.\n"
        "Rules see the series of that tenant only, unless a group has `source_tenants`.\n"
    ),
    "thanos": _Form(
        notes="Requires Thanos 0.32, for keep_firing_for. A partial answer is an error, and no value.\n",
        besides={"partial_response_strategy": "abort"},
    ),
    "vmalert": _Form(
        notes="vmalert shows a record to others one interval later: at most three are in a row, the rest is in place.\n"
        "A partial answer of a cluster is an error (`params`), and no value.\n",
        query_offset="eval_delay",
        besides={"params": {"deny_partial_response": ["1"]}},
    ),
    "gmp": _Form(
        notes="Managed Service for Prometheus has no keep_firing_for: alerts resolve as soon as their condition ends.\n"
        "ClusterRules read one cluster; `kind: Rules` reads one namespace, `GlobalRules` all clusters.\n",
        left_out=frozenset({"keep_firing_for", "query_offset"}),
        resource="ClusterRules",
        in_seconds=True,
    ),
}


class _Dumper(yaml.SafeDumper):
    """Multi-line expressions as blocks, lists below their key, every rule in full: what is reviewed is readable."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        return _analysed(scalar)

    def text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_PLAIN = yaml.SafeDumper(io.StringIO(), allow_unicode=True)


@lru_cache(maxsize=20_000)
def _analysed(scalar: str) -> ScalarAnalysis:
    """PyYAML looks at each character in Python; keys recur in a file, and expressions in the files of all rulers."""
    return _PLAIN.analyze_scalar(scalar)


_Dumper.add_representer(str, _Dumper.text)
_Dumper.add_multi_representer(str, _Dumper.text)  # PromQL


def to_yaml(groups: Iterable[Group], ruler: Ruler = "prometheus", *, name: str = "rules") -> str:
    """The rule file that holds these groups; `name` is what Kubernetes calls it."""
    return textwrap.indent(_FORMS[ruler].notes, "# ") + as_yaml(document(groups, ruler, name=name))


def as_yaml(document: Mapping[str, Any]) -> str:
    """A document that is reviewed."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def document(groups: Iterable[Group], ruler: Ruler = "prometheus", *, name: str = "rules") -> dict[str, Any]:
    """The content of a rule file, as data."""
    form = _FORMS[ruler]
    result: dict[str, Any] = {
        "groups": [
            {**_entry(group, form), **form.besides, "rules": [_entry(rule, form) for rule in group.rules]}
            for group in groups
        ]
    }
    if form.resource:
        head = {"apiVersion": "monitoring.googleapis.com/v1", "kind": form.resource}
        result = {**head, "metadata": {"name": f"draftboard-{name}"}, "spec": result}
    return result


def _entry(entry: Group | RecordingRule | AlertingRule, form: _Form) -> dict[str, Any]:
    """Of a rule, or of a group without its rules; a duration of 0s is left out."""
    names = {"pending_period": "for", "query_offset": form.query_offset}
    return {
        names.get(key, key): _duration(value, form) if isinstance(value, Duration) else value
        for key, value in vars(entry).items()
        if value != Duration(0) and key not in {"rules", *form.left_out}
    }


def _duration(duration: Duration, form: _Form) -> str:
    return f"{duration.seconds}s" if form.in_seconds else str(duration)
