"""The mixin, evaluated by Jsonnet, is what `draftboard build` makes with the same settings."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import _gojsonnet
import pytest

from draftboard.build import render
from draftboard.durations import Duration
from draftboard.settings import Settings
from support.rulefiles import loaded

_PROMQL = {"expr", "query", "definition"}


def evaluated(files: Mapping[str, str], config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What who imports the mixin gets, with values of `_config` over its own."""
    read = f"(import 'mixin.libsonnet') {{ _config+:: {in_jsonnet(config or {})} }}"
    wanted = ("_config", "grafanaDashboards", "prometheusRules", "prometheusAlerts")
    asked = f"local mixin = {read}; {{ {', '.join(f'{name}: mixin.{name}' for name in wanted)} }}"
    answer = _gojsonnet.evaluate_snippet("test", asked, import_callback=lambda _, path: (path, files[path].encode()))
    found: dict[str, Any] = json.loads(answer)
    return found


def in_jsonnet(value: Any) -> str:
    """As somebody writes it who keeps the other keys."""
    if not isinstance(value, dict):
        return json.dumps(value)
    fields = (f"{key}{'+' if isinstance(inner, dict) else ''}: {in_jsonnet(inner)}" for key, inner in value.items())
    return f"{{ {', '.join(fields)} }}"


def built(settings: Settings) -> dict[str, str]:
    """The mixin's files and those that it stands for."""
    paths = ("mixin", "dashboards/draftboard-", "alerts/recording", "alerts/alerting")
    made = render(settings)
    return {path: made[path] for path in made if path.startswith(paths)}


def as_built(files: Mapping[str, str]) -> dict[str, Any]:
    folder = "dashboards/draftboard-"
    return {
        "grafanaDashboards": {
            path.removeprefix("dashboards/"): json.loads(text)
            for path, text in files.items()
            if path.startswith(folder)
        },
        "prometheusRules": loaded(files["alerts/recording.rules.yaml"]),
        "prometheusAlerts": loaded(files["alerts/alerting.rules.yaml"]),
    }


def normal(value: Any, key: str = "") -> Any:
    """Without the layout of PromQL, which follows from the length of its parts; numbers of 17 digits as their value."""
    if isinstance(value, dict):
        return {name: normal(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [normal(inner, key) for inner in value]
    if key not in _PROMQL or not isinstance(value, str):
        return value
    return re.sub(r"\d\.\d{12,}", lambda found: repr(float(found[0])), re.sub(r"\s+", "", value))


def differences(one: Any, other: Any, at: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from differences(one.get(key), other.get(key), f"{at}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{at}[{index}]")
    elif one != other:
        yield f"{at}: {one!r} is built as {other!r}"


def differs(mixin: Mapping[str, Any], files: Mapping[str, str]) -> list[str]:
    expected = as_built(files)
    return list(differences(normal({key: mixin[key] for key in expected}), normal(expected)))


def test_it_is_what_is_built(committed: dict[str, str]) -> None:
    assert differs(evaluated(committed), committed) == []


def moved(config: Any, seen: Iterator[int]) -> Any:
    """Every value changed, each in its own way: numbers are smaller, durations longer."""
    if isinstance(config, dict):
        return {key: moved(value, seen) for key, value in config.items()}
    own = next(seen)
    if isinstance(config, (int, float)):
        half = 1 + (config - 1) / 2 if config > 1 else config / 2
        return round(half * (1 - own / 10_007), 9)
    if config is None or "://" in config:
        return f"https://example.org/{own}"
    return str(Duration.parse(config) * 2) if config else 'cluster="eu-1",zone=~"a|b"'


def test_each_key_of_its_config_is_the_setting_of_that_name(committed: dict[str, str]) -> None:
    config = moved(evaluated(committed)["_config"], count(1))
    mixin = evaluated(committed, config)
    assert mixin["_config"] == config
    assert differs(mixin, built(Settings.model_validate(config))) == []


def test_what_changes_more_than_texts_is_in_the_mixin_that_is_built_with_it() -> None:
    settings: dict[str, dict[str, Any]] = {
        "labels": {"model_name": "llm", "scope": ["region"]},
        "slo": {"errors": {"objective": 0.999}},
        "links": {"grafana": "https://grafana.example.org"},
    }
    # Windows follow from the scrape interval.
    slower = {"rules": {"scrape_interval": "90s"}}
    mixin = evaluated(built(Settings.model_validate(settings)), slower)
    assert mixin["_config"]["rules"]["window"] == "6m"
    assert differs(mixin, built(Settings.model_validate(settings | slower))) == []


@pytest.mark.parametrize(("table", "key"), [("thresholds", "dorp"), ("rules", "query_offset")])
def test_a_key_that_it_does_not_know_is_refused(table: str, key: str, committed: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match=rf"not in _config: {table}\.{key}; run `draftboard build` with it"):
        evaluated(committed, {table: {key: "1m"}})


@pytest.mark.parametrize("table", ["slo", "labels", "alerts"])
def test_a_table_that_it_does_not_know_is_refused(table: str, committed: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match=f"not in _config: {table}; run `draftboard build` with it"):
        evaluated(committed, {table: {"a": 1}})


def test_what_another_mixin_reads_of_the_same_config_is_left_alone(committed: dict[str, str]) -> None:
    assert evaluated(committed, {"clusterLabel": "cluster"})["_config"]["clusterLabel"] == "cluster"


@pytest.mark.parametrize("text", ["ten", "", "5", "500ms", "-5m", "1.5h", "m"])
def test_a_text_that_is_no_duration_is_named(text: str, committed: dict[str, str]) -> None:
    with pytest.raises(RuntimeError, match=re.escape(f"'{text}' is no duration such as '1h30m'")):
        evaluated(committed, {"rules": {"window": text}})
