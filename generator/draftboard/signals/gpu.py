"""What the GPUs do, where dcgm-exporter is scraped: those of the machines that serve the chosen models."""

from dataclasses import replace

from draftboard.catalogue import Metric, around, serving
from draftboard.expr.promql import aggregate, binary, host_of, on
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Code, Level, Signal, Unit, good_under
from draftboard.status import Status

_ABSENT = "no GPU exporter is scraped"
_MIB = 2**20


def _gpus(s: Scope, metric: Metric) -> str:
    """GPUs on the machines of the chosen engines; all GPUs, where no label tells which machines those are."""
    labels = s.settings.labels
    own = (*s.labels, *metric.own_labels)
    gpus = aggregate("max", own, host_of(s.raw(metric), labels.host, labels.instance))
    # No record keeps the machine's label: the engines' own series tell.
    engines = host_of(s.raw(serving.REQUESTS_RUNNING), labels.host, labels.instance)
    machines = aggregate("group", (labels.host,), engines)
    return binary(binary(gpus, "and", machines, on((labels.host,))), "or", gpus, on(()))


def _of_gpu(metric: Metric, *, name: str, title: str, question: str, unit: Unit, scale: str = "") -> Signal:
    return Signal(
        name=name,
        title=title,
        question=question,
        description=f"{metric.meaning} By machine and GPU, of the machines that serve the chosen models; of all, where "
        "labels do not tell which machines those are.",
        unit=unit,
        expr=lambda s: binary(scale, "*", _gpus(s, metric)) if scale else _gpus(s, metric),
        levels=(Level.HOST,),
        by=metric.own_labels,
        empty=_ABSENT,
    )


gpu_utilisation = _of_gpu(
    around.GPU_UTILISATION,
    name="gpu_utilisation",
    title="GPU utilisation",
    question="Are the GPUs busy?",
    unit=Unit.RATIO,
    scale="0.01",
)
gpu_memory = _of_gpu(
    around.GPU_MEMORY_USED,
    name="gpu_memory",
    title="GPU memory in use",
    question="How much GPU memory is taken?",
    unit=Unit.BYTES,
    scale=str(_MIB),
)
gpu_power = _of_gpu(
    around.GPU_POWER,
    name="gpu_power",
    title="GPU power",
    question="How much power do the GPUs draw?",
    unit=Unit.WATTS,
)
gpu_xid = replace(
    _of_gpu(
        around.GPU_XID,
        name="gpu_xid",
        title="Last XID error",
        question="Has a GPU reported an error?",
        unit=Unit.CODE,
    ),
    codes=(Code(0, "none", Status.GOOD),),
    bands=lambda _: good_under(1, good="none", beyond="reported"),
)

SIGNALS = (gpu_utilisation, gpu_memory, gpu_power, gpu_xid)
