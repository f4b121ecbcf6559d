"""Views of dashboards in a browser: which ones, and what they showed."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grafana.past import HERE, Past

Json = dict[str, Any]
WIDTHS = (1920, 1366)
CHOSEN = {"dashboards/draftboard-compare.json": "var-model_name=meta-llama/Llama-3.3-70B-Instruct"}
"""Variables that a page is about: variants of one model."""
INSTALL = "apt-get install --no-install-recommends chromium fonts-inter, or set CHROMIUM"


@dataclass(frozen=True)
class View:
    """One dashboard in one width and theme, and what it showed."""

    path: str  # of the dashboard's file in the repository
    width: int
    theme: str = "dark"
    empty: bool = False  # whether the time range is one without samples
    expanded: bool = True  # whether collapsed rows are open
    search: str = ""  # of the page's address: variables
    story: str = ""  # where views of several stand in one folder
    found: Json = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Of its files."""
        marks = ["empty"] * self.empty + ["closed"] * (not self.expanded)
        return "-".join([*self.story.split(), Path(self.path).stem, str(self.width), self.theme, *marks])

    @property
    def panels(self) -> list[Json]:
        """All panels that ran."""
        return [panel for panel in self.found["panels"] if panel["ran"]]

    def where(self, panel: Json) -> str:
        """For a message."""
        return f"{Path(self.path).stem} {self.width} #{panel['id']} {panel['title']!r}"


def chromium() -> str:
    """CHROMIUM, or the first that is installed."""
    given = os.environ.get("CHROMIUM", "chromium")
    program = shutil.which(given)
    assert program, f"{given} is not there: {INSTALL}"
    return program


def show(
    views: Sequence[View], files: Mapping[str, str], past: Past, folder: Path, *, pictures: bool, version: str = ""
) -> Iterator[View]:
    """Open each in the browser, with a version of Grafana's packages or the newest; JSON and pictures stay there."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in {view.path for view in views}:
        (folder / Path(path).name).write_text(files[path])
    jobs = {
        "chromium": chromium(),
        "prometheus": past.url,
        "out": str(folder),
        "version": version or None,
        "views": [_job(view, past, folder, pictures=pictures) for view in views],
    }
    (folder / "jobs.json").write_text(json.dumps(jobs))
    done = subprocess.run(
        ["node", "run.mjs", folder / "jobs.json"], cwd=HERE, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for view in views:
        found = json.loads((folder / f"{view.name}.json").read_text())
        yield replace(view, found=found)


def _job(view: View, past: Past, folder: Path, *, pictures: bool) -> Json:
    length = past.end - past.start
    start = past.start - 2 * length if view.empty else past.start
    return {
        "name": view.name,
        "file": str(folder / Path(view.path).name),
        "width": view.width,
        "theme": view.theme,
        "from": _iso(start),
        "to": _iso(start + length),
        "expanded": view.expanded,
        "search": view.search,
        "picture": pictures and not view.empty,
    }


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
