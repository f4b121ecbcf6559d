"""How the parts of a report's time scatter: what the intervals of its numbers rest on."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from draftboard.expr.vector import Labels, kept, value_of
from draftboard.intervals import LEAST, Estimate, Ratio
from draftboard.report.numbers import Part
from draftboard.report.objects import Origin
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.latency import per_token

Parts = Mapping[Labels, tuple[Part, ...]]  # By model.
SCRAPES = 2
"""The shortest part of a Prometheus' range."""


def _lengths(part: Part) -> tuple[float, float]:
    # SGLang counts drafts, and no tokens of them.
    return (part.drafts + part.accepted_tokens, part.drafts) if part.draft_tokens else (0.0, 0.0)


def times(part: Part) -> tuple[float, float]:
    """Time of tokens and their number, as the mean has them."""
    # Of engines that time no steps by request.
    by_step = part.step_seconds, part.generated - part.first_tokens
    return by_step if part.step_seconds else (part.seconds_per_token, part.requests)


_SUMS: Mapping[str, Callable[[Part], tuple[float, float]]] = {
    per_token.mean.name: times,
    acceptance.name: attrgetter("accepted_tokens", "draft_tokens"),
    acceptance_length.name: _lengths,
}


def ratios(parts: Sequence[Part]) -> dict[str, Ratio]:
    """By the signal's name, what parts enough have counted."""
    result = {name: Ratio.of([sums(part) for part in parts]) for name, sums in _SUMS.items()}
    return {name: ratio for name, ratio in result.items() if ratio}


def why_none(parts: Sequence[Part], origin: Origin) -> str:
    """Why the time per output token has no interval; empty where it has one."""
    if not parts and origin is Origin.PROMETHEUS:
        return f"the range is shorter than {LEAST} parts of {SCRAPES} scrapes: ask over a longer --range"
    if not parts:
        return "one or two pages count the time as a whole: read servers, or a Prometheus"
    if per_token.mean.name in ratios(parts):
        return ""
    requests = sum(part.requests > 0 for part in parts)
    return f"requests finished in {requests} of {len(parts)} parts of the time (minimum {LEAST})"


def speedups(parts: Parts, measured: Collection[Labels], settings: Settings) -> dict[Labels, Estimate]:
    """Of the variants whose speedup is measured, their own, as far as both sides' scatter is known."""
    result = {}
    for variant in measured:
        before, after = (ratios(one).get(per_token.mean.name) for one in sides(parts, variant, settings))
        if before and after:
            result[variant] = before.over(after)
    return result


def why_not(parts: Parts, variant: Labels, settings: Settings) -> str:
    """Why a variant whose speedup is measured has no interval of it."""
    return next(filter(None, (why_none(side, Origin.PROMETHEUS) for side in sides(parts, variant, settings))), "")


def sides(parts: Parts, variant: Labels, settings: Settings) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """The parts of all of a model's baselines together, and those of the variant."""
    names = settings.labels
    model = kept(variant, (*names.scope, names.model_name))
    baselines = [
        own
        for labels, own in parts.items()
        if value_of(labels, names.spec_method) == settings.methods.baseline
        and kept(labels, (*names.scope, names.model_name)) == model
    ]
    return tuple(_together(each) for each in zip(*baselines, strict=True)), parts.get(variant, ())


def _together(parts: Sequence[Part]) -> Part:
    return Part(**{field.name: sum(getattr(part, field.name) for part in parts) for field in fields(Part)})
