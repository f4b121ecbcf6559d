"""The start scripts of the stack's containers, run by a shell with a program in place of vLLM."""

import os
import re
import shlex
import signal
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from draftboard.build import stack
from draftboard.doctor import examine_command
from draftboard.doctor.finding import Severity
from draftboard.settings import load
from support.rulefiles import loaded

DEPLOY = ROOT / "deploy"
SPECULATION = '{"method": "ngram", "num_speculative_tokens": 4}'
BUCKETS = loaded((DEPLOY / "docker-compose.yml").read_text())["x-buckets"]
MODEL = {
    "MODEL": "some/model",
    "SPEC_CONFIG": SPECULATION,
    "TENSOR_PARALLEL_SIZE": "2",
    "GPU_MEMORY_UTILIZATION": "0.9",
    "MAX_MODEL_LEN": "8192",
    "BUCKETS": BUCKETS,
    "SERVE_ARGS": "",
    "PROBE": "on",
    "HF_HOME": "/tmp",
}
LOAD = {
    "MODEL": "some/model",
    "TARGET": "http://vllm:8000",
    "PROMPTS": "10",
    "RATE": "2",
    "RESULT": '{"completed": 10}',
}
STACK = {"SPEC_METHOD": "eagle3", "HOST_LABEL": "gpu-1", "VLLM_TARGET": "", "BYTES_PER_SERIES": "24000"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with secrets and a program that prints its arguments."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/vllm_api_key").write_text("the-key")
    (tmp_path / "secrets/hf_token").write_text("")
    program = tmp_path / "vllm"
    program.write_text(
        '#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\nenv -0 >"$ENVIRONMENT"\n'
        '[ -z "${RESULT-}" ] || printf %s "$RESULT" >"$TMPDIR/result.json"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run(script: str, folder: Path, variables: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "SECRETS": str(folder / "secrets"),
        "ENVIRONMENT": str(folder / "environment"),
        "SCRAPE_FOLDER": str(folder),
        "SCRAPE_OPTIONS": str(DEPLOY / "prometheus/scrape-options.yml"),
        "TMPDIR": str(folder),
        **variables,
    }
    return subprocess.run(
        ["/bin/sh", str(DEPLOY / script), *words],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def words_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\0")[:-1]


def environment_of(folder: Path) -> dict[str, str]:
    pairs = (folder / "environment").read_text().split("\0")[:-1]
    return dict(pair.split("=", 1) for pair in pairs)


def jobs(folder: Path) -> dict[str, dict[str, Any]]:
    written = loaded((folder / "stack.yaml").read_text())
    return {job["job_name"]: job for job in written["scrape_configs"]}


def targets(folder: Path) -> dict[str, dict[str, str]]:
    static = (job["static_configs"] for job in jobs(folder).values() if "static_configs" in job)
    return {group["targets"][0]: group["labels"] for groups in static for group in groups}


def test_the_speculative_config_is_one_argument(folder: Path) -> None:
    words = words_of(run("vllm/serve.sh", folder, MODEL))
    assert words[:2] == ["serve", "some/model"]
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert options["--speculative-config"] == SPECULATION
    assert options["--custom-histogram-buckets"] == MODEL["BUCKETS"]
    assert options["--tensor-parallel-size"] == "2"


def environment_file(path: Path) -> dict[str, str]:
    """Variables as Compose reads them: our files have plain words and texts in single quotes."""
    lines = (line for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {name: " ".join(shlex.split(text)) for name, _, text in (line.partition("=") for line in lines)}


@pytest.mark.parametrize("example", sorted((DEPLOY / "examples").glob("*.env")), ids=lambda path: path.stem)
def test_the_doctor_finds_no_problem_in_the_command_of_an_example(folder: Path, example: Path) -> None:
    words = words_of(run("vllm/serve.sh", folder, {**MODEL, **environment_file(example)}))
    settings = load(DEPLOY / "draftboard.toml")
    found = examine_command(shlex.join(["vllm", *words]), settings).findings
    assert [one for one in found if one.severity is not Severity.NOTE] == []


def test_without_speculation_the_option_is_left_out(folder: Path) -> None:
    words = words_of(run("vllm/serve.sh", folder, {**MODEL, "SPEC_CONFIG": ""}))
    assert "--speculative-config" not in words
    assert "" not in words


def test_further_options_are_split_into_words_without_file_name_expansion(folder: Path) -> None:
    words = words_of(run("vllm/serve.sh", folder, {**MODEL, "SERVE_ARGS": "--enforce-eager --served-model-name *"}))
    assert words[-3:] == ["--enforce-eager", "--served-model-name", "*"]


def paths(folder: Path, **variables: str) -> list[str]:
    """Where the program's Python looks for modules and plugins."""
    assert run("vllm/serve.sh", folder, {**MODEL, **variables}).returncode == 0
    return environment_of(folder).get("PYTHONPATH", "").split(":")


def test_vllm_finds_the_probe_and_what_its_image_has(folder: Path) -> None:
    probe = str(DEPLOY / "vllm/probe")
    assert paths(folder) == [probe]
    assert paths(folder, PYTHONPATH="/of/the/image:/more") == ["/of/the/image", "/more", probe]


def test_the_probe_can_be_left_out(folder: Path) -> None:
    assert paths(folder, PROBE="off") == [""]
    assert paths(folder, PROBE="off", PYTHONPATH="/of/the/image") == ["/of/the/image"]


def test_any_other_value_for_the_probe_is_refused(folder: Path) -> None:
    done = run("vllm/serve.sh", folder, {**MODEL, "PROBE": "no"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "serve.sh: VLLM_PROBE is 'no': set it to on or off in deploy/.env\n"


def test_the_key_reaches_vllm_but_no_command_line(folder: Path) -> None:
    done = run("vllm/serve.sh", folder, MODEL)
    assert "the-key" not in done.stdout + done.stderr
    assert environment_of(folder)["VLLM_API_KEY"] == "the-key"


def test_an_empty_key_is_refused(folder: Path) -> None:
    (folder / "secrets/vllm_api_key").write_text("\n")
    done = run("vllm/serve.sh", folder, MODEL)
    assert done.returncode == 2
    assert "make secrets" in done.stderr


def test_a_read_only_model_cache_is_one_line_that_names_it(folder: Path) -> None:
    done = run("vllm/serve.sh", folder, {**MODEL, "HF_HOME": str(folder / "nowhere")})
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"user {os.getuid()} may not write" in done.stderr
    assert "HF_CACHE in deploy/.env" in done.stderr


@pytest.mark.parametrize(("token", "passed"), [("", False), ("hf_x", True)])
def test_a_token_is_passed_on_if_there_is_one(folder: Path, token: str, passed: bool) -> None:
    (folder / "secrets/hf_token").write_text(token)
    words_of(run("vllm/serve.sh", folder, MODEL))
    assert ("HF_TOKEN_PATH" in environment_of(folder)) == passed


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("random", ["--dataset-name", "random"]),
        ("philschmid/mt-bench", ["--dataset-name", "hf", "--dataset-path", "philschmid/mt-bench", "--no-oversample"]),
    ],
)
def test_load_is_vllms_own_benchmark(folder: Path, dataset: str, words: list[str]) -> None:
    command = words_of(run("vllm/load.sh", folder, {**LOAD, "DATASET": dataset}))
    assert command[:2] == ["bench", "serve"]
    assert command[-len(words) :] == words
    assert environment_of(folder)["OPENAI_API_KEY"] == "the-key"


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ('{"completed": 0, "failed": 10}', "10 requests failed, 0 were answered"),
        ('{"completed": 9, "failed": 1}', "1 requests failed, 9 were answered"),
        ('{"completed": 0}', "0 were answered"),
    ],
)
def test_a_load_whose_requests_fail_ends_with_an_error(folder: Path, result: str, says: str) -> None:
    done = run("vllm/load.sh", folder, {**LOAD, "DATASET": "random", "RESULT": result})
    assert done.returncode == 1
    assert says in done.stderr


