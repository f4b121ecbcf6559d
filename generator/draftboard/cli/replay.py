"""`replay`: what the rules make of a recording."""

import tempfile
from pathlib import Path

import click

from draftboard.alerts import load
from draftboard.cli.shared import config_option, console, json_option, program_option, progress_bar
from draftboard.lab import replay
from draftboard.output import as_json as to_json
from draftboard.output import show


@click.command("replay", short_help="Evaluate the rules over a recording.")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@config_option
@json_option
@click.option("--keep", is_flag=True, help="Leave Prometheus running on loopback, with the recording and the records.")
@program_option("prometheus")
@program_option("promtool")
def replay_command(
    recording: Path, config: Path | None, *, as_json: bool, keep: bool, prometheus: Path, promtool: Path
) -> None:
    """Evaluate the rules over RECORDING and print each model's judgement and the alerts that would have fired.

    RECORDING is OpenMetrics text with timestamps; it may be compressed (.gz).
    """
    settings = load(config)
    folder = Path(tempfile.mkdtemp(prefix="draftboard-kept-")) if keep else None
    with (
        progress_bar() as progress,
        replay.replaying(
            recording, settings, prometheus=prometheus, promtool=promtool, keep_in=folder, progress=progress
        ) as replayed,
    ):
        story = replay.story_of(replayed)
    if as_json:
        click.echo(to_json(story))
    else:
        show(replay.summary(story), console())
    if folder:
        pid, url = replay.leave_running(folder, settings, prometheus)
        click.echo(f"Prometheus stays at {url} (process {pid}, data in {folder}); end it with: kill {pid}", err=True)
