"""From numbers to entries of a report: what the signals say of a model or an engine, the verdict and its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from string import Formatter
from typing import Any

from draftboard.reading import Numbers
from draftboard.report import objects
from draftboard.settings import Settings
from draftboard.signals import ALL, Signal, traffic
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.capacity import prefix_cache_hits, prompt_tokens
from draftboard.signals.comparison import acceptance_change, length_to_others
from draftboard.signals.decisions import ADVICE, STATES, VERDICT_REASON, Choice, advice, state
from draftboard.signals.depth import configured_k
from draftboard.signals.economics import best_k, best_speedup, expected_speedup
from draftboard.signals.integrity import IDENTITIES, identity_error
from draftboard.signals.latency import FELT
from draftboard.signals.requests import request_rate
from draftboard.signals.signal import Code, within, worded
from draftboard.signals.users import measured_speedup
from draftboard.status import Status

V0_ENGINE = Choice(
    Code(-1, "vLLM's V0 engine", Status.WARN),
    traffic.drafts,
    "it does not count drafts, so there is no mean acceptance length, and its ratio counts tokens behind a rejection, "
    "too: vLLM 0.10 and newer export what is needed",
)
_INCOMPLETE = "drafts are counted, but not all that is needed to judge them: is something filtered out of the series?"
_BY_NAME = {signal.name: signal for signal in ALL}


@dataclass(frozen=True)
class Case:
    """A model or an engine to be judged, and what is known beside its numbers."""

    numbers: Numbers
    seconds: float | None = None  # How long was counted; None where nobody knows: then there are no rates.
    broken: tuple[objects.Broken, ...] = ()  # Identities of its counters that do not hold.
    v0: bool = False  # Whether vLLM's V0 engine exposes it.

    @property
    def settings(self) -> Settings:
        """Thresholds and costs."""
        return self.numbers.settings


def engine_report(
    case: Case, model: Numbers, engine: str, server: str, notes: tuple[str, ...] = ()
) -> objects.EngineReport:
    """An engine's entry, beside its model's numbers."""
    own, together = case.numbers.value(traffic.drafts) or 0.0, model.value(traffic.drafts) or 0.0
    # Estimates of a rate add up to their sum but for the last digits: less than one draft is nobody's.
    to_others = case.numbers.value(length_to_others) if own and together - own >= 1 else None
    found = {"engine": engine, "server": server, "length_to_others": to_others, "notes": notes}
    return objects.EngineReport(**vars(judge(case)) | found)


def model_report(
    case: Case,
    model: str,
    method: str,
    *,
    labels: dict[str, str] | None = None,
    engines: tuple[objects.EngineReport, ...] = (),
    notes: tuple[str, ...] = (),
) -> objects.ModelReport:
    """A model's entry, of its engines together."""
    judged = judge(case)
    found = {
        "model": model,
        "method": method or None,
        "labels": labels or {},
        "acceptance_by_request": _by_request(engines),
        "acceptance_change": case.numbers.value(acceptance_change),
        "measured_speedup": case.numbers.value(measured_speedup),
        "broken": case.broken,
        "engines": engines,
        "notes": (*notes, *_of_outliers(engines, case.settings), *_of_method(judged, method, case.settings)),
    }
    return objects.ModelReport(**vars(judged) | found)


def _by_request(engines: Sequence[objects.EngineReport]) -> float | None:
    judged = [(one.traffic.requests or 0.0, one.speculation.acceptance) for one in engines if one.speculation]
    requests = sum(weight for weight, _ in judged)
    if len(judged) < 2 or not requests:  # noqa: PLR2004
        return None
    return sum(weight * share for weight, share in judged) / requests


def _of_outliers(engines: Sequence[objects.EngineReport], settings: Settings) -> list[str]:
    """Engines that accept less than their siblings, where there are drafts enough to say so."""
    judged = [(one, one.length_to_others) for one in engines if one.verdict.says is not None]
    return [
        f"engine {one.engine} of {one.server} is an outlier: its {within(acceptance_length.title)} is "
        f"{worded(length_to_others, to_others)} of the other engines'"
        for one, to_others in judged
        if to_others is not None and to_others < settings.thresholds.outlier
    ]


