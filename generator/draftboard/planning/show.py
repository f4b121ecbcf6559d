"""Plans on paper: tables for people, the same as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from draftboard.planning.check import Outcome
from draftboard.planning.decide import DecidePlan
from draftboard.planning.draft_length import DraftLengthPlan, Length
from draftboard.planning.memory import Budget
from draftboard.planning.money import CostPlan
from draftboard.planning.schedule import SchedulePlan
from draftboard.planning.vram import VramPlan

SCHEMA_VERSION = 1
"""Of the JSON: raised when a key changes its meaning or goes."""
_NOTHING = "-"
_HEADING_WIDTH = 10
_STYLES = {
    Outcome.PASS: "green",
    Outcome.WARN: "yellow",
    Outcome.FAIL: "red",
    Outcome.UNKNOWN: "dim",
    Outcome.SKIPPED: "dim",
}

Plan = DraftLengthPlan | VramPlan | CostPlan | SchedulePlan | DecidePlan


def as_json(plan: Plan, *, explain: bool = False) -> str:
    """The plan as JSON under its field names, with `plan` and `version`; `formulas` too when they are asked for."""
    document = {"plan": plan.name, "version": SCHEMA_VERSION, **asdict(plan)}
    if explain:
        document["formulas"] = [asdict(formula) for formula in plan.formulas]
    return json.dumps(document, indent=2, allow_nan=False)


def show(plan: Plan, console: Console, *, explain: bool = False) -> None:
    """Print the verdict, the numbers, what they do not say, and the formulas when they are asked for."""
    console.print(f"[bold]{escape(plan.verdict)}[/bold]\n", soft_wrap=True)
    match plan:
        case DraftLengthPlan():
            _show_lengths(plan, console)
        case VramPlan():
            _show_memory(plan, console)
        case CostPlan():
            _show_cost(plan, console)
        case SchedulePlan():
            _show_schedule(plan, console)
        case DecidePlan():
            _show_checks(plan, console, explain=explain)
    for note in plan.notes:
        console.print(f"- {escape(note)}", soft_wrap=True)
    if explain:
        console.print()
        table = _table("Formulas", ("Gives", "Formula", "Source"))
        for formula in plan.formulas:
            table.add_row(escape(formula.gives), escape(formula.text), escape(formula.source))
        console.print(table)


def _show_lengths(plan: DraftLengthPlan, console: Console) -> None:
    lengths = (*plan.lengths, *((plan.following,) if plan.following else ()))
    expected = _table(
        f"Drafts of k tokens: c = {plan.cost_ratio.value:g}, v = {plan.verify_inflation.value:g}",
        ("k", ""),
        ("Tokens a step", "Step cost", "Expected speedup", "Gain over k - 1"),
    )
    needed = _table(
        "What it takes: survival of position k, acceptance and alpha",
        ("k",),
        ("Accepted a step", "Survival", "Needed to pay", "Break-even acceptance", "Break-even alpha"),
    )
    for length in lengths:
        style = "dim" if length.extrapolated else None
        expected.add_row(*_expected_cells(length, plan.best), style=style)
        needed.add_row(*_needed_cells(length), style=style)
    console.print(expected)
    console.print(needed)


def _expected_cells(length: Length, best: Length | None) -> tuple[str, ...]:
    mark = "extrapolated" if length.extrapolated else "best" if length == best else ""
    numbers = (length.tokens_per_step, length.step_cost, length.speedup)
    return (str(length.k), mark, *(f"{number:.3f}" for number in numbers), f"{length.gain:+.3f}")


def _needed_cells(length: Length) -> tuple[str, ...]:
    shares = (length.survival, length.needed_survival, length.break_even_acceptance)
    alpha = "never" if length.break_even_alpha is None else f"{length.break_even_alpha:.3f}"
    return (str(length.k), f"{length.accepted:.3f}", *(f"{share:.1%}" for share in shares), alpha)


def _show_memory(plan: VramPlan, console: Console) -> None:
    gpus = plan.gpus
    head = f"{gpus.count} x {gpus.gb:g} GB, {gpus.utilization:.0%} usable, {gpus.overhead_gb:g} GB overhead each"
    table = _table(f"{head}; context {plan.context:,} tokens", ("",), _BUDGET)
    table.add_row("target alone", *_budget_cells(plan.without))
    table.add_row("with the draft", *_budget_cells(plan.with_draft))
    console.print(table)
    if plan.tokens_lost is not None:
        console.print(
            f"KV of a token: {plan.without.kv_kib_per_token:g} KiB, with the draft's {plan.with_draft.kv_kib_per_token:g} "
            f"KiB.\nThe draft costs {plan.tokens_lost:.1%} of the KV cache's tokens (by its weights alone, "
            f"{plan.tokens_by_weights_alone:,} tokens would be left).\n",
            soft_wrap=True,
        )
    others = _table("Other dtypes of the weights", ("Target", "Draft"), _BUDGET)
    for pair in plan.pairs:
        others.add_row(pair.target, pair.draft if plan.draft.params else _NOTHING, *_budget_cells(pair.budget))
    console.print(others)
    for hint in plan.hints:
        outcome = "above the limit" if hint.broken else "within the limit"
        text = (
            f"Rule of thumb: {hint.rule} are {hint.value:.1%} of GPU memory, {outcome} of {hint.limit:.0%}; above it "
        )
        text += f"{hint.beyond} ({hint.source})."
        console.print(escape(text), style="yellow" if hint.broken else None, soft_wrap=True)


_BUDGET = (
    "Weights GB",
    "GB per GPU",
    "Gross free GB",
    "Net free GB",
    "KV KiB per token",
    "Tokens",
    "Requests",
    "Starts",
)


def _budget_cells(budget: Budget) -> tuple[str, ...]:
    counts = (_NOTHING if count is None else f"{count:,}" for count in (budget.tokens, budget.requests))
    return (
        f"{budget.weights_gb:g}",
        f"{budget.weights_gb_per_gpu:.1f}",
        f"{budget.gross_gb:.1f}",
        f"{budget.net_gb:.1f}",
        *counts,
        "yes" if budget.starts else "no",
    )


def _show_cost(plan: CostPlan, console: Console) -> None:
    table = _table("Per generated token", ("",), ("Value",))
    rows = {
        "Measured speedup": f"{plan.speedup:.3f}",
        "GPUs, and extra for speculation": f"{plan.gpus} + {plan.extra_gpus}",
        "Lost concurrency": f"{plan.lost_concurrency:.1%}",
        "Effective speedup, for the same money": f"{plan.effective_speedup:.3f}",
        "Break-even speedup": f"{plan.break_even_speedup:.3f}",
        "Saving": f"{plan.saving:+.1%}",
    }
    if plan.cost_without is not None and plan.cost_with is not None:
        rows["Cost of a million tokens, plain"] = f"{plan.cost_without:.4g}"
        rows["Cost of a million tokens, speculating"] = f"{plan.cost_with:.4g}"
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)


def _show_schedule(plan: SchedulePlan, console: Console) -> None:
    table = _table(
        f"K by batch size: c = {plan.cost_ratio.value:g}",
        ("Batch size",),
        ("K", f"v at K = {plan.measured_at}", "Expected speedup"),
    )
    for each in plan.ranges:
        inflation = _span(each.inflation_least, each.inflation_most)
        table.add_row(
            f"{each.first} to {each.last}", str(each.k), inflation, _span(each.speedup_least, each.speedup_most)
        )
    console.print(table)
    if plan.speculative_config is not None:
        console.print("Put these keys into --speculative-config, beside method and model:")
        console.print(json.dumps(asdict(plan.speculative_config)), soft_wrap=True, highlight=False)
        console.print()


def _span(least: float, most: float) -> str:
    texts = (f"{least:.2f}", f"{most:.2f}")
    return texts[0] if texts[0] == texts[1] else "-".join(texts)


def _show_checks(plan: DecidePlan, console: Console, *, explain: bool) -> None:
    table = _table("Checks", ("Check", "Outcome", "Why", "Rule of thumb", "Source"))
    for check in plan.checks:
        style = _STYLES[check.outcome]
        thumb = "yes" if check.rule_of_thumb else "no"
        outcome = f"[{style}]{check.outcome}[/{style}]"
        table.add_row(check.name, outcome, escape(check.reason), thumb, escape(check.source))
    console.print(table)
    if explain:
        pairs = _table("What the sources say of size ratios", ("Draft", "Target", "Ratio", "Here", "Said"))
        for pair in plan.examples:
            pairs.add_row(pair.draft, pair.target, f"1:{pair.ratio:.3g}", pair.outcome, escape(pair.said))
        console.print(pairs)


def _table(title: str, words: Sequence[str], numbers: Sequence[str] = ()) -> Table:
    table = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in words:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right", max_width=_HEADING_WIDTH)
    return table
