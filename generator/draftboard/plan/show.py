"""Plans on paper: tables for people, the same as JSON for programs."""

import json
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape

from draftboard.plan.check import Outcome
from draftboard.plan.decide import DecidePlan
from draftboard.plan.draft_length import DraftLengthPlan, Length
from draftboard.plan.memory import Budget
from draftboard.plan.money import CostPlan
from draftboard.plan.paper import Row, print_table
from draftboard.plan.schedule import SchedulePlan
from draftboard.plan.vram import Hint, VramPlan

SCHEMA_VERSION = 1
"""Of the JSON: raised when a key changes its meaning or goes."""
_NOTHING = "-"
_STYLES = {
    Outcome.PASS: "",
    Outcome.WARN: "yellow",
    Outcome.FAIL: "red",
    Outcome.UNKNOWN: "dim",
    Outcome.SKIPPED: "dim",
}

Plan = DraftLengthPlan | VramPlan | CostPlan | SchedulePlan | DecidePlan


def as_json(plan: Plan, *, explain: bool = False) -> str:
    """The plan as JSON by field names, with `schema_version` and `plan`; `formulas` too when they are asked for."""
    document = {"schema_version": SCHEMA_VERSION, "plan": plan.name, **asdict(plan)}
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
        formulas = [{"Gives": each.gives, "Formula": each.text, "Source": each.source} for each in plan.formulas]
        print_table("Formulas", [Row(words) for words in formulas], console)


def _show_lengths(plan: DraftLengthPlan, console: Console) -> None:
    lengths = (*plan.lengths, *((plan.following,) if plan.following else ()))
    title = f"Drafts of k tokens: c = {plan.cost_ratio.value:g}, v = {plan.verify_inflation.value:g}"
    print_table(title, [_expected(length, plan.best) for length in lengths], console)
    print_table("What it takes", [_needed(length) for length in lengths], console)


def _expected(length: Length, best: Length | None) -> Row:
    mark = "extrapolated" if length.extrapolated else "best" if length == best else ""
    numbers = {
        "Tokens a step": f"{length.tokens_per_step:.3f}",
        "Step cost": f"{length.step_cost:.3f}",
        "Expected speedup": f"{length.speedup:.3f}",
        "Gain over k - 1": f"{length.gain:+.3f}",
    }
    return Row({"k": str(length.k), "": mark}, numbers, _style_of(length))


def _needed(length: Length) -> Row:
    numbers = {
        "Accepted a step": f"{length.accepted:.3f}",
        "Survival of position k": f"{length.survival:.1%}",
        "Needed to pay": f"{length.needed_survival:.1%}",
        "Break-even acceptance": f"{length.break_even_acceptance:.1%}",
        "Break-even alpha": "never" if length.break_even_alpha is None else f"{length.break_even_alpha:.3f}",
    }
    return Row({"k": str(length.k)}, numbers, _style_of(length))


def _style_of(length: Length) -> str:
    return "dim" if length.extrapolated else ""


def _show_memory(plan: VramPlan, console: Console) -> None:
    gpus = plan.gpus
    title = f"{gpus.count} x {gpus.gb:g} GB, {gpus.utilization:.0%} usable, {gpus.overhead_gb:g} GB overhead each"
    budgets = {"target": plan.without, "with draft": plan.with_draft}
    rows = [Row({"": name}, _numbers(budget)) for name, budget in budgets.items()]
    print_table(f"{title}; context {plan.context:,} tokens", rows, console)
    if plan.tokens_lost is not None:
        console.print(
            f"KV of a token: {plan.without.kv_kib_per_token:g} KiB, with the draft "
            f"{plan.with_draft.kv_kib_per_token:g}. The draft costs {plan.tokens_lost:.1%} of the "
            f"KV cache's tokens (by its weights alone, {plan.tokens_by_weights_alone:,} tokens would be left).\n",
            soft_wrap=True,
        )
    others = [
        Row({"Target": pair.target, "Draft": pair.draft if plan.draft.params else _NOTHING}, _numbers(pair.budget))
        for pair in plan.pairs
    ]
    print_table("Other dtypes of the weights", others, console)
    for hint in plan.hints:
        console.print(escape(_rule(hint)), style="yellow" if hint.broken else None, soft_wrap=True)


def _numbers(budget: Budget) -> dict[str, str]:
    return {
        "Weights GB": f"{budget.weights_gb:g}",
        "GB per GPU": f"{budget.weights_gb_per_gpu:.1f}",
        "Gross free GB": f"{budget.gross_gb:.1f}",
        "Net free GB": f"{budget.net_gb:.1f}",
        "Tokens": _NOTHING if budget.tokens is None else f"{budget.tokens:,}",
        "Requests": _NOTHING if budget.requests is None else f"{budget.requests:,}",
        "Starts": "yes" if budget.starts else "no",
    }


def _rule(hint: Hint) -> str:
    found = "above" if hint.broken else "within"
    return (
        f"Rule of thumb: {hint.rule} are {hint.value:.1%} of GPU memory, {found} the limit of {hint.limit:.0%}; "
        f"above it {hint.beyond} ({hint.source})."
    )


def _show_cost(plan: CostPlan, console: Console) -> None:
    lines = {
        "Measured speedup": f"{plan.speedup:.3f}",
        "GPUs, and extra for speculation": f"{plan.gpus} + {plan.extra_gpus}",
        "Lost concurrency": f"{plan.lost_concurrency:.1%}",
        "Effective speedup, for the same money": f"{plan.effective_speedup:.3f}",
        "Break-even speedup": f"{plan.break_even_speedup:.3f}",
        "Saving": f"{plan.saving:+.1%}",
    }
    if plan.cost_without is not None and plan.cost_with is not None:
        lines["Cost of a million tokens, plain"] = f"{plan.cost_without:.4g}"
        lines["Cost of a million tokens, speculating"] = f"{plan.cost_with:.4g}"
    rows = [Row({"": name}, {"Value": value}) for name, value in lines.items()]
    print_table("Per generated token", rows, console)


def _show_schedule(plan: SchedulePlan, console: Console) -> None:
    rows = [
        Row(
            {"Batch size": f"{each.first} to {each.last}"},
            {
                "K": str(each.k),
                f"v at K = {plan.measured_at}": _span(each.inflation_least, each.inflation_most),
                "Expected speedup": _span(each.speedup_least, each.speedup_most),
            },
        )
        for each in plan.ranges
    ]
    print_table(f"K by batch size: c = {plan.cost_ratio.value:g}", rows, console)
    if plan.speculative_config is not None:
        console.print("Put these keys into --speculative-config, beside method and model:")
        console.print(json.dumps(asdict(plan.speculative_config)), soft_wrap=True, highlight=False, markup=False)
        console.print()


def _span(least: float, most: float) -> str:
    texts = (f"{least:.2f}", f"{most:.2f}")
    return texts[0] if texts[0] == texts[1] else "-".join(texts)


def _show_checks(plan: DecidePlan, console: Console, *, explain: bool) -> None:
    checks = [
        Row(
            {
                "Check": check.name,
                "Outcome": check.outcome,
                "Why": check.reason,
                "Rule of thumb": "yes" if check.rule_of_thumb else "no",
                "Source": check.source,
            },
            style=_STYLES[check.outcome],
        )
        for check in plan.checks
    ]
    print_table("Checks", checks, console)
    if explain:
        pairs = [
            {"Draft": each.draft, "Target": each.target, "Ratio": f"1:{each.ratio:.3g}", "Here": each.outcome}
            | {"Said": each.said}
            for each in plan.examples
        ]
        print_table("What the sources say of size ratios", [Row(words) for words in pairs], console)
