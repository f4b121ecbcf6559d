"""The scripts that containers of the stack begin with, run by a shell with a program in vLLM's place."""

import os
import shlex
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from draftboard.doctor import Severity, examine_command
from draftboard.settings import load

DEPLOY = ROOT / "deploy"
SPECULATION = '{"method": "ngram", "num_speculative_tokens": 4}'
BUCKETS = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text())["x-buckets"]
MODEL = {
    "MODEL": "some/model",
    "SPEC_CONFIG": SPECULATION,
    "TENSOR_PARALLEL_SIZE": "2",
    "GPU_MEMORY_UTILIZATION": "0.9",
    "MAX_MODEL_LEN": "8192",
    "BUCKETS": BUCKETS,
    "VLLM_ARGS": "",
    "HF_HOME": "/tmp",
}
LOAD = {"MODEL": "some/model", "TARGET": "http://vllm:8000", "PROMPTS": "10", "RATE": "2"}
STACK = {"SPEC_METHOD": "eagle3", "HOST_LABEL": "gpu-1", "VLLM_TARGET": ""}


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder with secrets, and with a program that tells what it was started with."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/vllm_api_key").write_text("the-key")
    (tmp_path / "secrets/hf_token").write_text("")
    program = tmp_path / "vllm"
    program.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\nenv -0 >"$TOLD"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run(script: str, there: Path, variables: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{there}:{os.environ['PATH']}",
        "SECRETS": str(there / "secrets"),
        "TOLD": str(there / "environment"),
        "SCRAPE_FOLDER": str(there),
        **variables,
    }
    return subprocess.run(
        ["/bin/sh", str(DEPLOY / script), *words],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def words_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0")[:-1]


def environment_of(there: Path) -> dict[str, str]:
    pairs = (there / "environment").read_text().split("\0")[:-1]
    return dict(pair.split("=", 1) for pair in pairs)


def jobs(there: Path) -> dict[str, dict[str, object]]:
    told = yaml.safe_load((there / "stack.yaml").read_text())
    return {job["job_name"]: job for job in told["scrape_configs"]}


def targets(there: Path) -> dict[str, dict[str, str]]:
    groups = jobs(there)["stack"]["static_configs"]
    assert isinstance(groups, list)
    return {group["targets"][0]: group["labels"] for group in groups}


def test_vllm_is_served_with_its_speculation_as_one_word(there: Path) -> None:
    words = words_of(run("vllm/serve.sh", there, MODEL))
    assert words[:2] == ["serve", "some/model"]
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert options["--speculative-config"] == SPECULATION
    assert options["--custom-histogram-buckets"] == MODEL["BUCKETS"]
    assert options["--tensor-parallel-size"] == "2"


def environment_file(path: Path) -> dict[str, str]:
    """What Compose reads from it: our files hold plain words and texts in single quotes."""
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name: " ".join(shlex.split(text)) for name, _, text in (line.partition("=") for line in lines)}


@pytest.mark.parametrize("example", sorted((DEPLOY / "examples").glob("*.env")), ids=lambda path: path.stem)
def test_the_doctor_finds_no_problem_in_the_command_of_an_example(there: Path, example: Path) -> None:
    words = words_of(run("vllm/serve.sh", there, {**MODEL, **environment_file(example)}))
    settings = load(DEPLOY / "draftboard.toml")
    found = examine_command(shlex.join(["vllm", *words]), settings).findings
    assert [one for one in found if one.severity is not Severity.NOTE] == []


def test_without_speculation_the_option_is_left_out(there: Path) -> None:
    words = words_of(run("vllm/serve.sh", there, {**MODEL, "SPEC_CONFIG": ""}))
    assert "--speculative-config" not in words
    assert "" not in words


def test_further_options_are_words_and_no_patterns(there: Path) -> None:
    words = words_of(run("vllm/serve.sh", there, {**MODEL, "VLLM_ARGS": "--enforce-eager --served-model-name *"}))
    assert words[-3:] == ["--enforce-eager", "--served-model-name", "*"]


def test_the_key_reaches_vllm_and_no_command_line(there: Path) -> None:
    done = run("vllm/serve.sh", there, MODEL)
    assert "the-key" not in done.stdout + done.stderr
    assert environment_of(there)["VLLM_API_KEY"] == "the-key"


def test_an_empty_key_is_refused(there: Path) -> None:
    (there / "secrets/vllm_api_key").write_text("\n")
    done = run("vllm/serve.sh", there, MODEL)
    assert done.returncode == 2
    assert "make secrets" in done.stderr


def test_a_cache_of_models_that_cannot_be_written_to_is_one_line_that_names_it(there: Path) -> None:
    done = run("vllm/serve.sh", there, {**MODEL, "HF_HOME": str(there / "nowhere")})
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"user {os.getuid()} may not write" in done.stderr
    assert "HF_CACHE in deploy/.env" in done.stderr


