"""The command line: parse, call, print."""

import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from draftboard import __version__, artifacts, replay
from draftboard.errors import DraftboardError
from draftboard.settings import load

_PIPED_WIDTH = 200

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="Settings that overlay the defaults, as TOML.",
)
out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that holds dashboards/ and alerts/. Default: the repository you stand in, else this folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _program(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for a program: as named, else from the environment, else from PATH; as an absolute path."""
    return click.option(
        f"--{name}",
        envvar=name.upper(),
        default=name,
        show_envvar=True,
        callback=lambda _context, _option, given: Path(shutil.which(given) or given).absolute(),
        help=f"{name} 3.5 or newer.",
    )


def _console() -> Console:
    """Colours and the terminal's width on a terminal; plain and wide when piped."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPED_WIDTH, highlight=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="draftboard")
def draftboard() -> None:
    """Monitoring as code for vLLM speculative decoding."""


@draftboard.command()
@config_option
@out_option
def build(config: Path | None, out: Path | None) -> None:
    """Write dashboards/ and alerts/."""
    target = out or _repository()
    files = artifacts.render(load(config))
    artifacts.write(files, target)
    table = Table("File", "Bytes", box=None)
    table.columns[1].justify = "right"
    for path, text in sorted(files.items()):
        table.add_row(path, f"{len(text.encode()):,}")
    console = _console()
    console.print(f"Written below {target}:", soft_wrap=True)
    console.print(table)
    for path in artifacts.left_over(files, target):
        console.print(f"{path}: left over; nothing builds it any more", soft_wrap=True)


@draftboard.command()
@config_option
@out_option
def check(config: Path | None, out: Path | None) -> None:
    """Say whether the files on disk are what `build` would write: 0 yes, 1 no."""
    target = out or _repository()
    differences = artifacts.compare(artifacts.render(load(config)), target)
    for difference in differences:
        click.echo(f"{difference.path}: {difference.what}")
        click.echo(difference.diff, nl=False)
    if differences:
        click.echo(f"{len(differences)} of the files below {target} are not as built: run `draftboard build`", err=True)
        raise SystemExit(1)
    click.echo(f"The files below {target} are as built.")


@draftboard.command()
@config_option
@json_option
def signals(config: Path | None, *, as_json: bool) -> None:
    """List every signal: its question, unit, PromQL, record, panels and alerts."""
    entries = artifacts.inventory(load(config))
    if as_json:
        click.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return
    for entry in entries:
        click.echo(f"{entry.name}: {entry.title} [{entry.unit}, better: {entry.better}]")
        click.echo(f"  {entry.question}")
        for heading, lines in (("record", entry.records), ("panel", entry.panels), ("alert", entry.alerts)):
            for line in lines:
                click.echo(f"  {heading}: {line}")
        click.echo("  promql:")
        for line in entry.expr.splitlines():
            click.echo(f"    {line}")
        click.echo()


@draftboard.command("replay")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@config_option
@json_option
@click.option("--keep", is_flag=True, help="Leave Prometheus running on loopback, with the recording and the records.")
@_program("prometheus")
@_program("promtool")
def replay_command(
    recording: Path, config: Path | None, *, as_json: bool, keep: bool, prometheus: Path, promtool: Path
) -> None:
    """Evaluate the rules over RECORDING, OpenMetrics text with timestamps (may be .gz), and tell what they found."""
    settings = load(config)
    folder = Path(tempfile.mkdtemp(prefix="draftboard-kept-")) if keep else None
    with (
        _progress() as progress,
        replay.replaying(
            recording, settings, prometheus=prometheus, promtool=promtool, keep_in=folder, progress=progress
        ) as replayed,
    ):
        story = replay.tell(replayed)
    if as_json:
        click.echo(replay.as_json(story))
    else:
        replay.show(story, _console())
    if folder:
        pid, url = replay.leave_running(folder, settings, prometheus)
        click.echo(f"Prometheus stays at {url} (process {pid}, data in {folder}); end it with: kill {pid}", err=True)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell


def _repository() -> Path:
    """The folder of the repository that we stand in, else where we stand."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def main(arguments: list[str] | None = None) -> Any:  # noqa: ANN401  (click's own)
    """Run a command. A user's mistake is one line and exit code 2; whoever is told to end ends what it started."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return draftboard(args=arguments, prog_name="draftboard")
    except DraftboardError as error:
        click.echo(f"draftboard: {error}", err=True)
        raise SystemExit(2) from None
