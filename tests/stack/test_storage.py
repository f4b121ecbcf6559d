"""Samples that are lost, damaged or of the future, and a disk that is full: who says so, and the way out."""

import re
import time
from collections.abc import Iterator

import pytest

from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from support.waiting import until

pytestmark = pytest.mark.stack

SERVICES = ("prometheus", "alertmanager", "grafana")
VOLUME = "draftboard_prometheus-data"
HOUR = 3600
BLOCK = 2 * HOUR
SMALL = "volumes: {prometheus-data: {driver_opts: {type: tmpfs, device: tmpfs, o: size=48m}}}\n"
FILL = "dd if=/dev/zero of=/prometheus/{} bs=1M count={} 2>/dev/null; true"


@pytest.fixture(scope="module")
def stack(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Monitoring of a server that does not answer."""
    found = checkout(tmp_path_factory.mktemp("storage"), docker)
    found.made("secrets")
    found.configure(COMPOSE_PROFILES="monitoring", VLLM_TARGET="127.0.0.1:9")
    found.made("up")
    found.until_healthy(*SERVICES)
    yield found
    found.made("down")
    remove_volumes(docker)


def add_block(stack: Checkout, name: str, begin: float, series: int = 1) -> str:
    """An hour of samples of series from about a time on, as a block; its folder."""
    even = int(begin) // BLOCK * BLOCK
    lines = f"for (s = 0; s < {series}; s++) for (m = 0; m < 60; m++)"
    lines += f' print "{name}{{s=\\"" s "\\"}}", 1 + s * m % 97, {even} + 60 * m'
    command = (
        f"awk 'BEGIN {{ {lines}; print \"# EOF\" }}' >/tmp/lines"
        " && promtool tsdb create-blocks-from openmetrics /tmp/lines . >&2; ls"
    )
    before = set(stack.in_volume(VOLUME, "ls").split())
    (block,) = set(stack.in_volume(VOLUME, command).split()) - before
    return block


def stored(stack: Checkout, query: str) -> list[str]:
    """The values of a query."""
    return [row["value"][1] for row in stack.prometheus(f"query?query={query}")["result"]]


def firing(stack: Checkout) -> set[str]:
    """Names of alerts that fire."""
    return {one["labels"]["alertname"] for one in stack.prometheus("alerts")["alerts"] if one["state"] == "firing"}


def samples_arrive(stack: Checkout) -> bool:
    return stored(stack, "count(time()-timestamp(up)<20)") == ["3"]


def test_a_block_that_is_deleted_takes_its_own_samples_only(stack: Checkout) -> None:
    stack.made("down")
    block = add_block(stack, "past", time.time() - 10 * HOUR)
    stack.made("up")
    stack.until_healthy(*SERVICES)
    assert stored(stack, "count_over_time(past[12h])") == ["60"]
    stack.in_volume(VOLUME, f"rm -r {block}")
    stack.docker.docker("restart", stack.container("prometheus"))
    stack.until_healthy("prometheus")
    assert stored(stack, "count_over_time(past[12h])") == []
    until(lambda: samples_arrive(stack), "samples arrive")


def test_a_damaged_block_is_named_and_without_it_prometheus_starts(stack: Checkout) -> None:
    stack.made("down")
    block = add_block(stack, "past", time.time() - 10 * HOUR)
    stack.in_volume(VOLUME, f"rm {block}/index")
    done = stack.make("up")
    assert done.returncode
    assert f"/prometheus/{block}/index: no such file" in done.stderr
    stack.made("down")
    stack.in_volume(VOLUME, f"rm -r {block}")
    stack.made("up")
    stack.until_healthy(*SERVICES)
    until(lambda: samples_arrive(stack), "samples arrive")


def test_a_block_from_before_the_clock_was_set_back_is_named_and_without_it_samples_arrive(stack: Checkout) -> None:
    stack.made("down")
    block = add_block(stack, "future", time.time() + 6 * HOUR)
    done = stack.make("up")
    assert f"/prometheus/{block} has samples of the future" in done.stderr
    stack.until_healthy(*SERVICES)
    stack.made("down")
    stack.in_volume(VOLUME, f"rm -r {block}")
    done = stack.make("up")
    assert "future" not in done.stderr
    stack.until_healthy(*SERVICES)
    until(lambda: samples_arrive(stack), "samples arrive")


def test_a_retention_shorter_than_rules_look_back_is_named(stack: Checkout) -> None:
    """By its limits of time and of size; that of size is judged by a day of samples or more."""
    stack.made("down")
    stack.build("[slo]\nerrors = { objective = 0.99 }\n")
    add_block(stack, "large", time.time() - 3 * 24 * HOUR, series=15_000)
    stack.configure(RETENTION_SIZE="20MB", BUILD_FOLDER="built")
    stack.made("up")
    stack.until_healthy(*SERVICES)
    until(lambda: stored(stack, "prometheus_tsdb_lowest_timestamp_seconds"), "Prometheus scrapes itself")
    stack.configure(RETENTION_TIME="20d")
    said = stack.make("up").stderr
    assert "RETENTION_TIME=20d is shorter than the 30 days that rules look back" in said
    assert re.search(r"RETENTION_SIZE holds \d+ days of samples at their growth so far, less than the 30 days", said)
    stack.configure(RETENTION_TIME="45d", RETENTION_SIZE="20GB")
    assert "RETENTION" not in stack.make("up").stderr


def test_a_full_disk_is_told_and_samples_arrive_when_it_has_room(stack: Checkout) -> None:
    stack.made("down")
    remove_volumes(stack.docker)
    (stack.deploy / "docker-compose.override.yml").write_text(SMALL)
    stack.made("up")
    stack.until_healthy(*SERVICES)
    until(lambda: samples_arrive(stack), "samples arrive")
    in_prometheus = ("exec", stack.container("prometheus"), "sh", "-c")
    stack.docker.docker(*in_prometheus, FILL.format("most", 46))
    assert "the disk of Prometheus' volume has" in stack.make("up").stderr
    stack.docker.docker(*in_prometheus, FILL.format("rest", 4))
    until(lambda: "DraftboardSamplesStopped" in firing(stack), "it is told", 400)
    stack.docker.docker(*in_prometheus, "rm /prometheus/most /prometheus/rest")
    until(lambda: samples_arrive(stack), "samples arrive")
    until(lambda: firing(stack) == {"DraftboardWatchdog"}, "it is over", 400)
