"""What the documentation tells to type beside servers, typed page by page into a shell.

Replaced are addresses, the time that is asked for, and how long a reader waits; a page's own `draftboard simulate` says
which servers its addresses are.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, program, replayed
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.lab.simulator import find
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.serve import serving
from draftboard.prometheus import Client, Server, stop
from draftboard.settings import Settings
from draftboard.signals import Scope
from draftboard.signals.states import state
from support import shell as shells
from support.costed import Costed
from support.documented import Shown, shape, shown
from support.fake_vllm import FakeVLLM, accepting
from support.loopback import Answer, answering
from support.shell import Shell, typed
from support.waiting import until

pytestmark = pytest.mark.docs

PAGES: dict[str, list[Shown]] = {}
for each in shown():
    if each.fate == "run beside servers":
        PAGES.setdefault(str(each.page.relative_to(ROOT)), []).append(each)

SPEED = 60
START, MINUTES = 1_756_800_000, 30
SERVES = re.compile(r"draftboard simulate (?!.*--(backfill|list))")
QUICK = {
    r"report \S+:\d|doctor \d": "--window 5s",
    # Answers are as long on both sides where there are some hundred.
    r"report .*--json|compare \S+ \S+:\d": "--window 15s",
    "calibrate ": "--rounds 3 --requests 2",
    "sweep ": "--requests 8",
    "simulate .*--backfill (?!2h30m)": "--backfill 2m",
    "simulate ": f"--port 0 --speed {SPEED}",
}
"""Options that shorten what a reader waits for, by how a command of `draftboard` begins; the last of a name counts."""
FINDINGS = 1
"""How `doctor --prometheus` ends: no GPU exporter is scraped here, which is a warning."""


@dataclass
class Reader:
    """Somebody who types the commands of a page in a folder of their own."""

    page: str
    folder: Path
    shell: Shell
    stack: ExitStack
    places: dict[str, str]
    """Addresses and paths of ours, by those that the page shows."""

    def types(self, command: str) -> str:
        """What it prints."""
        done = typed(self.moved(command), self.shell, self.folder)
        expected = FINDINGS if command.startswith("draftboard doctor --prometheus") else 0
        assert done.returncode == expected, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def keeps(self, said: str, page: str) -> None:
        """Have what was left running stopped in the end, and its address in place of that of the page."""
        there, shown = (re.findall(r"keeps running at http://(\S+) \(process (\d+)", text)[0] for text in (said, page))
        self.places[shown[0]] = there[0]
        self.stack.callback(os.kill, int(there[1]), signal.SIGTERM)

    def moved(self, command: str) -> str:
        """The command, with our addresses, and without long waits."""
        command = re.sub(r"\s+# .*", "", command)
        known = "|".join(map(re.escape, sorted(self.places, key=len, reverse=True)))
        here = re.sub(known, lambda place: self.places[place[0]], command)
        options = [more for start, more in QUICK.items() if re.match(f"draftboard ({start})", command)]
        if re.match(r"draftboard (report|compare|doctor) .*--prometheus", command) and not loads_rules(self.page):
            options.append(f"--at {START + 60 * MINUTES}")
        line, arrow, file = here.partition(" > ")
        return " ".join([line, *options]) + arrow + file

    def starts(self, command: str) -> None:
        """Have `draftboard simulate` serve until the page is read; pages show its ports, from 8000 on."""
        process = subprocess.Popen(
            ["sh", "-c", f"exec {self.moved(command)}"],
            cwd=self.folder,
            env=self.shell,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.stack.callback(ended, process)
        assert process.stdout
        for number, line in enumerate(iter(process.stdout.readline, "")):
            if line.startswith("All of them"):
                return
            self.places[f"127.0.0.1:{8000 + number}"] = line.removeprefix("http://").removesuffix("/metrics\n")
        pytest.fail(f"{command}: {process.stderr and process.stderr.read()}")


def loads_rules(page: str) -> bool:
    """Whether the page loads rules into a Prometheus that runs."""
    return any(each.command.startswith("cp alerts/") for each in PAGES[page])


def ended(process: subprocess.Popen[str]) -> None:
    """As by Ctrl-C, which a shell's background processes ignore."""
    process.terminate()
    assert (process.communicate(timeout=30)[1], process.returncode) == ("Stopped.\n", 0)


