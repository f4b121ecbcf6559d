"""The speculative configuration, as the flags of a command line together give it."""

from draftboard.doctor.command import dead
from draftboard.doctor.command.commandline import Argument, CommandLine, dotted_value
from draftboard.doctor.command.keys import Config
from draftboard.doctor.command.text import read_object
from draftboard.doctor.finding import Finding, Severity, note, problem

WHOLE = "speculative_config"
SHORTHANDS = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}
"""Flags that stand for a key of it, and exclude the key there."""


def configured(line: CommandLine) -> tuple[Config | None, tuple[Finding, ...]]:
    """The configuration, None where no flag gives one or one cannot be read; and what is to be said of it."""
    config: Config = {}
    findings: list[Finding] = []
    for argument in line.all(WHOLE):
        if argument.path:
            _put(config, argument)
        elif argument.value == "":
            findings.append(note(argument.written, "empty: vLLM starts without speculation", "leave it out"))
        else:
            try:
                config = read_object(argument.value or "")
            except ValueError as error:
                findings.append(problem(argument.written, str(error), "give one JSON object, in single quotes"))
    for argument in line.all(*SHORTHANDS):
        config.setdefault(SHORTHANDS[argument.flag], dotted_value(argument.value))
    given = [argument for argument in line.all(WHOLE, *SHORTHANDS) if argument.value != ""]
    unread = any(finding.severity is Severity.PROBLEM for finding in findings)
    return (config if given and not unread else None), tuple(findings)


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
