"""Where people type the commands of runbooks."""

from typing import Annotated, Literal

from draftboard.files import Table
from draftboard.settings.fields import Url, written

Platform = Literal["compose", "kubernetes", "host"]
Namespace = Annotated[str, written(r"[a-z0-9-]{1,63}", "must be a namespace of Kubernetes: letters, digits and -")]
Workload = Annotated[str, written(r"[a-z]+/[a-z0-9.-]+", "must be a kind and a name, such as deployments/vllm")]


class Runbooks(Table):
    """Commands in runbooks and notifications, for the reader's own platform; runbooks list the others beside it."""

    platform: Platform = "compose"
    """`compose`: the stack of deploy/. `kubernetes`: kubectl. `host`: programs and systemd units of this host."""
    prometheus: Url = "http://127.0.0.1:9090"
    """Prometheus as promtool reaches it: on `compose` and `kubernetes` from within its own container."""
    alertmanager: Url = "http://127.0.0.1:9093"
    """Alertmanager as amtool reaches it, likewise."""
    server: Url = "http://127.0.0.1:8000"
    """A vLLM server as `curl` and `draftboard` reach it."""
    monitoring_namespace: Namespace = "monitoring"
    """Of Prometheus and Alertmanager on Kubernetes, where Prometheus' operator runs them."""
    namespace: Namespace = "default"
    """Of the vLLM servers on Kubernetes."""
    workload: Workload = "deployments/vllm"
    """What runs the vLLM servers on Kubernetes."""
