"""The Helm chart is what an operator takes, holds the built rules and dashboards, and follows settings and values."""

import json
import re
from pathlib import Path
from typing import Any

import helm_python as helm
import pytest
import yaml

from conftest import ROOT
from draftboard import __version__
from draftboard.catalogue import CATALOGUE, ELSEWHERE
from draftboard.dashboards import dashboards
from draftboard.settings import Settings, load
from draftboard.signals import Edition
from support import charts
from support.charts import MOST, PRESETS, Object, arguments_of_jobs, preset, refused, rendered
from support.command_line import run

KINDS = {"dashboards": {"kind": "none"}, "scrape": {"kind": "none"}, "rules": {"recording": False, "alerting": False}}
"""Everything off."""


def only(**values: Any) -> Object:
    """Values under which one part of the chart is on."""
    return {**KINDS, **values}


DASHBOARDS = len(dashboards(Settings(), Edition.RECORDS))
WITHOUT_DASHBOARDS = {"dashboards": {"kind": "none"}}
RULES = only(rules={})
SCRAPE = only(scrape={})


def selecting(operator: str, *values: str) -> Object:
    """A selector of pods by one expression."""
    return {"scrape": {"selector": {"matchExpressions": [{"key": "a", "operator": operator, "values": [*values]}]}}}


def kinds(objects: list[Object]) -> dict[str, int]:
    found = [one["kind"] for one in objects]
    return {kind: found.count(kind) for kind in sorted({*found})}


def groups(objects: list[Object]) -> dict[str, Any]:
    """Groups of rules by the object's name."""
    return {one["metadata"]["name"]: one["spec"]["groups"] for one in objects if one["kind"] == "PrometheusRule"}


def endpoint(objects: list[Object]) -> Object:
    (monitor,) = (one for one in objects if one["kind"].endswith("Monitor"))
    (found,) = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
    return dict(found)


KUBECTL = "kubectl exec --namespace monitoring services/prometheus-operated --container prometheus --"


def built_groups(name: str) -> Any:
    """Those beside the chart, but for commands: the chart's readers type kubectl."""
    groups = yaml.load((ROOT / f"alerts/{name}.rules.yaml").read_text(), yaml.CSafeLoader)["groups"]
    for rule in (rule for group in groups for rule in group["rules"] if "alert" in rule):
        beginning, _, query = rule["annotations"]["command"].partition(" promtool query")
        assert beginning == "docker compose --file deploy/docker-compose.yml exec prometheus"
        rule["annotations"]["command"] = f"{KUBECTL} promtool query{query}"
    return groups


def test_there_are_presets_for_three_stacks() -> None:
    assert [path.stem for path in PRESETS] == ["kube-prometheus-stack", "llm-d", "vllm-production-stack"]


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_preset_is_linted_and_each_object_is_taken_by_kubernetes_and_the_operator(path: Path) -> None:
    report = helm.lint(charts.FOLDER, preset(path), strict=True)
    assert report["messages"] == []
    objects = rendered(preset(path))
    assert kinds(objects) == {"ConfigMap": DASHBOARDS, "PodMonitor": 1, "PrometheusRule": 2}
    assert {one["metadata"]["name"]: refused(one) for one in objects if refused(one)} == {}
    # Every Prometheus of these stacks asks for the label.
    assert {one["metadata"]["labels"]["release"] for one in objects} == {preset(path)["labels"]["release"]}
    assert {one["metadata"]["name"] for one in objects if len(json.dumps(one)) > MOST} == set()


def test_objects_of_the_other_kinds_are_taken_too() -> None:
    objects = rendered({"scrape": {"kind": "ServiceMonitor"}, "dashboards": {"kind": "GrafanaDashboard"}})
    assert kinds(objects) == {"GrafanaDashboard": DASHBOARDS, "PrometheusRule": 2, "ServiceMonitor": 1}
    assert {one["metadata"]["name"]: refused(one) for one in objects if refused(one)} == {}
    assert {one["metadata"]["name"] for one in objects if len(json.dumps(one)) > MOST} == set()


