"""`plan`: what to expect of speculation before it runs."""

from collections.abc import Callable
from functools import reduce, wraps
from pathlib import Path
from typing import Any, get_args

import click

from draftboard import plan as plan_room
from draftboard.alerts import load
from draftboard.cli.shared import FILE, config_option, console, json_option
from draftboard.errors import DraftboardError
from draftboard.output import as_json as to_json
from draftboard.output import show
from draftboard.settings import Settings

_Command = Callable[..., None]
_LONGEST_TEXT = 4_000
_SHAPE = ("layers", "KV heads", "head dim")


def _options(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Several options as one decorator, in the order of the help."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def _shares(_context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    """Numbers between commas."""
    return None if text is None else tuple(_number(option, part) for part in _parts(option, text))


def _curve(_context: click.Context, option: click.Parameter, text: str) -> tuple[tuple[int, float], ...]:
    """Batch size = number, between commas."""
    points = []
    for part in _parts(option, text):
        size, equals, inflation = part.partition("=")
        if not equals or not size.strip().isdecimal():
            raise DraftboardError(f"{option.opts[0]}: {part[:40]!r} is not SIZE=V: write 1=1.0,8=1.2,32=1.8")
        points.append((int(size), _number(option, inflation)))
    return tuple(points)


def _vocabulary(_context: click.Context, _option: click.Parameter, path: Path | None) -> dict[str, int] | None:
    """Token to id."""
    return None if path is None else plan_room.read_vocabulary(path)


def _parts(option: click.Parameter, text: str) -> list[str]:
    if len(text) > _LONGEST_TEXT:
        raise DraftboardError(f"{option.opts[0]}: {len(text)} characters are too many: at most {_LONGEST_TEXT}")
    return text.split(",")


def _number(option: click.Parameter, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DraftboardError(f"{option.opts[0]}: {text[:40]!r} is not a number: separate by commas") from None


def _defaulting(
    name: str, default: float | str, words: str, choices: tuple[str, ...] = ()
) -> Callable[[_Command], _Command]:
    """An option whose help shows its default."""
    kind = click.Choice(choices) if choices else type(default)
    return click.option(name, type=kind, default=default, show_default=True, help=words)


def _model(name: str) -> Callable[[_Command], _Command]:
    """Size, dtype and KV cache of a model."""
    return _options(
        click.option(f"--{name}-params", type=float, help=f"Billions of parameters of the {name}; 0 for lookups."),
        _defaulting(f"--{name}-dtype", "bf16", f"How the {name}'s weights are stored.", get_args(plan_room.Dtype)),
        click.option(f"--{name}-layers", type=int, help=f"num_hidden_layers in config.json of the {name}."),
        click.option(f"--{name}-kv-heads", type=int, help="num_key_value_heads in config.json."),
        click.option(f"--{name}-head-dim", type=int, help="head_dim, or hidden_size / num_attention_heads."),
        click.option(f"--{name}-kv-kib-per-token", type=float, help="KV of one token in KiB, instead of these three."),
    )


_memory = _options(
    _model("target"),
    _model("draft"),
    click.option("--gpus", type=int, help="GPUs that one copy of the target runs on."),
    click.option("--gpu-gb", type=float, help="Memory of each, in GB (1e9 bytes)."),
    _defaulting("--gpu-memory-utilization", plan_room.UTILIZATION, "vLLM's option of that name."),
    _defaulting("--overhead-gb", 0.0, "On each GPU: activations, CUDA graphs, other memory."),
    _defaulting("--kv-dtype", "bf16", "How the KV cache is stored.", ("bf16", "fp16", "fp8")),
    _defaulting("--context", 8192, "Tokens that each request holds."),
    click.option("--target-tp", type=int, help="Tensor parallel size. Default: all GPUs."),
    click.option("--draft-tp", type=int, help="That of the draft; must equal the target's. Default: the same."),
)
_acceptance = _options(
    click.option("--alpha", type=float, help="Probability that a drafted token is accepted, 0 to 1; not A."),
    click.option(
        "--survival", metavar="P,P,...", callback=_shares, help="Share of drafts accepted this deep: .9,.85,.7."
    ),
    click.option("--cost-ratio", type=float, help="c: time of one drafted token / one target step. Default: settings."),
    click.option("--method", help="Drafting method, for the c of the settings: eagle3, ngram, ..."),
)
_speedup = _options(
    _acceptance,
    click.option("--verify-inflation", type=float, help="v: time of a verify step / a plain step. Default: settings."),
    click.option("--max-k", type=int, help="Longest draft. Default: the settings', or one beyond --survival."),
)


def _printed(command: Callable[..., plan_room.Plan]) -> _Command:
    """Print the plan that a command returns, as JSON or as tables."""

    @wraps(command)
    def run(*, as_json: bool, explain: bool, **given: Any) -> None:  # noqa: ANN401
        found = command(**given)
        if as_json:
            click.echo(to_json(found))
        else:
            show(found.document(explain=explain), console())

    return json_option(click.option("--explain", is_flag=True, help="Print every formula with its source.")(run))


@click.group()
def plan() -> None:
    """Plan draft length, memory, cost and K by batch size."""


@plan.command()
@_speedup
@config_option
@_printed
def k(*, config: Path | None, **given: Any) -> plan_room.Plan:  # noqa: ANN401
    """Find the best draft length and the speedup of every k."""
    return _lengths(load(config), given)


@plan.command()
@_acceptance
@click.option("--inflation", metavar="SIZE=V,...", required=True, callback=_curve, help="v by batch size: 1=1.0,8=1.2.")
@click.option("--max-k", type=int, help="K of that measurement: the longest draft. Default: positions of --survival.")
@config_option
@_printed
def schedule(*, config: Path | None, **given: Any) -> plan_room.Plan:  # noqa: ANN401
    """Find the best draft length for every batch size."""
    settings, alpha, survival, longest = load(config), given["alpha"], given["survival"], given["max_k"]
    cost = plan_room.cost_ratio(settings, given["cost_ratio"], given["method"])
    if longest is None and alpha is not None and survival is None:
        raise DraftboardError("name --max-k with --alpha: the draft length at which --inflation was measured")
    shares = plan_room.survival_of(alpha, survival, len(survival or "1") if longest is None else longest)
    return plan_room.plan_schedule(shares, cost, given["inflation"])


@plan.command()
@click.option("--speedup", type=float, help="Measured: throughput with speculation / without, at the same load.")
@click.option("--tokens-per-second", type=float, help="Measured throughput without speculation.")
@click.option("--speculative-tokens-per-second", type=float, help="Measured throughput with it, instead of --speedup.")
@click.option("--gpu-hour-price", type=float, help="Price of one GPU for an hour, in any currency.")
@_defaulting("--gpus", 1, "GPUs that serve without speculation.")
@_defaulting("--extra-gpus", 0, "GPUs that speculation needs on top.")
@_defaulting("--lost-concurrency", 0.0, "Share of requests lost to the draft's memory (`plan vram`); with --speedup.")
@_printed
def cost(**given: Any) -> plan_room.Plan:  # noqa: ANN401
    """Find the saving per token of a measured speedup."""
    plain, speculating = given["tokens_per_second"], given.pop("speculative_tokens_per_second")
    if speculating is not None:
        if given["speedup"] is not None or plain is None or given["lost_concurrency"]:
            raise DraftboardError(
                "--speculative-tokens-per-second goes with --tokens-per-second, and not with --speedup or "
                "--lost-concurrency: measured throughput already includes the loss"
            )
        given["speedup"] = plan_room.measured_speedup(plain, speculating)
    if given["speedup"] is None:
        raise DraftboardError("name what was measured: --speedup, or both throughputs in tokens per second")
    return plan_room.plan_cost(**given)


@plan.command()
@_memory
@config_option
@_printed
def vram(*, config: Path | None, **given: Any) -> plan_room.Plan:  # noqa: ANN401
    """Find the tokens and requests that a draft costs."""
    found = _vram(load(config), given)
    if found is None:
        raise DraftboardError("name --target-params, --gpus and --gpu-gb: the sizes of model and GPUs")
    return found


@plan.command()
@_speedup
@_memory
@click.option("--target-tokenizer", type=FILE, callback=_vocabulary, help="The target's tokenizer.json.")
@click.option("--draft-tokenizer", type=FILE, callback=_vocabulary, help="The draft's tokenizer.json.")
@click.option("--target-vocab-size", type=int, help="vocab_size of the target's config.json.")
@click.option("--draft-vocab-size", type=int, help="vocab_size of the draft's config.json.")
@click.option("--temperature", type=float, help="Sampling temperature of production.")
@click.option("--validated-temperature", type=float, help="Temperature at which acceptance was measured.")
@click.option("--slo", type=click.Choice(get_args(plan_room.Slo)), help="The latency or throughput to improve.")
@config_option
@_printed
def decide(*, config: Path | None, **given: Any) -> plan_room.Plan:  # noqa: ANN401
    """Check whether to speculate; missing input is unknown."""
    settings, method = load(config), given["method"] or plan_room.DRAFT_MODEL
    plan_room.cost_ratio(settings, None, method)  # refuses a mistyped method, which would skip checks
    if given["draft_params"] is None and method in settings.methods.lookup:
        given["draft_params"] = 0.0
    memory = None if given["draft_params"] is None else _vram(settings, given)
    lengths = None if given["alpha"] is None and given["survival"] is None else _lengths(settings, given)
    situation = plan_room.Situation(
        method=method,
        slo=given["slo"],
        vocab_sizes=(given["target_vocab_size"], given["draft_vocab_size"]),
        vocabularies=(given["target_tokenizer"], given["draft_tokenizer"]),
        temperature=given["temperature"],
        validated_temperature=given["validated_temperature"],
        starts=memory.with_draft.starts if memory else None,
        requests=memory.with_draft.requests if memory else None,
        tokens_lost=memory.tokens_lost if memory else None,
        speedup=None if lengths is None else lengths.best.speedup if lengths.best else 1.0,
        assumed=lengths is None or lengths.cost_ratio.assumed or lengths.verify_inflation.assumed,
        pays_clearly=settings.thresholds.pays_clearly,
    )
    return plan_room.decide(situation)


def _lengths(settings: Settings, given: dict[str, Any]) -> plan_room.DraftLengthPlan:
    cost = plan_room.cost_ratio(settings, given["cost_ratio"], given["method"])
    inflation = plan_room.verify_inflation(settings, given["verify_inflation"])
    return plan_room.plan_draft_length(
        settings, cost, inflation, alpha=given["alpha"], survival=given["survival"], longest=given["max_k"]
    )


def _vram(settings: Settings, given: dict[str, Any]) -> plan_room.VramPlan | None:
    """None where nothing is known of the target or the GPUs."""
    if None in {given["target_params"], given["gpus"], given["gpu_gb"]}:
        return None
    draft_params, target_kv, draft_kv = given["draft_params"] or 0.0, _kv(given, "target"), _kv(given, "draft")
    return plan_room.plan_vram(
        settings,
        plan_room.Gpus(given["gpus"], given["gpu_gb"], given["gpu_memory_utilization"], given["overhead_gb"]),
        plan_room.Model(given["target_params"], given["target_dtype"], target_kv),
        plan_room.Model(draft_params, given["draft_dtype"], 0.0 if draft_kv is None and not draft_params else draft_kv),
        context=given["context"],
        target_tp=given["target_tp"],
        draft_tp=given["draft_tp"],
    )


def _kv(given: dict[str, Any], name: str) -> float | None:
    """KV KiB per token of a model, from either of two ways to give it; None without both."""
    kib: float | None = given[f"{name}_kv_kib_per_token"]
    shape = (given[f"{name}_layers"], given[f"{name}_kv_heads"], given[f"{name}_head_dim"])
    missing = [words for words, number in zip(_SHAPE, shape, strict=True) if number is None]
    if kib is not None and len(missing) < len(shape):
        raise DraftboardError(f"--{name}-kv-kib-per-token replaces layers, KV heads and head dim: name one or three")
    if len(missing) == len(shape):
        return kib
    if missing:
        raise DraftboardError(f"of the {name}, {' and '.join(missing)} missing: name all of {', '.join(_SHAPE)}")
    return plan_room.kv_kib_per_token(*shape, given["kv_dtype"])
