"""`stack init`: the compose stack on a machine without a checkout."""

import shlex
from pathlib import Path

import click

from draftboard.errors import DraftboardError


@click.group()
def stack() -> None:
    """Write the Docker Compose stack to a folder."""


@stack.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--upgrade",
    is_flag=True,
    help="Replace the files that an earlier release wrote; secrets, .env, my.toml and built/ of deploy/ stay.",
)
def init(folder: Path, *, upgrade: bool) -> None:
    """Write vLLM and its monitoring for Docker Compose to FOLDER."""
    from draftboard.build import left_over, standalone, write
    from draftboard.cli.screen import console
    from draftboard.output import Block, Document, Sentence, Verbatim, show

    files = standalone()
    there = sorted(path for path in files if (folder / path).exists())
    if there and not upgrade:
        raise DraftboardError(f"{folder / there[0]} exists: choose another folder, or replace files with --upgrade")
    write(files, folder, force=upgrade)
    next_steps = f"cd {shlex.quote(str(folder))}\nmake secrets\nmake up          # without a GPU: make up-demo"
    blocks: list[Block] = [Sentence(f"Written below {folder}. Next:"), Verbatim(next_steps)]
    stray = (Sentence(f"{path}: left over; no longer generated") for path in left_over(files, folder))
    show(Document.of((*blocks, *stray)), console())
