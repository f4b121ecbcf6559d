"""The speculative configuration, as the flags of a command line together give it."""

from draftboard.doctor.command import dead
from draftboard.doctor.command.commandline import Argument, CommandLine, dotted_value
from draftboard.doctor.command.keys import Config
from draftboard.doctor.command.text import read_object
from draftboard.doctor.finding import Finding, problem

WHOLE = "speculative_config"
SHORTHANDS = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}
"""Flags that stand for a key of it, and exclude the key there."""


def configured(line: CommandLine) -> tuple[Config | None, tuple[Finding, ...]]:
    """The configuration, None where no flag gives one or one cannot be read; and what cannot be read."""
    config: Config = {}
    mistakes = []
    for argument in line.all(WHOLE):
        if argument.path:
            _put(config, argument)
            continue
        try:
            config = read_object(argument.value or "")
        except ValueError as error:
            mistakes.append(problem(argument.written, str(error), "give one JSON object, in single quotes"))
    for argument in line.all(*SHORTHANDS):
        config.setdefault(SHORTHANDS[argument.flag], dotted_value(argument.value))
    given = line.all(WHOLE, *SHORTHANDS)
    return (config if given and not mistakes else None), tuple(mistakes)


def moved(line: CommandLine) -> Config:
    """What dead flags say that means something still, under their own names, which are dead keys too."""
    return {a.flag: dotted_value(a.value) for a in line.arguments if a.flag in dead.FLAGS and dead.FLAGS[a.flag].key}


def keys_of_json(line: CommandLine) -> set[str]:
    """Keys that the JSON and the dotted flags give, without the shorthands."""
    others = tuple(argument for argument in line.arguments if argument.flag not in SHORTHANDS)
    config, _ = configured(CommandLine(line.before, line.environment, others))
    return set(config or {})


def _put(config: Config, argument: Argument) -> None:
    *outer, last = argument.path
    table = config
    for key in outer:
        inner = table.setdefault(key, {})
        table = inner if isinstance(inner, dict) else {}
    table[last] = dotted_value(argument.value)
