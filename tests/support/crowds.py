"""Cases of rules beside each other in one evaluation, which differ in one label: none may change another's answers."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support import cases

_ABOUT_ALL = {"alert-DraftboardRecordsMissing", "alert-DraftboardWatchdog", "records-release"}
_ACROSS = {
    "cluster": _ABOUT_ALL,
    # Whether samples arrive is a question of a cluster.
    "namespace": _ABOUT_ALL | {"alert-DraftboardSamplesStopped", "alert-VLLMModelGone", "records-gone"},
    # All jobs serve a model, and any may have its baseline; a target's job may say that it is a server.
    "job": _ABOUT_ALL
    | {"alert-DraftboardSamplesStopped", "alert-VLLMModelDown", "alert-VLLMModelGone", "alert-VLLMReplicasMissing"}
    | {"alert-VLLMTargetDown"}
    | {"alert-DraftboardModelUnwatched", "alert-VLLMSpeculationSlowsUsers", "alert-VLLMUsersUnserved"}
    | {"records-gone", "records-outage"},
}
"""Cases in which a label is no border, by that label."""
LABELS = tuple(_ACROSS)
NAME = "each with a {} of its own"
_CASE = {"name", "long", "interval", "input_series", "promql_expr_test", "alert_rule_test"}
_SELECTOR = re.compile(r'([\w:]*)(?:\{((?:[^{}"]|"(?:[^"\\]|\\.)*")*)\})?')
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)("(?:[^"\\]|\\.)*")')


def together(path: Path, label: str) -> Iterator[dict[str, Any]]:
    """A file of cases with all cases of one interval as one, in which each has values of its own of the label.

    Only series and alerts by name are asked for: an aggregation would count all cases.
    """
    document = cases.read(path)
    if path.name.removesuffix(".cases.yaml") in _ACROSS[label] or "exp_annotations" in cases.text(document):
        return
    alike_cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in document["tests"]:
        others = {key: text for key, text in case.items() if key not in _CASE}
        alike_cases[cases.text({**others, "interval": case["interval"]})].append(case)
    for alike in alike_cases.values():
        series = [
            one | {"series": _apart(one["series"], label, number)}
            for number, case in enumerate(alike)
            for one in case["input_series"]
        ]
        asked = [query for number, case in enumerate(alike) for query in _questions(case, label, number)]
        if len(alike) > 1 and asked:
            merged = alike[0] | {"name": NAME.format(label)}
            merged |= {"input_series": series, "promql_expr_test": asked, "alert_rule_test": []}
            yield document | {"tests": [merged]}


def _questions(case: Mapping[str, Any], label: str, number: int) -> Iterator[dict[str, Any]]:
    own = f'{label}=~"{number}-.*"'
    for query in case.get("promql_expr_test", ()):
        selector = _SELECTOR.fullmatch(query["expr"])
        borders = {name for name, *_ in _MATCHER.findall(query["expr"])}
        if selector and label not in borders and not selector[1].startswith("fleet:"):
            matchers = ("".join(one) for one in _MATCHER.findall(selector[2] or ""))
            samples = query.get("exp_samples") or ()
            expected = [one | {"labels": _apart(one["labels"], label, number)} for one in samples]
            yield query | {"expr": _selector(selector[1], *matchers, own), "exp_samples": expected}
    for alert in case.get("alert_rule_test", ()):
        fires = {"alertname": alert["alertname"], "alertstate": "firing"}
        expected = [
            {"labels": _apart(_series("ALERTS", fires | one["exp_labels"]), label, number), "value": 1}
            for one in alert["exp_alerts"] or ()
        ]
        asked = (f'{name}="{text}"' for name, text in fires.items())
        yield {"expr": _selector("ALERTS", *asked, own), "eval_time": alert["eval_time"], "exp_samples": expected}


def _apart(series: str, label: str, number: int) -> str:
    """A series with a value of the label that no other case has."""
    found = _SELECTOR.fullmatch(series)
    assert found, series
    labels = {name: json.loads(text) for name, _, text in _MATCHER.findall(found[2] or "")}
    return _series(found[1], labels | {label: f"{number}-{labels.get(label, '')}"})


def _series(name: str, labels: Mapping[str, str]) -> str:
    return _selector(name, *(f"{label}={json.dumps(text)}" for label, text in labels.items()))


def _selector(name: str, *matchers: str) -> str:
    return f"{name}{{{','.join(matchers)}}}"
