"""Settings, options, records, series and alerts that a text names exist: advice can be typed as it stands."""

import re
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from conftest import OBJECTIVES, ROOT
from draftboard.alerts import ALERTS
from draftboard.build import render
from draftboard.catalogue.removed import REMOVED
from draftboard.files import Table
from draftboard.settings import Settings, load
from support import catalogue
from support.command_line import options_of_commands
from support.rulefiles import loaded, rules
from support.texts import Text, texts

KEY = re.compile(rf"(?<![\w./$(-])(?:{'|'.join(Settings.model_fields)})(?:\.(?:\w+|\*|<\w+>))+(?![\w/(-])")
FILES = {"html", "json", "libsonnet", "md", "py", "toml", "yaml", "yml"}
"""How names of files end, which have dots as settings have."""
CHART = ("kubernetes", "CHANGELOG.md")
"""Pages with these in their paths speak of the chart's values, too."""
OPTION = re.compile(r"(?<![\w-])--[a-z][\w.-]*\w")
OURS = re.compile(r"`draftboard ([^`]+)`|^\s*\$ draftboard ([^#|]+)")
OTHER_COMMAND = re.compile(
    r"\b(?:amtool|apt-get|docker|gh|git|helm|journalctl|kubectl|mimirtool|nvidia-smi|pip|pre-commit|promtool"
    r"|py-spy|pytest|python -m|sha256sum|sudo|tar|thanos) [^`]*"
)
OPTIONS_OF_OTHERS = {
    "vLLM": """
        --api-server-count --custom-histogram-buckets --data-parallel-size --disable-log-stats
        --enable-force-include-usage --enable-log-requests --enable-logging-iteration-details --enable-mfu-metrics
        --enable-per-request-metrics --kv-cache-dtype --kv-transfer-config --max-loras --max-model-len --middleware
        --max-num-batched-tokens --max-num-queued-reqs --max-num-queued-tokens --max-num-seqs
        --per-request-spec-decode-metrics --served-model-name --shutdown-timeout --spec-model --spec-tokens
        --tensor-parallel-size --trust-remote-code --watermark""",
    "vLLM before V1": """
        --disable-log-requests --disable-logprobs-during-spec-decoding --enable-adaptive-k --ngram-prompt-lookup-max
        --ngram-prompt-lookup-min --num-speculative-tokens --spec-decoding-acceptance-method --spec-draft-tp
        --speculative-disable-by-batch-size --speculative-disable-mqa-scorer --speculative-draft-tensor-parallel-size
        --speculative-max-model-len --speculative-model --speculative-model-quantization --typical-acceptance-sampler
        --typical-acceptance-sampler-posterior-alpha --typical-acceptance-sampler-posterior-threshold
        --use-v2-block-manager""",
    "llama.cpp and SGLang": "--enable-metrics --metrics",
    "Prometheus, Alertmanager and Thanos": """
        --data.maintenance-interval --enable-feature --query.max-samples --query.replica-label
        --rules.alert.for-grace-period --rules.alert.resend-delay --web.enable-remote-write-receiver""",
    "Docker, Helm, kubectl and journalctl": """
        --container --from-file --lines --namespace --previous --profile --set --set-file --since --tail""",
}
"""Options that texts name without their command."""


@pytest.fixture(scope="module")
def ours(files: Mapping[str, str]) -> list[Text]:
    return list(texts(files))


def is_setting(path: str) -> bool:
    """Whether a settings file takes the key, or the table before a final `*`."""
    return _is_key(Settings, path.removesuffix(".*").split("."))


def _is_key(model: type[Table], parts: list[str]) -> bool:
    name, *rest = parts
    field = {field.alias or key: field for key, field in model.model_fields.items()}.get(name)
    if field is None or not rest:
        return field is not None
    candidates = (field.annotation, *get_args(field.annotation))
    table = next((each for each in candidates if isinstance(each, type) and issubclass(each, Table)), None)
    if not str(field.annotation).startswith("dict"):
        return table is not None and _is_key(table, rest)
    named, *below = rest
    known = name != "alerts" or named.startswith("<") or named in {alert.name for alert in ALERTS}
    return known and (not below or (table is not None and _is_key(table, below)))


