"""Pages that are made of the code: every signal, record, dashboard, setting and option."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from draftboard.build import inventory
from draftboard.build.inventory import Entry
from draftboard.cli import draftboard
from draftboard.dashboards import dashboards as built_dashboards
from draftboard.settings import Settings
from draftboard.settings.template import template
from draftboard.signals import Edition

PICTURES = Path(__file__).parents[3] / "docs/pictures"


def signals(settings: Settings) -> str:
    """Every signal: what it says, what to do, how it is computed, and where it is seen."""
    parts = [
        "# Signals",
        (
            "A signal is one question of an operator. Records, panels, alerts and the report are derived from it. "
            "`draftboard signals WORD` prints these entries with your settings."
        ),
    ]
    for entry in inventory(settings).signals:
        parts += [f"## {entry.title} {{ #{entry.name} }}", f"*{entry.question}* {entry.description}"]
        parts += [text for text in (entry.action, entry.note) if text]
        parts += [f"```promql\n{entry.expr}\n```", "\n".join(_facts(entry))]
    return _page(parts)


def _facts(entry: Entry) -> Iterator[str]:
    yield f"- name: `{entry.name}`; unit: {entry.unit}; better: {entry.better}"
    for what, names in (("records", entry.records), ("reads", entry.metrics)):
        if names:
            yield f"- {what}: {', '.join(f'`{name}`' for name in names)}"
    if entry.panels:
        yield f"- panels: {'; '.join(entry.panels)}"
    if entry.alerts:
        yield f"- alerts: {', '.join(f'[{name}](../runbooks/{name}.md)' for name in entry.alerts)}"


def records(settings: Settings) -> str:
    """Every record, with the signal that it holds."""
    rows = [
        f"| `{record}` | [{entry.title}](signals.md#{entry.name}) | {entry.unit} |"
        for entry in inventory(settings).signals
        for record in entry.records
    ]
    text = (
        "Names are `level:metric:operations`. They are public: the changelog lists each change. `engine:` records keep "
        "the labels of an instance and an engine, and `model:` records sum over them. `service:` records also sum over "
        "drafting methods. `target:` records are of scrape targets, `monitor:` records of the monitoring itself."
    )
    return _page(["# Records", text, _table("record | signal | unit", sorted(rows))])


def dashboards(settings: Settings) -> str:
    """Every dashboard, with its picture and what its rows ask."""
    parts = [
        "# Dashboards",
        (
            "These dashboards read records; those named `-raw` have the same panels on raw series, for a Prometheus "
            "without the rules. The pictures show Grafana's front end with simulated servers."
        ),
    ]
    for uid, build in built_dashboards(settings, Edition.RECORDS).items():
        document = build().document
        parts += [f"## {uid}", document["description"]]
        # `make pictures` draws those of new pages.
        parts += [f"![{uid}](../pictures/{path.name})" for path in PICTURES.glob(f"{uid}.png")]
        parts += [_table("panel | shows", [f"| {title} | {says} |" for title, says in _panels(document["panels"])])]
    return _page(parts)


def _panels(panels: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for panel in panels:
        if panel["type"] == "row":
            yield f"**{panel['title']}**", ""
        elif panel.get("title"):
            says = " ".join(panel.get("description", "").partition("\n\nMetrics:")[0].split())
            yield panel["title"], says.replace("|", "\\|")
        yield from _panels(panel.get("panels", []))


def settings_page() -> str:
    """Every key with its default and its reason, as `draftboard init` writes them."""
    head, *tables = re.split(r"\n\n(?=(?:#.*\n)*#?\[)", template().strip())
    parts = [
        "# Settings",
        (
            "`draftboard init` writes this file. A line that begins with `#` and a key shows its default. "
            '"Heuristic" marks a rule of thumb without a measurement.'
        ),
        f"```toml\n{head}\n```",
    ]
    for table in tables:
        (name,) = re.findall(r"(?m)^#?\[+([^]\n]+)\]+$", table)[:1]
        parts += [f"## {name}", f"```toml\n{table}\n```"]
    return _page(parts)


def options() -> str:
    """The help of every command."""
    parts = ["# Options of every command", "What `draftboard COMMAND --help` prints."]
    for name, text in _helps(draftboard, "draftboard"):
        parts += [f"## {name}", f"```text\n{text}\n```"]
    return _page(parts)


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """A command and those below it; made as the command line makes them, which loads each when it is asked for."""
    with command.make_context(name, [], parent, resilient_parsing=True) as context:
        yield context.command_path, context.get_help()
        if isinstance(context.command, click.Group):
            for each in context.command.list_commands(context):
                if below := context.command.get_command(context, each):
                    yield from _helps(below, each, context)


def _table(head: str, rows: list[str]) -> str:
    return "\n".join((f"| {head} |", re.sub(r"[^|]+", "---", f"| {head} |".strip()), *rows))


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"
