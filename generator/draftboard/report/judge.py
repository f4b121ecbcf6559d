"""From numbers to entries of a report: what the signals say of a model or an engine, the verdict and its reasons."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from draftboard.catalogue import Presence, speculation
from draftboard.catalogue.dialects import Dialect
from draftboard.reading import Numbers
from draftboard.report import objects
from draftboard.report.arithmetic import arithmetic_of
from draftboard.report.bound import per, values
from draftboard.report.choices import chosen_of
from draftboard.report.felt import latency_of
from draftboard.report.numbers import Latencies, Latency, Part, Sample, Speculation, Traffic
from draftboard.report.verdict import RANGED, Case, filled, interval_of, verdict_of
from draftboard.settings import Settings
from draftboard.signals import traffic
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.capacity import prompt_tokens
from draftboard.signals.comparison import length_to_others
from draftboard.signals.costs import step_cost
from draftboard.signals.decision import Choice
from draftboard.signals.economics import step_speedup
from draftboard.signals.health import HEALTH, health
from draftboard.signals.integrity import IDENTITIES, identity_error
from draftboard.signals.latency import FELT
from draftboard.signals.requests import request_rate, requests_running, requests_waiting, unfinished
from draftboard.signals.signal import Code, within, worded
from draftboard.signals.states import STATES, state
from draftboard.signals.verdicts import MEASURED
from draftboard.status import Status

V0_ENGINE = Choice(
    Code(-1, "vLLM's V0 engine", Status.WARN),
    traffic.drafts,
    "it does not count drafts, so there is no mean acceptance length, and its ratio includes tokens after a rejection: "
    "vLLM 0.10 and newer export the needed counters",
)
UNCOUNTED = Choice(
    Code(-2, "drafts are not counted", Status.WARN),
    traffic.draft_tokens,
    f"{speculation.DRAFTS.name} is not exposed, though other counters of speculation are: is it filtered out "
    "(metric_relabel_configs)?",
)
HOLDING = Choice(
    Code(-3, "holds requests, generates nothing", Status.BAD),
    traffic.generation_tokens,
    "requests are held and no token was generated: they have just come, their prompt is long, or an engine hangs",
)
UNDRAFTED = replace(
    STATES.choices["off"], reason="nothing was drafted so far: speculation is off, or no request has drafted yet"
)
"""Where a server that has not drafted looks like one without speculation."""
_KS = ("best_k", "fastest_k", "configured_k", "lowest_k", "slower_k")
_FILTERED = "{name} is not exposed, so figures that need it are missing: is it filtered out (metric_relabel_configs)?"
_COUNTERS = {
    speculation.DRAFT_TOKENS: traffic.draft_tokens,
    speculation.ACCEPTED_TOKENS: traffic.accepted_tokens,
    speculation.ACCEPTED_TOKENS_PER_POS: traffic.accepted_tokens_per_pos,
}


def engine_report(
    case: Case, model: Numbers, engine: str, server: str, notes: tuple[str, ...] = ()
) -> objects.EngineReport:
    """An engine's entry, beside its model's numbers."""
    own, together = case.numbers.value(traffic.drafts) or 0.0, model.value(traffic.drafts) or 0.0
    # Estimates of a rate add up to their sum but for the last digits: less than one draft is nobody's.
    to_others = case.numbers.value(length_to_others) if own and together - own >= 1 else None
    result = {"engine": engine, "server": server, "length_to_others": to_others, "notes": notes}
    return objects.EngineReport(**vars(judge(case)) | result)


def model_report(
    case: Case,
    model: str,
    method: str,
    *,
    labels: dict[str, str] | None = None,
    engines: tuple[objects.EngineReport, ...] = (),
    parts: tuple[Part, ...] = (),
    notes: tuple[str, ...] = (),
) -> objects.ModelReport:
    """A model's entry, of its engines together."""
    judged = judge(case)
    verification = (labels or {}).get(case.settings.labels.spec_verification)
    result = {
        "model": model,
        "method": method or None,
        "labels": labels or {},
        "acceptance_by_request": _by_request(engines),
        **values(objects.ModelReport, case.numbers, case.seconds),
        "measured_speedup_interval": interval_of(case),
        "standardised_speedup": case.standardised,
        "broken": case.broken,
        # How long a lookup's drafts are is the text's choice, not the engine's.
        "chosen": ()
        if method in case.settings.methods.lookup
        else chosen_of(case.steps, adaptive=verification in case.settings.methods.adaptive),
        "engines": engines,
        "parts": parts,
        "notes": (
            *judged.notes,
            *notes,
            *_outlier_notes(engines, case.settings),
            *_assumption_notes(judged, method, case.settings),
            *_unfinished_notes(case),
        ),
    }
    return objects.ModelReport(**vars(judged) | result)


