"""Commands of runbooks, as somebody types them."""

import re
import shlex
from collections.abc import Iterable


def commands(text: str) -> list[str]:
    """Every command of the shell blocks of a Markdown text; one that is continued on the next line is one."""
    blocks = re.findall(r"^```sh\n(.+?)^```", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]


def queries(typed: Iterable[str]) -> list[str]:
    """The PromQL that these commands ask."""
    asked = (shlex.split(command) for command in typed if "promtool query " in command)
    return [words[-1] for words in asked]
