"""A build with everything renamed leaves no default behind."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from draftboard import build as build_room
from draftboard.alerts import ALERTS
from draftboard.settings import Settings, load
from draftboard.settings.alerts import AlertName

RENAMED = """
selector = 'prometheus="blue",stage=~"a.*"'
max_draft_tokens = 7

[labels]
scope = ["region", "tenant"]
job = "service"
instance = "address"
model_name = "llm"
engine = "rank"
spec_method = "drafter"
variant = "arm"
host = "machine"

[rules]
scrape_interval = "7s"
window = "11m"
evaluation_interval = "23s"
compare_with = "41m"
baseline = "3d"
baseline_needs = 0.37
remember = "53m"
startup = "47m"

[draft_cost]
default = 0.123
verify_inflation = 1.23
by_method.ngram = 0.0123
by_method.ngram_gpu = 0.0124
by_method.suffix = 0.0125
by_method.eagle = 0.0512
by_method.eagle3 = 0.0513
by_method.medusa = 0.0514
by_method.mtp = 0.0515
by_method.dflash = 0.0215

[methods]
baseline = "plain"
lookup = ["copy", "paste"]

[thresholds]
pays_clearly = 1.23
drop = 0.81
anomaly = 3.1
deviation_floor = 0.051
first_position = 0.71
last_position_low = 0.11
last_position_high = 0.31
full_drafts = 0.91
outlier = 0.76
inconsistent = 0.052
slower = 0.951
tail = 1.51
load = 0.21
kv_cache = 0.912
preemptions = 0.113
queue_growth = 1.7
errors = 0.053
rejections = 0.012
foreign = 0.013
acceptance = { fair = 0.41, healthy = 0.61, optimal = 0.72, suspicious = 0.981 }

[traffic]
drafts_per_second = 0.13
drafts_to_judge = 201
tokens_per_second = 1.3
requests_per_second = 0.054
requests_per_second_for_tail = 0.36
requests_to_compare = 16
requests_to_compare_tails = 101

[planning]
target_share = 0.71
draft_share = 0.16
size_ratio_from = 5.5
size_ratio_best_from = 8.5
size_ratio_best_to = 12.5
size_ratio_to = 15.5
draft_cost = 0.21
low_temperature = 0.51
high_temperature = 0.72

[buckets]
time_to_first_token = [0.1, 0.7, 3]
inter_token_latency = [0.002, 0.07, 1]
request_latency = [1, 70]

[slo]
window = "28d"
watched = ["errors", "end_to_end", "time_per_output_token", "time_to_first_token"]
time_to_first_token = { objective = 0.991, threshold_seconds = 0.7 }
time_per_output_token = { objective = 0.992, threshold_seconds = 0.07 }
end_to_end = { objective = 0.951, threshold_seconds = 70 }
errors = { objective = 0.993 }

[links]
grafana = "https://grafana.example:3443"
runbooks = "https://runbooks.example/draftboard"

[dashboards]
refresh = "37s"
time_range = "5h"

[stack]
prometheus = "metrics.example:9191"
alertmanager = "alerts.example:9194"
secrets = "/secrets/of/example"
dashboards = "/dashboards/of/example"
external_labels = { region = "eu" }
remote_write = [
    { url = "https://long.example/push", token = true, rules_there = true, query_url = "https://long.example/query" },
]
slack = { channel = "#llm-example" }
email = { to = "to@example.com", sender = "from@example.com", smarthost = "smtp.example:2525", username = "mailer" }

[stack.limits]
samples = 51234
labels = 123
label_name_length = 234
label_value_length = 2345
megabytes = 23
targets = 1234

[stack.notify]
critical = ["pagerduty"]
warning = ["slack", "email"]
info = ["webhook"]
heartbeat = true
group_wait = "31s"
group_interval = "301s"
repeat_critical = "4h1m"
repeat_others = "25h"
heartbeat_interval = "503s"
"""


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    path: Path = tmp_path_factory.mktemp("settings") / "draftboard.toml"
    alerts = "".join(
        f'\n[alerts.{alert.name}]\nfor = "{index + 61}m"\nkeep_firing_for = "{index + 91}m"\n'
        f'severity = "{"warning" if alert.severity == "critical" else "critical"}"\n'
        for index, alert in enumerate(ALERTS)
        if alert.name in get_args(AlertName)
    )
    path.write_text(RENAMED + alerts)
    return load(path)


def leaves(value: object, at: str = "") -> dict[str, object]:
    """Every setting by its dotted name."""
    if isinstance(value, dict):
        return {name: leaf for key, inner in value.items() for name, leaf in leaves(inner, f"{at}.{key}").items()}
    return {at: value}


def test_the_example_renames_every_setting(renamed: Settings) -> None:
    default = leaves(Settings().model_dump(mode="json", by_alias=True))
    changed = leaves(renamed.model_dump(mode="json", by_alias=True))
    assert [name for name, value in default.items() if name in changed and changed[name] == value] == []


LABELS = ("cluster", "namespace", "job", "instance", "model_name", "engine", "spec_method", "variant", "host")
BASELINE = r'!=\\?"none'
CODE = re.compile(r"^```.+?^```|`[^`]+`", re.DOTALL | re.MULTILINE)


def use_of(label: str) -> str:
    """A label in PromQL, as a Grafana variable, in an alert's template, or as a column."""
    return rf"\b{label}(=|!=|=~|!~|,|\))|\${{?{label}\b|\.{label}\b|\(.*\b{label}\b, |\"{label}\"|{{{{{label}"


