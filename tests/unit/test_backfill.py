"""A simulated past as OpenMetrics: complete, in order, the same each time, and held in little memory."""

import tracemalloc
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from draftboard.errors import DraftboardError
from draftboard.lab.simulator import find
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.books import PAGE
from draftboard.lab.simulator.fleet import targets
from support.simulated import scenario, started, values

START = 1_800_000_000
PAST = range(START, START + 601, 15)
EAGLE = {"method": "eagle3", "k": 3, "load": {"rate": 1.0}}


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def samples(path: Path) -> Iterator[tuple[str, str, str, int]]:
    """Name, labels, value and time of every sample."""
    for line in lines(path):
        if not line.startswith("#"):
            series, value, at = line.rsplit(" ", 2)
            name, _, labels = series.partition("{")
            yield name, labels.rstrip("}"), value, int(at)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("written") / "run.om"
    backfill(targets(scenario({"at": "4m", "restart": "1m"}, engines=2, instances=2, **EAGLE), 1), PAST, out)
    return out


def test_families_appear_once_with_all_their_samples_and_the_file_ends(written: Path) -> None:
    text = lines(written)
    assert text[-1] == "# EOF"
    families = [line.split()[2] for line in text if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    names = {name for name, *_ in samples(written)}
    assert {metric.name for metric in PAGE if metric.name in names} <= names
    for type_line, following in pairwise(text):
        if type_line.startswith("# TYPE") and type_line.split()[2] != "up":
            assert following.startswith(f"# HELP {type_line.split()[2]} ")


def test_samples_of_one_metric_lie_side_by_side_in_the_order_of_time(written: Path) -> None:
    def metric(sample: tuple[str, str, str, int]) -> tuple[str, str]:
        name, labels, *_ = sample
        without_bound = ",".join(label for label in labels.split(",") if not label.startswith("le="))
        return name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum"), without_bound

    seen = set()
    for key, group in groupby(samples(written), metric):
        assert key not in seen
        seen.add(key)
        times = [at for *_, at in group]
        assert times == sorted(times)


def test_a_server_that_restarts_has_no_samples_but_up(written: Path) -> None:
    ups = [(at - START, value) for name, _, value, at in samples(written) if name == "up"]
    assert {at for at, value in ups if value == "0.0"} == {240, 255, 270, 285}
    times = {at - START for name, _, _, at in samples(written) if name == "vllm:generation_tokens_total"}
    assert times == set(range(0, 601, 15)) - {240, 255, 270, 285}


def test_samples_carry_target_labels_and_each_engine_its_own(written: Path) -> None:
    found = {labels for name, labels, *_ in samples(written) if name == "vllm:generation_tokens_total"}
    assert found == {
        f'engine="{engine}",instance="vllm-{server}:8000",job="vllm",model_name="m",spec_method="eagle3"'
        for engine in (0, 1)
        for server in (0, 1)
    }


def test_the_past_holds_what_the_page_shows(tmp_path: Path) -> None:
    out, told = tmp_path / "run.om", scenario(**EAGLE)
    backfill(targets(told, 1), PAST, out)
    instance = started(told)
    instance.advance(600)
    page = values(instance)
    last = {name: float(value) for name, _, value, at in samples(out) if at == START + 600 and "_bucket" not in name}
    for name in ("vllm:generation_tokens_total", "vllm:spec_decode_num_drafts_total", "vllm:kv_cache_usage_perc"):
        assert last[name] == page[name,]


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for number, seed in enumerate((1, 1, 2)):
        out = tmp_path / f"{number}.om"
        backfill(targets(scenario(**EAGLE), seed), PAST, out)
        texts.append(out.read_bytes())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("name", ["0.om", "2.om", "families"])
def test_a_history_may_have_any_name(name: str, tmp_path: Path) -> None:
    for out in (tmp_path / "run.om", tmp_path / name):
        backfill(targets(find("idle"), 1), PAST, out)
    assert (tmp_path / name).read_bytes() == (tmp_path / "run.om").read_bytes()


def test_progress_is_reported_server_by_server(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    backfill(targets(find("idle"), 1), PAST, tmp_path / "run.om", lambda *step: told.append(step))
    assert told == [("simulating", 0, 2), ("simulating", 1, 2), ("writing", 2, 2)]


def test_memory_does_not_grow_with_the_number_of_servers(tmp_path: Path) -> None:
    def peak(servers: int) -> int:
        fleet = targets(scenario(instances=servers, **EAGLE | {"load": {}}), 1)
        tracemalloc.start()
        try:
            backfill(fleet, PAST[:11], tmp_path / "run.om")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(16)  # CPython keeps freed tuples to use them again: what the first run fills is not the history's.
    # Each family's file has a buffer that fills at first; after that nothing grows.
    assert peak(16) < 1.1 * peak(8)


@pytest.mark.parametrize(
    ("out", "words"), [("nowhere/run.om", "cannot write the history"), ("folder", "not a regular file")]
)
def test_a_file_that_cannot_be_written_is_reported_and_nothing_is_left(tmp_path: Path, out: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DraftboardError, match=words) as raised:
        backfill(targets(scenario(), 1), PAST, tmp_path / out)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_past_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(targets(scenario(), 1), PAST, tmp_path / "run.om", interrupt)
    assert list(tmp_path.iterdir()) == []
