"""What the pages on commands, tests and troubles state as a number, a name or a message: each has one origin."""

import inspect
import math
import re
import tomllib

import click
import pytest
from textual.binding import Binding

from conftest import ROOT
from draftboard.assistant.tools import Tools
from draftboard.calibrate import calibrating
from draftboard.calibrate import history as calibrated_history
from draftboard.catalogue.dialects import DIALECTS
from draftboard.cli import draftboard
from draftboard.explain import explaining
from draftboard.history import finding
from draftboard.history.explained import queried
from draftboard.history.runs import of_effects, of_setups
from draftboard.intervals import LEAST, PARTS
from draftboard.lab import openmetrics
from draftboard.lab.notified import firing
from draftboard.lab.simulator import find
from draftboard.lab.simulator.backfill import estimated_bytes
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.stack_drill import drilling
from draftboard.plan import vram
from draftboard.prometheus import client
from draftboard.reading import MIXED, apart, at_once, sources
from draftboard.reading.growth import MOST_ENGINES
from draftboard.report import scatter
from draftboard.report.judge import HOLDING, UNCOUNTED, V0_ENGINE
from draftboard.report.verdict import RANGED
from draftboard.settings import Settings
from draftboard.signals.states import state
from draftboard.signals.verdicts import VERDICT, verdict
from draftboard.sweep import plan as sweeping
from draftboard.top.app import Top

COMMANDS = sorted((ROOT / "docs/commands").glob("*.md"))
SETTINGS = Settings()
_QUERIES = sum(len(expressions) for _, expressions in queried(SETTINGS, 300))
_SWEPT = sweeping._MOST  # noqa: SLF001
STATED = [
    ("explain", f"More than {explaining.MOST_SERIES} series are not explained at once"),
    ("history", f"{len(of_setups(SETTINGS))} for all models, and {len(of_effects(SETTINGS))} for each model"),
    ("history", f"with {finding._LOOKS} points, and the {len(of_effects(SETTINGS))} for at most"),  # noqa: SLF001
    ("history", f"for at most {finding.MOST_MODELS} models"),
    ("history", f"parts of {client._MOST_POINTS:,} points"),  # noqa: SLF001
    ("history", f"Cost: {_QUERIES} queries"),
    ("history", f"at least {LEAST} windows of it"),
    ("report", f"are read {at_once._AT_ONCE} at a time"),  # noqa: SLF001
    ("report", f"{PARTS} parts of the window, with over 100 servers on fewer (at least {LEAST})"),
    ("report", f"Pages are limited to {sources.LIVE.bytes // 1_000_000} MB and {sources.LIVE.seconds:g} s"),
    ("report", f"saved ones to {sources.SAVED.bytes // 1_000_000} MB, and all to {MOST_ENGINES:,} engines"),
    ("report", f"at any of {apart._LOOKS} times of the range"),  # noqa: SLF001
    ("compare", f"into {PARTS} parts: it reads a server {PARTS + 1} times"),
    ("compare", f"fewer than {LEAST} parts"),
    ("compare", f"shorter than {LEAST * scatter.SCRAPES} scrapes"),
    ("sweep", f"At most {sweeping._MOST_BYTES // 10**6} MB, {_SWEPT['prompts']:,} prompts, {_SWEPT['tags']}"),  # noqa: SLF001
    ("sweep", f"They require {LEAST} requests per temperature"),
    ("sweep", f"counters {PARTS} times during a temperature"),
    ("calibrate", f"fewer than {calibrating.LEAST} windows"),
    ("alerts", f"covers {firing._WHOLE:.0%}".replace("%", " %")),  # noqa: SLF001
    ("alerts", f"at most {openmetrics.MOST_BYTES // 10**9} GB as text"),
    ("alerts", f"{openmetrics.MOST_BYTES / 175e6:.0f} days of one server"),
    ("simulate", f"reads at most {openmetrics.MOST_BYTES // 10**9} GB"),
    ("drill", f"for {drilling._FORGOTTEN.seconds // 60} minutes only"),  # noqa: SLF001
    ("plan", f"`--gpu-memory-utilization` (default {vram.UTILIZATION})"),
]
"""A page of docs/commands and a sentence of it, with the numbers of the code."""


@pytest.mark.parametrize(("page", "sentence"), STATED)
def test_a_number_on_a_page_is_that_of_the_code(page: str, sentence: str) -> None:
    assert sentence in " ".join((ROOT / f"docs/commands/{page}.md").read_text().split())


