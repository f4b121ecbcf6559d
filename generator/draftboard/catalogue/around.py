"""What surrounds the engine: its HTTP server and process, the GPU, the monitoring itself."""

from collections.abc import Callable

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
SERIES_ADDED = Metric(
    name="scrape_series_added",
    kind=Kind.GAUGE,
    unit="series",
    meaning="Series of the target's last page that the page before did not have.",
    presence=Presence.PROMETHEUS,
    owner=Owner.EXPORTER,
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
ALERTS_FOR_STATE = Metric(
    name="ALERTS_FOR_STATE",
    kind=Kind.GAUGE,
    unit="seconds",
    meaning="Since when each alert is pending or firing, in Unix time.",
    presence=Presence.PROMETHEUS,
    own_labels=("alertname", "severity"),
    owner=Owner.RULE,
)


def _exporter_series(presence: Presence, *own_labels: str) -> Callable[..., Metric]:
    """A series of another program than vLLM: name, unit, meaning; a gauge unless said otherwise."""

    def metric(name: str, unit: str, meaning: str, kind: Kind = Kind.GAUGE) -> Metric:
        return Metric(
            name=name,
            kind=kind,
            unit=unit,
            meaning=meaning,
            presence=presence,
            own_labels=own_labels,
            owner=Owner.EXPORTER,
        )

    return metric


_gpu_series = _exporter_series(Presence.GPU_EXPORTER, "gpu")
GPU_UTILISATION = _gpu_series(
    "DCGM_FI_DEV_GPU_UTIL",
    "percent",
    "Share of time in which any kernel ran on the GPU; it does not say how much of the GPU was used.",
)
GPU_MEMORY_USED = _gpu_series(
    "DCGM_FI_DEV_FB_USED", "MiB", "GPU memory in use; vLLM allocates its KV cache at start, so it is high from then on."
)
GPU_POWER = _gpu_series("DCGM_FI_DEV_POWER_USAGE", "watts", "Power that the GPU draws.")
GPU_XID = _gpu_series(
    "DCGM_FI_DEV_XID_ERRORS", "code", "Code of the GPU's last XID error, as in NVIDIA's list; 0 if there was none."
)

_rule_group_series = _exporter_series(Presence.OF_PROMETHEUS, "rule_group")
RULE_GROUPS = _rule_group_series(
    "prometheus_rule_group_interval_seconds", "seconds", "Time between two evaluations of a rule group."
)
_FAILED = "evaluation_failures_total", "evaluations", "Rules whose evaluation failed.", Kind.COUNTER
_MISSED = (
    "group_iterations_missed_total",
    "evaluations",
    "Evaluations of a rule group left out because the one before took too long.",
    Kind.COUNTER,
)
RULES_FAILED, RULES_MISSED = (
    _rule_group_series(f"prometheus_rule_{name}", *others) for name, *others in (_FAILED, _MISSED)
)
_ruler_series = _exporter_series(Presence.OF_RULER, "rule_group")
RULERS_FAILED, RULERS_MISSED = (
    _ruler_series(f"cortex_prometheus_rule_{name}", *others) for name, *others in (_FAILED, _MISSED)
)
_prometheus_series = _exporter_series(Presence.OF_PROMETHEUS)
ALERTMANAGERS = _prometheus_series(
    "prometheus_notifications_alertmanagers_discovered", "servers", "Alertmanagers that Prometheus sends alerts to."
)
ALERTS_DROPPED = _prometheus_series(
    "prometheus_notifications_dropped_total", "alerts", "Alerts that reached no Alertmanager.", Kind.COUNTER
)
ALERTS_REFUSED = _exporter_series(Presence.OF_PROMETHEUS, "alertmanager")(
    "prometheus_notifications_errors_total",
    "alerts",
    "Alerts that did not reach one of the Alertmanagers.",
    Kind.COUNTER,
)
WAL_CORRUPTIONS = _prometheus_series(
    "prometheus_tsdb_wal_corruptions_total",
    "corruptions",
    "Corrupt places found in the write-ahead log, most of them at start.",
    Kind.COUNTER,
)
WAL_WRITES_FAILED = _prometheus_series(
    "prometheus_tsdb_wal_writes_failed_total", "writes", "Failed writes to the write-ahead log.", Kind.COUNTER
)
WAL_TRUNCATIONS_FAILED = _prometheus_series(
    "prometheus_tsdb_wal_truncations_failed_total",
    "truncations",
    "Failed truncations of the write-ahead log, which grows meanwhile.",
    Kind.COUNTER,
)
COMPACTIONS_FAILED = _prometheus_series(
    "prometheus_tsdb_compactions_failed_total", "compactions", "Failed compactions of the storage.", Kind.COUNTER
)
_remote_write_series = _exporter_series(Presence.OF_PROMETHEUS, "remote_name", "url")
REMOTE_SAMPLES_FAILED = _remote_write_series(
    "prometheus_remote_storage_samples_failed_total",
    "samples",
    "Samples that a remote store refused for good, so that they are lost there.",
    Kind.COUNTER,
)
REMOTE_SENT_UNTIL = _remote_write_series(
    "prometheus_remote_storage_queue_highest_sent_timestamp_seconds",
    "Unix time",
    "Time of the newest sample that was sent to a remote store; 0 before the first.",
)
NOTIFICATIONS_FAILED = _exporter_series(Presence.OF_ALERTMANAGER, "integration", "reason")(
    "alertmanager_notifications_failed_total",
    "notifications",
    "Notifications that Alertmanager gave up after its retries, by kind of receiver.",
    Kind.COUNTER,
)
ALERTMANAGER_BUILD = _exporter_series(Presence.OF_ALERTMANAGER)(
    "alertmanager_build_info", "bool", "1 of each Alertmanager, with its version in labels."
)
PROBE_SUCCESS = _exporter_series(Presence.PROBED)(
    "probe_success", "bool", "1 when the last probe of the blackbox exporter succeeded, else 0."
)
_deployment_series = _exporter_series(Presence.KUBERNETES, "deployment")
REPLICAS_DESIRED = _deployment_series(
    "kube_deployment_spec_replicas", "servers", "Servers that a deployment shall have."
)
REPLICAS_AVAILABLE = _deployment_series(
    "kube_deployment_status_replicas_available", "servers", "Servers of a deployment that are ready."
)
REPLICAS_UPDATED = _deployment_series(
    "kube_deployment_status_replicas_updated", "servers", "Servers of a deployment that have its newest template."
)

_disk_series = _exporter_series(Presence.NODE_EXPORTER, "device", "fstype", "mountpoint")
DISK_AVAILABLE = _disk_series("node_filesystem_avail_bytes", "bytes", "Bytes of a disk that users may still write.")
DISK_SIZE = _disk_series("node_filesystem_size_bytes", "bytes", "Size of a disk.")
DISK_READ_ONLY = _disk_series("node_filesystem_readonly", "bool", "1 where a disk is mounted read-only.")