@pytest.mark.parametrize(
    ("values", "at", "value", "said"),
    [
        (SCRAPE, "spec.selectors", {}, "'selectors' was unexpected"),
        (SCRAPE, "spec.podMetricsEndpoints.0.relabelings.0.label", "a", "'label' was unexpected"),
        (SCRAPE, "spec.podMetricsEndpoints.0.interval", "15 seconds", "does not match"),
        (RULES, "spec.groups.0.rules.0.annotation", {}, "'annotation' was unexpected"),
        (RULES, "spec.groups.0.interval", 60, "is not of type 'string'"),
        (only(dashboards={}), "metadata.labels.a", 1, "is not of type"),
        (only(dashboards={}), "datas", {}, "'datas' was unexpected"),
        (only(dashboards={"kind": "GrafanaDashboard"}), "spec.datasource", "a", "'datasource' was unexpected"),
    ],
)
def test_an_object_with_a_mistake_is_not_taken(values: Object, at: str, value: object, said: str) -> None:
    broken = rendered(values)[0]
    *keys, last = at.split(".")
    place: Any = broken
    for key in keys:
        place = place[int(key) if isinstance(place, list) else key]
    place[last] = value
    assert said in " ".join(refused(broken))


def test_the_rules_are_the_built_ones() -> None:
    assert groups(rendered(RULES)) == {
        "draftboard-alerting": built_groups("alerting"),
        "draftboard-recording": built_groups("recording"),
    }


def test_dashboards_of_the_sidecar_are_the_built_ones() -> None:
    objects = rendered(only(dashboards={}))
    shown = {name: json.loads(text) for one in objects for name, text in one["data"].items()}
    # A Grafana of any release may load them, and a person edit them.
    built = {path.name: path.read_text() for path in (ROOT / "dashboards").glob("*.json")}
    older = {name: text.replace('"palette-colorblind"', '"palette-classic"') for name, text in built.items()}
    assert shown == {name: json.loads(text) | {"editable": True} for name, text in older.items()}
    for one in objects:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert one["metadata"]["annotations"] == {"grafana_folder": "Draftboard"}


def test_a_data_source_can_be_chosen_for_either_kind_of_dashboard() -> None:
    for one in rendered(only(dashboards={"datasource": "Thanos"})):
        (text,) = one["data"].values()
        chosen = [v["current"] for v in json.loads(text)["templating"]["list"] if v["type"] == "datasource"]
        assert chosen == [{"selected": True, "text": "Thanos", "value": "Thanos"}]
    for name, shown in {"Thanos": "Thanos", "": "Prometheus"}.items():
        choice = {"kind": "GrafanaDashboard", "datasource": name}
        for dashboard in rendered(only(dashboards=choice)):
            assert dashboard["spec"]["datasources"] == [{"inputName": "DS_PROMETHEUS", "datasourceName": shown}]
            document = json.loads(dashboard["spec"]["json"])
            built = ROOT / f"dashboards/grafana-com/{document['uid']}.json"
            assert document == json.loads(built.read_text())


@pytest.mark.parametrize(
    ("values", "left"),
    [
        (KINDS, {}),
        (only(rules={"alerting": False}), {"PrometheusRule": 1}),
        (only(rules={"recording": False}), {"PrometheusRule": 1}),
        (SCRAPE, {"PodMonitor": 1}),
        (only(scrape={"kind": "ServiceMonitor"}), {"ServiceMonitor": 1}),
        (only(dashboards={}), {"ConfigMap": DASHBOARDS}),
    ],
)
def test_what_is_switched_off_is_gone(values: Object, left: dict[str, int]) -> None:
    assert kinds(rendered(values)) == left


