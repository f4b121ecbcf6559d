"""A cluster whose stores go down: two copies of each sample in three stores."""

import time
from pathlib import Path
from subprocess import Popen

import httpx
import pytest

from support import victoria
from support.waiting import until

pytestmark = [pytest.mark.victoria, pytest.mark.skipif(not victoria.cluster(), reason="make test-cluster")]

SERIES = 200


def test_one_store_down_changes_no_answer_and_two_make_it_an_error(tmp_path: Path) -> None:
    with victoria.storing(tmp_path, victoria.cluster(), "15s") as store:
        at = time.time() - 60
        store.take("".join(f'sample{{number="{number}"}} 1 {at:.0f}\n' for number in range(SERIES)).encode())
        until(lambda: found(store) == [str(SERIES)], "all series are found")
        first, second, _ = store.holders.values()
        kill(first)
        assert found(store) == [str(SERIES)]
        kill(second)
        assert asked(store).status_code == httpx.codes.SERVICE_UNAVAILABLE


def kill(process: Popen[bytes]) -> None:
    process.kill()
    process.wait()


def found(store: victoria.Store) -> list[str]:
    """The number of series, in an answer that says it is whole."""
    answer = asked(store).raise_for_status().json()
    assert answer["isPartial"] is False
    return [series["value"][1] for series in answer["data"]["result"]]


def asked(store: victoria.Store) -> httpx.Response:
    query = {"query": "count(sample)", "nocache": "1"}
    return httpx.get(f"{store.read}/api/v1/query", params=query, timeout=60, trust_env=False)
