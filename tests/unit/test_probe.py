"""The probe: which steps it times, what it adds up, and that it never harms the server that it is in."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from abc import abstractmethod
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector

from draftboard.catalogue.probe import RUNS
from support import probed
from support.probed import (
    FOLDER,
    GAP,
    MODEL,
    config,
    details,
    drafts,
    imported,
    metrics,
    runs,
    scheduler,
    series,
    tokens,
    value,
)

TESTS = Path(probed.__file__).parents[1]
SERVERS = """
import sys
from support import probed
with probed.imported() as module:
    engines = [module.Probe(probed.config(), engine) for engine in (0, 1)]
    for engine in engines:
        engine.record(probed.scheduler(2, probed.drafts(4, 4), probed.details(2, 10)), probed.tokens(2), engine_idx=0)
        engine.record(probed.scheduler(2, probed.drafts(4, 4)), probed.tokens(2), engine_idx=0)
        engine.record(None, probed.tokens(2), engine_idx=0)
"""
"""Two engines, as one of several API servers has them: a step that it can time, one that it cannot, one of another."""
PLUGIN = """
from importlib.metadata import entry_points
from support import probed
(point,) = entry_points(group="vllm.stat_logger_plugins")
with probed.vllm():
    print(point.name, point.load())
"""
"""What vLLM does to load it."""


@pytest.fixture(autouse=True)
def sole_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with imported() as found:
        yield found


@pytest.fixture
def probe(module: ModuleType) -> Any:
    """Of an engine that drafts 4 tokens by n-grams."""
    return module.Probe(config(), 0)


@pytest.fixture
def probe_of_several(module: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """In one of several API servers."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    return module.Probe(config(), 0)


@pytest.mark.parametrize(
    ("batch", "bucket"),
    [
        *((batch, batch) for batch in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 256, 384)),
        *((5, 6), (7, 8), (9, 12), (13, 16), (17, 24), (25, 32), (33, 48), (49, 64), (193, 256), (257, 384)),
    ],
)
def test_a_bucket_holds_batches_up_to_its_own_name(module: ModuleType, batch: int, bucket: int) -> None:
    assert module.bucket(batch) == bucket


def test_a_decode_step_is_timed_at_its_batch_and_k(probe: Any) -> None:
    probe.record(scheduler(5, drafts(4, 4, 4, 4, 4, accepted=7)), tokens(5))
    for name, expected in {
        "decode_steps_total": 1,
        "decode_step_seconds_total": GAP,
        "decode_step_requests_total": 5,
        "decode_step_drafts_total": 5,
        "decode_step_accepted_tokens_total": 7,
    }.items():
        assert series(name) == {("6", "4"): expected}, name
    assert series("steps_total") == {("decode",): 1}


def test_requests_that_end_in_a_step_belong_to_its_batch(probe: Any) -> None:
    probe.record(scheduler(1, drafts(4, 4, 4)), tokens(3, finished=2))
    assert series("decode_steps_total") == {("3", "4"): 1}


@pytest.mark.parametrize("before", [2, 4])
def test_a_step_in_which_the_requests_changed_is_not_timed(probe: Any, before: int) -> None:
    """Of four, one is aborted while the step runs: the engine never tells of it again."""
    probe.record(scheduler(before), None)
    probe.record(scheduler(3, drafts(4, 4, 4)), tokens(3))
    probe.record(scheduler(2, drafts(4, 4, 4)), tokens(3, finished=1))
    assert series("steps_total") == {("silent",): 1, ("unsure",): 1, ("decode",): 1}
    assert series("decode_steps_total") == {("3", "4"): 1}


def test_a_step_takes_the_time_of_the_requests_that_were_in_the_step_before(probe: Any) -> None:
    step = tokens(3)
    step.inter_token_latencies_iter = [0.5, 0.02, 0.02]
    probe.record(scheduler(3, drafts(4, 4, 4)), step)
    assert series("decode_step_seconds_total") == {("3", "4"): 0.02}


@pytest.mark.parametrize(
    ("kind", "running", "step"),
    [
        ("prefill", 3, tokens(2, first=1)),
        ("prefill", 1, tokens(first=1)),
        ("prefill", 3, tokens(3, preempted=1)),
        ("unsure", 3, tokens(2)),  # one is amid its prompt
        ("unsure", 1, tokens(2)),  # one is gone and did not finish
        ("silent", 2, tokens()),
        ("silent", 2, None),
    ],
)
def test_any_other_step_is_counted_by_its_kind_and_not_timed(probe: Any, kind: str, running: int, step: Any) -> None:
    probe.record(scheduler(running, drafts(4, 4)), step)
    assert series("steps_total") == {(kind,): 1}
    assert series("decode_steps_total") == {}
    assert value("draft_tokens_per_pos_total", position="0") == 2


