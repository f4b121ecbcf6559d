"""Which series a server's page has: the catalogue's families, each with the labels of its children."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from draftboard.catalogue import PAGE, Histogram, Kind, Metric, Owner, Presence, serving, speculation, unread
from draftboard.lab.simulator.scenario import Server

HANDLER = "/v1/chat/completions"
_STATUSES = ("2xx", "5xx")
_PYTHON = {"implementation": "CPython", "major": "3", "minor": "12", "patchlevel": "11", "version": "3.12.11"}
_OF_ENGINES = {Owner.ENGINE, Owner.CONFIG}
_CACHE_AS_STARTED = {
    # Labels of the cache's configuration that follow from no option of a scenario, as a server shows them.
    "_block_size_resolved": "True",
    "cache_dtype": "auto",
    "cache_hit_alignment_tokens": "None",
    "enable_mamba_shared_prefix_checkpoint": "False",
    "enable_prefix_caching": "True",
    "gpu_memory_utilization": "0.92",
    "hash_block_size": "None",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_cache_layout": "None",
    "kv_cache_memory_bytes": "None",
    "kv_offloading_backend": "native",
    "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False",
    "mamba_block_size": "None",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "mamba_page_size_padded": "None",
    "mamba_ssm_cache_dtype": "float32",
    "num_cpu_blocks": "None",
    "num_gpu_blocks_override": "None",
    "prefix_cache_retention_interval": "0",
    "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None",
    "replayssm_buffer_len": "16",
    "skip_page_size_padded": "None",
    "sliding_window": "None",
    "swa_bounded_replay": "True",
    "use_kda_recoverssm": "False",
    "use_replayssm": "False",
    "user_specified_block_size": "False",
}


@dataclass(frozen=True)
class Column:
    """One series of a child: the end of its name, and its `le` if it has one."""

    suffix: str
    le: str | None = None


@dataclass(frozen=True)
class Child:
    """One metric with one set of labels, and where its values lie among its owner's."""

    metric: Metric
    labels: dict[str, str]
    start: int
    columns: tuple[Column, ...]

    @property
    def end(self) -> int:
        """One after its last value."""
        return self.start + len(self.columns)


def children(server: Server, *, engine: int | None) -> tuple[Child, ...]:
    """What one engine exposes, or what the server exposes beside its engines."""
    found: list[Child] = []
    for metric in PAGE:
        if (metric.owner in _OF_ENGINES) is (engine is not None) and _exposed(metric, server):
            for own in _own_labels(metric, server):
                labels = own | _owner_labels(metric, server, engine)
                start = found[-1].end if found else 0
                found.append(Child(metric, labels, start, tuple(_columns(metric, server))))
    return tuple(found)


def appears_with_traffic(metric: Metric) -> bool:
    """Whether a child is missing until something was counted in it."""
    return metric.presence is Presence.HTTP


def _exposed(metric: Metric, server: Server) -> bool:
    match metric.presence:
        case Presence.SPECULATING:
            return server.speculates
        case Presence.ONE_PROCESS:
            return server.engines == 1
        case _:
            return True


def _columns(metric: Metric, server: Server) -> Iterator[Column]:
    if isinstance(metric, Histogram):
        for bound in (*metric.bounds(server.max_model_len), float("inf")):
            yield Column("_bucket", "+Inf" if bound == float("inf") else str(bound))
    if metric.kind in {Kind.HISTOGRAM, Kind.SUMMARY}:
        yield from (Column("_count"), Column("_sum"))
    else:
        yield Column("")


def _owner_labels(metric: Metric, server: Server, engine: int | None) -> dict[str, str]:
    match metric.owner:
        case Owner.ENGINE:
            return {"model_name": server.model, "engine": str(engine)}
        case Owner.CONFIG:
            return {"engine": str(engine)}
        case Owner.FRONTEND:
            return {"model_name": server.model}
        case _:
            return {}


def _own_labels(metric: Metric, server: Server) -> list[dict[str, str]]:
    """Every combination of the values that its own labels have."""
    if metric is serving.CACHE_CONFIG:
        return [_cache_configuration(server)]
    if metric is unread.PYTHON:
        return [_PYTHON]
    values = metric.values | {"handler": (HANDLER,), "method": ("POST",), "status": _STATUSES}
    if metric is speculation.ACCEPTED_TOKENS_PER_POS:
        values |= {"position": tuple(str(position) for position in range(server.k or 0))}
    combinations = product(*(values[label] for label in metric.own_labels))
    return [dict(zip(metric.own_labels, combination, strict=True)) for combination in combinations]


def _cache_configuration(server: Server) -> dict[str, str]:
    tokens = server.kv_blocks * server.block_size
    return _CACHE_AS_STARTED | {
        "block_size": str(server.block_size),
        "effective_attention_block_size": str(server.block_size),
        "kv_cache_max_concurrency": str(tokens / server.max_model_len),
        "kv_cache_size_tokens": str(tokens),
        "num_gpu_blocks": str(server.kv_blocks),
    }
