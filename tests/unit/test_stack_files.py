"""The files below deploy/ agree with each other, with the settings and with the catalogue."""

import json
import re
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.build import render
from draftboard.catalogue import around
from draftboard.catalogue.metric import Presence
from draftboard.doctor.buckets import FINER
from draftboard.settings import Settings, load
from scripts.needs import DOCUMENT, needs
from support.rulefiles import loaded

DEPLOY = ROOT / "deploy"
EXAMPLES = sorted((DEPLOY / "examples").glob("*.env"))
FILE = loaded((DEPLOY / "docker-compose.yml").read_text())


def variables(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if re.match(r"\w+=", line)]
    return {name: text.strip("'") for name, _, text in (line.partition("=") for line in lines)}


def test_the_settings_declare_the_buckets_that_vllm_is_started_with() -> None:
    declared = load(DEPLOY / "draftboard.toml").buckets
    told = {family: tuple(bounds) for family, bounds in json.loads(FILE["x-buckets"]).items()}
    assert told == declared.model_dump()
    assert declared != Settings().buckets
    assert told == FINER


def test_the_committed_files_are_what_the_settings_of_the_stack_build(committed: dict[str, str]) -> None:
    assert render(load(DEPLOY / "draftboard.toml")) == committed


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*Dockerfile")), ids=lambda path: path.name)
def test_an_image_is_built_on_a_pinned_one_and_adds_nothing_from_elsewhere(path: Path) -> None:
    text = path.read_text()
    stages = re.findall(r"(?m)^FROM (\S+)(?: AS (\S+))?$", text)
    assert stages
    own = {"${PYTHON_IMAGE}", *(name for _, name in stages)}
    assert all(base in own or re.search(r":v?\d[\w.-]+$", base) for base, _ in stages)
    assert not re.search(r"(?m)^ADD |curl|wget|sudo|:latest", text)


def test_the_simulators_image_runs_as_nobody_and_has_a_health_check() -> None:
    text = (DEPLOY / "simulator/Dockerfile").read_text()
    assert re.search(r"(?m)^USER 65534:65534$", text)
    assert "HEALTHCHECK CMD" in text
    assert "--constraint constraints.txt" in text
    assert "--require-hashes" in text


def test_the_simulators_image_has_constraints_of_its_own_which_the_whole_ones_contain() -> None:
    """A wheel carries them: `stack init` writes what the image is built from."""
    whole, own = (pinned(path) for path in (ROOT / "constraints.txt", DEPLOY / "simulator/constraints.txt"))
    assert own.items() <= whole.items()
    wanted = [*DOCUMENT["build-system"]["requires"], *needs("lab", "mcp"), "pip"]
    direct = {re.split(r"[^\w.-]", line)[0].lower() for line in wanted}
    assert direct <= {name.partition("==")[0] for name in own}
    assert len(own) < len(whole) / 2


def pinned(path: Path) -> dict[str, frozenset[str]]:
    """Hashes by package, version and marker."""
    blocks = re.findall(r"(?m)^([\w.-]+==[^\\\n]+)(.*(?:\n .*)*)", path.read_text())
    return {name.strip(): frozenset(re.findall("sha256:[0-9a-f]{64}", hashes)) for name, hashes in blocks}


