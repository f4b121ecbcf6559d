"""What the GPUs do, where dcgm-exporter is scraped: those of the machines that serve the chosen models."""

from dataclasses import replace

from draftboard.catalogue import Metric, around, serving
from draftboard.expr.nodes import Aggregate, Expr, LabelJoin, LabelReplace, Labels, Raw, on, over_level
from draftboard.expr.scope import Level
from draftboard.signals.signal import Code, Signal, Unit, good_under
from draftboard.status import Status

_HOST = Labels("host")


def _host_of(series: Expr) -> Expr:
    """With the machine in its label: what it had there, else `instance` without its port."""
    both = LabelJoin(series, _HOST, ";", (_HOST, Labels("instance")))
    stated = LabelReplace(both, _HOST, "$1", _HOST, "([^;]+);.*")
    return LabelReplace(stated, _HOST, "$1", _HOST, r";(.*?)(:[0-9]+)?")


def _all_gpus(metric: Metric) -> Expr:
    return over_level("max", _host_of(Raw(metric)), *metric.own_labels)


def _chosen_gpus(metric: Metric) -> Expr:
    """GPUs on the machines of the chosen engines."""
    # No record keeps the machine's label: the engines' own series tell.
    machines = Aggregate("group", (_HOST,), _host_of(Raw(serving.REQUESTS_RUNNING)))
    return _all_gpus(metric).combined("and", machines, on(_HOST))


def _gpus(metric: Metric) -> Expr:
    """GPUs on the machines of the chosen engines; all GPUs, where no label tells which machines those are."""
    return _chosen_gpus(metric).combined("or", _all_gpus(metric), on())


chosen_gpus: Expr = Aggregate("count", (), _chosen_gpus(around.GPU_UTILISATION).at(Level.HOST))
"""How many GPUs the machines of the chosen engines have; nothing where no label tells which machines those are."""


def _of_gpu(
    metric: Metric, name: str, title: str, question: str, action: str, *, unit: Unit, scale: float = 1
) -> Signal:
    return Signal(
        name=name,
        title=title,
        question=question,
        description=metric.meaning,
        action=action,
        note="By host and GPU: of hosts that serve the chosen models, or of all if labels do not identify them.",
        unit=unit,
        expr=_gpus(metric) if scale == 1 else scale * _gpus(metric),
        levels=(Level.HOST,),
        by=metric.own_labels,
        empty="no GPU exporter is scraped",
    )


gpu_utilisation = _of_gpu(
    around.GPU_UTILISATION,
    "gpu_utilisation",
    "GPU utilisation",
    "Are the GPUs busy?",
    "If it is low while requests wait, look at the queue and at stuck engines.",
    unit=Unit.RATIO,
    scale=0.01,
)
gpu_memory = _of_gpu(
    around.GPU_MEMORY_USED,
    "gpu_memory",
    "GPU memory in use",
    "How much GPU memory is taken?",
    "Use it to see what is left for a drafter or a larger KV cache.",
    unit=Unit.BYTES,
    scale=2**20,
)
gpu_power = _of_gpu(
    around.GPU_POWER,
    "gpu_power",
    "GPU power",
    "How much power do the GPUs draw?",
    "If one draws less than the others under load, look for a power limit or heat.",
    unit=Unit.WATTS,
)
gpu_xid = replace(
    _of_gpu(
        around.GPU_XID,
        "gpu_xid",
        "Last XID error",
        "Has a GPU reported an error?",
        "Look the code up in NVIDIA's list; if it comes again, use another GPU.",
        unit=Unit.CODE,
    ),
    codes=(Code(0, "none", Status.GOOD),),
    bands=good_under(1, good="none", beyond="reported"),
)
