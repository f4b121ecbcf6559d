"""A switchback: what chance decides, what it shows, and that looking often does not make it wrong."""

import json
import math
import random
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from draftboard.errors import DraftboardError
from draftboard.experiment import Arm, Experiment, effect, load, plan, result_of, save
from draftboard.experiment.plan import Block
from draftboard.settings import Settings
from support import command_line
from support.known import known
from support.loopback import answering, page

run = partial(command_line.run, "experiment")
ARMS = Arm("none", "deploy --k 0"), Arm("k4", "deploy --k 4")
PAIRS, SESSIONS, REQUESTS = 24, 12, 10
KINDS = 0.6, 1.0, 2.5
"""Of sessions: seconds a token, relative to the mean."""


def experiment(pairs: int = PAIRS) -> Experiment:
    return plan(ARMS, start=1.8e9, block=1200, washout=300, pairs=pairs)


def fleet(seed: int, speedup: float, drawn: Experiment) -> dict[Block, dict[str, float]]:
    """Sessions that stay for many blocks, each of a kind whose share drifts; a block's time is that of its requests."""
    chance = random.Random(seed)
    drift = chance.gauss(0, 1)

    def session() -> tuple[float, int]:
        kind = chance.choices(KINDS, weights=(1, 2, 4 / (1 + math.exp(-drift))))[0]
        return kind, chance.randint(2, 12)

    sessions, found = [session() for _ in range(SESSIONS)], {}
    for block in drawn.blocks():
        drift = 0.95 * drift + math.sqrt(1 - 0.95**2) * chance.gauss(0, 1)
        times = [kind * chance.gammavariate(4, 0.25) for kind, _ in sessions for _ in range(REQUESTS)]
        per_token = 0.03 * sum(times) / len(times) / (speedup if block.arm else 1)
        found[block] = {"per_token": per_token, "end_to_end": 100 * per_token + 0.1, "first_token": 0.1}
        sessions = [(kind, left - 1) if left > 1 else session() for kind, left in sessions]
    return found


def looked_at_often(seed: int, speedup: float) -> tuple[bool, str]:
    """Whether every look, after each third pair, holds the truth; and what the first says that asks to stop."""
    rng = random.Random(seed)
    drawn = Experiment(
        arms=ARMS, start=1.8e9, block=1200, washout=300, first=tuple(rng.randint(0, 1) for _ in range(PAIRS))
    )
    blocks, holds, stopped = list(fleet(seed, speedup, drawn).items()), True, ""
    for pairs in range(6, PAIRS + 1, 3):
        told = result_of(drawn, dict(blocks[: 2 * pairs]), Settings())
        if told.per_token:
            holds = holds and told.per_token.low <= speedup <= told.per_token.high
        if told.stop and not stopped:
            stopped = told.says
    return holds, stopped


@pytest.mark.long
@pytest.mark.parametrize("speedup", [0.8, 1.0, 1.4])
def test_on_a_fleet_of_sticky_sessions_whose_mix_drifts_every_look_holds_the_truth(speedup: float) -> None:
    looks = [looked_at_often(seed, speedup) for seed in range(100)]
    assert sum(holds for holds, _ in looks) >= 95
    right = {0.8: "users wait longer", 1.4: "users wait less"}.get(speedup)
    wrong = {"users wait longer", "users wait less"} - {right}
    assert sum(says in wrong for _, says in looks) <= 5
    if right:
        assert sum(says == right for _, says in looks) >= 80, "there is power, too"


def test_a_comparison_of_means_would_err_where_this_does_not() -> None:
    """Differences of successive blocks are those of sessions, not of arms: order by the clock confounds them."""
    first = Experiment(arms=ARMS, start=1.8e9, block=1200, washout=300, first=(0,) * PAIRS)
    grows = {block: {"per_token": 0.03 * 1.01**number} for number, block in enumerate(first.blocks())}
    assert known(effect([(grows[a]["per_token"], grows[b]["per_token"]) for a, b in _pairs(grows)])).high < 1
    mixed = experiment()
    grows = {block: {"per_token": 0.03 * 1.01**number} for number, block in enumerate(mixed.blocks())}
    found = known(effect([(grows[a]["per_token"], grows[b]["per_token"]) for a, b in _pairs(grows)]))
    assert len(set(mixed.first)) == 1 or found.low < 1.02


def _pairs(blocks: dict[Block, dict[str, float]]) -> list[tuple[Block, Block]]:
    both = sorted(blocks, key=lambda block: (block.pair, block.arm))
    return list(zip(both[::2], both[1::2], strict=True))


