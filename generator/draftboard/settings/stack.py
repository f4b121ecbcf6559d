"""The monitoring that `deploy/` runs: scrape limits, addresses, remote stores and notification channels.

Secrets are not settings: each is read from a file of a fixed name, below `secrets`.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from draftboard.durations import Duration
from draftboard.files import Table
from draftboard.settings.fields import Positive, Url, written
from draftboard.settings.labels import LabelKey

_HOST_AND_PORT = r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}"
Address = Annotated[str, written(_HOST_AND_PORT, "must be an address such as alertmanager:9093")]
Folder = Annotated[str, written(r"/[\w./-]*[\w-]", "must be an absolute path of letters, digits and . _ - /")]
MailAddress = Annotated[str, written(r"[\w.+-]+@[\w.-]+", "must be a mail address")]
Name = Annotated[str, written(r"[\w#@.+-]*", "may use only letters, digits and # @ . + - _")]
ModelName = Annotated[str, written(r"[\w.:/@+ -]+", "may use only letters, digits, spaces and . : / @ + - _")]
LabelText = Annotated[str, written(r"[\w.:/-]+", "may use only letters, digits and . : / - _")]
Tenant = Annotated[str, written(r"[A-Za-z0-9!_.*'()-]{0,150}", "may use only letters, digits and ! - _ . * ' ( )")]
_REPLICA = "__replica__"
ExternalLabel = Annotated[str, written(rf"{_REPLICA}|(?!__)[a-zA-Z_][a-zA-Z0-9_]*", "must be a label name")]
"""Names that begin with __ are Prometheus' own, but for the one by which Mimir's HA tracker distinguishes replicas."""
Channel = Literal["webhook", "slack", "email", "pagerduty"]
Channels = Annotated[tuple[Channel, ...], Field(strict=False, max_length=4)]


class ScrapeLimits(Table):
    """Limits of a scrape, so that no broken server fills the disk. Beyond them the server counts as down."""

    samples: int = Field(default=2_500, ge=100, le=10_000_000)
    """vLLM 0.32 has 237 of an engine, with `keep = "everything"` 424: a page of ten engines, or of five. Set more where
    a server has more. As many new series can a server add with each scrape: Prometheus keeps in memory what it read
    of a page that it refuses."""
    labels: int = Field(default=100, ge=20, le=1_000)
    """`vllm:cache_config_info` alone has some 45, and one more with nearly every release."""
    label_name_length: int = Field(default=200, ge=20, le=10_000)
    label_value_length: int = Field(default=2_000, ge=100, le=100_000)
    """Model names may be paths, and `vllm:cache_config_info` holds whole configurations."""
    megabytes: int = Field(default=1, ge=1, le=1_000)
    """Uncompressed: an engine has 30 to 55 kB. A larger page is refused before any of its series is in memory."""
    targets: int = Field(default=1_000, ge=1, le=100_000)
    """Targets per job: protects against a wrong discovery file."""


class Scrape(Table):
    """What is stored of a server's page. Characters that templates, terminals or pages would obey never are."""

    keep: Literal["known", "everything"] = "known"
    """`known`: series and labels that Draftboard reads. No page fills the memory with series or labels of its own."""
    labels: tuple[LabelKey, ...] = Field(default=(), strict=False, max_length=64, examples=[["team"]])
    """More labels to keep: target labels of your own, which `known` would drop."""
    models: tuple[ModelName, ...] = Field(default=(), strict=False, max_length=1_000, examples=[["meta-llama/Llama-3"]])
    """Names of models that servers may report; samples of others are dropped. Empty: any name."""