def _of_method(judged: objects.Judged, method: str, settings: Settings) -> list[str]:
    """Assumptions that the verdict rests on for want of a better source."""
    found = judged.speculation
    if found is None:
        return []
    notes, assumed = [], f"so c = {found.draft_cost:g} is assumed"
    if not method:
        notes.append(f"the drafting method is unknown, {assumed}: name it with --method")
    elif method not in settings.draft_cost.by_method:
        notes.append(f"no cost is known for {method}, {assumed}: settings, draft_cost.by_method")
    if found.draft_length < settings.thresholds.full_drafts * found.configured_k:
        of_k = f"{found.draft_length:.2f} of K = {found.configured_k:g} tokens"
        notes.append(f"drafts hold {of_k}: late positions read low, for few drafts get there")
    return notes


def judge(case: Case) -> objects.Judged:
    """The numbers of a model or an engine, and what follows from them."""
    numbers, sample = case.numbers, _sample(case)
    now = STATES.of(numbers.value(state)) or STATES.choices["silent"]
    if case.v0 and numbers.value(traffic.drafts) is None:
        now = V0_ENGINE
    reasons = (now.reason or _INCOMPLETE,)
    verdict = _verdict(case, sample) if sample else objects.Verdict(says=None, advice=None, reasons=reasons)
    return objects.Judged(
        state=now.code.says,
        verdict=_with_measured(case, verdict),
        sample=sample,
        speculation=_speculation(case, judged=verdict.says is not None) if sample else None,
        latency=objects.Latencies(**{name: _latency(numbers, name) for name in FELT}),
        traffic=_traffic(case),
        notes=(),
    )


def _sample(case: Case) -> objects.Sample | None:
    """The four counters, where anything was drafted and none of them is missing."""
    signals = (traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens)
    counted, drafted, accepted = (case.numbers.value(signal) for signal in signals)
    positions = case.numbers.each(traffic.accepted_tokens_per_pos)
    if not counted or drafted is None or accepted is None or not positions:
        return None
    return objects.Sample(
        drafts=counted,
        draft_tokens=drafted,
        accepted_tokens=accepted,
        accepted_per_position=positions,
        least=case.settings.traffic.drafts_to_judge,
    )


def _speculation(case: Case, *, judged: bool) -> objects.Speculation:
    found = _named_as_signals(case, objects.Speculation)
    found["survival"] = found["survival"][: case.settings.max_draft_tokens]
    # Without a drafted token, or a first position, there is no ratio of accepted ones: none was accepted.
    found |= {name: found[name] or 0.0 for name in ("acceptance", "alpha_hat", "first_position")}
    found["best_k"] = int(found["best_k"] or 0)
    found["band"] = acceptance.step_of(found["acceptance"], case.settings).says if judged else None
    found["verify_inflation"] = case.settings.draft_cost.verify_inflation
    return objects.Speculation(**found)


def _named_as_signals(case: Case, kind: type[objects.Speculation | objects.Traffic]) -> dict[str, Any]:
    """The values of all fields that are named as a signal: several where it has a label of its own, and rates."""
    found: dict[str, Any] = {}
    for name in {field.name for field in fields(kind)} & _BY_NAME.keys():
        signal = _BY_NAME[name]
        value: Any = case.numbers.each(signal) if signal.by else case.numbers.value(signal)
        found[name] = _over(value, case.seconds) if signal.unit.per_second else value
    return found


def _traffic(case: Case) -> objects.Traffic:
    numbers = case.numbers
    answered, generated = numbers.value(traffic.first_tokens), numbers.value(traffic.generation_tokens)
    found = _named_as_signals(case, objects.Traffic) | {"prefix_cache_hits": numbers.by(prefix_cache_hits).get("local")}
    return objects.Traffic(
        **found,
        prompt_length=_over(numbers.value(prompt_tokens), answered),
        answer_length=_over(generated, answered),
        generated=generated,
        requests=numbers.value(request_rate),
    )


