"""Alerts on servers that are down, gone, stuck or unlike the others, and on models that reach no user."""

from draftboard.alerts.alert import Alert
from draftboard.expr.nodes import Expr, If, InDialect, Labels, MetricOfDialect, OverTime, Raw, first_of, on, over_level
from draftboard.quantity import EVALUATION, RATE_WINDOW, Setting
from draftboard.signals import Level, Signal, absence, capacity, events, siblings, silence, stalls, states
from draftboard.signals.presence import REMEMBERED, SEEN_BY

_users_wait = over_level("max", capacity.queue_wait.at(Level.MODEL)) > Setting("thresholds.late_first_token")
# An outage does not end with a target that leaves discovery. Records of other groups are up to an evaluation older.
_down_till_served = first_of(
    OverTime("last_over_time", states.servers_down, EVALUATION * 3),
    OverTime("last_over_time", states.servers_down, REMEMBERED) & absence.gone,
)
# Servers that come back and do not answer, until VLLMModelDown fires.
_gone_till_down = first_of(
    absence.gone, OverTime("last_over_time", absence.gone, EVALUATION * 3) & (states.servers_down >= 1)
)


_HUNG_LONG = 3
"""Evaluations. Two equal last samples of a killed server read as a hang once they alone are in the window."""


def _hung_till_down(hung: Signal) -> Expr:
    """Where the hung servers of a model were killed: until VLLMModelDown or VLLMModelGone fires."""
    its_model = on(Labels("scope"), Labels("job"), Labels("model_name"))
    long = OverTime("count_over_time", hung, RATE_WINDOW * 3) >= _HUNG_LONG
    was = OverTime("last_over_time", hung, RATE_WINDOW * 2) & long
    held = first_of(hung, was.combined("unless", Raw(SEEN_BY), its_model))
    # Of a replica in flight that has no token yet, only the deployment is known, which no engine names.
    return If(InDialect(MetricOfDialect("in_flight")), hung, held)


ON_SERVERS = (
    Alert(
        name="VLLMModelDown",
        signal=states.servers_down,
        beyond="too-many-down",
        for_="1m",
        severity="critical",
        level=Level.SERVICE,
        watched=first_of(_down_till_served >= 1, states.servers_down & _users_wait),
        guard=None,
        when="no server of a model answers, or more than ${limit} do not and requests are estimated to wait more than "
        "${thresholds.late_first_token} seconds at the others; it goes on where the dead servers leave discovery",
        summary="Servers of a model do not answer.",
        description="${who}: ${value} of its servers do not answer scrapes. Requests wait at the others, if there are "
        "any.",
        dashboard="latency",
        inhibited_by=("VLLMModelGone",),  # The dead targets have left.
    ),
    Alert(
        name="VLLMModelGone",
        signal=absence.gone,
        watched=_gone_till_down,
        beyond="gone",
        for_="5m",
        severity="critical",
        level=Level.SERVICE,
        guard=None,
        when="a model that had requests or was down has lost its last scrape target, or its deployments have no server "
        "ready, until any job serves it again",
        summary="A model has no server left.",
        description="${who} should be served, and no job serves it now.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMReplicasMissing",
        signal=absence.replicas_missing,
        beyond="missing",
        for_="1m",
        level=Level.SERVICE,
        guard=None,
        when="deployments of a model had fewer servers ready than desired all through ${rules.startup}, and no rollout "
        "replaces servers",
        summary="Servers of a model do not start.",
        description="${who}: ${value} of the servers that its deployments shall have were never ready within "
        "${rules.startup}.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMUsersUnserved",
        signal=silence.unserved,
        beyond="unserved",
        for_="10m",
        keep_firing_for="5m",
        severity="critical",
        level=Level.SERVICE,
        guard=None,  # The signal asks for requests before.
        when="the requests of a model that is never idle stop on all servers; or nearly all of the requests for text "
        "are answered with 4xx, or are rejected by a limit of the queue; or all probes of a model fail",
        summary="Users of a model get nothing.",
        description="${who}: {{ $labels.symptom }}. Its servers answer scrapes.",
        dashboard="latency",
        inhibited_by=("VLLMModelDown", "VLLMEngineStuck"),
    ),
    Alert(
        name="VLLMTargetDown",
        signal=states.target_up,
        beyond="down",
        for_="1m",
        level=Level.TARGET,
        guard=None,
        when="a server has not answered scrapes for ${rules.silence}",
        summary="A vLLM server does not answer.",
        description="${who} does not answer scrapes. Its requests fail, or other servers answer them later.",
        dashboard="latency",
        # Of many servers one message; a crash loop is one trouble.
        inhibited_by=("VLLMModelDown", "VLLMTargetFlapping"),
    ),
    Alert(
        name="VLLMTargetFlapping",
        signal=events.interruptions,
        beyond="flapping",
        for_="1m",
        keep_firing_for="30m",
        level=Level.TARGET,
        guard=None,
        when="a server restarts or stops answering more than ${limit} times within ${rules.remember}",
        summary="A vLLM server is flapping.",
        description="${who} restarted or stopped answering ${value} times within ${rules.remember}. Each time, "
        "requests in flight are lost.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMModelFlapping",
        signal=events.replacements,
        beyond="flapping",
        for_="1m",
        keep_firing_for="30m",
        level=Level.SERVICE,
        guard=None,
        when="each server of a model is replaced by one of another address more than ${limit} times within "
        "${rules.remember}",
        summary="The servers of a model are replaced again and again.",
        description="${who}: each of its servers was replaced by one of another address ${value} times within "
        "${rules.remember}.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMServerOutlier",
        signal=siblings.server_outlier,
        beyond="outlier",
        for_="10m",
        keep_firing_for="10m",
        level=Level.TARGET,
        guard=None,  # The signal asks for enough of each.
        when="of one server alone the requests fail, the decode steps are slow, no request arrives or requests wait",
        summary="A server does worse than the model's other servers.",
        description="${who}: {{ $labels.symptom }}, unlike at the model's other servers.",
        dashboard="latency",
        inhibited_by=("VLLMEngineStuck", "VLLMRequestsUnanswered"),
    ),
    Alert(
        name="VLLMEngineStuck",
        signal=stalls.stuck,
        watched=_hung_till_down(stalls.stuck),
        beyond="stuck",
        for_="2m",
        severity="critical",
        level=Level.ENGINE,
        guard=None,
        when="an engine holds requests, but generates no token and computes no prompt for ${rules.rate_window}",
        summary="An engine is stuck.",
        description="${who} holds ${value} requests and has generated no token for ${rules.rate_window}. Its "
        "health check may still pass.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMRequestsUnanswered",
        signal=stalls.unanswered,
        watched=_hung_till_down(stalls.unanswered),
        beyond="unanswered",
        for_="3m",
        severity="critical",
        level=Level.TARGET,
        guard=None,
        when="a server accepts requests, but finishes none for ${rules.rate_window}",
        summary="A vLLM server accepts requests but answers none.",
        description="${who} accepted ${value} requests within ${rules.rate_window} but finished none. Clients time "
        "out.",
        dashboard="latency",
        inhibited_by=("VLLMEngineStuck",),  # The engine that holds them.
    ),
)
