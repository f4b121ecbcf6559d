"""What can be examined before a server runs: a speculative configuration, a command line."""

from draftboard.doctor.command import flags, speculation
from draftboard.doctor.command.commandline import parse
from draftboard.doctor.command.rewrite import command_instead, config_instead
from draftboard.doctor.command.text import read_object
from draftboard.doctor.finding import Examination
from draftboard.errors import DraftboardError
from draftboard.settings import Settings


def examine_config(text: str, settings: Settings) -> Examination:
    """The value of vLLM's `--speculative-config`.

    Raises:
        DraftboardError: it is no JSON object.
    """
    try:
        config = read_object(text)
    except ValueError as error:
        raise DraftboardError(
            f"--config: {error}; give the value of --speculative-config, such as "
            '{"method": "ngram", "num_speculative_tokens": 3}',
        ) from None
    return Examination("speculative configuration", speculation.lint(config, settings), config_instead(config))


def examine_command(text: str, settings: Settings) -> Examination:
    """The command line of a vLLM server.

    Raises:
        DraftboardError: it is no command line, or starts no vLLM server.
    """
    line = parse(text)
    return Examination("command line", flags.lint(line, settings), command_instead(line))