def in_chart(path: str) -> bool:
    """Whether the chart has a value at the path, or takes any below it."""
    value: Any = loaded((ROOT / "deploy/kubernetes/chart/values.yaml").read_text())
    for part in path.split("."):
        if value == {}:
            return True
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


@pytest.mark.parametrize(
    ("path", "exists"),
    [
        ("rules.window", True),
        ("rules.rate_window", False),
        ("thresholds.acceptance.suspicious", True),
        ("thresholds.*", True),
        ("threshold.*", False),
        ("alerts.VLLMErrors.for", True),
        ("alerts.VLLMErrors.hold", False),
        ("alerts.VLLMErrorz", False),
        ("alerts.<name>.severity", True),
        ("draft_cost.by_method.eagle3", True),
        ("slo.end_to_end.objective", True),
        ("stack.remote_write.query_url", True),
        ("selector.job", False),
    ],
)
def test_a_setting_exists_where_a_file_may_set_it(path: str, exists: bool) -> None:
    assert is_setting(path) is exists


def test_every_setting_that_a_text_names_can_be_typed(ours: list[Text]) -> None:
    named = [(match[0], place) for place, text in ours for match in KEY.finditer(text)]
    keys = [(key, place) for key, place in named if FILES.isdisjoint(key.split("."))]
    assert len({key for key, _ in keys}) > 100
    unknown = [(key, place) for key, place in keys if not is_setting(key)]
    assert [(key, place) for key, place in unknown if not (any(one in place for one in CHART) and in_chart(key))] == []


def test_every_option_that_a_text_names_exists(ours: list[Text]) -> None:
    known = set().union(*options_of_commands().values(), {"--help", "--version"})
    foreign = set(" ".join(OPTIONS_OF_OTHERS.values()).split())
    named = {(option, place) for place, text in ours for option in OPTION.findall(OTHER_COMMAND.sub("", text))}
    assert sorted((option, place) for option, place in named if option not in known | foreign) == []
    assert sorted(foreign - {option for option, _ in named}) == [], "listed, and no text names it"


def test_an_option_typed_behind_a_command_is_of_that_command(ours: list[Text]) -> None:
    wrong = []
    for place, text in ours:
        for match in OURS.finditer(text):
            words = re.sub(r"'[^']*'?", "", match[1] or match[2]).split()
            names = next((names for names in options_of_commands() if tuple(words[: len(names)]) == names), None)
            options = options_of_commands()[names] | {"--help"} if names else {"--help", "--version"}
            wrong += [(place, option) for option in OPTION.findall(" ".join(words)) if option not in options]
    assert wrong == []


RECORD = re.compile(r"\b(?:model|engine|service|target|fleet|monitor):(?!vllm\b(?!_))\w+(?::\w+)*")
SERIES = re.compile(r"(?<!\w)vllm:\w+")
ALERT = re.compile(r"\b(?:SpecDecode|VLLM(?=[A-Z])|Draftboard(?=[A-Z]))[A-Za-z]+\b(?!\()")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_record_series_and_alert_that_a_page_names_exists() -> None:
    """Or begins with what it names, as `..._cost_{low,high}`; one page shows rules of another window."""
    made = {rule["record"] for rule in rules(render(load(OBJECTIVES)), "record")}
    known = {
        RECORD: made | {name.replace("rate5m", "rate1m") for name in made},
        SERIES: {*catalogue.series()} | {old.name for old in REMOVED},
        ALERT: {alert.name for alert in ALERTS},
    }
    for page in PAGES:
        for pattern, names in known.items():
            found = {*pattern.findall(page.read_text())}
            assert [one for one in found if not any(name.startswith(one) for name in names)] == [], page