def test_server_and_baseline_are_static_targets(folder: Path) -> None:
    assert run("prometheus/start.sh", folder, {**STACK, "PROFILES": "gpu,baseline"}, "true").returncode == 0
    assert targets(folder) == {
        "vllm:8000": {"job": "vllm", "host": "gpu-1", "spec_method": "eagle3"},
        "vllm-baseline:8000": {"job": "vllm", "host": "gpu-1", "spec_method": "none"},
        "dcgm-exporter:9400": {"job": "dcgm-exporter", "host": "gpu-1"},
        "node-exporter:9100": {"job": "node-exporter", "host": "gpu-1"},
    }


def test_the_simulator_lists_its_servers_by_http_discovery(folder: Path) -> None:
    assert run("prometheus/start.sh", folder, {**STACK, "PROFILES": "demo"}, "true").returncode == 0
    assert jobs(folder).keys() == {"vllm", "simulator"}


def test_the_users_own_servers_are_scraped_as_drills_and_tests_scrape_them(folder: Path) -> None:
    assert run("prometheus/start.sh", folder, {**STACK, "PROFILES": "demo"}, "true").returncode == 0
    written = jobs(folder)["vllm"]
    del written["relabel_configs"]  # An instance of the target's own, and who is cut off.
    assert stack.servers(load(DEPLOY / "draftboard.toml"), "a test") == {"scrape_configs": [written]}