def test_the_page_on_tuning_names_the_cost_of_lookups_and_the_exact_limits() -> None:
    page = (ROOT / "docs/tune/index.md").read_text()
    limits = SETTINGS.thresholds
    assert f"`ngram`: no memory, c = {SETTINGS.draft_cost.by_method['ngram']:g} |" in page
    assert f"(measured speedup under {limits.slower:g})" in page
    assert f"| under {limits.unfit * 100:g} % accepted |" in page
    assert f"accepted in under {limits.first_position * 100:g} % |" in page
    assert limits.drop == 0.8
    assert str(SETTINGS.rules.compare_with) == "1h"
    assert "acceptance fell by more than a fifth within an hour" in page


def test_the_cache_of_qwen3_adds_up_as_the_page_says() -> None:
    page = (ROOT / "docs/operate/install.md").read_text()
    factors = re.search(
        r"(\d+(?: x \d+)+) = ([\d,]+) bytes per token, or ([\d.]+) GB for one request of ([\d,]+)", page
    )
    assert factors
    token, tokens = (int(text.replace(",", "")) for text in (factors[2], factors[4]))
    assert math.prod(map(int, factors[1].split(" x "))) == token
    assert f"{token * tokens / 1e9:.1f}" == factors[3]


def test_a_fiftieth_of_the_range_is_what_calibrate_joins() -> None:
    assert calibrated_history._BLOCKS == 50  # noqa: SLF001
    assert "one fiftieth of the range" in " ".join((ROOT / "docs/commands/calibrate.md").read_text().split())


def _synopses() -> list[tuple[str, str, str]]:
    """A command, an option and the value that a synopsis gives it as default."""
    found = []
    for page in COMMANDS:
        for block in re.findall(r"(?ms)^```(?:console)?\n(draftboard .*?)^```", page.read_text()):
            for usage in re.split(r"\n(?=draftboard )", block):
                words = usage.split()[1:3]
                name = " ".join(words[: 2 if words[0] in {"alerts", "experiment", "plan"} else 1])
                found += [(name, *each) for each in re.findall(r"\[(--[a-z-]+) ([0-9][^\]\s|]*)\]", usage)]
    return found


def _default(command: str, option: str) -> str:
    """The default of an option: click's, or that of its help."""
    found: click.Command = draftboard
    for word in command.split():
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), word)
        assert below
        found = below.make_context(word, ["-"], resilient_parsing=True).command
    (of,) = (one for one in found.params if isinstance(one, click.Option) and option in one.opts)
    said = re.search(r"Default: ([^;]+?)\.?$", (of.help or "").partition(";")[0])
    return said[1] if said else str(of.default)


@pytest.mark.parametrize(("command", "option", "value"), _synopses())
def test_a_value_in_a_synopsis_is_the_options_default(command: str, option: str, value: str) -> None:
    default = _default(command, option)
    assert value == default or (value.isdigit() and float(value) == float(default)), f"{option}: {default}"


def test_the_synopses_give_defaults() -> None:
    assert len(_synopses()) >= 15


def test_every_make_target_that_a_page_names_exists() -> None:
    makefiles = (ROOT / "Makefile").read_text() + (ROOT / "deploy/stack.mk").read_text()
    targets = {name for names in re.findall(r"(?m)^([a-z][a-z -]*):(?!=)", makefiles) for name in names.split()}
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        assert {*re.findall(r"`make ([a-z][a-z-]+)", page.read_text())} - targets == set(), page


def test_messages_that_the_page_on_troubles_explains_are_printed_by_the_stack() -> None:
    sources = "".join(
        path.read_text()
        for path in (ROOT / "deploy").rglob("*")
        if path.suffix in {".sh", ".yml", ".mk", ".py", ".example"} and "secrets" not in path.parts
    )
    page = (ROOT / "docs/operate/troubleshooting.md").read_text()
    for wrong in ("an IP address", "a port", "a duration", "a size"):
        assert f"is not {wrong}" in page
        assert f"is not {wrong}" in sources or f'"{wrong} such as' in sources, wrong
    for message in re.findall(r"(?m)^\| `(deploy/[^`.]+?)(?: `|`)", page):
        assert message in sources, message
    for variable in re.findall(r"`required variable (\w+)", page):
        assert f"{{{variable}:?" in sources, variable


def test_servers_and_stories_of_the_dashboards_are_as_many_as_the_page_says() -> None:
    page = " ".join((ROOT / "docs/contribute/testing.md").read_text().split())
    past = tomllib.loads((ROOT / "tests/grafana/past.toml").read_text())
    assert f"{len(past['server'])} servers, a baseline among them" in page
    told = re.findall(r'(?m)^    "(\w+)": Expected', (ROOT / "tests/grafana/test_stories.py").read_text())
    assert len(told) == 15
    assert "holds fifteen stories" in page