@pytest.mark.parametrize(
    ("kind", "told", "step"),
    [
        ("decode", details(2, 10), tokens(2)),
        ("decode", details(2, 3), tokens(2)),
        ("prefill", details(2, 10, prompts=1), tokens(2)),  # tokens alone show no prompt that goes on
        ("prefill", details(2, 10, encoded=1), tokens(2)),
        ("prefill", details(2, 11), tokens(2)),  # the prompt of a preempted request, once more
        ("prefill", details(0, 0, prompts=1), None),
        ("silent", details(2, 10), tokens()),
        ("silent", details(2, 10), None),
        ("idle", details(0, 0), None),
    ],
)
@pytest.mark.parametrize("of", ["probe", "probe_of_several"])
def test_iteration_details_decide(of: str, kind: str, told: Any, step: Any, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(of).record(scheduler(2, drafts(4, 4), told), step)
    assert series("steps_total") == {(kind,): 1}
    assert series("decode_steps_total") == ({("2", "4"): 1} if kind == "decode" else {})


def test_iteration_details_give_the_batch_of_which_a_server_sees_a_part(probe_of_several: Any) -> None:
    probe_of_several.record(scheduler(5, drafts(4, 4, 4, 4, 4), details(5, 25)), tokens(2))
    assert series("decode_steps_total") == {("6", "4"): 1}
    assert series("decode_step_requests_total") == {("6", "4"): 5}


def test_without_them_one_of_several_servers_cannot_know_that_all_decoded(probe_of_several: Any) -> None:
    probe_of_several.record(scheduler(2, drafts(4, 4)), tokens(2))
    probe_of_several.record(scheduler(2, drafts(4, 4)), tokens(1, first=1))
    assert series("steps_total") == {("unsure",): 1, ("prefill",): 1}
    assert series("decode_steps_total") == {}


@pytest.mark.parametrize(
    ("k", "spec", "batch"),
    [
        ("0", None, 2),
        ("0", drafts(), 2),
        ("4", drafts(4, 4), 2),
        ("2", drafts(2, 2), 2),
        ("mixed", drafts(4), 2),  # one drafted nothing
        ("mixed", drafts(4, 2), 2),
        ("mixed", drafts(3, 2), 2),
        ("mixed", drafts(1, 3), 2),  # two on average
        ("mixed", drafts(0, 0), 2),  # verified, though a grammar refused them
    ],
)
def test_k_is_told_where_all_requests_have_it(probe: Any, k: str, spec: Any, batch: int) -> None:
    probe.record(scheduler(batch, spec), tokens(batch))
    assert series("decode_steps_total") == {("2", k): 1}


def test_adaptive_verification_hides_what_was_verified(module: ModuleType) -> None:
    probe = module.Probe(config("eagle3", enable_adaptive_verification=True, rejection_sample_method="standard"), 0)
    probe.record(scheduler(2, drafts(4, 4)), tokens(2))
    probe.record(scheduler(2), tokens(2))
    assert series("decode_steps_total") == {("2", "adaptive"): 1, ("2", "0"): 1}
    assert series("info") == {("true", "4", "eagle3", "standard"): 1}


def test_drafts_are_counted_by_position_in_every_step(probe: Any) -> None:
    probe.record(scheduler(2, drafts(4, 1)), tokens(2))
    probe.record(scheduler(2, drafts(2)), None)
    assert series("draft_tokens_per_pos_total") == {("0",): 3, ("1",): 2, ("2",): 1, ("3",): 1}


@pytest.mark.usefixtures("probe")
def test_what_will_count_begins_at_zero() -> None:
    assert [value("draft_tokens_per_pos_total", position=str(position)) for position in range(5)] == [*[0] * 4, None]
    assert all(value("steps_total", kind=kind) == 0 for kind in ("decode", "prefill", "unsure", "silent", "idle"))
    assert value("probe_errors_total") == 0
    assert series("info") == {("false", "4", "ngram", ""): 1}


class Undecided:
    """A configuration whose property fails."""

    model_config = SimpleNamespace(served_model_name=MODEL, quantization="fp8", revision=None)
    speculative_config = SimpleNamespace(
        method="eagle3", num_speculative_tokens=4, model="some/head", num_speculative_tokens_per_batch_size=[[1, 8, 4]]
    )
    parallel_config = SimpleNamespace(tensor_parallel_size=2, enable_expert_parallel=False)
    attention_config = SimpleNamespace(backend=SimpleNamespace(name="FLASH_ATTN"))

    @property
    def use_v2_model_runner(self) -> bool:
        raise RuntimeError


def test_it_says_what_the_engine_runs_as_far_as_this_release_knows(module: ModuleType) -> None:
    module.Probe(Undecided(), 0)
    assert runs() == {
        "vllm_version": probed.RELEASE,
        "draft_model": "some/head",
        "k_schedule": "[[1, 8, 4]]",
        "quantization": "fp8",
        "attention_backend": "FLASH_ATTN",
        "tensor_parallel_size": "2",
        "expert_parallel": "false",
    }
    assert value("probe_errors_total") == 0


def test_what_it_runs_is_few_labels_that_the_catalogue_and_the_readme_know(module: ModuleType) -> None:
    assert ("vllm_version", *module.RUNS) == RUNS
    assert len(RUNS) + 6 + 8 < 30  # its others, and those of a target
    readme = (FOLDER / "README.md").read_text()
    assert [name for name in RUNS if f"`{name}`" not in readme] == []


def test_a_name_without_end_is_cut(module: ModuleType) -> None:
    module.Probe(
        SimpleNamespace(**{**vars(config("eagle3")), "cache_config": SimpleNamespace(cache_dtype="f" * 9999)}), 0
    )
    assert runs()["kv_cache_dtype"] == "f" * 120


def test_a_baseline_says_so_and_times_its_steps(module: ModuleType) -> None:
    probe = module.Probe(config(None), 0)
    probe.record(scheduler(2), tokens(2))
    probe.record(scheduler(2, None, details(2, 2)), tokens(2))
    assert series("info") == {("false", "0", "none", ""): 1}
    assert series("decode_steps_total") == {("2", "0"): 2}
    assert value("draft_tokens_per_pos_total", position="0") is None


def test_before_vllm_0_24_no_position_is_claimed_and_only_full_drafts_have_a_k() -> None:
    with imported(stats=probed.EarlierStats) as module:
        probe = module.Probe(config(), 0)
        probe.record(scheduler(2, probed.EarlierStats(4, 2, 8, 3)), tokens(2))
        probe.record(scheduler(2, probed.EarlierStats(4, 2, 4, 3)), tokens(2))
        assert value("draft_tokens_per_pos_total", position="0") is None
        assert series("decode_steps_total") == {("2", "4"): 1, ("2", "mixed"): 1}
        assert value("probe_errors_total") == 0


def test_engines_and_models_are_apart(module: ModuleType) -> None:
    for engine in (0, 1):
        module.Probe(config(), engine).record(scheduler(1, drafts(4)), tokens(1))
    module.Probe(config(model="other"), 0)
    assert value("draft_tokens_per_pos_total", position="0") == 1
    assert value("draft_tokens_per_pos_total", position="0", engine="1") == 1
    assert value("draft_tokens_per_pos_total", position="0", model_name="other") == 0


def test_a_step_that_vllm_reports_to_another_api_server_is_not_counted(probe: Any) -> None:
    probe.record(None, tokens(2), mm_cache_stats=None, engine_idx=0)
    assert series("steps_total") == {}
    assert value("probe_errors_total") == 0


def test_two_api_servers_add_up_on_one_page_without_a_label_of_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": str(TESTS)}
        subprocess.run([sys.executable, "-c", SERVERS], env=environment, check=True, timeout=300)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(tmp_path))
    page = {
        (
            sample.name.removeprefix("draftboard_spec_"),
            *(text for name, text in sorted(sample.labels.items()) if name not in RUNS),
        ): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.value
    }
    expected: dict[tuple[str, ...], Any] = {}
    for engine in ("0", "1"):
        expected |= {("draft_tokens_per_pos_total", engine, MODEL, position): 8 for position in "0123"}
        expected |= {
            ("info", "false", engine, "4", "ngram", MODEL, ""): 1,
            ("steps_total", engine, "decode", MODEL): 2,
            ("steps_total", engine, "unsure", MODEL): 2,
            ("decode_steps_total", "2", engine, "4", MODEL): 2,
            ("decode_step_seconds_total", "2", engine, "4", MODEL): pytest.approx(2 * GAP),
            ("decode_step_requests_total", "2", engine, "4", MODEL): 4,
            ("decode_step_drafts_total", "2", engine, "4", MODEL): 4,
        }
    assert page == expected