def test_each_pair_has_both_arms_and_chance_decides_their_order() -> None:
    drawn = experiment(200)
    blocks = list(drawn.blocks())
    assert all({a.arm, b.arm} == {0, 1} for a, b in zip(blocks[::2], blocks[1::2], strict=True))
    assert 60 < sum(drawn.first) < 140
    assert [block.start for block in blocks[:3]] == [1.8e9, 1.8e9 + 1200, 1.8e9 + 2400]
    assert all((block.counted - block.start, block.end - block.start) == (300, 1200) for block in blocks)
    assert experiment(200).first != drawn.first


def test_few_pairs_show_nothing() -> None:
    assert effect([]) is None
    assert effect([(1.0, 0.5)] * 3) is None
    found = known(effect([(1.3, 1.0), (1.31, 1.0)] * 8))
    assert found.low < 1.305 < found.high


def test_a_block_without_its_partner_does_not_count() -> None:
    drawn = experiment()
    blocks = fleet(1, 1.4, drawn)
    told = result_of(drawn, dict(list(blocks.items())[:-1]), Settings())
    assert told.pairs == PAIRS - 1
    assert told.notes == ("1 of 24 pairs are not over, or have too few requests",)


def test_tokens_that_come_sooner_are_no_gain_while_answers_come_later() -> None:
    drawn = experiment()
    noise = random.Random(1)
    blocks = {
        block: {
            "per_token": 0.03 / (1.3 if block.arm else 1) * noise.gauss(1, 0.02),
            "end_to_end": 3.0 * (1.2 if block.arm else 1) * noise.gauss(1, 0.02),
        }
        for block in drawn.blocks()
    }
    told = result_of(drawn, blocks, Settings())
    assert (told.says, told.stop, told.first_token) == ("users wait longer", True, None)
    assert known(told.per_token).low > 1


def test_a_plan_is_saved_and_printed_and_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    arms = ["--arm", "none=touch ran", "--arm", "k4=helm upgrade --set k=4"]
    code, out, err = run("plan", path, *arms, "--block", "10m", "--pairs", "16", "--markdown", capsys=capsys)
    assert (code, err) == (0, "")
    assert out.count("helm upgrade --set k=4") == 16
    assert "16 pairs of blocks of 10m, washout 2m30s" in out
    assert [one.name for one in tmp_path.iterdir()] == ["plan.json"]
    assert len(load(path).first) == 16
    code, _, err = run("plan", path, *arms, capsys=capsys)
    assert code == 2
    assert "--force" in err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "give two, each as NAME=COMMAND"),
        (("--arm", "a=b"), "give two, each as NAME=COMMAND"),
        (("--arm", "a=b", "--arm", "a=c"), "both arms are named 'a'"),
        (("--arm", "a=b", "--arm", "c=d", "--block", "5m", "--washout", "5m"), "nothing of a block counts"),
        (("--arm", "a=b", "--arm", "c=d", "--pairs", "15"), "16<=x<=500"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    arguments: tuple[str, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run("plan", tmp_path / "plan.json", *arguments, capsys=capsys)
    assert code == 2
    assert why in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "{}", '{"schema_version": 2}', "[]", '{"block": -1}'])
def test_a_file_that_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(DraftboardError, match="not a plan of"):
        load(tmp_path / "plan.json")


def answer(speedup: float, drawn: Experiment) -> Callable[[BaseHTTPRequestHandler], None]:
    """A Prometheus of a fleet whose tokens come so much sooner in blocks of the second arm."""
    ends = {round(block.end): block for block in drawn.blocks()}

    def give(request: BaseHTTPRequestHandler) -> None:
        body = parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode())
        (query,), at = body["query"], float(body["time"][0])
        block = ends[round(at)]
        assert f"[{round(block.end - block.counted) // 60}m]" in query, query
        noise = 1 + 0.01 * math.sin(at)
        mean = {"time_per_output_token": 0.03, "e2e_request": 3.0, "time_to_first_token": 0.1}
        seconds = next(value for name, value in mean.items() if name in query) * noise / (speedup if block.arm else 1)
        value = 0.1 * seconds if "_sum" in query else 0.1
        rows: list[Any] = [{"metric": {"model_name": "m"}, "value": [at, str(value)]}]
        page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": rows}}))(request)

    return give


def test_blocks_are_read_without_their_washout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = plan(ARMS, start=1.7e9, block=1200, washout=300, pairs=16)
    save(drawn, tmp_path / "plan.json")
    with answering(answer(1.5, drawn)) as place:
        code, out, err = run("read", tmp_path / "plan.json", "--prometheus", place, "--json", capsys=capsys)
        shown = run("read", tmp_path / "plan.json", "--prometheus", place, capsys=capsys)[1]
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["pairs"], found["says"], found["stop"]) == (16, "users wait less", True)
    assert found["per_token"]["low"] < 1.5 < found["per_token"]["high"]
    assert "k4 against none  users wait less" in shown
    assert "stop: more blocks would not change that" in shown
