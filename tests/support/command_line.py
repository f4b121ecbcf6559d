"""Commands as a user types them, in this process."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from draftboard.cli import draftboard, main


def run(*arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def _commands_of(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group, with the words that are typed for it."""
    with command.make_context("draftboard", [], resilient_parsing=True) as context:
        real = context.command
        if isinstance(real, click.Group):
            unlisted = () if words else ("new",)  # In a checkout only.
            for name in (*real.list_commands(context), *unlisted):
                below = real.get_command(context, name)
                assert below
                yield from _commands_of(below, (*words, name))
        else:
            yield words, real


@cache
def options_of_commands() -> dict[tuple[str, ...], frozenset[str]]:
    """The options of every command, by the words that are typed for it."""
    return {
        words: frozenset(
            option
            for parameter in command.params
            if isinstance(parameter, click.Option)
            for option in (*parameter.opts, *parameter.secondary_opts)
        )
        for words, command in _commands_of(draftboard)
    }
