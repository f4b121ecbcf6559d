"""`replay`, `drill`, `demo` and `simulate`: rules and alerts, tested without a GPU."""

import math
import signal
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from draftboard.cli import shared
from draftboard.durations import LATEST, Duration
from draftboard.errors import DraftboardError
from draftboard.extras import optional_module
from draftboard.project import ROOT

if TYPE_CHECKING:
    from draftboard.lab.stack_drill.steps import Killed
    from draftboard.output import Heading, Sentence
    from draftboard.settings import Settings


@click.command("replay")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@shared.config_option
@shared.json_options
@click.option("--keep", is_flag=True, help="Leave Prometheus running on loopback, with recording and records.")
@shared.program_option("prometheus")
@shared.program_option("promtool")
def replay_command(
    recording: Path, config: Path | None, *, keep: bool, prometheus: Path, promtool: Path, details: bool = True
) -> None:
    """Evaluate the rules over RECORDING and print each model's verdicts and the alerts that would have fired.

    RECORDING is OpenMetrics text with timestamps, such as `promtool tsdb dump-openmetrics` writes; it may be compressed
    (.gz, .xz). Only series that the rules or panels read are loaded.
    """
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.lab import replay

    settings = load(config)
    folder = Path(tempfile.mkdtemp(prefix="draftboard-kept-")) if keep else None
    with (
        screen.progress_bar() as progress,
        replay.replaying(
            recording, settings, prometheus=prometheus, promtool=promtool, keep_in=folder, progress=progress
        ) as replayed,
    ):
        story = replay.story_of(replayed)
    shared.print_result(story, partial(replay.summary if details else replay.brief, story))
    if folder:
        pid, url = replay.leave_running(folder, settings, prometheus)
        shared.print_line(
            f"Prometheus keeps running at {url} (process {pid}, data in {folder}); stop it with: kill {pid}", err=True
        )


@click.command("drill")
@click.argument("scenario", required=False)
@click.option("--stack", is_flag=True, is_eager=True, help="Drill the compose stack that runs here, without SCENARIO.")
@click.option(
    "--kill",
    "killed",
    type=click.Choice(["alertmanager", "prometheus"]),
    help="With --stack: what is killed in between. Default: alertmanager.",
)
@shared.duration_option("--away", longest="2h", words="With --stack: for how long at least. Default: 1m.")
@click.option("--project", metavar="NAME", help="With --stack: its Compose project, where several run.")
@click.option("--real-receivers", is_flag=True, help="With --stack: send your real receivers the drill's alerts too.")
@shared.config_option
@shared.json_options
@shared.factor_option
@shared.program_option("prometheus")
@shared.program_option("alertmanager")
def drill_command(
    scenario: str | None,
    config: Path | None,
    *,
    stack: bool,
    killed: "Killed | None",
    away: Duration | None,
    project: str | None,
    real_receivers: bool,
    speed: float,
    prometheus: Path,
    alertmanager: Path,
) -> None:
    """Run SCENARIO on real servers and check that every expected alert arrives: exit code 0 if so, else 1.

    SCENARIO is a name or a TOML file, as for `simulate`. Simulator, Prometheus, Alertmanager and a webhook run on
    loopback until the scenario ends, with the configuration that `build` writes. No other receiver is notified.

    With --stack: on the compose stack that runs here, a server of the drill's own fails, returns and fails again, while
    Alertmanager or Prometheus is killed. Stand-ins on this machine are notified in place of your receivers. With the
    default times this takes 20 to 40 minutes.
    """
    from draftboard.alerts import load

    shared.require(bool(scenario) != stack, "name a SCENARIO, or --stack, and not both")
    of_stack = (killed, away, project, real_receivers)
    shared.require(stack or not any(of_stack), "--kill, --away, --project and --real-receivers require --stack")
    settings = load(config)
    if scenario:
        _drill_scenario(scenario, settings, prometheus, alertmanager, speed)
        return
    from draftboard.cli import screen

    shared.require(speed == 1, "--stack runs in real time: it takes no --speed")
    stack_drill = optional_module("draftboard.lab.stack_drill", why="drill --stack needs", extra="lab")
    with screen.progress_bar(piped=True) as progress:
        found = stack_drill.rehearse(
            settings,
            project=project,
            killed=killed or "alertmanager",
            away=away or Duration(60),
            real=real_receivers,
            progress=progress,
        )
    shared.print_result(found, partial(stack_drill.document, found))
    if not found.passed:
        raise SystemExit(1)


def _drill_scenario(scenario: str, settings: "Settings", prometheus: Path, alertmanager: Path, speed: float) -> None:
    from draftboard.cli import screen
    from draftboard.lab import drill
    from draftboard.lab.simulator import find

    with screen.progress_bar(piped=True) as bar:

        def progress(what: str, done: int, total: int) -> None:
            if not done:
                lasts = Duration(math.ceil(find(scenario).duration.seconds / speed))
                shared.print_line(f"{scenario}: takes about {lasts} at --speed {speed:g}", err=True)
            bar(what, done, total)

        programs = drill.Programs(prometheus, alertmanager)
        outcome = drill.rehearse(scenario, settings, programs, speed=speed, progress=progress)
    shared.print_result(outcome, partial(drill.shown, outcome))
    if not outcome.passed:
        raise SystemExit(1)


_DEMO = ROOT / "deploy/demo"
DEMO_SHOWS = (
    "Ten recorded minutes of two vLLM servers under the same load: one drafts with n-grams, the other,",
    "its baseline, does not. A measured speedup above 1: users had their tokens sooner than without",
    "drafts. Then a drill: a simulated drafter breaks, and its alert travels to a webhook.",
)
"""What the demo shows, before it does."""
_RECORDED = _DEMO / "run-v0.32.0-ngram-vs-baseline.om.xz"


