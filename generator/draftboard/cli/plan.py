"""`plan`: what to expect of speculation before it runs."""

import re
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, get_args

import click

from draftboard import plan as plans
from draftboard.alerts import load
from draftboard.cli.shared import FILE, Command, Number, config_option, json_options, print_result
from draftboard.errors import DraftboardError
from draftboard.settings import Settings, method_of

_Given = dict[str, Any]
_LONGEST_TEXT = 4_000
_SIZES = ("target_params", "gpus", "gpu_gb")
_SHAPE = ("layers", "KV heads", "head dim")
_option = partial(click.option, show_default=True)


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def together(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return together


def _shares(_context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    if text and len(text) > _LONGEST_TEXT:
        raise DraftboardError(f"{option.opts[0]}: {len(text)} characters, at most {_LONGEST_TEXT} allowed")
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError as error:
        part = str(error).partition(": ")[2][:40]
        raise DraftboardError(f"{option.opts[0]}: {part} is not a number: separate by commas") from None


def _curves(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[plans.basis.Curve, ...]:
    return tuple(_curve(context, option, text) for text in texts)


def _curve(context: click.Context, option: click.Parameter, text: str) -> plans.basis.Curve:
    length, colon, of_sizes = text.rpartition(":")
    if colon and not re.fullmatch(r"\s*[1-9]\d{0,8}\s*", length):
        raise DraftboardError(f"{option.opts[0]}: {length[:40]!r} is no context in tokens: write 4096:1=1.0,8=1.2")
    numbers = _shares(context, option, of_sizes.replace("=", ",")) or ()
    for part in of_sizes.split(","):
        if not re.fullmatch(r"\s*\d+\s*=[^=]*", part):
            raise DraftboardError(f"{option.opts[0]}: {part[:40]!r} is not SIZE=V: write 1=1.0,8=1.2,32=1.8")
    sizes = (int(part.partition("=")[0]) for part in of_sizes.split(","))
    points = tuple(zip(sizes, numbers[1::2], strict=True))
    return plans.basis.Curve(points, context=int(length) if colon else None)


_INFLATION = "v by batch size, 1=1.0,8=1.2; also once for each context, 4096:1=1.0,8=1.2. Default: settings."


def _vocabulary(_context: click.Context, _option: click.Parameter, path: Path | None) -> dict[str, int] | None:
    return None if path is None else plans.basis.read_vocabulary(path)


def _model(name: str) -> Callable[[Command], Command]:
    dtypes = click.Choice(get_args(plans.vram.Dtype))
    return _options(
        _option(f"--{name}-params", type=Number(), help=f"Billions of parameters of the {name}."),
        _option(f"--{name}-dtype", type=dtypes, default="bf16", help=f"Data type of the {name}'s weights."),
        _option(f"--{name}-layers", type=int, help=f"num_hidden_layers in config.json of the {name}."),
        _option(f"--{name}-kv-heads", type=int, help="num_key_value_heads in config.json."),
        _option(f"--{name}-head-dim", type=int, help="head_dim, or hidden_size / num_attention_heads."),
        _option(f"--{name}-kv-kib-per-token", type=Number(), help="KV cache per token in KiB, instead of these three."),
    )


_kv_dtypes = click.Choice(("bf16", "fp16", "fp8"))
_memory = _options(
    _model("target"),
    _model("draft"),
    _option("--gpus", type=int, help="GPUs per copy of the target."),
    _option("--gpu-gb", type=Number(), help="Memory per GPU, in GB (1e9 bytes)."),
    _option("--gpu-memory-utilization", default=plans.vram.UTILIZATION, help="vLLM's option of that name."),
    _option("--overhead-gb", default=0.0, help="Memory per GPU for activations, CUDA graphs and others, in GB."),
    _option("--kv-dtype", type=_kv_dtypes, default="bf16", help="Data type of the KV cache."),
    _option("--context", default=8192, help="Tokens per request, prompt and answer."),
    _option("--target-tp", type=int, help="Tensor parallel size of the target. Default: all GPUs."),
    _option("--draft-tp", type=int, help="Tensor parallel size of the draft. Default: the target's."),
)
_acceptance = _options(
    _option("--alpha", type=Number(), help="Probability that a drafted token is accepted; not the acceptance rate."),
    _option("--survival", metavar="P,P,...", callback=_shares, help="Survival by position: .9,.85,.7."),
    _option("--cost-ratio", type=Number(), help="c: time of one drafted token / one target step. Default: settings."),
    _option("--method", help="Drafting method, for the c of the settings: eagle3, ngram, ..."),
)
_speedup = _options(
    _acceptance,
    _option("--verify-inflation", type=Number(), help="v: time of a verify step / a plain step. Default: settings."),
    _option("--max-k", type=int, help="Longest draft. Default: the settings', or one beyond --survival."),
    _option("--batch", default=1.0, help="Requests that share a step, for assumed costs."),
)


def _printed(command: Callable[[_Given], plans.basis.Plan]) -> Command:

    @wraps(command)
    def run(*, explain: bool, **given: Any) -> None:  # noqa: ANN401
        result = command(given)
        print_result(result, partial(result.document, explain=explain))

    return json_options(click.option("--explain", is_flag=True, help="Print every formula with its source.")(run))


@click.group()
def plan() -> None:
    """Plan draft length, memory, cost and K by batch size."""


@plan.command()
@_speedup
@config_option
@_printed
def k(given: _Given) -> plans.basis.Plan:
    """Find the best draft length and the speedup of every k."""
    return _lengths(load(given["config"]), given)


@plan.command()
@_acceptance
@_option("--inflation", multiple=True, metavar="[CONTEXT:]SIZE=V,...", callback=_curves, help=_INFLATION)
@_option("--max-k", type=int, help="K at which --inflation was measured. Default: positions of --survival.")
@config_option
@_printed
def schedule(given: _Given) -> plans.basis.Plan:
    """Find the best draft length for every batch size, and context."""
    alpha, survival, longest = given["alpha"], given["survival"], given["max_k"]
    settings = load(given["config"])
    cost = plans.basis.cost_ratio(settings, given["cost_ratio"], given["method"])
    if longest is None and alpha is not None and survival is None:
        raise DraftboardError("--alpha requires --max-k: the draft length at which --inflation was measured")
    shares = plans.basis.survival_of(alpha, survival, len(survival or "1") if longest is None else longest)
    curves = given["inflation"] or (plans.basis.inflation_curve(settings, given["method"]),)
    return plans.schedule.plan_schedule(settings, shares, cost, *curves)


@plan.command()
@_option("--speedup", type=Number(), help="Measured: throughput with speculation / without, at the same load.")
@_option("--tokens-per-second", type=Number(), help="Measured throughput without speculation.")
@_option("--speculative-tokens-per-second", type=Number(), help="Measured throughput with speculation.")
@_option("--gpu-hour-price", type=Number(), help="Price of one GPU for an hour, in any currency.")
@_option("--gpus", default=1, help="GPUs that serve without speculation.")
@_option("--extra-gpus", default=0, help="GPUs that speculation needs on top.")
@_option("--lost-concurrency", default=0.0, help="Share of requests lost to memory (`plan vram`); with --speedup.")
@_printed
def cost(given: _Given) -> plans.basis.Plan:
    """Find the saving per token of a measured speedup."""
    plain, speculating = given["tokens_per_second"], given.pop("speculative_tokens_per_second")
    if speculating is not None:
        if given["speedup"] is not None or plain is None or given["lost_concurrency"]:
            raise DraftboardError(
                "--speculative-tokens-per-second requires --tokens-per-second, and excludes --speedup and "
                "--lost-concurrency: measured throughput already includes the loss"
            )
        given["speedup"] = plans.cost.measured_speedup(plain, speculating)
    if given["speedup"] is None:
        raise DraftboardError(
            "give what was measured: --speedup, or --tokens-per-second and --speculative-tokens-per-second"
        )
    return plans.cost.plan_cost(**given)


@plan.command()
@_memory
@config_option
@_printed
def vram(given: _Given) -> plans.basis.Plan:
    """Find the tokens and requests that a draft costs."""
    if None in map(given.get, _SIZES):
        raise DraftboardError("give --target-params, --gpus and --gpu-gb")
    return _vram(load(given["config"]), given)


@plan.command()
@_speedup
@_memory
@_option("--target-tokenizer", type=FILE, callback=_vocabulary, help="The target's tokenizer.json.")
@_option("--draft-tokenizer", type=FILE, callback=_vocabulary, help="The draft's tokenizer.json.")
@_option("--target-vocab-size", type=int, help="vocab_size of the target's config.json.")
@_option("--draft-vocab-size", type=int, help="vocab_size of the draft's config.json.")
@_option("--temperature", type=Number(), help="Sampling temperature of production.")
@_option("--validated-temperature", type=Number(), help="Temperature at which acceptance was measured.")
@_option("--slo", type=click.Choice(get_args(plans.decide.Slo)), help="The latency or throughput to improve.")
@config_option
@_printed
def decide(given: _Given) -> plans.basis.Plan:
    """Check whether to speculate; missing input is unknown."""
    settings = load(given["config"])
    method = method_of(given["method"] or "", settings) or plans.basis.DRAFT_MODEL
    if given["draft_params"] is None and method in settings.methods.lookup:
        given["draft_params"] = 0.0
    room = None if None in map(given.get, ("draft_params", *_SIZES)) else _vram(settings, given)
    best = None if given["alpha"] is None and given["survival"] is None else _lengths(settings, given)
    situation = plans.decide.Situation(
        method=method,
        vocab_sizes=(given["target_vocab_size"], given["draft_vocab_size"]),
        vocabularies=(given["target_tokenizer"], given["draft_tokenizer"]),
        starts=room.with_draft.starts if room else None,
        requests=room.with_draft.requests if room else None,
        tokens_lost=room.tokens_lost if room else None,
        speedup=None if best is None else best.best.at_least if best.best else 1.0,
        range=best.best.range if best and best.best else None,
        assumed=best is None or best.cost_ratio.assumed or best.verify_inflation.assumed,
        pays_clearly=settings.thresholds.pays_clearly,
        **{name: given[name] for name in ("slo", "temperature", "validated_temperature")},
    )
    return plans.decide.decide(situation)


def _lengths(settings: Settings, given: _Given) -> plans.lengths.DraftLengthPlan:
    cost = plans.basis.cost_ratio(settings, given["cost_ratio"], given["method"])
    inflation = plans.basis.verify_inflation(settings, given["verify_inflation"], given["method"])
    return plans.lengths.plan_draft_length(
        *(settings, cost, inflation),
        **{name: given[name] for name in ("alpha", "survival", "batch")},
        longest=given["max_k"],
        method=method_of(given["method"] or "", settings),
    )


def _vram(settings: Settings, given: _Given) -> plans.vram.VramPlan:
    params, kv = given["draft_params"] or 0.0, _kv(given, "draft")
    return plans.vram.plan_vram(
        settings,
        plans.vram.Gpus(given["gpus"], given["gpu_gb"], given["gpu_memory_utilization"], given["overhead_gb"]),
        plans.vram.Model(given["target_params"], given["target_dtype"], _kv(given, "target")),
        plans.vram.Model(params, given["draft_dtype"], 0.0 if kv is None and not params else kv),
        **{name: given[name] for name in ("context", "target_tp", "draft_tp")},
    )


def _kv(given: _Given, name: str) -> float | None:
    """KV KiB per token of a model, from either of two ways to give it; None without both."""
    kib: float | None = given[f"{name}_kv_kib_per_token"]
    layers, heads, size = (given[f"{name}_{option}"] for option in ("layers", "kv_heads", "head_dim"))
    missing = [words for words, number in zip(_SHAPE, (layers, heads, size), strict=True) if number is None]
    if len(missing) == len(_SHAPE):
        return kib
    if kib is not None:
        raise DraftboardError(f"--{name}-kv-kib-per-token replaces layers, KV heads and head dim: name one or three")
    if missing:
        raise DraftboardError(f"of the {name}, {' and '.join(missing)} missing: name all of {', '.join(_SHAPE)}")
    return plans.vram.kv_kib_per_token(layers, heads, size, given["kv_dtype"])
