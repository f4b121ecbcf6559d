"""A middleware that puts many lenses around some requests, so that their cost stands out of what a server takes."""

import functools
import os
import time
from pathlib import Path
from typing import Any

from draftboard_lens import App, Lens, Message, Receive, Send

HEADER = b"x-lenses"
"""How many, in a request; without it, it is passed on as it comes."""


class Layers:
    """Writes the processor time that the event loop spent on each such request, which must come one at a time."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._layers = functools.cache(lambda count: functools.reduce(lambda inner, _: Lens(inner), range(count), app))
        self._file = Path(os.environ["LENS_LAYERS"])

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request by the application."""
        asked: Any = dict(scope.get("headers", ())).get(HEADER)
        if asked is None:
            await self._app(scope, receive, send)
            return
        lensed = self._layers(int(asked))
        begin = time.thread_time()
        await lensed(scope, receive, send)
        spent = time.thread_time() - begin
        with self._file.open("a") as file:
            file.write(f"{int(asked)} {spent}\n")