def missing_of_dialect(dialect: Dialect) -> Iterator[str]:
    """What an engine reports, and what it does not: nothing for vLLM's own series, by whatever names."""
    if dialect.omits:
        yield f"{dialect.engine} reports {dialect.reports}. It does not report {dialect.omits}"


def _by_request(engines: Sequence[objects.EngineReport]) -> float | None:
    judged = [
        (engine.traffic.requests or 0.0, engine.speculation.acceptance)
        for engine in engines
        if engine.speculation and engine.speculation.acceptance is not None
    ]
    requests = sum(weight for weight, _ in judged)
    if len(judged) < 2 or not requests:  # noqa: PLR2004
        return None
    return sum(weight * share for weight, share in judged) / requests


def _outlier_notes(engines: Sequence[objects.EngineReport], settings: Settings) -> list[str]:
    """Engines that accept less than their siblings, where there are drafts enough to say so."""
    judged = [(engine, engine.length_to_others) for engine in engines if engine.verdict.says is not None]
    return [
        f"engine {engine.engine} of {engine.server} is an outlier: its {within(acceptance_length.title)} is "
        f"{worded(length_to_others, to_others)} of the other engines'"
        for engine, to_others in judged
        if to_others is not None and to_others < settings.thresholds.outlier
    ]


def _assumption_notes(judged: objects.Judged, method: str, settings: Settings) -> list[str]:
    """Assumptions that the verdict rests on for want of a better source."""
    result = judged.speculation
    if result is None or not step_speedup.exists(settings):
        return []
    notes, assumed = [], f"so c = {result.draft_cost:g} is assumed"
    if settings.draft_cost.is_assumed:
        if not method:
            notes.append("the drafting method is unknown: name it with --method")
    elif not method:
        notes.append(f"the drafting method is unknown, {assumed}: name it with --method")
    elif method not in settings.draft_cost.by_method:
        notes.append(f"no cost is known for {method}, {assumed}: settings, draft_cost.by_method")
    length, k = result.draft_length, result.configured_k
    if length is not None and k is not None and length < settings.thresholds.full_drafts * k:
        of_k = f"{length:.2f} of K = {k} tokens"
        notes.append(f"drafts hold {of_k}: late positions read low, for few drafts get there")
    return notes


def _unfinished_notes(case: Case) -> list[str]:
    """That clients give up, which vLLM counts nowhere."""
    share = case.numbers.value(unfinished)
    if share is None or share <= case.settings.thresholds.unfinished:
        return []
    template = "{unfinished.title}: {unfinished} of those accepted. Latencies and the measured speedup leave them out"
    return [filled(template, case)]


def _holds(numbers: Numbers) -> bool:
    held = (numbers.value(requests_running) or 0) + (numbers.value(requests_waiting) or 0)
    return held > 0 and numbers.value(traffic.generation_tokens) == 0


def judge(case: Case) -> objects.Judged:
    """The numbers of a model or an engine, and what follows from them."""
    numbers, sample = case.numbers, _sample(case)
    now = STATES.of(numbers.value(state)) or STATES.choices["silent"]
    if case.v0 and numbers.value(traffic.drafts) is None:
        now = V0_ENGINE
    elif sample is None and any(numbers.by(signal) for signal in _COUNTERS.values()) and not numbers.by(traffic.drafts):
        now = UNCOUNTED
    elif _holds(numbers):
        now = HOLDING
    elif now is STATES.choices["off"] and not case.settings.dialect.is_plain_known:
        now = UNDRAFTED
    result = verdict_of(case) if sample else objects.Verdict(says=None, advice=None, reasons=(now.reason,))
    dialect = case.settings.dialect
    missing = [
        dialect.named(metric.name)
        for metric, signal in _COUNTERS.items()
        if dialect.spelled(metric) and dialect.presence(metric) is not Presence.COUNTED and not numbers.by(signal)
    ]
    latency = Latencies(**{name: latency_of(numbers, name) for name in FELT})
    worst = HEALTH.of(numbers.value(health))
    return objects.Judged(
        state=now.code.says,
        verdict=result,
        sample=sample,
        speculation=_speculation(case, result) if sample and not case.plain else None,
        latency=latency,
        traffic=_traffic(case),
        waiting=_waiting(case, latency.first_token),
        health=worst.code.says if worst else None,
        notes=tuple(_FILTERED.format(name=name) for name in missing) if sample else (),
    )


