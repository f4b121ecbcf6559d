"""Models without a server, servers that Kubernetes shall run and does not, and those that run and are not scraped.

Where kube-state-metrics is scraped, the replicas that a deployment shall have decide; elsewhere, whether the model was
in use when it was last seen.
"""

from draftboard.catalogue import Metric, around
from draftboard.expr.nodes import (
    Aggregate,
    Before,
    Binary,
    Evaluator,
    Expr,
    Function,
    If,
    Labels,
    Match,
    OverTime,
    Raw,
    Ref,
    constant,
    first_of,
    on,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import RATE_WINDOW, Setting
from draftboard.signals.presence import ARRIVES, expected, scraped, stayed
from draftboard.signals.signal import Better, Code, Signal, Unit, good_under
from draftboard.signals.states import servers_down
from draftboard.signals.traffic import generation_tokens
from draftboard.status import Status

_MODEL = (Labels("scope"), Labels("model_name"))
_SAME_MODEL = on(*_MODEL)
_STARTUP = Setting("rules.startup")


def _of_model(how: str, replicas: Expr) -> Expr:
    return Aggregate(how, _MODEL, replicas)


def _replicas(metric: Metric, over_time: str = "") -> Expr:
    """Of what names its model; over a new server's time to start."""
    of_model = (Match(Labels("model_name"), "!=", ""),)
    return Function(over_time, Raw(metric, _STARTUP, of_model)) if over_time else Raw(metric, matchers=of_model)


def _of_each(how: str, replicas: Expr) -> Expr:
    """Of each deployment: several kube-state-metrics count alike."""
    return Aggregate(how, (*_MODEL, "deployment"), replicas)


_desired_since_long = _of_each("min", _replicas(around.REPLICAS_DESIRED, "min_over_time")) & _of_each(
    "max", _replicas(around.REPLICAS_DESIRED)
).ago(_STARTUP)
"""What a deployment has had the time to start."""
_most_available = _of_each("max", _replicas(around.REPLICAS_AVAILABLE, "max_over_time"))
_rollout = _of_each("max", _replicas(around.REPLICAS_UPDATED, "max_over_time")) > _of_each(
    "min", _replicas(around.REPLICAS_UPDATED, "min_over_time")
)
_available = _of_model("max", _replicas(around.REPLICAS_AVAILABLE))
_serving = _available > 0
_as_desired = first_of(_of_model("max", _replicas(around.REPLICAS_DESIRED)).equals(0), _serving)
_to_serve = (_of_model("max", _desired_since_long) > 0) & _available
_scraped = _of_model("group", scraped)

_tokens = over_level("max", OverTime("max_over_time", generation_tokens, RATE_WINDOW * 3).at(Level.MODEL))
_busy = over_level("group", expected) & first_of(over_level("max", expected) > 0, _tokens > 0)
_died = over_level("group", stayed) & (OverTime("max_over_time", servers_down, RATE_WINDOW * 3) >= 1)
_left_behind = first_of(_busy, _died).combined("and", ARRIVES, on(Labels("widest")))
_remembered = If(
    Evaluator.RECORDS, over_level("group", first_of(_left_behind, Before(Ref("gone"), RATE_WINDOW * 2))), _left_behind
)
gone = Signal(
    name="gone",
    title="Models without a server",
    question="Has a model lost its last server?",
    description="1 for a model that lost its last scrape target while it had requests or was down, in all jobs, or "
    "whose deployments have no server ready, until it is served again.",
    action="Restore the deployment, or label its servers scale_to_zero if they may disappear.",
    note="A model that held no request and generated nothing in three windows of a rate before it left is not missed. "
    "Servers with the label scale_to_zero are not expected to stay. Where kube-state-metrics names the model, its "
    "deployments decide: of none desired nothing is missed, and those desired for rules.startup are, idle or not.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=_remembered.combined("or", _of_model("group", _to_serve), _SAME_MODEL)
    .combined("unless", _scraped, _SAME_MODEL)
    .combined("unless", _as_desired, _SAME_MODEL),
    record="vllm_gone:bool",
    levels=(Level.SERVICE,),
    codes=(Code(1, "gone", Status.BAD),),
    empty="every model has a server",
)
_missing = Binary(_desired_since_long, "-", _most_available) > 0
replicas_missing = Signal(
    name="replicas_missing",
    title="Replicas missing",
    question="Are servers missing that Kubernetes shall run?",
    description="Servers that a model's deployments shall have and that were never ready within rules.startup (by "
    "default 30m).",
    action="Read the events and logs of its pods: no GPU, a missing image, a crash.",
    note="Needs kube-state-metrics whose series of deployments have the label model_name. Not while a rollout replaces "
    "servers, nor where a model has none at all, which is another alert.",
    unit=Unit.SERVERS,
    better=Better.LOWER,
    expr=_of_model("sum", _missing.combined("unless", _rollout)).combined("unless", gone, _SAME_MODEL),
    record="vllm_replicas_missing:sum",
    levels=(Level.SERVICE,),
    bands=good_under(0, good="complete", beyond="missing"),
    empty="no deployment names a model, or all have their servers",
    decimals=0,
)
unwatched = Signal(
    name="unwatched",
    title="Models not scraped",
    question="Does a model serve users unwatched?",
    description="1 for a model whose deployments have servers ready, none of which is a scrape target.",
    action="Repair the discovery of its servers: the ServiceMonitor, its labels, ports and permissions.",
    note="Needs kube-state-metrics whose series of deployments have the label model_name.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=constant(1, _serving.combined("unless", _scraped, _SAME_MODEL)),
    record="vllm_unwatched:bool",
    levels=(Level.SERVICE,),
    codes=(Code(1, "unwatched", Status.ODD),),
    empty="every model with a server ready is scraped, or no deployment names a model",
)