def test_an_alert_can_be_left_out_and_runbooks_can_be_elsewhere() -> None:
    built = {rule["alert"]: rule for group in built_groups("alerting") for rule in group["rules"] if "alert" in rule}
    left_out = ["DraftboardWatchdog", "SpecDecodeNotPaying"]
    values = {"recording": False, "without": left_out, "runbooks": "https://wiki.example/runs", "labels": {"team": "a"}}
    (one,) = rendered(only(rules=values, labels={"release": "b"}))
    assert one["metadata"]["labels"].items() >= {"team": "a", "release": "b"}.items()
    kept = {rule["alert"]: rule for group in one["spec"]["groups"] for rule in group["rules"] if "alert" in rule}
    assert kept.keys() == built.keys() - {*left_out}
    for name, rule in kept.items():
        labels = built[name]["annotations"]["runbook_url"].partition(".md")[2]
        assert rule["annotations"]["runbook_url"] == f"https://wiki.example/runs/{name}.md{labels}"
        assert {**rule, "annotations": None} == {**built[name], "annotations": None}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scrape": {"kind": "Pod"}}, "/scrape/kind"),
        ({"scrape": {"port": 70000}}, "/scrape/port"),
        ({"scrape": {"port": "8000"}}, "/scrape/port"),
        (selecting("In"), "/scrape/selector/matchExpressions/0"),
        (selecting("Exists", "a"), "/scrape/selector/matchExpressions/0/values"),
        ({"scrape": {"interval": "15 seconds"}}, "/scrape/interval"),
        ({"scrape": {"intervall": "15s"}}, "intervall"),
        ({"scrape": {"podLabels": {"spec-method": "a"}}}, "spec-method"),
        ({"scrape": {"selector": {"app": "vllm"}}}, "app"),
        ({"rules": {"without": ["SpecDecodeNotpaying"]}}, "/rules/without/0"),
        ({"rules": {"runbooks": "wiki.example"}}, "/rules/runbooks"),
        ({"rules": {"runbooks": "https://wiki.example/"}}, "/rules/runbooks"),
        ({"dashboards": {"kind": "configmap"}}, "/dashboards/kind"),
        ({"dashboards": {"labels": {"grafana_dashboard": 1}}}, "/dashboards/labels/grafana_dashboard"),
        ({"labels": {"release": "two words"}}, "/labels/release"),
        ({"prometheus": {}}, "prometheus"),
        ({"jobs": {"doctor": {"schedule": "daily"}}}, "/jobs/doctor/schedule"),
        ({"jobs": {"prometheus": "prometheus:9090"}}, "/jobs/prometheus"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: Object, said: str) -> None:
    with pytest.raises(helm.HelmValuesError, match="specifications of the schema") as caught:
        rendered(values)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"interval": "0s"}, "scrape.interval 0s is not between 1s and 1m"),
        ({"interval": "61s"}, "scrape.interval 61s is not between 1s and 1m"),
        ({"timeout": "20s"}, "scrape.timeout 20s is not between 1s and scrape.interval, 15s"),
        ({"interval": "1m", "timeout": "1m1s"}, "scrape.timeout 1m1s is not between 1s and scrape.interval, 1m"),
    ],
)
def test_times_that_contradict_each_other_are_refused(times: Object, said: str) -> None:
    with pytest.raises(helm.HelmError, match=said):
        rendered(only(scrape=times))


@pytest.mark.parametrize("port", ["metrics", "8000-tcp", "a"])
def test_names_of_ports_are_taken(port: str) -> None:
    assert endpoint(rendered(only(scrape={"port": port})))["port"] == port


JOBS = {"prometheus": "http://prometheus:9090", "doctor": {"schedule": "0 6 * * *"}, "summary": {"schedule": "@weekly"}}


def test_jobs_run_commands_that_the_program_takes(capsys: pytest.CaptureFixture[str]) -> None:
    objects = rendered(only(jobs=JOBS))
    assert kinds(objects) == {"CronJob": 2}
    assert [refused(one) for one in objects if refused(one)] == []
    found = arguments_of_jobs(objects)
    assert found["doctor"] == ["doctor", "--prometheus", "http://prometheus:9090"]
    assert found["summary"][:3] == ["report", "--prometheus", "http://prometheus:9090"]
    for arguments in found.values():  # The address is of no server: what is refused is not the command line.
        _, _, error = run(*(word.replace("prometheus:9090", "127.0.0.1:1") for word in arguments), capsys=capsys)
        assert "127.0.0.1:1" in error


def test_jobs_run_as_nobody_with_nothing_to_write_to_and_no_account() -> None:
    for one in rendered(only(jobs=JOBS)):
        pod = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "runAsGroup": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["automountServiceAccountToken"] is False
        assert "volumes" not in pod