@pytest.mark.parametrize(("token", "told"), [("", False), ("hf_x", True)])
def test_a_token_is_told_where_there_is_one(there: Path, token: str, told: bool) -> None:
    (there / "secrets/hf_token").write_text(token)
    words_of(run("vllm/serve.sh", there, MODEL))
    assert ("HF_TOKEN_PATH" in environment_of(there)) == told


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("random", ["--dataset-name", "random"]),
        ("philschmid/mt-bench", ["--dataset-name", "hf", "--dataset-path", "philschmid/mt-bench", "--no-oversample"]),
    ],
)
def test_load_is_vllms_own_benchmark(there: Path, dataset: str, words: list[str]) -> None:
    told = words_of(run("vllm/load.sh", there, {**LOAD, "DATASET": dataset}))
    assert told[:2] == ["bench", "serve"]
    assert told[-len(words) :] == words
    assert environment_of(there)["OPENAI_API_KEY"] == "the-key"


def test_the_server_and_its_baseline_are_targets_whether_they_run_or_not(there: Path) -> None:
    assert run("prometheus/start.sh", there, {**STACK, "PROFILES": "gpu,baseline"}, "true").returncode == 0
    assert targets(there) == {
        "vllm:8000": {"job": "vllm", "host": "gpu-1", "spec_method": "eagle3"},
        "vllm-baseline:8000": {"job": "vllm", "host": "gpu-1", "spec_method": "none"},
        "dcgm-exporter:9400": {"job": "dcgm-exporter", "host": "gpu-1"},
        "node-exporter:9100": {"job": "node-exporter", "host": "gpu-1"},
    }


def test_the_simulator_tells_its_servers_itself(there: Path) -> None:
    assert run("prometheus/start.sh", there, {**STACK, "PROFILES": "demo"}, "true").returncode == 0
    assert jobs(there).keys() == {"simulator"}


def test_an_existing_server_is_the_only_target(there: Path) -> None:
    variables = {**STACK, "PROFILES": "monitoring", "VLLM_TARGET": "10.0.0.5:8000"}
    assert run("prometheus/start.sh", there, variables, "true").returncode == 0
    assert targets(there) == {"10.0.0.5:8000": {"job": "vllm", "host": "gpu-1", "spec_method": "eagle3"}}


@pytest.mark.parametrize("target", ["vllm-1.example.com:8000", "[2001:db8::5]:8000", "host.docker.internal:80"])
def test_an_existing_server_is_named_by_name_or_by_address_of_either_kind(there: Path, target: str) -> None:
    variables = {**STACK, "PROFILES": "monitoring", "VLLM_TARGET": target}
    assert run("prometheus/start.sh", there, variables, "true").returncode == 0
    assert targets(there).keys() == {target}


def test_blanks_between_profiles_mean_nothing_as_in_compose(there: Path) -> None:
    assert run("prometheus/start.sh", there, {**STACK, "PROFILES": " gpu, baseline ,"}, "true").returncode == 0
    assert {"vllm:8000", "vllm-baseline:8000"} < targets(there).keys()


def test_the_script_knows_every_profile_of_the_compose_file_and_monitoring(there: Path) -> None:
    services = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text())["services"].values()
    profiles = sorted({profile for service in services for profile in service.get("profiles", [])} | {"monitoring"})
    variables = {**STACK, "PROFILES": ",".join(profiles), "VLLM_TARGET": "10.0.0.5:8000"}
    assert run("prometheus/start.sh", there, variables, "true").returncode == 0


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"PROFILES": "monitoring"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "10.0.0.5"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "http://10.0.0.5:8000"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "2001:db8::5:8000"}, "[address]:port for IPv6"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "a:1\nb:2"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "a']:1"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "gpu,basline"}, "'basline', which is no profile"),
        ({"PROFILES": "gpu,*"}, "'*', which is no profile"),
        ({"PROFILES": "load"}, "nothing would be watched"),
        ({"PROFILES": "gpu", "SPEC_METHOD": "x', evil: 'y"}, "may use only"),
        ({"PROFILES": "gpu", "HOST_LABEL": "a\nb"}, "may use only"),
    ],
)
def test_what_cannot_be_scraped_is_refused_in_one_line(there: Path, variables: dict[str, str], told: str) -> None:
    done = run("prometheus/start.sh", there, {**STACK, **variables}, "true")
    assert done.returncode == 2
    assert told in done.stderr
    assert "deploy/.env" in done.stderr
    assert done.stderr.count("start.sh") == 1


def test_prometheus_takes_the_place_of_the_script(there: Path) -> None:
    done = run("prometheus/start.sh", there, {**STACK, "PROFILES": "gpu"}, "printf", "%s|", "--a", "--b c")
    assert done.stdout == "--a|--b c|"


def test_a_new_volume_goes_to_the_owner_and_nobody_elses_is_taken(there: Path) -> None:
    (there / "volumes/prometheus").mkdir(parents=True)
    mine = str(os.getuid() or 4242)
    variables = {"VOLUMES": str(there / "volumes"), "OWNER": f"{mine}:{os.getgid() or 4242}"}
    for _ in range(2):
        assert run("volumes/own.sh", there, variables).returncode == 0
        assert (there / "volumes/prometheus").stat().st_uid == int(mine)
    done = run("volumes/own.sh", there, {**variables, "OWNER": "4243:4243"})
    assert done.returncode == 2
    assert f"the volume of prometheus belongs to user {mine}" in done.stderr
