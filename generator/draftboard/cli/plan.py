"""`plan`: what to expect of speculation before it runs."""

from pathlib import Path

import click

from draftboard import plan as plan_room
from draftboard.cli.plan_memory import decide, vram
from draftboard.cli.plan_options import as_curve, as_shares, paper_options, print_plan
from draftboard.cli.shared import config_option
from draftboard.errors import DraftboardError
from draftboard.settings import load
from draftboard.theory import LONGEST_DRAFT

_alpha = click.option("--alpha", type=float, help="Chance that one drafted token is accepted, 0 to 1; not A.")
_survival = click.option(
    "--survival",
    metavar="P,P,...",
    callback=as_shares,
    help="Share of drafts accepted at least so deep, by position: .9,.85,.78,.70.",
)
_cost_ratio = click.option(
    "--cost-ratio", type=float, help="c: time of drafting one token over one target step. Default: the settings'."
)
_method = click.option("--method", help="Drafting method whose c the settings assume: eagle3, ngram, ...")


@click.group()
def plan() -> None:
    """Plan draft length, memory, cost and a schedule, or decide whether to speculate at all."""


@plan.command()
@_alpha
@_survival
@_cost_ratio
@_method
@click.option(
    "--verify-inflation", type=float, help="v: time of a verify step over a plain one. Default: the settings'."
)
@click.option("--max-k", type=int, help="Longest draft to look at. Default: the settings', or one beyond --survival.")
@config_option
@paper_options
def k(
    *,
    alpha: float | None,
    survival: tuple[float, ...] | None,
    cost_ratio: float | None,
    method: str | None,
    verify_inflation: float | None,
    max_k: int | None,
    config: Path | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Find the best draft length: expected speedup and gain of every k."""
    settings = load(config)
    cost = plan_room.cost_ratio(settings, cost_ratio, method)
    inflation = plan_room.verify_inflation(settings, verify_inflation)
    _require_one(alpha, survival)
    if survival is not None:
        longest = LONGEST_DRAFT if max_k is None else max_k
        found = plan_room.draft_length_from_survival(settings, survival, cost, inflation, longest)
    else:
        longest = settings.max_draft_tokens if max_k is None else max_k
        found = plan_room.draft_length_from_alpha(settings, alpha or 0.0, cost, inflation, longest)
    print_plan(found, as_json=as_json, explain=explain)


@plan.command()
@_alpha
@_survival
@_cost_ratio
@_method
@click.option(
    "--inflation",
    metavar="SIZE=V,...",
    required=True,
    callback=as_curve,
    help="Verify inflation measured by batch size: 1=1.0,8=1.2,32=1.8.",
)
@click.option(
    "--max-k", type=int, help="K at which it was measured: the longest draft. Default: positions of --survival."
)
@config_option
@paper_options
def schedule(
    *,
    alpha: float | None,
    survival: tuple[float, ...] | None,
    cost_ratio: float | None,
    method: str | None,
    inflation: plan_room.Curve,
    max_k: int | None,
    config: Path | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Emit num_speculative_tokens_per_batch_size: the best draft length at every batch size, 0 where none pays."""
    settings = load(config)
    cost = plan_room.cost_ratio(settings, cost_ratio, method)
    _require_one(alpha, survival)
    if max_k is None and survival is None:
        raise DraftboardError("name --max-k with --alpha: the draft length at which --inflation was measured")
    if survival is not None:
        shares = plan_room.first_positions(survival, len(survival) if max_k is None else max_k)
    else:
        shares = plan_room.survival_of(alpha or 0.0, max_k or 0)
    print_plan(plan_room.plan_schedule(shares, cost, inflation), as_json=as_json, explain=explain)


@plan.command()
@click.option("--speedup", type=float, help="Measured: throughput with speculation over without, same load.")
@click.option("--tokens-per-second", type=float, help="Measured throughput without speculation.")
@click.option("--speculative-tokens-per-second", type=float, help="Measured throughput with it, instead of --speedup.")
@click.option("--gpu-hour-price", type=float, help="Price of one GPU for an hour, in any currency.")
@click.option("--gpus", type=int, default=1, show_default=True, help="GPUs that serve without speculation.")
@click.option("--extra-gpus", type=int, default=0, show_default=True, help="GPUs that speculation needs on top.")
@click.option(
    "--lost-concurrency",
    type=float,
    default=0.0,
    show_default=True,
    help="Share of concurrent requests that the draft's memory costs, see `plan vram`; only with --speedup.",
)
@paper_options
def cost(
    *,
    speedup: float | None,
    tokens_per_second: float | None,
    speculative_tokens_per_second: float | None,
    gpu_hour_price: float | None,
    gpus: int,
    extra_gpus: int,
    lost_concurrency: float,
    as_json: bool,
    explain: bool,
) -> None:
    """Tell the saving per token of a measured speedup; negative when speculation costs more."""
    if speculative_tokens_per_second is None:
        if speedup is None:
            raise DraftboardError("name what was measured: --speedup, or --tokens-per-second and the same speculating")
        measured = speedup
    else:
        if speedup is not None or tokens_per_second is None or lost_concurrency:
            raise DraftboardError(
                "--speculative-tokens-per-second goes with --tokens-per-second, and not with --speedup or "
                "--lost-concurrency: measured throughput already holds what was lost"
            )
        measured = plan_room.measured_speedup(tokens_per_second, speculative_tokens_per_second)
    found = plan_room.plan_cost(
        measured,
        gpus=gpus,
        extra_gpus=extra_gpus,
        lost_concurrency=lost_concurrency,
        gpu_hour_price=gpu_hour_price,
        tokens_per_second=tokens_per_second,
    )
    print_plan(found, as_json=as_json, explain=explain)


def _require_one(alpha: float | None, survival: tuple[float, ...] | None) -> None:
    if (alpha is None) == (survival is None):
        raise DraftboardError("name one of --alpha and --survival: what is known of acceptance")


plan.add_command(vram)
plan.add_command(decide)