def test_no_default_label_or_link_or_method_is_left(renamed: Settings) -> None:
    for path, text in build_room.render(renamed).items():
        # Of prose the code counts: "engine" and "job" are words, too. amtool runs where Alertmanager listens.
        code = "\n".join(CODE.findall(text)).replace("http://127.0.0.1:9093", "") if path.endswith(".md") else text
        for label in LABELS:
            found = re.search(use_of(label), code)
            assert not found, (path, found)
        assert "127.0.0.1" not in code
        assert "github.com" not in code
        assert not re.search(BASELINE, code), path


def test_the_search_for_defaults_finds_them_in_a_default_build(files: dict[str, str]) -> None:
    everything = "".join(files.values())
    for label in LABELS:
        assert re.search(use_of(label), everything), label
    assert re.search(BASELINE, everything)
    assert "127.0.0.1" in everything
    assert "github.com" in everything


def test_no_default_number_or_window_is_left_in_the_rules(renamed: Settings) -> None:
    files = build_room.render(renamed)
    text = files["alerts/recording.rules.yaml"] + files["alerts/alerting.rules.yaml"]
    # Burn rates have windows of their own, which are no settings.
    text = re.sub(r"sum_over_time\([^)]+\[(30m|1h|2h|6h|1d|3d)\]\)", "", text)
    for window in ("5m]", "1h]", "1d]", "rate5m", "avg1d", "change1h", "offset 1h", "interval: 1m", ">= 360"):
        assert window not in text, window
    expected = {
        "rate11m", "[11m]", "[3d] offset 41m", "[53m]", "offset 47m", "avg3d", "change41m", "interval: 23s",
        "< 0.81)", "< -3.1)", "< 0.71)", "< 0.11)", "> 0.31)", "< 0.76)", "> 0.981)", "> 0.052)", "> 0.13)", "> 1.3)",
        "0.051 *", "0.91 *", "+ 1.23", 'drafter!="plain"', 'drafter!~"copy|paste"', 'prometheus="blue"', 'stage=~"a.*"',
        "0.0123 + 0 *", "0.123 + 0 *", "severity: critical", "for: 1h1m", "keep_firing_for: 1h31m",
        "< 0.951)", "> 1.51)", "> 0.912)", "> 0.113)", "> 1.7", "> 0.053)", "> 0.012)", "> 0.054)",
        'le="0.7"', 'le="0.07"', 'le=~"70|70[.]0"', "0.009 + 0 *", "0.008 + 0 *", "0.049 + 0 *", "0.007 + 0 *",
        "13.44 *", "5.6 *", "2.8 *", "> 0.36)", "[28d]", "ratio_rate28d", "budget of 28d", 'drafter="plain"',
        "https://runbooks.example/draftboard/SpecDecodeNotPaying.md", "https://grafana.example:3443/d/draftboard-",
    }  # fmt: skip
    assert [piece for piece in expected if piece not in text] == []
    assert 'label_replace(vector(7), "k", "7"' in text
    assert "vector(8)" not in text
    # 37 % of three days of evaluations, 23 s apart.
    assert ">= 4170)" in text


def test_no_default_is_left_in_the_stack(renamed: Settings) -> None:
    files = build_room.render(renamed)
    text = "".join(content for path, content in files.items() if path.startswith("deploy/"))
    for default in (
        *("prometheus:9090", "alertmanager:9093", "/run/secrets", "/var/lib/grafana", "30s", " 4h\n", " 1d\n", " 5m\n"),
        *("15s", " 1m\n", "50000", ": 100\n", ": 200\n", ": 2000\n", "20MB", ": 1000\n"),
    ):
        found = [line for line in text.splitlines(keepends=True) if default in line and "resolve_timeout" not in line]
        assert not found, (default, found)
    for piece in (
        *("metrics.example:9191", "alerts.example:9194", "/dashboards/of/example", "region: eu", "#llm-example"),
        *("https://long.example/push", "credentials_file: /secrets/of/example/remote_write_token", "to@example.com"),
        *("https://long.example/query", "Bearer $__file{/secrets/of/example/remote_write_token}", "from@example.com"),
        *("smtp.example:2525", "mailer", "sample_limit: 51234", "label_limit: 123", "label_name_length_limit: 234"),
        *("label_value_length_limit: 2345", "body_size_limit: 23MB", "target_limit: 1234", "group_wait: 31s"),
        *("group_interval: 5m1s", "repeat_interval: 4h1m", "repeat_interval: 1d1h", "repeat_interval: 8m23s"),
    ):
        assert piece in text, piece


def test_no_default_number_is_left_in_the_dashboards(renamed: Settings) -> None:
    for path, text in build_room.render(renamed).items():
        if path.endswith(".json"):
            document = json.loads(text)
            assert document["refresh"] == "37s"
            assert document["time"]["from"] == "now-5h"
            steps = set(re.findall(r'"value": (-?[\d.]+)\n', text))
            assert not steps & {"0.4", "0.6", "0.7", "0.98", "0.8", "-3", "0.1", "0.3", "0.75", "0.05", "1.1"}, path
