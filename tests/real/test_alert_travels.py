"""From counter to webhook: simulator, Prometheus, Alertmanager and a receiver, wired by the stack's own files."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from conftest import ROOT, program
from draftboard.alerts import WATCHDOG
from draftboard.durations import Duration
from draftboard.lab.drill import Programs, Wiring, rehearse, wired
from draftboard.lab.receivers import Arrival, Receiver, receiving
from draftboard.prometheus import Client
from draftboard.settings import Overlay, Settings, load
from support.waiting import until

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("drill")]

DRAFTER_BREAKS = str(ROOT / "deploy/demo/drafter-breaks.toml")
PATIENCE = 300
SPEED = 60

HEALTHY = """
story = "One server drafts well and nothing ever happens to it."
duration = "2h"
[[server]]
model = "{model}"
method = "eagle3"
k = 4
load = {{ rate = 1.0 }}
requests = [{{ rates = [0.8, 0.6, 0.42, 0.28] }}]
"""


@pytest.fixture(scope="module")
def programs() -> Programs:
    return Programs(program("prometheus"), program("alertmanager"))


@pytest.fixture(scope="module")
def drill_settings() -> Settings:
    return load(ROOT / "deploy/demo/drill.toml")


@contextmanager
def running(
    settings: Settings, programs: Programs, folder: Path, **alerts: Overlay
) -> Iterator[tuple[Wiring, Receiver]]:
    """Alertmanager and Prometheus with other times of alerts, and a watchdog that beats every three seconds."""
    notify = settings.stack.notify.model_copy(update={"heartbeat": True, "heartbeat_interval": Duration(3)})
    changed = {"alerts": settings.alerts | alerts, "stack": settings.stack.model_copy(update={"notify": notify})}
    with (
        receiving() as (receiver, webhook),
        wired(settings.model_copy(update=changed), programs, folder, webhook) as wiring,
    ):
        wiring.start_alertmanager()
        wiring.start_prometheus()
        yield wiring, receiver


@pytest.fixture
def stack(drill_settings: Settings, programs: Programs, tmp_path: Path) -> Iterator[tuple[Wiring, Receiver]]:
    """A server that returns counts as down for ten seconds longer.

    The model of a server that is down is down, too: its alert waits longer than any test here takes.
    """
    quick = {
        "VLLMTargetDown": Overlay.model_validate({"for": "2s", "keep_firing_for": "10s"}),
        "VLLMModelDown": Overlay.model_validate({"for": "1h"}),
    }
    with running(drill_settings, programs, tmp_path, **quick) as found:
        yield found


def kill(wiring: Wiring, name: str) -> None:
    """End one of the processes as a power cut would."""
    process = wiring.running.pop(name)
    process.kill()
    process.wait()


def answering(wiring: Wiring, count: int) -> Callable[[], bool]:
    """So many simulated servers answer their scrapes."""

    def holds() -> bool:
        with Client(wiring.prometheus_url) as client:
            found = client.query('sum(up{job="vllm"})', time.time())
        return bool(found) and found[0].samples[0][1] == count

    return holds


def of(name: str, status: str) -> Callable[[tuple[Arrival, ...]], bool]:
    return lambda arrivals: any(one.name == name and one.status == status for one in arrivals)


def told(receiver: Receiver, status: str) -> list[str]:
    """Names that arrived, but for the watchdog, in order."""
    return [one.name for one in receiver.arrivals if one.status == status and one.name != WATCHDOG]


def test_a_broken_drafter_reaches_the_webhook_as_exactly_the_expected_alerts(
    drill_settings: Settings, programs: Programs
) -> None:
    outcome = rehearse(DRAFTER_BREAKS, drill_settings, programs, speed=SPEED)
    assert outcome.passed, outcome
    assert {one.receiver for one in outcome.told} == {"warning"}
    for one in outcome.told:
        page = one.runbook_url.removeprefix(drill_settings.links.runbooks + "/").partition("?")[0]
        assert (ROOT / "alerts/runbooks" / page).read_text().startswith(f"# {one.alert}")


@pytest.mark.long
def test_an_alert_that_nobody_expected_fails_the_drill(
    drill_settings: Settings, programs: Programs, tmp_path: Path
) -> None:
    story = Path(DRAFTER_BREAKS).read_text()
    unaware = tmp_path / "unaware.toml"
    another = {"SpecDecodeAcceptanceDrop": "VLLMErrors", 'since = "15m"': 'since = "0m"', '"30m"': '"2h"'}
    for old, new in another.items():
        story = story.replace(old, new)
    unaware.write_text(story)
    quick = drill_settings.alerts | {"VLLMErrors": Overlay.model_validate({"for": "3s"})}
    settings = drill_settings.model_copy(update={"alerts": quick})
    outcome = rehearse(str(unaware), settings, programs, speed=SPEED)
    assert outcome.others == ("SpecDecodeAcceptanceDrop",)
    assert not outcome.passed


@pytest.mark.long
def test_a_server_that_is_down_is_told_and_so_is_its_return(stack: tuple[Wiring, Receiver], tmp_path: Path) -> None:
    wiring, receiver = stack
    stays, leaves = scenario(tmp_path, "stays"), scenario(tmp_path, "leaves")
    wiring.start_simulator(stays, speed=SPEED, name="stays")
    (place,) = wiring.start_simulator(leaves, speed=SPEED, name="leaves")
    until(answering(wiring, 2), "both servers answer")

    kill(wiring, "leaves")
    assert receiver.wait_for(of("VLLMTargetDown", "firing"), PATIENCE)
    down = next(one for one in receiver.arrivals if one.name == "VLLMTargetDown")
    assert (down.labels["instance"], down.receiver) == (place, "warning")

    wiring.start_simulator(leaves, speed=SPEED, name="leaves", port=int(place.rpartition(":")[2]))
    assert receiver.wait_for(of("VLLMTargetDown", "resolved"), PATIENCE)
    assert told(receiver, "firing") == ["VLLMTargetDown"]
    assert told(receiver, "resolved") == ["VLLMTargetDown"]


@pytest.mark.long
def test_no_end_is_told_between_the_page_on_a_dead_model_and_that_on_its_targets_which_left(
    drill_settings: Settings, programs: Programs, tmp_path: Path
) -> None:
    quick = {
        "VLLMModelDown": Overlay.model_validate({"for": "2s"}),
        "VLLMModelGone": Overlay.model_validate({"for": "20s"}),
    }
    with running(drill_settings, programs, tmp_path, **quick) as (wiring, receiver):
        model = scenario(tmp_path, "leaves")
        (place,) = wiring.start_simulator(model, speed=SPEED)
        until(answering(wiring, 1), "the server answers")
        kill(wiring, "simulator")
        assert receiver.wait_for(of("VLLMModelDown", "firing"), PATIENCE)
        wiring.watch("simulator", [])
        assert receiver.wait_for(of("VLLMModelGone", "firing"), PATIENCE)
        hear_two_more_beats(receiver)
        assert told(receiver, "resolved") == []
        wiring.start_simulator(model, speed=SPEED, port=int(place.rpartition(":")[2]))
        assert receiver.wait_for(of("VLLMModelGone", "resolved"), PATIENCE)


@pytest.mark.long
def test_a_page_survives_restarts_of_prometheus_and_alertmanager_and_comes_once(
    stack: tuple[Wiring, Receiver], tmp_path: Path
) -> None:
    wiring, receiver = stack
    (place,) = wiring.start_simulator(scenario(tmp_path, "leaves"), speed=SPEED)
    until(answering(wiring, 1), "the server answers")
    kill(wiring, "simulator")
    assert receiver.wait_for(of("VLLMTargetDown", "firing"), PATIENCE)
    with Client(wiring.prometheus_url) as client:
        before = client.query_range("up", time.time() - 60, time.time(), 1)

    hear_two_more_beats(receiver)
    kill(wiring, "prometheus")  # as by a power cut
    kill(wiring, "alertmanager")
    wiring.start_alertmanager()
    wiring.start_prometheus()
    until(lambda: known(wiring, "VLLMTargetDown", place), "Alertmanager knows the alert again")
    with Client(wiring.prometheus_url) as client:
        after = client.query_range("up", before[0].samples[0][0], before[0].samples[-1][0] - 1, 1)
    assert {tuple(sorted(one.labels.items())) for one in before} <= {tuple(sorted(one.labels.items())) for one in after}

    hear_two_more_beats(receiver)
    assert told(receiver, "firing") == ["VLLMTargetDown"]
    assert told(receiver, "resolved") == []


def hear_two_more_beats(receiver: Receiver) -> None:
    """So long that Alertmanager has written down whom it told, and that what it would repeat had come."""
    heard = sum(one.name == WATCHDOG for one in receiver.arrivals)
    assert receiver.wait_for(lambda all_: sum(one.name == WATCHDOG for one in all_) >= heard + 2, PATIENCE)


def scenario(folder: Path, model: str) -> str:
    path = folder / f"{model}.toml"
    path.write_text(HEALTHY.format(model=model))
    return str(path)


def known(wiring: Wiring, name: str, instance: str) -> bool:
    """Whether Alertmanager has such an alert."""
    place = f"http://127.0.0.1:{wiring.alertmanager_port}/api/v2/alerts"
    return bool(httpx.get(place, params={"filter": [f'alertname="{name}"', f'instance="{instance}"']}).json())
