"""`plan vram` and `plan decide`: two models on some GPUs."""

from collections.abc import Callable
from pathlib import Path

import click

from draftboard import plan as plan_room
from draftboard.cli.plan_options import paper_options, print_plan
from draftboard.cli.shared import config_option
from draftboard.errors import DraftboardError
from draftboard.plan import Dtype, Slo
from draftboard.settings import load

_DTYPE = click.Choice([dtype.value for dtype in Dtype])
_KV_DTYPE = click.Choice([Dtype.BF16.value, Dtype.FP16.value, Dtype.FP8.value])
_SHAPE = ("layers", "KV heads", "head dim")


def _model_options(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Size and dtype of a model's weights."""
    params = click.option(
        f"--{name}-params", type=float, help=f"Billions of parameters of the {name}. Of ngram and suffix drafts: 0."
    )
    dtype = click.option(
        f"--{name}-dtype", type=_DTYPE, default="bf16", show_default=True, help=f"How the {name}'s weights are stored."
    )
    return lambda command: params(dtype(command))


def _kv_options(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What one token takes in a model's KV cache."""
    options = (
        click.option(f"--{name}-layers", type=int, help=f"Of the {name}: num_hidden_layers in config.json."),
        click.option(f"--{name}-kv-heads", type=int, help="num_key_value_heads in config.json."),
        click.option(f"--{name}-head-dim", type=int, help="head_dim, or hidden_size / num_attention_heads."),
        click.option(f"--{name}-kv-kib-per-token", type=float, help="Instead of the three: KV of one token, in KiB."),
    )

    def wrapped(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return wrapped


def _kv(kib: float | None, shape: tuple[int | None, int | None, int | None], dtype: Dtype, name: str) -> float | None:
    """KV KiB per token, from one of the two ways to tell it; None when it is not told."""
    layers, heads, head_dim = shape
    if kib is not None:
        if shape != (None, None, None):
            raise DraftboardError(
                f"--{name}-kv-kib-per-token stands for layers, KV heads and head dim: name one or three"
            )
        return kib
    if layers is None or heads is None or head_dim is None:
        missing = [part for part, number in zip(_SHAPE, shape, strict=True) if number is None]
        if len(missing) < len(shape):
            raise DraftboardError(f"of the {name}, {' and '.join(missing)} missing: name all of {', '.join(_SHAPE)}")
        return None
    return plan_room.kv_kib_per_token(layers, heads, head_dim, dtype)


@click.command()
@_model_options("target")
@_model_options("draft")
@click.option("--gpus", type=int, required=True, help="GPUs that one copy of the target runs on.")
@click.option("--gpu-gb", type=float, required=True, help="Memory of each, in GB (1e9 bytes).")
@click.option(
    "--gpu-memory-utilization",
    type=float,
    default=plan_room.UTILIZATION,
    show_default=True,
    help="vLLM's option of that name.",
)
@click.option(
    "--overhead-gb",
    type=float,
    default=0.0,
    show_default=True,
    help="On each GPU: activations, CUDA graphs, other memory.",
)
@_kv_options("target")
@_kv_options("draft")
@click.option("--kv-dtype", type=_KV_DTYPE, default="bf16", show_default=True, help="How the KV cache is stored.")
@click.option("--context", type=int, default=8192, show_default=True, help="Tokens that each request holds.")
@click.option("--target-tp", type=int, help="Tensor parallel size. Default: all GPUs.")
@click.option("--draft-tp", type=int, help="That of the draft; must be the target's, and is by default.")
@config_option
@paper_options
def vram(
    *,
    target_params: float | None,
    target_dtype: str,
    draft_params: float | None,
    draft_dtype: str,
    gpus: int,
    gpu_gb: float,
    gpu_memory_utilization: float,
    overhead_gb: float,
    target_layers: int | None,
    target_kv_heads: int | None,
    target_head_dim: int | None,
    target_kv_kib_per_token: float | None,
    draft_layers: int | None,
    draft_kv_heads: int | None,
    draft_head_dim: int | None,
    draft_kv_kib_per_token: float | None,
    kv_dtype: str,
    context: int,
    target_tp: int | None,
    draft_tp: int | None,
    config: Path | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Tell what a draft takes from the KV cache, in tokens and concurrent requests."""
    if target_params is None:
        raise DraftboardError("--target-params is missing: name the target's billions of parameters")
    dtype = Dtype(kv_dtype)
    target_kv = _kv(target_kv_kib_per_token, (target_layers, target_kv_heads, target_head_dim), dtype, "target")
    draft_kv = _kv(draft_kv_kib_per_token, (draft_layers, draft_kv_heads, draft_head_dim), dtype, "draft")
    if draft_kv is None and not draft_params:
        draft_kv = 0.0
    found = plan_room.plan_vram(
        load(config),
        plan_room.Gpus(gpus, gpu_gb, gpu_memory_utilization, overhead_gb),
        plan_room.Model(target_params, Dtype(target_dtype), target_kv),
        plan_room.Model(draft_params or 0.0, Dtype(draft_dtype), draft_kv),
        context=context,
        target_tp=target_tp,
        draft_tp=draft_tp,
    )
    print_plan(found, as_json=as_json, explain=explain)


@click.command()
@click.option("--method", default="draft_model", show_default=True, help="Drafting method: eagle3, ngram, mtp, ...")
@_model_options("target")
@_model_options("draft")
@click.option("--gpus", type=int, help="GPUs that one copy of the target runs on.")
@click.option("--gpu-gb", type=float, help="Memory of each, in GB (1e9 bytes).")
@click.option("--same-family/--other-family", default=None, help="Whether draft and target are of one model family.")
@click.option("--target-tokenizer", type=click.Path(path_type=Path), help="The target's tokenizer.json.")
@click.option("--draft-tokenizer", type=click.Path(path_type=Path), help="The draft's tokenizer.json.")
@click.option("--target-vocab-size", type=int, help="vocab_size of the target's config.json.")
@click.option("--draft-vocab-size", type=int, help="vocab_size of the draft's config.json.")
@click.option("--cost-ratio", type=float, help="Measured c: time of drafting one token over one target step.")
@click.option("--temperature", type=float, help="Median temperature of production.")
@click.option("--temperature-varies/--temperature-steady", default=None, help="Whether it varies widely.")
@click.option("--validated-temperature", type=float, help="Temperature at which acceptance was measured.")
@click.option("--consistent-batch/--swinging-batch", default=None, help="Whether the batch size is steady.")
@click.option("--long-context-tight/--long-context-fits", default=None, help="Whether contexts fill the KV cache.")
@click.option("--slo", type=click.Choice([slo.value for slo in Slo]), help="What users are promised.")
@click.option("--monitored/--unmonitored", default=None, help="Whether acceptance is watched.")
@config_option
@paper_options
def decide(
    *,
    method: str,
    target_params: float | None,
    target_dtype: str,
    draft_params: float | None,
    draft_dtype: str,
    gpus: int | None,
    gpu_gb: float | None,
    same_family: bool | None,
    target_tokenizer: Path | None,
    draft_tokenizer: Path | None,
    target_vocab_size: int | None,
    draft_vocab_size: int | None,
    cost_ratio: float | None,
    temperature: float | None,
    temperature_varies: bool | None,
    validated_temperature: float | None,
    consistent_batch: bool | None,
    long_context_tight: bool | None,
    slo: str | None,
    monitored: bool | None,
    config: Path | None,
    as_json: bool,
    explain: bool,
) -> None:
    """Decide whether to speculate: checks by rules of thumb; what is not told stays unknown."""
    if (gpus is None) != (gpu_gb is None):
        raise DraftboardError("--gpus and --gpu-gb go together")
    situation = plan_room.Situation(
        method=method,
        target=None if target_params is None else plan_room.Model(target_params, Dtype(target_dtype)),
        draft=None if draft_params is None else plan_room.Model(draft_params, Dtype(draft_dtype)),
        gpus=None if gpus is None or gpu_gb is None else plan_room.Gpus(gpus, gpu_gb),
        same_family=same_family,
        target_vocabulary=None if target_tokenizer is None else plan_room.read_vocabulary(target_tokenizer),
        draft_vocabulary=None if draft_tokenizer is None else plan_room.read_vocabulary(draft_tokenizer),
        target_vocab_size=target_vocab_size,
        draft_vocab_size=draft_vocab_size,
        cost_ratio=cost_ratio,
        temperature=temperature,
        temperature_varies=temperature_varies,
        validated_temperature=validated_temperature,
        consistent_batch=consistent_batch,
        long_context_tight=long_context_tight,
        slo=None if slo is None else Slo(slo),
        monitored=monitored,
    )
    print_plan(plan_room.decide(load(config), situation), as_json=as_json, explain=explain)