@click.command("demo")
@click.option("--details", is_flag=True, help="Print every table of the replay.")
@click.option("--keep", is_flag=True, help="Leave Prometheus running on loopback, with recording and records.")
@shared.program_option("prometheus")
@shared.program_option("promtool")
@shared.program_option("alertmanager")
@click.pass_context
def demo(
    context: click.Context, *, details: bool, keep: bool, prometheus: Path, promtool: Path, alertmanager: Path
) -> None:
    """Replay ten minutes of a real vLLM, then drill an alert."""
    optional_module("draftboard.lab.simulator.fleet", why="demo needs", extra="lab")
    for line in DEMO_SHOWS:
        shared.print_line(line)
    click.echo()
    recorded = {"config": _DEMO / "draftboard.toml", "keep": keep, "promtool": promtool, "details": details}
    context.invoke(replay_command, recording=_RECORDED, prometheus=prometheus, **recorded)
    click.echo()
    drilled = {"config": _DEMO / "drill.toml", "speed": 60.0, "alertmanager": alertmanager}
    context.invoke(drill_command, scenario=str(_DEMO / "drafter-breaks.toml"), prometheus=prometheus, **drilled)


_STEP = Duration(15)
_FASTER = (
    "A second here is {0:g} of the servers': rates per second, and requests in flight that follow from them, read "
    "{0:g} times as high. Times of requests and of steps, batches, shares and speedups are as simulated."
)


@click.command(context_settings={"show_default": True})
@click.option("--list", "listed", is_flag=True, help="List the built-in scenarios.")
@click.option("--scenario", metavar="NAME|FILE.toml", default="healthy-eagle3", help="A built-in name or a TOML file.")
@click.option("--engines", type=click.IntRange(1, 1000), help="Engines per kind of server. Default: the scenario's.")
@click.option("--models", type=click.IntRange(1, 100), default=1, help="Number of simulated models.")
@click.option("--seed", type=click.IntRange(0), default=1, help="Equal seeds give equal numbers.")
@click.option("--host", default="127.0.0.1", help="Address to listen on; 0.0.0.0 in a container.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    help="Port of the first server; others count up. 0: free ports.",
)
@shared.factor_option
@shared.duration_option("--backfill", longest="366d", words="Write history of this length to --out; do not serve.")
@shared.duration_option("--step", longest="366d", words=f"Scrape interval of history. Default: {_STEP}.")
@click.option("--until", type=click.IntRange(0, LATEST), help="Unix time at which the history ends. Default: now.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="OpenMetrics file for the history.")
@shared.force_option
@click.option("--any-size", is_flag=True, help="Allow a history larger than `replay` reads.")
def simulate(
    *,
    listed: bool,
    scenario: str,
    engines: int | None,
    models: int,
    seed: int,
    host: str,
    port: int,
    speed: float,
    backfill: Duration | None,
    step: Duration | None,
    until: int | None,
    out: Path | None,
    force: bool,
    any_size: bool,
) -> None:
    """Serve the /metrics pages of simulated vLLM servers, or write their history for `promtool`."""
    from draftboard.cli import screen
    from draftboard.files import require_new
    from draftboard.lab.simulator import find, names
    from draftboard.output import Document, show

    if listed:
        show(Document.of(block for name in names() for block in _scenario(name)), screen.console())
        return
    shared.require(host, "--host is empty: give an address, such as 127.0.0.1")
    shared.require((backfill is None) == (out is None), "--backfill and --out require each other")
    live = step is None and until is None
    shared.require(backfill or live, "--step and --until require --backfill")
    shared.require(out or not (force or any_size), "--force and --any-size require --out: they are about that file")
    module = "serve" if out is None else "backfill"
    load_part = partial(optional_module, why="simulate needs", extra="lab")
    fleet, part = load_part("draftboard.lab.simulator.fleet"), load_part(f"draftboard.lab.simulator.{module}")
    targets = fleet.targets(find(scenario).scaled(engines=engines, models=models), seed)
    if backfill and out:
        require_new(out, force=force)
        times = _times(backfill, step or _STEP, until)
        size = part.estimated_bytes(targets, times)
        part.require_room(size, out, any_size=any_size)
        shared.print_line(f"About {size / 1e6:,.0f} MB: {len(targets)} servers, each at {len(times)} times", err=True)
        with screen.progress_bar() as progress:
            part.backfill(targets, times, out, progress)
        shared.print_line(f"Written: {out}. Load it with: promtool tsdb create-blocks-from openmetrics {out} DATA")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a shell's background process ignores SIGINT
    try:
        with part.serving(targets, host, port, speed) as places:
            for place in places:
                shared.print_line(f"http://{place}/metrics")
            shared.print_line(f"All of them, for Prometheus' http_sd_configs: http://{places[0]}/targets")
            if speed != 1:
                shared.print_line(_FASTER.format(speed))
            threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


def _scenario(name: str) -> "tuple[Heading, Sentence, Sentence]":
    from draftboard.lab.simulator import find
    from draftboard.output import Heading, Sentence
    from draftboard.status import Status

    scenario = find(name)
    alerts = ", ".join(dict.fromkeys(expected.alert for expected in scenario.expect)) or "no alert"
    story = Sentence(" ".join(scenario.story.split()), Status.QUIET)
    return Heading(name), Sentence(f"{scenario.duration}: {alerts}"), story


def _times(lasting: Duration, step: Duration, until: int | None) -> range:
    end = int(time.time()) // step.seconds * step.seconds if until is None else until
    start = end - lasting.seconds // step.seconds * step.seconds
    if start < 0:
        raise DraftboardError(f"--backfill {lasting} --until {end}: the history would begin before 1970")
    return range(start, end + 1, step.seconds)