@pytest.mark.parametrize(
    ("broken", "model"),
    [
        (None, ""),
        (SimpleNamespace(), ""),
        (SimpleNamespace(model_config=config().model_config), MODEL),
        (SimpleNamespace(model_config=config().model_config, speculative_config=object()), MODEL),
    ],
)
def test_a_configuration_that_it_does_not_know_ends_the_probe_not_the_server(
    module: ModuleType, caplog: pytest.LogCaptureFixture, broken: Any, model: str
) -> None:
    probe = module.Probe(broken, 0)
    probe.record(scheduler(1, drafts(4)), tokens(1))
    assert value("probe_errors_total", model_name=model) == 1
    assert series("steps_total") == {}
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize(
    ("step", "by_name"),
    [
        ((SimpleNamespace(), tokens(1)), {}),
        ((scheduler(1, SimpleNamespace(num_drafts=1)), tokens(1)), {}),
        ((scheduler(1), SimpleNamespace(inter_token_latencies_iter=[GAP])), {}),
        ((scheduler(1, None, SimpleNamespace(num_generation_requests=1)), tokens(1)), {}),
        ((), {}),
        ((), {"stats": object()}),
    ],
)
def test_a_step_that_it_does_not_understand_is_counted_and_logged_once(
    probe: Any, caplog: pytest.LogCaptureFixture, step: tuple[Any, ...], by_name: dict[str, Any]
) -> None:
    for _ in range(3):
        probe.record(*step, **by_name)
    assert value("probe_errors_total") == 3
    assert [record.name for record in caplog.records] == ["vllm.draftboard_probe"]
    assert caplog.records[0].exc_info
    probe.record(scheduler(1, drafts(4)), tokens(1))
    assert series("decode_steps_total") == {("1", "4"): 1}


