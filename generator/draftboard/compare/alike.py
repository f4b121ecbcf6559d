"""Whether two runs may be compared: the same model, a like load, tokens asked for in the same way."""

from dataclasses import fields

from draftboard.compare.sides import Side, quoted
from draftboard.report import Sampling
from draftboard.settings import Settings


def differences(baseline: Side, candidate: Side, settings: Settings) -> tuple[str, ...]:
    """What is known to differ, in words; nothing where the two may be compared."""
    return (
        *_of_model(baseline, candidate),
        *_of_load(baseline, candidate, settings.thresholds.load),
        *_of_lengths(baseline, candidate, settings.thresholds.load),
        *_of_sampling(baseline, candidate),
    )


def unknown(baseline: Side, candidate: Side) -> tuple[str, ...]:
    """What nobody can say of both."""
    asked = {
        "load (no rates without a time)": _rates(baseline, candidate),
        "prompt length": _pair("prompt_length", baseline, candidate),
        "answer length": _pair("answer_length", baseline, candidate),
        "temperature": _sampled("temperature", baseline, candidate),
    }
    return tuple(name for name, pair in asked.items() if not pair)


def _of_model(baseline: Side, candidate: Side) -> tuple[str, ...]:
    names = baseline.model.model, candidate.model.model
    return (f"model {quoted(names[0])} against {quoted(names[1])}",) if names[0] != names[1] else ()


def _of_load(baseline: Side, candidate: Side, tolerance: float) -> tuple[str, ...]:
    """Load differs where neither the rate nor the number of requests in flight is alike.

    Clients either send at a rate or keep so many requests in flight; a faster server changes the other one.
    """
    known = _rates(baseline, candidate)
    if not known or any(_alike(*pair, tolerance) for pair in known.values()):
        return ()
    told = " and ".join(f"{first:.3g} against {second:.3g} {what}" for what, (first, second) in known.items())
    return (f"load {told}",)


def _of_lengths(baseline: Side, candidate: Side, tolerance: float) -> tuple[str, ...]:
    known = {
        "prompts": _pair("prompt_length", baseline, candidate),
        "answers": _pair("answer_length", baseline, candidate),
    }
    return tuple(
        f"{what} of {pair[0]:,.0f} against {pair[1]:,.0f} tokens"
        for what, pair in known.items()
        if pair and not _alike(*pair, tolerance)
    )


def _of_sampling(baseline: Side, candidate: Side) -> tuple[str, ...]:
    known = {field.name: _sampled(field.name, baseline, candidate) for field in fields(Sampling)}
    return tuple(
        f"{name} {pair[0]:g} against {pair[1]:g}" for name, pair in known.items() if pair and pair[0] != pair[1]
    )


def _alike(first: float, second: float, tolerance: float) -> bool:
    return abs(first - second) <= tolerance * max(first, second)


def _rates(baseline: Side, candidate: Side) -> dict[str, tuple[float, float]]:
    flights = baseline.in_flight, candidate.in_flight
    known = {
        "requests/s": _pair("request_rate", baseline, candidate),
        "in flight": _both(*flights),
    }
    return {what: pair for what, pair in known.items() if pair}


def _pair(name: str, baseline: Side, candidate: Side) -> tuple[float, float] | None:
    return _both(getattr(baseline.model.traffic, name), getattr(candidate.model.traffic, name))


def _sampled(name: str, baseline: Side, candidate: Side) -> tuple[float, float] | None:
    return _both(getattr(baseline.report.sampling, name), getattr(candidate.report.sampling, name))


def _both(first: float | None, second: float | None) -> tuple[float, float] | None:
    return None if first is None or second is None else (first, second)