def test_the_simulators_image_is_given_all_that_it_copies_and_no_more() -> None:
    given = [
        line[1:] for line in (DEPLOY / "simulator/Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"
    ]
    copied = re.findall(r"(?m)^COPY (?!--from=)(.+) \S+$", (DEPLOY / "simulator/Dockerfile").read_text())
    assert sorted(given) == sorted(word for line in copied for word in line.split())
    assert all((ROOT / name).exists() for name in given)


def test_the_gpu_exporter_exports_what_is_read() -> None:
    read = {metric.name for metric in vars(around).values() if getattr(metric, "presence", "") is Presence.GPU_EXPORTER}
    rows = [line for line in (DEPLOY / "dcgm-exporter/counters.csv").read_text().splitlines() if line[0] != "#"]
    assert {row.partition(",")[0] for row in rows} == read
    assert not [row for row in rows if "_PROF_" in row], "profiling metrics would need SYS_ADMIN"


def test_every_secret_file_that_a_configuration_may_read_is_mounted_where_it_is_read() -> None:
    notify = {severity: ["webhook", "slack", "email", "pagerduty"] for severity in ("critical", "warning", "info")}
    told = Settings.model_validate(
        {
            "stack": {
                "notify": {**notify, "heartbeat": True},
                "email": {"to": "a@example.com", "sender": "b@example.com", "smarthost": "mx:587", "username": "draft"},
                "remote_write": [
                    {
                        "url": "https://mimir.example.com/api/v1/push",
                        "token": True,
                        "rules_there": True,
                        "query_url": "https://mimir.example.com/prometheus",
                    }
                ],
            }
        }
    )
    built = render(told)
    configurations = {
        "alertmanager": "alertmanager.yml",
        "prometheus": "prometheus.yml",
        "grafana": "provisioning/datasources/draftboard.yaml",
    }
    for service, file in configurations.items():
        read = set(re.findall(r"/run/secrets/(\w+)", built[f"deploy/{service}/{file}"]))
        assert read
        shown = str(FILE["services"][service]["environment"]) if service == "grafana" else ""
        assert read | set(re.findall(r"/run/secrets/(\w+)", shown)) == set(FILE["services"][service]["secrets"])


def test_there_is_an_example_of_every_method_that_the_stack_is_documented_with() -> None:
    assert [path.stem for path in EXAMPLES] == ["baseline", "draft_model", "eagle3", "mtp", "ngram", "suffix"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_why_and_what_memory_it_takes(example: Path) -> None:
    text = example.read_text()
    assert "# Why:" in text
    needed, share = re.search(r"= ([\d.]+) GB of ([\d.]+)", text.replace("\n# ", " ")).groups()  # type: ignore[union-attr]
    parts = re.search(r"VRAM:[^=]*", text.replace("\n# ", " "))
    assert parts
    assert sum(map(float, re.findall(r"([\d.]+) GB", parts[0]))) == pytest.approx(float(needed))
    assert float(share) == float(variables(example)["GPU_MEMORY_UTILIZATION"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_sets_nothing_that_the_stack_does_not_read(example: Path) -> None:
    read = set(re.findall(r"\$\{(\w+)", (DEPLOY / "docker-compose.yml").read_text()))
    assert variables(example).keys() <= read
    assert variables(DEPLOY / ".env.example").keys() <= read


def test_every_variable_of_the_stack_is_explained_and_the_required_ones_are_set() -> None:
    text, example = (DEPLOY / "docker-compose.yml").read_text(), (DEPLOY / ".env.example").read_text()
    named = set(re.findall(r"(?m)^#?(\w+)=", example)) | {"STACK_UID", "STACK_GID", "VLLM_IMAGE"}
    assert set(re.findall(r"\$\{(\w+)", text)) == named
    assert (
        set(re.findall(r"\$\{(\w+):\?", text)) - {"STACK_UID", "STACK_GID"} <= variables(DEPLOY / ".env.example").keys()
    )


def test_each_promise_of_security_names_a_test_that_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    tables = [each.partition("\n\n")[0] for each in text.split("| promise | test |\n|---|---|\n")[1:]]
    assert len(tables) == 3
    assert [row for row in "\n".join(tables).splitlines() if not re.search(r"`tests/[\w/.]+` \|$", row)] == []
    named = re.findall(r"`(tests/[\w/.]+)`", text)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    model = (ROOT / "docs/contribute/threats.md").read_text()
    assert [name for name in re.findall(r"`(test_\w+)`", model) if f"{name}.py" not in files] == []
    assert [path for path in re.findall(r"`(tests/[\w/.]+)`", model) if not (ROOT / path).exists()] == []
