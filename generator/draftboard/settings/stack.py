"""The monitoring that `deploy/` runs: who scrapes whom within which limits, and who is told of what.

No secret stands here: what is secret is read from a file of a fixed name, below `secrets`.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from draftboard.documents import Table
from draftboard.durations import Duration
from draftboard.settings.fields import LabelKey, Positive, Url, written

Channel = Literal["webhook", "slack", "email", "pagerduty"]


Address = Annotated[
    str,
    written(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}", "must be an address such as alertmanager:9093"),
]
Folder = Annotated[str, written(r"/[\w./-]*[\w-]", "must be an absolute path of letters, digits and . _ - /")]
MailAddress = Annotated[str, written(r"[\w.+-]+@[\w.-]+", "must be a mail address")]
Name = Annotated[str, written(r"[\w#@.+-]*", "may use only letters, digits and # @ . + - _")]
LabelText = Annotated[str, written(r"[\w.:/-]+", "may use only letters, digits and . : / - _")]
Channels = Annotated[tuple[Channel, ...], Field(strict=False, max_length=4)]


class ScrapeLimits(Table):
    """What one page may hold: a scrape beyond them fails as a whole, and its server counts as down.

    Better that than one broken server which fills the disk of all.
    """

    samples: int = Field(default=50_000, ge=100, le=10_000_000)
    """A vLLM 0.32 engine exposes about 450; a page holds all engines of its server, so a hundred of them."""
    labels: int = Field(default=100, ge=20, le=1_000)
    """`vllm:cache_config_info` alone carries some 45, and one more with nearly every release."""
    label_name_length: int = Field(default=200, ge=20, le=10_000)
    label_value_length: int = Field(default=2_000, ge=100, le=100_000)
    """Model names may be paths, and `vllm:cache_config_info` carries whole settings."""
    megabytes: int = Field(default=20, ge=1, le=1_000)
    """Uncompressed: a page of 50,000 samples is about 8 MB."""
    targets: int = Field(default=1_000, ge=1, le=100_000)
    """Of one job: a discovery file gone wrong."""


class RemoteWrite(Table):
    """Where all samples are sent besides: Mimir, VictoriaMetrics, Thanos."""

    url: Url
    token: bool = False
    """Send the bearer token that stands in `remote_write_token` below `secrets`, to `query_url` too."""
    rules_there: bool = False
    """The rules are loaded into that system's own ruler: this Prometheus evaluates none, or every alert came twice."""
    query_url: Url | None = None
    """Where that system answers PromQL, without `/api/v1`: with `rules_there` Grafana asks it for the records."""

    @model_validator(mode="after")
    def _records_are_asked_for_where_they_are(self) -> Self:
        if self.rules_there and self.query_url is None:
            raise ValueError("rules_there needs query_url, the address that Grafana asks: the records are there alone")
        if self.query_url is not None and not self.rules_there:
            raise ValueError("query_url needs rules_there: where the rules are evaluated here, Grafana asks here")
        return self


class Notify(Table):
    """Which channels an alert of each severity takes, and how often.

    None by default, for only you know whom to wake: until then alerts are seen in Alertmanager and Grafana alone.
    """

    critical: Channels = ()
    warning: Channels = ()
    info: Channels = ()
    heartbeat: bool = False
    """Send the watchdog to the address in `heartbeat_url`: a dead man's switch that rings when it stops coming."""
    group_wait: Positive = Duration(30)
    """A first message waits so long for others of its model."""
    group_interval: Positive = Duration(300)
    """News of a known trouble waits so long."""
    repeat_critical: Positive = Duration(4 * 3600)
    """A page that nobody acts on comes again."""
    repeat_others: Positive = Duration(24 * 3600)
    heartbeat_interval: Positive = Duration(300)
    """The switch should ring after two or three of them."""


class Slack(Table):
    """The address of the incoming webhook stands in `slack_webhook_url`."""

    channel: Name = ""
    """Empty: the one that the webhook belongs to."""


class Email(Table):
    """The password stands in `smtp_password`."""

    to: MailAddress
    sender: MailAddress
    smarthost: Address
    username: Name = ""
    """Empty: the server asks for no password."""


class Stack(Table):
    """All of it. The defaults are the names and folders within `deploy/docker-compose.yml`."""

    prometheus: Address = "prometheus:9090"
    alertmanager: Address = "alertmanager:9093"
    secrets: Folder = "/run/secrets"
    dashboards: Folder = "/var/lib/grafana/dashboards"
    """Where Grafana finds them."""
    external_labels: dict[LabelKey, LabelText] = Field(default={}, max_length=16)
    """Which Prometheus this is, told to everybody outside: in remote writes and in alerts."""
    limits: ScrapeLimits = ScrapeLimits()
    remote_write: tuple[RemoteWrite, ...] = Field(default=(), strict=False, max_length=4)
    notify: Notify = Notify()
    slack: Slack = Slack()
    email: Email | None = None

    @model_validator(mode="after")
    def _mail_has_an_address(self) -> Self:
        channels = (*self.notify.critical, *self.notify.warning, *self.notify.info)
        if "email" in channels and self.email is None:
            raise ValueError("notify by email needs [stack.email] with to, sender and smarthost")
        return self

    @model_validator(mode="after")
    def _rules_are_evaluated_once(self) -> Self:
        if sum(remote.rules_there for remote in self.remote_write) > 1:
            raise ValueError("remote_write has rules_there more than once: every alert would come twice")
        return self

    @property
    def ruler(self) -> RemoteWrite | None:
        """Who evaluates the rules, if it is not this Prometheus."""
        return next((remote for remote in self.remote_write if remote.rules_there), None)