class RemoteWrite(Table):
    """A remote store that receives all samples: Mimir, VictoriaMetrics, Thanos."""

    url: Url = Field(examples=["https://mimir.example.com/api/v1/push"])
    token: bool = False
    """Send the bearer token from `remote_write_token` below `secrets`, also to `query_url`."""
    tenant: Tenant = ""
    """Sent as `X-Scope-OrgID`, also to `query_url`: Mimir, Cortex and Loki refuse samples without it."""
    rules_there: bool = False
    """That system's own ruler evaluates the rules. This Prometheus evaluates none, or alerts would come twice."""
    query_url: Url | None = Field(default=None, examples=["https://mimir.example.com/prometheus"])
    """Where that system answers PromQL, without `/api/v1`: Grafana reads there, with `rules_there` and without."""

    @model_validator(mode="after")
    def _records_are_read_where_they_are(self) -> Self:
        if self.rules_there and self.query_url is None:
            raise ValueError("rules_there needs query_url, the address for Grafana: only that system has the records")
        return self


class Notify(Table):
    """Notification channels by severity. By default alerts appear only in Grafana and Alertmanager."""

    critical: Channels = ()
    warning: Channels = ()
    info: Channels = ()
    heartbeat: bool = False
    """Send the watchdog to the address in `heartbeat_url`: a dead man's switch that notifies you when it stops."""
    group_wait: Positive = Duration(30)
    """Delay of the first notification, to group alerts of one model."""
    group_interval: Positive = Duration(300)
    """Delay of a notification about changes to a group."""
    group_interval_critical: Positive = Duration(60)
    """Delay of changes to critical alerts. An outage that begins and ends within it is not sent."""
    repeat_critical: Positive = Duration(1800)
    """Interval at which critical alerts that still fire are sent again."""
    repeat_others: Positive = Duration(24 * 3600)
    heartbeat_interval: Positive = Duration(300)
    """Interval of notifications to the switch, which should wait for two or three missing ones."""


class Slack(Table):
    """The address of the incoming webhook is in `slack_webhook_url`."""

    channel: Name = ""
    """Empty: the default channel of the webhook."""


class Email(Table):
    """The password is in `smtp_password`."""

    to: MailAddress = Field(examples=["llm-serving@example.com"])
    sender: MailAddress = Field(examples=["alerts@example.com"])
    smarthost: Address = Field(examples=["smtp.example.com:587"])
    username: Name = ""
    """Empty: the server requires no authentication."""


class Stack(Table):
    """The defaults are the names and folders within `deploy/docker-compose.yml`."""

    prometheus: Address = "prometheus:9090"
    alertmanager: Address = "alertmanager:9093"
    secrets: Folder = "/run/secrets"
    dashboards: Folder = "/var/lib/grafana/dashboards"
    """Where Grafana reads them."""
    external_labels: dict[ExternalLabel, LabelText] = Field(default={}, max_length=16, examples=[{"cluster": "prod"}])
    """Labels of this Prometheus in remote writes and alerts; `__replica__` and `cluster` for Mimir's HA tracker."""
    limits: ScrapeLimits = ScrapeLimits()
    scrape: Scrape = Scrape()
    remote_write: tuple[RemoteWrite, ...] = Field(default=(), strict=False, max_length=4)
    notify: Notify = Notify()
    slack: Slack = Slack()
    email: Email | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        channels = (*self.notify.critical, *self.notify.warning, *self.notify.info)
        if "email" in channels and self.email is None:
            raise ValueError("notify by email needs [stack.email] with to, sender and smarthost")
        if sum(remote.rules_there for remote in self.remote_write) > 1:
            raise ValueError("remote_write has rules_there more than once: every alert would come twice")
        if sum(remote.query_url is not None for remote in self.remote_write) > 1:
            raise ValueError("remote_write has query_url more than once: Grafana reads one system")
        return self

    @property
    def ruler(self) -> RemoteWrite | None:
        """The remote store that evaluates the rules, if one does."""
        return next((remote for remote in self.remote_write if remote.rules_there), None)

    @property
    def queried(self) -> RemoteWrite | None:
        """The remote store that Grafana reads, if it reads one."""
        return next((remote for remote in self.remote_write if remote.query_url), None)