def test_an_existing_server_is_the_only_target(folder: Path) -> None:
    variables = {**STACK, "PROFILES": "monitoring", "VLLM_TARGET": "10.0.0.5:8000"}
    assert run("prometheus/start.sh", folder, variables, "true").returncode == 0
    assert targets(folder) == {"10.0.0.5:8000": {"job": "vllm", "host": "gpu-1", "spec_method": "eagle3"}}


@pytest.mark.parametrize("target", ["vllm-1.example.com:8000", "[2001:db8::5]:8000", "host.docker.internal:80"])
def test_an_existing_server_is_given_by_name_ipv4_or_ipv6_address(folder: Path, target: str) -> None:
    variables = {**STACK, "PROFILES": "monitoring", "VLLM_TARGET": target}
    assert run("prometheus/start.sh", folder, variables, "true").returncode == 0
    assert targets(folder).keys() == {target}


def test_blanks_between_profiles_are_ignored_as_in_compose(folder: Path) -> None:
    assert run("prometheus/start.sh", folder, {**STACK, "PROFILES": " gpu, baseline ,"}, "true").returncode == 0
    assert {"vllm:8000", "vllm-baseline:8000"} < targets(folder).keys()


def test_the_script_knows_every_profile_of_the_compose_file_and_monitoring(folder: Path) -> None:
    services = loaded((DEPLOY / "docker-compose.yml").read_text())["services"].values()
    profiles = sorted({profile for service in services for profile in service.get("profiles", [])} | {"monitoring"})
    variables = {**STACK, "PROFILES": ",".join(profiles), "VLLM_TARGET": "10.0.0.5:8000"}
    assert run("prometheus/start.sh", folder, variables, "true").returncode == 0


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        ({"PROFILES": "monitoring"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "10.0.0.5"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "http://10.0.0.5:8000"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "2001:db8::5:8000"}, "[address]:port for IPv6"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "a:1\nb:2"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "monitoring", "VLLM_TARGET": "a']:1"}, "VLLM_TARGET=host:port"),
        ({"PROFILES": "gpu,basline"}, "unknown profile 'basline'"),
        ({"PROFILES": "gpu,*"}, "unknown profile '*'"),
        ({"PROFILES": "load"}, "needs one of gpu, demo, monitoring"),
        ({"PROFILES": "gpu", "SPEC_METHOD": "x', evil: 'y"}, "may contain only"),
        ({"PROFILES": "gpu", "HOST_LABEL": "a\nb"}, "may contain only"),
    ],
)
def test_an_invalid_variable_is_one_line(folder: Path, variables: dict[str, str], error: str) -> None:
    done = run("prometheus/start.sh", folder, {**STACK, **variables}, "true")
    assert done.returncode == 2
    assert error in done.stderr
    assert "deploy/.env" in done.stderr
    assert done.stderr.count("start.sh") == 1