def label(line: str) -> str:
    """What stands before the first number or the next column."""
    return re.split(r" {2,}|\d|[▏▎▍▌▋▊▉█─]", line.strip())[0].strip()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return {**shells.shell(tmp_path_factory.mktemp("bin"), ("promtool",)), "COLUMNS": "200"}


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with half an hour of a baseline and a drafter, and what the rules recorded."""
    history = tmp_path_factory.mktemp("past") / "history.om"
    backfill(targets(find("baseline-vs-spec"), 1), range(START, START + 60 * MINUTES + 1, 15), history)
    with replayed(history, Settings()) as replay:
        yield replay.client.url


@contextmanager
def simulated() -> Iterator[dict[str, str]]:
    """Servers by the names that pages give them."""
    with (
        serving(targets(find("k-too-long"), 1), "127.0.0.1", 0, SPEED) as long,
        serving(targets(find("baseline-vs-spec"), 1), "127.0.0.1", 0, SPEED) as (eagle, plain),
    ):
        names = ("gpu-1:8000", "gpu-2:8000", "eagle:8000", "plain:8000", "10.0.0.1:8000", "10.0.0.2:8000")
        yield dict(zip(names, (*long, eagle, plain, eagle, plain), strict=True))


class Falling(dict[float, Sequence[int]]):
    """Drafts of a completion, which are accepted less at a higher temperature."""

    chance = random.Random(1)

    def __missing__(self, temperature: float) -> Sequence[int]:
        return accepting(round(self.chance.gauss(85 - 45 * temperature, 6)))


@contextmanager
def completing(page: str) -> Iterator[dict[str, str]]:
    """Servers that answer requests, for a page that sends some."""
    at_once = partial(Costed, loads=(1, 4, 16, 64))
    asked: dict[str, dict[str, Answer]] = {
        "docs/tune/index.md": {"plain:8000": at_once(), "eagle:8000": at_once(5)},
        "docs/commands/sweep.md": {"127.0.0.1:8000": FakeVLLM(Falling(), level="summary")},
    }
    with ExitStack() as stack:
        yield {name: stack.enter_context(answering(server)) for name, server in asked.get(page, {}).items()}


@contextmanager
def scraping(page: str, folder: Path, places: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """A Prometheus that scrapes every second, as the page says, and reads a folder of rules."""
    (shown,) = re.findall(
        r"(?ms)^ *```yaml\n( *scrape_configs:\n *- job_name: vllm\n.*?)^ *```", (ROOT / page).read_text()
    )
    for name, place in places.items():
        shown = shown.replace(name, place)
    (folder / "rules").mkdir(parents=True)
    every = {"global": {"scrape_interval": "1s", "evaluation_interval": "3s"}, "rule_files": ["rules/*.yaml"]}
    configuration = yaml.safe_dump(every | yaml.safe_load(shown))
    process, url = Server(program("prometheus"), folder, Duration(60), configuration).start()
    try:
        yield {"/etc/prometheus": str(folder), '"$(pidof prometheus)"': str(process.pid), **prometheus(url)}
    finally:
        stop(process)


def prometheus(url: str) -> dict[str, str]:
    """By the addresses that pages give it."""
    return dict.fromkeys(("http://127.0.0.1:9090", "http://prometheus:9090", "prometheus:9090"), url)


def recorded(url: str) -> None:
    """Wait for what the rules make of the servers: each group has its turn in a minute; a record crosses two."""
    with Client(url) as client:
        until(lambda: client.query(promql_of(state, Scope(Settings())), time.time()), "the state is recorded", 240)


@pytest.fixture
def reader(page: str, tmp_path: Path, shell: Shell, past: str) -> Iterator[Reader]:
    for name in ("alerts", "dashboards", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for ours, saved in {"a": "before", "b": "after"}.items():
        shutil.copy(ROOT / f"tests/data/v0.32.0-ngram-pair-{saved}.prom", tmp_path / f"{ours}.prom")
    if page == "docs/operate/upgrade.md":
        (rules,) = re.findall(r"(?ms)^```yaml\n(groups:\n.*?)^```", (ROOT / page).read_text())
        (tmp_path / "hours.rules.yaml").write_text(rules)
    if page == "docs/operate/settings.md":
        settings, *_ = re.findall(r"(?ms)^```toml\n(.*?)^```", (ROOT / page).read_text())
        (tmp_path / "draftboard.toml").write_text(settings)
    with ExitStack() as stack:
        places = stack.enter_context(simulated())
        if loads_rules(page):
            places |= stack.enter_context(scraping(page, tmp_path / "prometheus", places))
        else:
            places |= prometheus(past)
        yield Reader(page, tmp_path, shell, stack, places | stack.enter_context(completing(page)))


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_in_their_order_and_print_what_it_shows(page: str, reader: Reader) -> None:
    for each in PAGES[page]:
        if SERVES.match(each.command):
            reader.starts(each.command)
            continue
        said = reader.types(each.command)
        if " --keep" in each.command:
            reader.keeps(said, "\n".join(each.output))
        if each.command.startswith("cp alerts/"):
            recorded(reader.places["http://127.0.0.1:9090"])
        # Lines that go on where the one before was too long do so elsewhere.
        first, *others = [line for line in each.output if line.strip(" ─.") and not line.startswith(" " * 10)] or [""]
        begins = [shape(line).startswith(shape(first)) for line in ["", *said.splitlines()]]
        assert any(begins), f"{each.command}: {first}"
        for line in others:
            assert label(line) in " ".join(said.split()), f"{each.command}: {line}"