def test_jobs_read_the_settings_and_the_token_that_are_given() -> None:
    objects = rendered(only(jobs={**JOBS, "settings": "[slo]\n", "tokenSecret": "prometheus-token"}))
    assert kinds(objects) == {"ConfigMap": 1, "CronJob": 2}
    assert [refused(one) for one in objects if refused(one)] == []
    (settings,) = (one for one in objects if one["kind"] == "ConfigMap")
    assert settings["data"] == {"draftboard.toml": "[slo]\n"}
    jobs = [one for one in objects if one["kind"] == "CronJob"]
    for arguments in arguments_of_jobs(jobs).values():
        assert arguments[-2:] == [
            "--config=/etc/draftboard/settings/draftboard.toml",
            "--token-file=/etc/draftboard/token/token",
        ]
    for one in jobs:
        pod = one["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
        assert mounts == {"settings": "/etc/draftboard/settings", "token": "/etc/draftboard/token"}
        assert [next(iter(set(volume) - {"name"})) for volume in pod["volumes"]] == ["configMap", "secret"]


def test_a_job_without_a_prometheus_is_refused() -> None:
    with pytest.raises(helm.HelmError, match=r"jobs\.doctor\.schedule requires jobs\.prometheus"):
        rendered(only(jobs={"doctor": {"schedule": "@daily"}}))


@pytest.mark.parametrize("release", ["r" * 53, "r" * 41 + "-x"])
def test_names_of_jobs_leave_room_for_what_kubernetes_appends(release: str) -> None:
    for one in rendered(only(jobs=JOBS), release=release):
        assert len(one["metadata"]["name"]) <= 52
        assert refused(one) == []


def test_every_value_on_the_page_exists() -> None:
    with helm.Chart.load(charts.FOLDER) as chart:
        values = chart.values
    page = (ROOT / "docs/operate/kubernetes.md").read_text()
    named = re.findall(r"`(rules|scrape|dashboards|jobs)\.(\w+)", page)
    assert len(named) > 10
    assert [name for table, name in named if name not in values[table]] == []


def test_the_chart_can_be_part_of_another_one() -> None:
    assert rendered({**KINDS, "global": {"region": "eu"}}) == []


@pytest.mark.parametrize("release", ["a", "0", "x.y", "draftboard", "r" * 53])
@pytest.mark.parametrize("namespace", ["n", "n" * 63])
def test_odd_names_of_releases_and_namespaces_are_taken(release: str, namespace: str) -> None:
    objects = rendered({**WITHOUT_DASHBOARDS, "rules": {"recording": False}}, release=release, namespace=namespace)
    assert kinds(objects) == {"PodMonitor": 1, "PrometheusRule": 1}
    assert [refused(one) for one in objects if refused(one)] == []
    assert {one["metadata"]["namespace"] for one in objects} == {namespace}


NO_RULES: Object = {"rules": {"recording": False, "alerting": False}}


def test_monitors_of_releases_in_one_namespace_do_not_clash_and_their_rules_do() -> None:
    """Rules that are installed twice alert twice: Helm refuses an object that another release has."""
    releases = ("draftboard", "a", "a-draftboard", "draftboard-draftboard")
    objects = [one for release in releases for one in rendered(WITHOUT_DASHBOARDS, release=release)]
    names = [one["metadata"]["name"] for one in objects if one["kind"] == "PodMonitor"]
    assert len({*names}) == len(names) == len(releases)
    rules = {
        one["metadata"]["name"]: [group["name"] for group in one["spec"]["groups"]]
        for one in objects
        if one["kind"] == "PrometheusRule"
    }
    assert rules.keys() == {"draftboard-alerting", "draftboard-recording"}
    groups = [group for own in rules.values() for group in own]
    assert len({*groups}) == len(groups)


def test_a_second_release_without_rules_adds_servers_and_no_group() -> None:
    """So two releases in one namespace are scraped as two and alert once."""
    first, second = (rendered(WITHOUT_DASHBOARDS | more, release=name) for name, more in (("a", {}), ("b", NO_RULES)))
    assert (kinds(first), kinds(second)) == ({"PodMonitor": 1, "PrometheusRule": 2}, {"PodMonitor": 1})
    names = [(one["kind"], one["metadata"]["name"]) for one in (*first, *second)]
    assert len({*names}) == len(names)


def test_dashboards_of_releases_are_objects_of_their_own() -> None:
    names = [{one["metadata"]["name"] for one in rendered(only(dashboards={}), release=name)} for name in ("a", "b")]
    assert not names[0] & names[1]


def test_dashboards_can_be_created_in_grafanas_namespace() -> None:
    objects = rendered(only(dashboards={"targetNamespace": "grafana"}))
    assert {one["metadata"]["namespace"] for one in objects} == {"grafana"}


def test_a_monitor_reads_the_pods_and_the_port_that_are_named() -> None:
    (one,) = rendered(SCRAPE)
    assert one["spec"]["selector"] == {"matchExpressions": [{"key": "spec_method", "operator": "Exists"}]}
    assert "namespaceSelector" not in one["spec"]
    assert endpoint([one])["portNumber"] == 8000
    assert "scrapeTimeout" not in endpoint([one])
    chosen = {"namespaces": ["a", "b"], "port": "http", "selector": {"matchLabels": {"app": "vllm"}}, "timeout": "9s"}
    (one,) = rendered(only(scrape=chosen))
    assert one["spec"]["selector"] == chosen["selector"]
    assert one["spec"]["namespaceSelector"] == {"matchNames": ["a", "b"]}
    assert endpoint([one])["port"] == "http"
    assert endpoint([one])["scrapeTimeout"] == "9s"
    (one,) = rendered(only(scrape={"kind": "ServiceMonitor", "namespaces": ["*"], "port": 8200}))
    assert one["spec"]["namespaceSelector"] == {"any": True}
    assert endpoint([one])["targetPort"] == 8200


def test_a_label_with_a_dollar_sign_keeps_it() -> None:
    found = endpoint(rendered(only(scrape={"targetLabels": {"cost": "$1"}})))["relabelings"]
    assert {"targetLabel": "cost", "replacement": "$$1"} in found


def test_another_label_of_pods_leaves_the_others_as_they_are() -> None:
    values = only(scrape={"podLabels": {"variant": "llm-d.ai/role"}})
    given = {
        one["targetLabel"]: one["sourceLabels"]
        for one in endpoint(rendered(values))["relabelings"]
        if "sourceLabels" in one
    }
    assert given["variant"] == ["__meta_kubernetes_pod_label_llm_d_ai_role"]
    assert given["spec_method"] == ["__meta_kubernetes_pod_label_spec_method"]


def kept_labels(**scrape: Any) -> set[str]:
    steps = endpoint(rendered(only(scrape=scrape)))["metricRelabelings"]
    return {label for one in steps if one.get("action") == "labelkeep" for label in one["regex"].split("|")}


def test_every_label_that_is_read_or_that_values_name_is_kept() -> None:
    kept = kept_labels(targetLabels={"region": "eu"}, podLabels={"tier": "tier"}, keepLabels=["team"])
    read = {label for metric in CATALOGUE if metric.presence not in ELSEWHERE for label in metric.own_labels}
    assert kept >= read | {"region", "tier", "team", "__name__", "namespace", "pod", "model_name", "engine"}
    for page in (ROOT / "tests/data").glob("v*.prom"):
        lines = [line for line in page.read_text().splitlines() if line[0] != "#" and "cache_config_info" not in line]
        read_names = tuple(f"{part.name}{{" for metric in CATALOGUE for part in metric.parts)
        of_read = (re.findall(r'[{,](\w+)="', line) for line in lines if line.startswith(read_names))
        assert {label for found in of_read for label in found} <= kept


def test_everything_is_kept_where_values_say_so() -> None:
    steps = endpoint(rendered(only(scrape={"keep": "everything"})))["metricRelabelings"]
    assert not kept_labels(keep="everything")
    assert not [one for one in steps if one["action"] == "keep"]


def test_no_redirect_of_a_server_is_followed() -> None:
    assert endpoint(rendered(SCRAPE))["followRedirects"] is False


def test_it_has_the_packages_version_and_its_archive_holds_every_file(tmp_path: Path) -> None:
    with helm.Chart.load(charts.FOLDER) as chart:
        assert (chart.name, chart.version) == ("draftboard", __version__)
        helm.expand(tmp_path, chart.save(tmp_path))
    there = {path.relative_to(charts.FOLDER) for path in charts.FOLDER.rglob("*") if path.is_file()}
    unpacked = tmp_path / "draftboard"
    assert {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()} == there


RENAMED = """
selector = 'prometheus="blue",stage=~"a|b",namespace="llm",drafter="eagle3"'
labels = { scope = ["region", "tenant"], job = "service", instance = "address", model_name = "llm", engine = "rank", \
spec_method = "drafter", variant = "arm", scale_to_zero = "null", spec_verification = "_verified_", host = "on" }
links = { runbooks = "https://runbooks.example/draftboard", grafana = "https://grafana.example" }
rules = { scrape_interval = "30s", query_offset = "30s" }
slo = { errors = { objective = 0.99 } }
"""


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart of settings in which every label has another name."""
    folder = tmp_path_factory.mktemp("renamed")
    (folder / "draftboard.toml").write_text(RENAMED)
    return charts.built(load(folder / "draftboard.toml"), folder)


def test_what_is_scraped_has_the_labels_that_the_settings_name(renamed: Path) -> None:
    objects = rendered(SCRAPE, folder=renamed)
    found = endpoint(objects)
    assert [refused(one) for one in objects if refused(one)] == []
    assert found["interval"] == "30s"
    assert {one["targetLabel"]: one["replacement"] for one in found["relabelings"] if "replacement" in one} == {
        "service": "vllm",
        "prometheus": "blue",
    }
    assert {one["targetLabel"] for one in found["relabelings"] if "sourceLabels" in one} == {
        *("address", "on", "drafter", "arm", "null", "_verified_")
    }
    moved = {tuple(one["sourceLabels"]): one.get("targetLabel") for one in found["metricRelabelings"][::2][:2]}
    assert moved == {("model_name",): "llm", ("engine",): "rank"}
    assert objects[0]["spec"]["selector"]["matchExpressions"][0]["key"] == "drafter"


def test_no_file_of_the_chart_names_a_label_by_its_default(renamed: Path) -> None:
    """But for the rules, which are looked at below, and names of vLLM's own, which are renamed."""
    texts = [path.read_text() for path in renamed.rglob("*") if path.is_file() and path.parent.name != "files"]
    assert len(texts) > 10
    assert re.findall(r"\b(?:spec_method|variant|scale_to_zero|spec_verification|host)\b(?!:)", "".join(texts)) == []


def test_the_rules_are_those_of_the_settings(renamed: Path) -> None:
    objects = rendered(only(rules={"runbooks": "https://wiki.example"}), folder=renamed)
    assert [refused(one) for one in objects if refused(one)] == []
    assert {group["query_offset"] for one in objects for group in one["spec"]["groups"]} == {"30s"}
    text = json.dumps([one["spec"] for one in objects])
    assert 'prometheus=\\"blue\\"' in text
    assert "https://wiki.example/SpecDecodeNotPaying.md" in text
    assert "runbooks.example" not in text
    assert not re.search(r"spec_method|variant|model_name|\bjob\b[=,)]", text)


def test_the_defaults_rename_nothing() -> None:
    values = Settings().labels
    targets = {one.get("targetLabel") for one in endpoint(rendered(SCRAPE))["relabelings"]}
    assert targets == {values.job, values.host, *values.variant_labels, values.scale_to_zero}


def test_labels_annotations_and_severities_of_alerts_are_the_users() -> None:
    values = {
        "additionalRuleLabels": {"team": "llm"},
        "additionalRuleAnnotations": {"contact": "#llm"},
        "annotations": {"argocd.argoproj.io/sync-wave": "2"},
        "severities": {"critical": "page"},
        "recording": False,
    }
    (one,) = rendered(only(rules=values))
    assert one["metadata"]["annotations"] == values["annotations"]
    alerts = [rule for group in one["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    built = {rule["alert"]: rule for group in built_groups("alerting") for rule in group["rules"] if "alert" in rule}
    for alert in alerts:
        usual = built[alert["alert"]]["labels"]["severity"]
        assert alert["labels"]["severity"] == ("page" if usual == "critical" else usual)
        assert (alert["labels"]["team"], alert["annotations"]["contact"]) == ("llm", "#llm")
        assert alert["annotations"]["summary"] == built[alert["alert"]]["annotations"]["summary"]
    assert "page" in {alert["labels"]["severity"] for alert in alerts}


@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_the_endpoint_has_tls_authorization_and_further_relabelling(kind: str) -> None:
    further: Object = {
        "scheme": "https",
        "tlsConfig": {"ca": {"secret": {"name": "ca", "key": "ca.crt"}}},
        "authorization": {"credentials": {"name": "token", "key": "token"}},
    }
    steps: Object = {
        "relabelings": [{"targetLabel": "cluster", "replacement": "eu-1"}],
        "metricRelabelings": [{"sourceLabels": ["le"], "regex": "0.001", "action": "drop"}],
    }
    (one,) = rendered(only(scrape={"kind": kind} | further | steps))
    (endpoint,) = one["spec"].get("podMetricsEndpoints") or one["spec"]["endpoints"]
    assert {name: endpoint[name] for name in further} == further
    assert endpoint["relabelings"][-1] == steps["relabelings"][0]
    assert endpoint["metricRelabelings"][0] == steps["metricRelabelings"][0]


def test_the_selector_is_the_label_that_the_pods_have() -> None:
    (one,) = rendered(only(scrape={"kind": "PodMonitor", "podLabels": {"spec_method": "my.org/spec-method"}}))
    assert one["spec"]["selector"] == {"matchExpressions": [{"key": "my.org/spec-method", "operator": "Exists"}]}
