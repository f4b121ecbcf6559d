"""`init`, `build`, `check` and `signals`: the settings file, the generated files, and what is in them."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from draftboard.cli.shared import FILE, config_option, force_option, json_options, print_line, print_result
from draftboard.errors import DraftboardError
from draftboard.project import CHECKOUT
from draftboard.rulers import RULERS, Ruler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftboard.build import Inventory
    from draftboard.output import Block, Document
    from draftboard.settings import Settings

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of dashboards/, alerts/, deploy/ and mixin/. Default: the current folder; in a checkout, its root.",
)
ruler_option = click.option(
    "--ruler", type=click.Choice(RULERS), help="System that evaluates the rules. Default: rules.ruler of the settings."
)


@click.command()
@click.argument("file", type=FILE, default="draftboard.toml")
@force_option
def init(file: Path, *, force: bool) -> None:
    """Write a settings file with every default as a comment.

    FILE is draftboard.toml, unless given.
    """
    from draftboard.files import require_new, whole
    from draftboard.settings.template import template

    require_new(file, force=force)
    with whole(file, "settings") as staged:
        staged.write_text(template(), encoding="utf-8")
    build = shlex.join(["draftboard", "build", "--config", str(file), "--out", "monitoring"])
    print_line(f"Written: {file}. Change it, then run: {build}")


@click.command()
@config_option
@out_option
@ruler_option
@click.option("--force", is_flag=True, help="Replace files that `build` did not write.")
def build(config: Path | None, out: Path | None, ruler: Ruler | None, *, force: bool) -> None:
    """Write dashboards, rules and the stack's configuration."""
    from draftboard.build import left_over, render, write
    from draftboard.cli.screen import console
    from draftboard.output import Document, Sentence, Table, columns, show

    target = out or _here()
    settings = _settings(config, ruler)
    files = render(settings)
    write(files, target, force=force)
    sizes = tuple((path, f"{len(text.encode()):,}") for path, text in sorted(files.items()))
    table = Table(columns("File", numbers=("Bytes",)), sizes)
    stray = (Sentence(f"{path}: left over; no longer generated") for path in left_over(files, target))
    show(Document.of((Sentence(f"Written below {target}:"), table, *stray, *_prices(settings))), console())


@click.command()
@config_option
@out_option
@ruler_option
def check(config: Path | None, out: Path | None, ruler: Ruler | None) -> None:
    """Compare files on disk with a build; exit 1 if they differ."""
    from draftboard.build import compare, render
    from draftboard.cli.screen import console
    from draftboard.output import Document, Sentence, Verbatim, show

    target = out or _here()
    differences = compare(render(_settings(config, ruler)), target)
    if not differences:
        show(Document((Sentence(f"The files below {target} are as built."),)), console())
        return
    pairs = ((Sentence(f"{one.path}: {one.what}"), Verbatim(one.diff.rstrip("\n"))) for one in differences)
    show(Document.of(block for pair in pairs for block in pair), console())
    options = {"config": config, "out": out, "ruler": ruler}
    given = [word for name, value in options.items() if value for word in (f"--{name}", str(value))]
    again = shlex.join(["draftboard", "build", *given])
    print_line(f"{len(differences)} of the files below {target} are not as built: run `{again}`", err=True)
    raise SystemExit(1)


@click.command()
@click.argument("words", nargs=-1)
@config_option
@json_options
def signals(words: tuple[str, ...], config: Path | None) -> None:
    """List signals: without WORDS, name and title of each.

    With WORDS, print meaning, action, metrics, record, panels, alerts and PromQL of those whose name, question,
    metrics, records or alerts contain every word.
    """
    from draftboard.alerts import load
    from draftboard.build import inventory

    listed = inventory(load(config)).matching(words)
    if not listed.signals:
        raise DraftboardError(f"no signal contains {' and '.join(words)}: `draftboard signals` lists all")
    print_result(listed, partial(_listed if words else _index, listed))


def _index(listed: "Inventory") -> "Document":
    from draftboard.output import Document, Note, Table, columns

    rows = tuple((entry.name, entry.title, entry.unit) for entry in listed.signals)
    note = (
        "draftboard signals WORD: meaning, action, metrics, records, panels, alerts and PromQL of those with the word."
    )
    return Document.of((Table(columns("Signal", "Title", "Unit"), rows), Note(note)))


def _listed(listed: "Inventory") -> "Document":
    from draftboard.output import Block, Bullets, Document, Heading, Sentence, Text, Verbatim

    blocks: list[Block] = []
    for entry in listed.signals:
        uses = {"metric": entry.metrics, "record": entry.records, "panel": entry.panels, "alert": entry.alerts}
        blocks += (
            Heading(entry.name, Text(f"{entry.title} [{entry.unit}, better: {entry.better}]")),
            *map(Sentence, (entry.question, f"{entry.description} {entry.note}".rstrip(), entry.action)),
            Bullets(tuple(f"{kind}: {name}" for kind, names in uses.items() for name in names)),
            Verbatim(entry.expr),
        )
    return Document.of(blocks)


def _prices(settings: "Settings") -> "Iterator[Block]":
    """What each tier costs."""
    from draftboard.output import Sentence, Table, columns
    from draftboard.rules import Amount, price
    from draftboard.settings.rules import TIERS

    def both(amount: Amount, places: int = 0) -> str:
        return f"{amount.an_engine:,.{places}f} + {amount.a_model:,.{places}f}"

    prices = [price(settings, tier) for tier in TIERS]
    rows = ((one.tier, f"{one.records}", both(one.samples), both(one.series), both(one.megabytes, 2)) for one in prices)
    yield Sentence(
        f'The rules are of the tier "{settings.rules.tier}" (rules.tier). What each costs, for an engine + for a model:'
    )
    yield Table(columns("Tier", numbers=("Records", "Samples a minute", "Series", "MB a day")), tuple(rows))
    if uncounted := max(one.uncounted for one in prices):
        yield Sentence(f"Without {uncounted} rules that were not counted: their windows are not those of the defaults.")


def _settings(config: Path | None, ruler: Ruler | None) -> "Settings":
    from draftboard.alerts import load

    settings = load(config)
    rules = settings.rules.model_copy(update={"ruler": ruler or settings.rules.ruler})
    return settings.model_copy(update={"rules": rules})


def _here() -> Path:
    here = Path.cwd()
    return CHECKOUT if CHECKOUT in (here, *here.parents) else here
