"""Write docs/commands/transcript.md: what `draftboard serve --mcp` answers on the recording of `make demo`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from conftest import DEMO_SETTINGS, RECORDING, ROOT, program
from draftboard.lab.replay import Replay, replaying
from draftboard.settings import load

PAGE = ROOT / "docs/commands/transcript.md"
_SHOWN_AS = "127.0.0.1:9090"
_DRAFTS = {"spec_method": "ngram"}
CALLS: tuple[tuple[int, str, str, dict[str, Any]], ...] = (
    (1, "Which model needs somebody?", "health", {}),
    (1, "Does speculation pay?", "verdict", {}),
    (3, "And two minutes later?", "health", {}),
    (3, "Why do users wait longer?", "explanation", {"name": "verdict", "labels": _DRAFTS}),
    (3, "What should be changed?", "verdict", {}),
)
"""Minute of the recording, question, tool and arguments, but for the time."""
_HEAD = """\
# A conversation with an assistant

`make recording` writes this page: the official client of the Model Context Protocol starts `draftboard serve --mcp` and
calls its tools on the recording of [`make demo`](../start/demo.md), at the end of minutes 1 and 3. The answers are
whole and unchanged, but for the address of Prometheus. The questions and the choice of tools are the script's: no
language model took part. The server's instructions to an assistant:

```text
{instructions}
```
"""
_TURN = """
## Minute {minute}: {question}

`{tool}({arguments})`

````markdown
{answer}
````
"""


def page(replay: Replay) -> str:
    """The page, of a Prometheus that serves the recording."""
    return asyncio.run(_talk(replay))


async def _talk(replay: Replay) -> str:
    command = ["-m", "draftboard", "serve", "--mcp", f"--prometheus={replay.client.url}", f"--config={DEMO_SETTINGS}"]
    address = replay.client.url.partition("//")[2]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        text = _HEAD.format(instructions=client.instructions)
        for minute, question, tool, arguments in CALLS:
            given = {**arguments, "at": str(int(replay.start) + 60 * minute)}
            (content,) = (await client.call_tool(tool, given)).content
            assert isinstance(content, TextContent)
            shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
            answer = content.text.strip().replace(address, _SHOWN_AS)
            text += _TURN.format(minute=minute, question=question, tool=tool, arguments=shown, answer=answer)
        return text


def main(path: Path = PAGE) -> None:
    with replaying(
        RECORDING, load(DEMO_SETTINGS), prometheus=program("prometheus"), promtool=program("promtool")
    ) as replay:
        path.write_text(page(replay))


if __name__ == "__main__":
    main()