def program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


HEAD = """{{"data":{{"headStats":{{"numSeries":{all},"numLabelPairs":9}},"seriesCountByMetricName":[
{{"name":"instance=forged:1","value":9}}],"labelValueCountByLabelName":[],"seriesCountByLabelValuePair":[
{{"name":"job=vllm","value":9}},{{"name":"x={{\"name\":\"instance=forged:2\",\"value\":9","value":9}},
{{"name":"instance=a b","value":99}},{{"name":"instance={server}","value":{series}}},
{{"name":"instance=small:1","value":1}}]}}}}"""
SERVER = "[2001:db8::5]:8000"


def guarded(
    folder: Path, *, series: int = 50, answers: str = "*", clock: str = "echo 0", reads: int = 1
) -> subprocess.CompletedProcess[str]:
    """The script under programs in place of Prometheus', which ends when it has read its configuration so often."""
    rounds, process = folder / "rounds", folder / "process"
    # It ends after ten rounds, too.
    ends = f"[ $(wc -l <{rounds}) -lt 10 ] || kill -HUP $(cat {process})"
    waits = f"while [ -e {folder}/last ] && kill -0 $(cat {process}); do :; done"
    program(folder / "sleep", f"echo >>{rounds}", ends, waits)
    head = HEAD.format(all=100, server=SERVER, series=series).replace("\n", "")
    program(folder / "wget", f"cat <<'END'\n{head}\nEND")
    program(folder / "date", clock)
    program(
        folder / "promtool", f'echo "$4" >>{folder}/asked', f"""case "$4" in {answers}) echo '{{}} => 1 @[1]' ;; esac"""
    )
    program(
        folder / "prometheus",
        f"echo $$ >{process}",
        f"n={reads}; trap 'n=$((n - 1)); [ $n -gt 0 ] || exit 0' HUP",
        "while :; do :; done",
    )
    variables = {**STACK, "PROFILES": "monitoring", "VLLM_TARGET": SERVER}
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # A shell under nohup ignores it and cannot trap it.
    try:
        return run("prometheus/start.sh", folder, variables, "prometheus")
    finally:
        signal.signal(signal.SIGHUP, before)


def cut_off(folder: Path) -> set[str]:
    return {jobs(folder)[job]["relabel_configs"][1]["regex"] for job in ("vllm", "stack")}


def test_a_server_that_fills_the_memory_with_series_is_scraped_no_more(folder: Path) -> None:
    done = guarded(folder)
    assert done.returncode == 0
    assert f"{SERVER} fills the memory with new series" in done.stderr
    assert cut_off(folder) == {"[[]2001:db8::5[]]:8000"}
    asked = (folder / "asked").read_text()
    assert "forged" not in asked
    # What it added before a restart has been given a new chance.
    assert {*re.findall(r"scrape_series_added\S+\[(\w+)\]", asked)} == {"1s"}


@pytest.mark.parametrize(("series", "answers"), [(50, "go_gc*"), (50, "vector*"), (5, "*")])
def test_none_is_cut_off_that_does_not_churn_or_is_small_and_none_where_memory_is_left(
    folder: Path, series: int, answers: str
) -> None:
    done = guarded(folder, series=series, answers=answers)
    assert (done.returncode, done.stderr) == (0, "")
    assert cut_off(folder) == {""}