def _sample(case: Case) -> Sample | None:
    """The four counters, where anything was drafted."""
    numbers = case.numbers
    if not (counted := numbers.value(traffic.drafts)):
        return None
    return Sample(
        drafts=counted,
        draft_tokens=numbers.value(traffic.draft_tokens),
        accepted_tokens=numbers.value(traffic.accepted_tokens),
        accepted_per_position=numbers.each(traffic.accepted_tokens_per_pos),
        least=case.settings.traffic.drafts_to_judge,
    )


def _speculation(case: Case, verdict: objects.Verdict) -> Speculation:
    result = values(Speculation, case.numbers, case.seconds)
    result["survival"] = result["survival"][: case.settings.max_draft_tokens]
    result |= {name: int(k) for name in _KS if (k := result[name]) is not None}
    share = result["acceptance"]
    result["band"] = (
        acceptance.step_of(share, case.settings).says if verdict.says is not None and share is not None else None
    )
    ranged = verdict.basis in RANGED or (verdict.basis == MEASURED and case.numbers.value(step_cost) is None)
    arithmetic = arithmetic_of(case.numbers)
    return Speculation(**result, arithmetic=arithmetic, assumed=case.assumed if ranged else None)


def _traffic(case: Case) -> Traffic:
    numbers = case.numbers
    answered, generated = numbers.value(traffic.first_tokens), numbers.value(traffic.generation_tokens)
    return Traffic(
        **values(Traffic, numbers, case.seconds),
        prompt_length=per(numbers.value(prompt_tokens), answered),
        answer_length=per(generated, answered),
        generated=generated,
        requests=numbers.value(request_rate),
    )


def _waiting(case: Case, first_token: Latency | None) -> objects.Waiting:
    """Users wait where more requests queue than run, where the queue moves slowly, or where first tokens are late."""
    numbers, thresholds = case.numbers, case.settings.thresholds
    waiting, answered = numbers.value(requests_waiting) or 0.0, numbers.value(traffic.first_tokens)
    # By Little's law, as the record of the wait in the queue; of a window without a first token at least so much.
    wait = waiting * case.seconds / max(answered, 1.0) if case.seconds and answered is not None else 0.0
    slow = wait > thresholds.queue_wait
    long = waiting > (numbers.value(requests_running) or 0.0)
    late = first_token is not None and first_token.mean > thresholds.late_first_token
    parts = (
        f"{waiting:,.0f} in the queue{f' for about {wait:,.0f} s' if slow else ''}" if slow or long else "",
        f"first token after {first_token.mean:,.0f} s" if first_token and late else "",
    )
    says = ", ".join(filter(None, parts))
    return objects.Waiting(
        requests=numbers.value(requests_waiting),
        first_token=first_token.mean if first_token else None,
        says=f"users wait: {says}" if says else None,
    )


def broken_identities(numbers: Numbers, engine: str) -> tuple[objects.Broken, ...]:
    """What an engine's own counters contradict: the positions that it lacks, and identities that vLLM's code holds."""
    errors = numbers.by(identity_error) if numbers.value(traffic.drafts) else {}
    return missing_positions(numbers, engine) + tuple(
        objects.Broken(identity=name, says=says, error=errors[name], engine=engine)
        for name, says in IDENTITIES.items()
        if errors.get(name, 0.0) > numbers.settings.thresholds.inconsistent
    )


def missing_positions(numbers: Numbers, engine: str) -> tuple[objects.Broken, ...]:
    """A position below a present one that is not counted: neither K nor survival can be derived then."""
    positions = {int(position) for position in numbers.by(traffic.accepted_tokens_per_pos)}
    deepest = max(positions, default=0)
    if not (missing := len(set(range(deepest)) - positions)):
        return ()
    says = f"position {deepest} is counted without {missing} of the {deepest} positions before it"
    return (objects.Broken(identity="positions_missing", says=says, error=missing / (deepest + 1), engine=engine),)
