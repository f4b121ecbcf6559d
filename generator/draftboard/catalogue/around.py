"""What surrounds the engine: its HTTP server and process, Prometheus itself, the GPU."""

from draftboard.catalogue.metric import Kind, Metric, Owner, Presence

HTTP_REQUESTS = Metric(
    name="http_requests_total",
    unit="requests",
    meaning="HTTP responses by handler, method and status class, without health checks and scrapes.",
    help="Total number of requests by method, status and handler.",
    presence=Presence.HTTP,
    own_labels=("handler", "method", "status"),
    owner=Owner.TARGET,
)
PROCESS_START_TIME = Metric(
    name="process_start_time_seconds",
    kind=Kind.GAUGE,
    unit="seconds",
    meaning="When the server's process started, in Unix time.",
    help="Start time of the process since unix epoch in seconds.",
    presence=Presence.ONE_PROCESS,
    owner=Owner.TARGET,
)
LASTING = (  # rises while a process lives, whatever its engines do: no signal reads it, two pages are ordered by it
    Metric(
        name="process_cpu_seconds_total",
        unit="seconds",
        meaning="Processor time of the API server's process.",
        help="Total user and system CPU time spent in seconds.",
        presence=Presence.ONE_PROCESS,
        owner=Owner.TARGET,
    ),
    Metric(
        name="python_gc_collections_total",
        unit="collections",
        meaning="Runs of Python's garbage collector, by generation.",
        help="Number of times this generation was collected",
        presence=Presence.ONE_PROCESS,
        own_labels=("generation",),
        values={"generation": ("0", "1", "2")},
        owner=Owner.TARGET,
    ),
)
UP = Metric(
    name="up",
    kind=Kind.GAUGE,
    unit="bool",
    meaning="1 when the last scrape of the target succeeded, else 0.",
    presence=Presence.PROMETHEUS,
    owner=Owner.TARGET,
)
ALERTS = Metric(
    name="ALERTS",
    kind=Kind.GAUGE,
    unit="bool",
    meaning="1 for each alert that is pending or firing.",
    presence=Presence.PROMETHEUS,
    own_labels=("alertname", "alertstate", "severity"),
    owner=Owner.RULE,
)


def _of_gpu(name: str, unit: str, meaning: str) -> Metric:
    presence, owner = Presence.GPU_EXPORTER, Owner.GPU
    return Metric(
        name=name, kind=Kind.GAUGE, unit=unit, meaning=meaning, presence=presence, own_labels=("gpu",), owner=owner
    )


GPU_UTILISATION = _of_gpu(
    "DCGM_FI_DEV_GPU_UTIL",
    "percent",
    "Share of time in which any kernel ran on the GPU; it does not say how much of the GPU was used.",
)
GPU_MEMORY_USED = _of_gpu(
    "DCGM_FI_DEV_FB_USED", "MiB", "GPU memory in use; vLLM allocates its KV cache at start, so it is high from then on."
)
GPU_POWER = _of_gpu("DCGM_FI_DEV_POWER_USAGE", "watts", "Power that the GPU draws.")
GPU_XID = _of_gpu(
    "DCGM_FI_DEV_XID_ERRORS", "code", "Code of the GPU's last XID error, as in NVIDIA's list; 0 if there was none."
)