def _over(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _latency(numbers: Numbers, name: str) -> objects.Latency | None:
    family = FELT[name]
    buckets = numbers.by(family.buckets)
    count = max(buckets.values(), default=0.0)
    p50, p95, p99 = (numbers.value(signal) for signal in (family.p50, family.p95, family.p99))
    if not count or p50 is None or p95 is None or p99 is None:
        return None
    mean, unresolved = numbers.value(family.mean) or 0.0, numbers.value(family.unresolved) or 0.0
    first = float(next(iter(buckets)))
    return objects.Latency(count=count, mean=mean, p50=p50, p95=p95, p99=p99, resolution=first, unresolved=unresolved)


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
    there = {int(position) for position in numbers.by(traffic.accepted_tokens_per_pos)}
    deepest = max(there, default=0)
    if not (missing := len(set(range(deepest)) - there)):
        return ()
    says = f"position {deepest} is counted without {missing} of the {deepest} positions before it"
    return (objects.Broken(identity="positions_missing", says=says, error=missing / (deepest + 1), engine=engine),)


def _verdict(case: Case, sample: objects.Sample) -> objects.Verdict:
    counted = f"{sample.drafts:,.0f} draft{'' if round(sample.drafts) == 1 else 's'}"
    if case.broken:
        withheld = "counters contradict each other"
        why = f"{withheld}: nothing can be judged by them"
    elif not sample.enough:
        withheld, why = "too few drafts", f"too few: {counted}, and a verdict takes {sample.least:,.0f}"
    elif not sample.draft_tokens:
        # Under structured output a grammar may void all that was drafted; not all of the time.
        withheld, asks = "drafts hold no tokens", "is every draft voided by a grammar, or does a counter stand still?"
        why = f"{counted}, and not one token in them: {asks}"
    else:
        chosen = ADVICE.of(case.numbers.value(advice)) or ADVICE.choices["keep"]
        says = expected_speedup.step_of(case.numbers.value(expected_speedup) or 0.0, case.settings).says
        reasons = (_filled(VERDICT_REASON, case), _filled(chosen.reason, case), _of_best_k(case))
        return objects.Verdict(says=says, advice=chosen.code.says, reasons=tuple(filter(None, reasons)))
    return objects.Verdict(says=None, advice=None, reasons=(why,), withheld=withheld)


def _of_best_k(case: Case) -> str:
    signals = (best_k, configured_k, expected_speedup, best_speedup)
    best, k, now, at_best = (case.numbers.value(signal) or 0.0 for signal in signals)
    told = _filled("{best_k.title} is {best_k}: {expected_speedup.within} {best_speedup}", case)
    if best >= k:
        return f"{told}; longer than K = {worded(configured_k, k)} was not tried"
    gain = at_best / now - 1
    # Nothing is gained where several k are as fast, or where K lies deeper than is judged.
    return f"{told}, {gain:.1%} more than K = {worded(configured_k, k)} gives now" if round(gain, 3) > 0 else ""


def _with_measured(case: Case, verdict: objects.Verdict) -> objects.Verdict:
    """A measured slowdown outweighs what is expected."""
    measured = case.numbers.value(measured_speedup)
    step = None if measured is None else measured_speedup.step_of(measured, case.settings)
    if step is None or step.status is not Status.BAD:
        return verdict
    value = worded(measured_speedup, measured)
    reason = (
        f"{measured_speedup.title} is {value}, under {case.settings.thresholds.slower:g}: {step.says} than the "
        "baseline's. See first that the load of both is alike, then draft less under load, or turn it off"
    )
    return replace(verdict, reasons=(reason, *verdict.reasons), measured=f"{step.says} (measured {value})")


class _Said:
    def __init__(self, signal: Signal, value: float | None) -> None:
        self.title, self.within = signal.title, within(signal.title)
        self._signal, self._value = signal, value

    def __format__(self, spec: str) -> str:
        return format(self._value, spec) if spec else worded(self._signal, self._value)


def _filled(template: str, case: Case) -> str:
    names = {field.partition(".")[0] for _, field, _, _ in Formatter().parse(template) if field} & _BY_NAME.keys()
    values = {name: _Said(_BY_NAME[name], case.numbers.value(_BY_NAME[name])) for name in names}
    return template.format(**values, thresholds=case.settings.thresholds, costs=case.settings.draft_cost)