def test_who_was_cut_off_is_scraped_again_when_its_series_have_left_the_memory(folder: Path) -> None:
    later = f'grep -qs "regex: \'\\[" {folder}/stack.yaml'  # Three hours pass once it is cut off.
    done = guarded(folder, clock=f"{later} && echo 10800 && touch {folder}/last || echo 0", reads=2)
    assert done.stderr.splitlines()[1:] == ["start.sh: servers that were cut off are scraped again"]
    assert cut_off(folder) == {""}


def test_prometheus_replaces_the_script(folder: Path) -> None:
    done = run("prometheus/start.sh", folder, {**STACK, "PROFILES": "gpu"}, "printf", "%s|", "--a", "--b c")
    assert done.stdout == "--a|--b c|"


def test_a_new_volume_gets_the_owner_and_a_volume_of_another_user_is_an_error(folder: Path) -> None:
    (folder / "volumes/prometheus").mkdir(parents=True)
    mine = str(os.getuid() or 4242)
    variables = {"VOLUMES": str(folder / "volumes"), "OWNER": f"{mine}:{os.getgid() or 4242}"}
    for _ in range(2):
        assert run("volumes/own.sh", folder, variables).returncode == 0
        assert (folder / "volumes/prometheus").stat().st_uid == int(mine)
    (folder / "volumes/prometheus/01BLOCK").mkdir()
    (folder / "volumes/prometheus/01BLOCK/meta.json").touch()
    os.chown(folder / "volumes/prometheus/01BLOCK/meta.json", *(4242, 4242) if os.getuid() == 0 else (-1, -1))
    done = run("volumes/own.sh", folder, {**variables, "OWNER": "4243:4243"})
    assert done.returncode == 2
    assert f"prometheus belongs to user {mine}" in done.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root changes owners")
@pytest.mark.parametrize(("user", "code"), [(0, 0), (4244, 2)])
def test_what_root_restored_in_a_volume_gets_the_owner_and_what_another_user_owns_is_named(
    folder: Path, user: int, code: int
) -> None:
    restored = folder / "volumes/prometheus/wal/00000001"
    restored.parent.mkdir(parents=True)
    restored.touch()
    for path in (folder / "volumes/prometheus", restored.parent):
        os.chown(path, 4242, 4242)
    os.chown(restored, user, user)
    done = run("volumes/own.sh", folder, {"VOLUMES": str(folder / "volumes"), "OWNER": "4242:4242"})
    assert done.returncode == code
    assert (str(restored) in done.stderr) is bool(code)
    assert restored.stat().st_uid == (user or 4242)


DAMAGED = {"nflog": "error creating notification log", "silences": "error creating silence"}


def alertmanager(folder: Path) -> Path:
    """A program that ends, as Alertmanager does, where one of its files is damaged."""
    program = folder / "alertmanager"
    tried = 'grep -qs damaged "$storage/{}" && {{ echo "{}" >&2; exit 1; }}'
    lines = (tried.format(*one) for one in DAMAGED.items())
    program.write_text(
        "\n".join(
            ["#!/bin/sh", "for word; do case $word in --storage.path=*) storage=${word#*=} ;; esac; done", *lines]
        )
        + '\necho "$@"\n'
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("damaged", [(), ("nflog",), ("silences",), ("nflog", "silences")])
def test_damaged_files_of_alertmanager_are_set_aside_and_named(folder: Path, damaged: tuple[str, ...]) -> None:
    storage = folder / "storage"
    storage.mkdir()
    for name in DAMAGED:
        (storage / name).write_text("damaged" if name in damaged else "whole")
    done = run("alertmanager/start.sh", folder, {"STORAGE": str(storage)}, str(alertmanager(folder)), "--a")
    assert (done.returncode, done.stdout) == (0, f"--a --storage.path={storage}\n")
    assert {path.name for path in storage.iterdir() if "damaged-" not in path.name} == DAMAGED.keys() - {*damaged}
    assert {path.name.split(".")[0] for path in storage.glob("*.damaged-*")} == {*damaged}
    named = [line.split()[1] for line in done.stderr.splitlines()]
    assert named == [f"{storage}/{name}" for name in damaged]
