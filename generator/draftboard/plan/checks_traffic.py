"""Whether memory, traffic and promise suit speculation."""

from draftboard.plan.check import Check, Outcome
from draftboard.plan.situation import Situation, Slo
from draftboard.settings.planning import Planning

_GUIDE = "a published guide: use when"
_LEAVE = "a published guide: leave off when"
_SAME_TEMPERATURE = 1e-9


def traffic_checks(situation: Situation, limits: Planning) -> tuple[Check, ...]:
    """Temperature, headroom, batch, validation, promise, long contexts, monitoring."""
    return (
        _temperature(situation, limits),
        *_headroom(situation, limits),
        _answered(
            "batch size",
            situation.consistent_batch,
            yes=(Outcome.PASS, "consistent"),
            no=(Outcome.FAIL, "swings: consider a K for each batch size, `draftboard plan schedule`"),
            ask="say whether the batch size is consistent",
        ),
        _validation(situation),
        _promise(situation),
        _answered(
            "long contexts",
            situation.long_context_tight,
            yes=(Outcome.FAIL, "the KV cache is full of them already, and the draft takes from it"),
            no=(Outcome.PASS, "the KV cache has room"),
            ask="say whether long contexts fill the KV cache: `draftboard plan vram --context`",
            forbids=True,
        ),
        _answered(
            "monitoring",
            situation.monitored,
            yes=(Outcome.PASS, "acceptance is watched"),
            no=(Outcome.FAIL, "nobody would see when acceptance drops and speculation begins to cost"),
            ask="say whether acceptance is monitored",
            forbids=True,
        ),
    )


def judge_temperature(temperature: float, limits: Planning) -> Outcome:
    """Pass up to the low bound, fail above the high one; between them the source says nothing, so warn."""
    if temperature <= limits.low_temperature:
        return Outcome.PASS
    return Outcome.WARN if temperature <= limits.high_temperature else Outcome.FAIL


def _temperature(situation: Situation, limits: Planning) -> Check:
    median = situation.temperature
    if situation.temperature_varies:
        outcome, reason = Outcome.FAIL, "varies widely: mean acceptance hides the requests that it slows"
    elif median is None:
        outcome, reason = Outcome.UNKNOWN, "give the median temperature of production"
    else:
        outcome = judge_temperature(median, limits)
        reason = f"median {median:g}; use up to {limits.low_temperature:g}, leave off over {limits.high_temperature:g}"
        if outcome is Outcome.WARN:
            reason += ", unnamed between: measure"
        if situation.temperature_varies is None and outcome is Outcome.PASS:
            outcome, reason = Outcome.UNKNOWN, f"{reason}: say whether it varies"
    source = f"{_GUIDE} / leave off; a course uses 0.8 throughout and reports 60 to 85 % acceptance"
    return Check("temperature", outcome, reason, source, forbids=True)


def _headroom(situation: Situation, limits: Planning) -> tuple[Check, ...]:
    """Shares of all GPU memory."""
    target, draft, gpus = situation.target, situation.draft, situation.gpus
    source = f"{_GUIDE} there is headroom"
    if draft is not None and not draft.params:
        reason = f"{situation.method} is planned to hold no weights of its own"
        return (Check("draft headroom", Outcome.PASS, reason, source),)
    if target is None or draft is None or gpus is None:
        return (Check("draft headroom", Outcome.UNKNOWN, "give parameters, --gpus and --gpu-gb", source),)
    of_draft, of_target = draft.weights_gb / gpus.gross_gb, target.weights_gb / gpus.gross_gb
    told = f"draft weights are {of_draft:.1%} of GPU memory, limit {limits.draft_share:.0%}"
    outcome = Outcome.PASS if of_draft <= limits.draft_share else Outcome.FAIL
    load = f"target weights are {of_target:.1%} of GPU memory, limit {limits.target_share:.0%}"
    if of_target > limits.target_share:
        load += ": the draft will cut concurrency, load-test it"
    full = Outcome.PASS if of_target <= limits.target_share else Outcome.WARN
    return (Check("draft headroom", outcome, told, source), Check("target share", full, load, "a published guide"))


def _validation(situation: Situation) -> Check:
    wanted, measured = situation.temperature, situation.validated_temperature
    if wanted is None or measured is None:
        outcome, reason = Outcome.UNKNOWN, "measure acceptance at the temperature of production"
    elif abs(wanted - measured) <= _SAME_TEMPERATURE:
        outcome, reason = Outcome.PASS, f"acceptance was measured at {measured:g}, as in production"
    else:
        outcome = Outcome.FAIL
        reason = f"acceptance was measured at {measured:g}, which says nothing about {wanted:g}"
    return Check("validation", outcome, reason, f"{_GUIDE} validated at production temperature")


def _promise(situation: Situation) -> Check:
    if situation.slo is None:
        outcome, reason = Outcome.UNKNOWN, "say what users are promised"
    elif situation.slo is Slo.TTFT:
        outcome, reason = Outcome.FAIL, "time to first token: drafting only speeds up what follows it"
    else:
        outcome, reason = Outcome.PASS, f"{situation.slo}: what drafting can make better"
    return Check("objective", outcome, reason, f"{_GUIDE} TPOT or throughput; leave off when TTFT", forbids=True)


def _answered(
    name: str,
    answer: bool | None,
    *,
    yes: tuple[Outcome, str],
    no: tuple[Outcome, str],
    ask: str,
    forbids: bool = False,
) -> Check:
    """A check that only the user can answer."""
    source = _LEAVE if forbids else _GUIDE
    if answer is None:
        return Check(name, Outcome.UNKNOWN, ask, source, forbids=forbids)
    outcome, reason = yes if answer else no
    return Check(name, outcome, reason, source, forbids=forbids)
