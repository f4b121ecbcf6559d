"""Write what grafana.com lists of each dashboard for import: text, revision, picture and logo, a folder each."""

import json
import shutil
import sys
from pathlib import Path

from conftest import ROOT

PICTURES = ROOT / "docs/pictures"
_HOME = "https://github.com/draftboard/draftboard"
_TEXT = """\
{description}

{title} answers, for servers of vLLM with speculative decoding:

{questions}

## Requirements

- Grafana {grafana} or newer, and a data source of Prometheus that scrapes vLLM.
- {needs}

Rules, alerts, runbooks and a command line: <{home}>. License: Apache-2.0.
"""
_RULES = f"The recording rules of the release that this revision belongs to: <{_HOME}/tree/main/alerts>."
_NO_RULES = (
    "No rules: it reads vLLM's own series. Pages of the same name without (raw) read recording rules, and know more."
)


def main(folder: Path) -> None:
    """A folder for each, in an empty one."""
    for path in sorted((ROOT / "dashboards/grafana-com").glob("*.json")):
        page, out = json.loads(path.read_text()), folder / path.stem
        out.mkdir(parents=True)
        shutil.copy(path, out / "dashboard.json")
        shutil.copy(PICTURES / "icon.svg", out / "logo.svg")
        if (picture := PICTURES / f"{path.stem.removesuffix('-raw')}.png").exists():
            shutil.copy(picture, out / "picture.png")
        (out / "README.md").write_text(text(page))


def text(page: dict[str, object]) -> str:
    """What the dashboard answers and what it needs, from its own words; the first line is the summary."""
    panels, requires, tags = (page[name] for name in ("panels", "__requires", "tags"))
    assert isinstance(panels, list)
    assert isinstance(requires, list)
    assert isinstance(tags, list)
    grafana = next(one["version"] for one in requires if one["type"] == "grafana")
    rows = [one["title"] for one in panels if one["type"] == "row"]
    return _TEXT.format(
        description=page["description"],
        title=page["title"],
        questions="\n".join(f"- {row}" for row in rows or [page["description"]]),
        grafana=grafana.removesuffix(".0"),
        needs=_NO_RULES if "raw" in tags else _RULES,
        home=_HOME,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
