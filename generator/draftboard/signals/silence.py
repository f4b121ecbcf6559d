"""Users that no server tells of: they do not arrive, are all refused, or a probe in their place fails."""

from draftboard.catalogue import around, serving
from draftboard.durations import Duration
from draftboard.expr.nodes import (
    Before,
    Evaluator,
    Expr,
    Function,
    If,
    InDialect,
    InWindow,
    Labels,
    Match,
    OverTime,
    Raw,
    Ref,
    Window,
    constant,
    first_of,
    merged,
    on,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION, RATE_WINDOW, SILENCE, Setting
from draftboard.signals import absence, presence, requests, responses, traffic
from draftboard.signals.comparison import BASELINE, BEFORE, is_usual, past
from draftboard.signals.presence import of_known
from draftboard.signals.signal import Better, Code, Signal, Unit
from draftboard.status import Status

_JUST_BEFORE = Duration(900)
_HALF = 0.5
_LEAST = Setting("traffic.requests_to_compare")
_SAME_MODEL = on(Labels("scope"), Labels("model_name"))
_SERVICE = (Labels("scope"), Labels("job"), Labels("model_name"))


def _of_service(figure: Expr) -> Expr:
    return over_level("sum", figure.at(Level.MODEL))


_started = _of_service(traffic.first_tokens)
# Windows that follow one another may both hold requests beside a gap; of those that end at each evaluation one is it.
_all_day = (past("min_over_time", traffic.first_tokens, EVALUATION) > 0) & is_usual(traffic.first_tokens)
busy_all_day = Signal(
    name="busy_all_day",
    title="Models that are never idle",
    question="Is it a fault where no request arrives?",
    description="1 for a model that had requests in every window of its day (rules.baseline).",
    action="Of such a model, a silence is a fault.",
    unit=Unit.CODE,
    expr=over_level("group", _all_day.at(Level.MODEL)),
    record="vllm_busy:bool{baseline}",
    daily=True,
    levels=(Level.SERVICE,),
    codes=(Code(1, "busy all day", Status.NEUTRAL),),
    empty="the model is idle at times",
)
_began = (
    (InWindow(_started.ago(_JUST_BEFORE)) >= _LEAST)
    & (_started.ago(_JUST_BEFORE) >= _started.ago(BEFORE) * _HALF)  # An evening falls asleep slowly.
    & busy_all_day
)


def _answers(*status: Match) -> Expr:
    """HTTP responses of the paths that generate, of a model's servers, in the window."""
    paths = Raw(around.HTTP_REQUESTS, Window.RATE, (Match("handler", "=~", requests.GENERATING), *status))
    return InWindow(over_level("sum", of_known("sum", Function("rate", paths)).at(Level.TARGET)))


_first_tokens_of_day = OverTime("max_over_time", traffic.first_tokens, BASELINE, pace=RATE_WINDOW)
_served_lately = over_level("group", first_of(traffic.first_tokens > 0, _first_tokens_of_day > 0).at(Level.MODEL))
_of_served = presence.seen.at(Level.ENGINE).combined("and", _served_lately, on(*_SERVICE))
_had_users = over_level("group", presence.known.at(Level.TARGET).combined("and", _of_served, on(Labels("target"))))
"""Its servers served somebody lately, perhaps under another name."""
_all_refused = ((_answers(Match("status", "=", "4xx")) >= _LEAST) >= _answers() * Setting("thresholds.refused")) & If(
    Evaluator.RECORDS, over_level("group", first_of(_had_users, Before(Ref("unserved"), RATE_WINDOW * 2))), _had_users
)
_rejected = _of_service(requests.requests_rejected)
_all_rejected = (InWindow(_rejected) >= _LEAST) >= InWindow(_rejected + _started) * Setting("thresholds.refused")
silence = Signal(
    name="silence",
    title="Silent models",
    question="Have a model's requests stopped on all servers?",
    description="1 for a model that had requests all day, until a moment ago, and gets none on any server.",
    action="Send a request as a user does: look at the gateway, names and certificates.",
    note="Until requests arrive again; to a path that no server has none does. A model that is idle at any time of its "
    "day (rules.baseline) is not watched.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=constant(1, _started.equals(0)).combined("unless", responses.http_failures > 0)
    & If(Evaluator.RECORDS, first_of(_began, Before(Ref("silence"), RATE_WINDOW * 2)), _began),
    record="vllm_silent:bool",
    levels=(Level.SERVICE,),
    codes=(Code(1, "silent", Status.BAD),),
    empty="requests arrive, or the model is idle at times",
)

_probed = over_level("max", Function("max_over_time", Raw(around.PROBE_SUCCESS, SILENCE))).equals(0)
_served = over_level("group", presence.known.at(Level.TARGET))
_of_its_jobs = _served.combined("and", _probed, _SAME_MODEL).combined("or", _probed, _SAME_MODEL)
"""The probe's model by the jobs that serve it: what is known of those explains what the probe finds."""
unserved = Signal(
    name="unserved",
    title="Models whose users get nothing",
    question="Do a model's users get nothing, though its servers are up?",
    description="1 for a model whose requests have stopped on all servers, are all answered with 4xx or rejected, or "
    "whose probes all fail.",
    action="Send a request as a user does: compare its path, model name and key with what the servers expect.",
    note="Answered with 4xx: thresholds.refused of the requests for generated text, of a model whose servers served "
    "some within rules.baseline, under whatever name. Rejected: as many, by a limit of the queue. Probes are those of "
    "the blackbox exporter whose targets have the label model_name.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=merged(
        "symptom",
        {
            "no request reaches an engine any more": constant(1, silence),
            "all requests are answered with 4xx": constant(1, _all_refused),
            "all requests are rejected by a limit": If(
                InDialect(serving.ADMISSION_REJECTIONS), constant(1, _all_rejected)
            ),
            "its probes fail": constant(1, _of_its_jobs.combined("unless", absence.gone, _SAME_MODEL)),
        },
    ),
    record="vllm_unserved:bool",
    levels=(Level.SERVICE,),
    by=("symptom",),
    codes=(Code(1, "unserved", Status.BAD),),
    empty="every model serves its users, or is idle",
)