def test_the_image_of_the_command_line_is_as_the_page_says() -> None:
    page = " ".join((ROOT / "docs/operate/pipelines.md").read_text().split())
    built = (ROOT / "deploy/simulator/Dockerfile").read_text()
    (base,) = re.findall(r"&python-image (\S+)", (ROOT / "deploy/docker-compose.yml").read_text())
    assert f"its base, `{base}`" in page
    assert "USER 65534:65534" in built
    assert "EXTRAS=mcp" in (ROOT / "Makefile").read_text()
    assert "holds the extra `mcp`" in page
    assert "runs as user 65534" in page


def test_inputs_of_the_action_that_the_page_shows_exist() -> None:
    page = (ROOT / "docs/operate/pipelines.md").read_text()
    action = (ROOT / "action.yml").read_text()
    (block,) = re.findall(r"(?ms)^```yaml\n(- uses.*?)^```", page)
    shown = set(re.findall(r"(?m)^    ([a-z-]+):", block))
    assert {name for name in shown if f"\n  {name}:" not in action} == set()


def rows(page: str, heading: str) -> list[str]:
    """The first cells of the table under a heading of a page."""
    under = re.split(rf"(?m)^#+ {heading}$", (ROOT / page).read_text())[1]
    table = re.split(r"\n\n(?=[^|])", under[under.index("\n|") :])[0]
    return [row.split("|")[1].strip() for row in table.strip().splitlines()[2:]]


def test_states_without_a_verdict_are_words_of_the_code() -> None:
    said = {code.says for code in (*verdict.codes, *state.codes)}
    said |= {choice.code.says for choice in (UNCOUNTED, HOLDING, V0_ENGINE)} | {MIXED}
    listed = [row.removeprefix("no verdict: ") for row in rows("docs/commands/report.md", "States without a verdict")]
    assert [row for row in listed if row.partition(", or")[0] not in said] == []


def test_bases_of_a_verdict_are_those_of_the_code() -> None:
    page = (ROOT / "docs/commands/report.md").read_text()
    listed = re.findall(r"(?m)^\| `([a-z ]+)` \| ", page)
    known = {choice.basis for choice in VERDICT.choices.values() if choice.basis} | RANGED
    assert set(listed) >= known
    assert set(listed) - known == set()


def test_dialects_of_the_page_are_those_of_the_code() -> None:
    page = (ROOT / "docs/operate/dialects.md").read_text().partition("## When")[0]
    assert set(re.findall(r"(?m)^\| [^|]+ \| `([^`]+)` \|", page)) - {"dialect"} == set(DIALECTS)
    assert Settings.model_validate({"max_draft_tokens": 48}).max_draft_tokens == 48


def test_llama_cpps_figures_add_up_as_the_page_says() -> None:
    page = (ROOT / "docs/operate/dialects.md").read_text()
    numbers = re.search(r"(\S+) decode steps are (\S+) - (\S+) = (\S+) x (\d+\.\d+)", page)
    assert numbers
    steps, generated, accepted, calls, busy = (float(text.replace(",", "")) for text in numbers.groups())
    assert generated - accepted == steps == round(calls * busy)


def test_a_canary_is_kept_and_rolled_back_after_as_many_windows_as_the_page_says() -> None:
    page = (ROOT / "docs/operate/rollouts.md").read_text()
    analysis = (ROOT / "deploy/kubernetes/rollouts/argo-rollouts.yaml").read_text()
    assert "consecutiveSuccessLimit: 3" in analysis
    assert "after three windows in a row" in page
    assert "failureLimit: 1" in analysis
    assert "at the second window in which they do" in page


def test_keys_and_tools_of_the_pages_are_those_of_the_programs() -> None:
    keys = " ".join(rows("docs/commands/top.md", "`draftboard top`"))
    bound = {key for one in Top.BINDINGS for key in (one.key if isinstance(one, Binding) else one[0]).split(",")}
    assert bound <= set(re.findall(r"\w+", keys))
    tools = {name for name, _ in inspect.getmembers(Tools, inspect.isfunction) if not name.startswith("_")}
    assert {row.strip("`") for row in rows("docs/commands/serve.md", r"`draftboard serve --mcp`")} == tools


def test_a_history_of_the_largest_scenario_is_as_large_as_the_page_says() -> None:
    size = estimated_bytes(targets(find("fleet-100"), 1), range(0, 3601, 30))
    assert f"--out run.om    # {size / 1e9:.1f} GB" in (ROOT / "docs/commands/simulate.md").read_text()
