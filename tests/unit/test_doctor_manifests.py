"""`draftboard doctor FILE.yaml`: command lines of vLLM in Compose, Kubernetes and Helm values."""

from pathlib import Path

import pytest

from draftboard.doctor.manifests import examine_manifest
from draftboard.doctor.releases import Release
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from support.command_line import run

DEAD = "--speculative-model=x"
GOOD = '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}'
SHAPES = {
    "compose": "services:\n  vllm:\n    image: vllm/vllm-openai:v0.32.0\n    command: --model M {flag}\n",
    "compose-list": "services:\n  vllm:\n    image: vllm/vllm-openai\n    command: [--model, M, {flag}]\n",
    "kubernetes": (
        "kind: Service\n---\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
        "      - name: vllm\n        image: vllm/vllm-openai\n        args: [--model, M, {flag}]\n"
    ),
    "command": "containers:\n- name: s\n  image: own\n  command: [vllm, serve]\n  args: [M, {flag}]\n",
    "shell": "containers:\n- name: s\n  image: own\n  command: [bash, -c, 'vllm serve M {flag} && true']\n",
    "helm": "servingEngineSpec:\n  modelSpec:\n  - name: m\n    vllmConfig:\n      extraArgs: ['{flag}']\n",
}


def examined(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "it.yaml"
    path.write_text(text)
    return [
        f"{one.looked_at}: {found.where}"
        for one in examine_manifest(path, Settings())
        for found in one.findings
        if not one.content
    ]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_dead_flag_is_found_where_it_stands(tmp_path: Path, shape: str) -> None:
    found = examined(tmp_path, shape.format(flag=DEAD))
    assert any("speculative-model" in line for line in found)


def test_the_place_of_a_container_is_named(tmp_path: Path) -> None:
    (first, *_) = examined(tmp_path, SHAPES["kubernetes"].format(flag=DEAD))
    assert "document 2.spec.template.spec.containers[vllm]" in first


@pytest.mark.parametrize("text", ["", "a: 1\n", "services:\n  web:\n    image: nginx\n    command: [--model, M]\n"])
def test_a_file_without_vllm_is_no_problem(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "it.yml"
    path.write_text(text)
    code, out, _ = run("doctor", path, capsys=capsys)
    assert code == 0
    assert "no command line of vLLM" in out


def test_a_configuration_of_prometheus_is_sent_to_the_option_that_reads_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "prometheus.yml"
    path.write_text("scrape_configs:\n  - {job_name: vllm}\n")
    code, out, _ = run("doctor", path, capsys=capsys)
    assert code == 0
    assert "a configuration of Prometheus: examine what it scrapes with --prometheus URL  nothing to examine" in out


def test_a_good_command_line_is_well(tmp_path: Path) -> None:
    text = f"services:\n  v:\n    image: vllm/vllm-openai\n    command: [--model, M, --speculative-config, '{GOOD}']\n"
    assert examined(tmp_path, text) == []


@pytest.mark.parametrize("text", ["a: {{ .Values.x }}\n", "a: [\n", "\x00", "!!python/object:os.system x\n"])
def test_what_is_no_yaml_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "it.yaml"
    path.write_text(text)
    with pytest.raises(DraftboardError, match="not YAML"):
        examine_manifest(path, Settings())


def test_problems_of_a_file_are_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "compose.yaml"
    path.write_text(SHAPES["compose"].format(flag=DEAD))
    assert run("doctor", path, capsys=capsys)[0] == 1


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("vllm/vllm-openai:v0.10.2", "v0.10.2"),
        ("${VLLM_IMAGE:-vllm/vllm-openai:v0.10.2@sha256:0a}", "v0.10.2"),
        ("{repository: vllm/vllm-openai, tag: v0.10.2}", "v0.10.2"),
        ("example.com/vllm:0.10.2-gpu", "0.10.2-gpu"),
        ("vllm/vllm-openai:latest", ""),
        ("rocm/vllm:rocm6.4_vllm_0.10.2", ""),
        ("example.com/web:1.2.3", ""),
    ],
)
def test_the_tag_of_the_image_tells_the_release(tmp_path: Path, image: str, release: str) -> None:
    path = tmp_path / "it.yaml"
    path.write_text(f"services:\n  v:\n    image: {image}\n    command: vllm serve M {DEAD}\n")
    (one,) = examine_manifest(path, Settings())
    assert one.looked_at == f"{path}: services.v" + (f" for vLLM {release}" if release else "")
    assert any("release unknown" in finding.what for finding in one.findings) == (not release)


def test_the_tag_of_a_chart_s_values_tells_it_too_and_an_option_outranks_it(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(
        f"modelSpec:\n- repository: vllm/vllm-openai\n  tag: v0.10.2\n  vllmConfig: {{extraArgs: [{DEAD}]}}\n"
    )
    assert [one.looked_at[-7:] for one in examine_manifest(path, Settings())] == ["v0.10.2"]
    assert [one.looked_at[-6:] for one in examine_manifest(path, Settings(), Release("0.32.0"))] == ["0.32.0"]