def test_an_error_that_cannot_even_be_counted_does_no_harm(
    module: ModuleType, probe: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.ERRORS, "labels", full)
    probe.record()


def test_arguments_that_a_later_vllm_adds_are_ignored(module: ModuleType) -> None:
    probe = module.Probe(config(), 0, "more", more=1)
    probe.record(scheduler(1, drafts(4)), tokens(1), None, 0, "more", more=1)
    assert value("probe_errors_total") == 0
    assert series("decode_steps_total") == {("1", "4"): 1}


def test_methods_that_a_later_vllm_requires_do_nothing() -> None:
    class Later(probed.StatLoggerBase):
        @abstractmethod
        def record_power(self, watts: float) -> None:
            raise NotImplementedError

    with imported(Later) as module:
        assert issubclass(module.Probe, Later)
        probe = module.Probe(config(), 0)
        probe.record_power(watts=300.0)
        probe.log_engine_initialized()
        probe.record(scheduler(1, drafts(4)), tokens(1))
        assert series("decode_steps_total") == {("1", "4"): 1}


def test_a_base_class_that_requires_nothing_is_as_good() -> None:
    with imported(type("Plain", (), {})) as module:
        module.Probe(config(), 0).record(scheduler(1, drafts(4)), tokens(1))
        assert series("decode_steps_total") == {("1", "4"): 1}


def test_without_the_hook_the_import_fails_which_vllm_logs_and_no_series_is_left() -> None:
    with pytest.raises(ImportError), imported(base=None):
        pass
    assert not any(metric.name.startswith("draftboard_spec_") for metric in REGISTRY.collect())


def test_the_readme_lists_every_series_and_vllm_would_unregister_none(module: ModuleType) -> None:
    made = {f"{one.name}{'_total' * (one.type == 'counter')}" for metric in metrics(module) for one in metric.collect()}
    assert set(re.findall(r"`(draftboard_spec_(?!class_|lens_)\w+)", (FOLDER / "README.md").read_text())) == made
    assert len(made) == 9
    assert not any(name.startswith("vllm:") for name in made)


def test_the_folder_itself_is_an_installed_package_the_one_of_its_pyproject() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    (found,) = metadata.distributions(path=[str(FOLDER)])
    assert (found.metadata["Name"], found.version) == (project["name"], project["version"])
    told = {point.group: {point.name: point.value} for point in found.entry_points}
    assert told == project["entry-points"]
    (info,) = FOLDER.glob("*.dist-info")
    assert info.name == f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"


def test_vllm_finds_and_loads_it_on_the_path_from_links_as_in_a_config_map(tmp_path: Path) -> None:
    mounted, data = tmp_path / "mounted", tmp_path / "mounted/..data"
    shutil.copytree(FOLDER, data)
    for path in ("draftboard_probe.py", *(str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/entry_points.txt"))):
        (mounted / path).parent.mkdir(exist_ok=True)
        (mounted / path).symlink_to(data / path)
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{mounted}"}
    done = subprocess.run([sys.executable, "-c", PLUGIN], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "draftboard <class 'draftboard_probe.Probe'>\n", done.stderr
