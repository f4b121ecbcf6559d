"""Made-up runs, as reports: requests of given times, and drafts of given acceptance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from draftboard.catalogue import latency, serving
from draftboard.compare import Side
from draftboard.reading import Growth
from draftboard.report import Part, Reading, Sampling
from draftboard.settings import Settings
from support.tallies import tally

_DEFAULTS = Settings()
K = 4
LENGTH = 100
"""Tokens of a prompt, and of an answer."""


def ran(
    times: Sequence[float] = (0.03,) * 200,
    *,
    acceptance: float | None = None,
    drafts: int = 1000,
    step: float | None = None,
    per_step: float = 1.0,
    model: str = "m",
    method: str = "",
    seconds: float = 100.0,
    answers: int = LENGTH,
    prompts: int = LENGTH,
    sampling: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
    engines: int = 1,
    parts: int = 0,
    waiting: float = 0,
    first_token: float = 0.04,
    queued: float = 0,
    settings: Settings = _DEFAULTS,
) -> Side:
    """A run whose finished requests took so long a token; without an acceptance nothing was drafted.

    Every engine counts the same. Requests belong to so many parts of the time in turn, and drafts are spread evenly.

    Answers wait `queued` seconds before their first token.

    Drafts are accepted whole or not at all, so that any acceptance can be had exactly. Steps take what their tokens do.
    """
    requests, tokens = len(times), float(answers * len(times))
    steps = (tokens - requests) / per_step
    counted = tally(
        () if acceptance is None else [acceptance * drafts] * K,
        drafts=None if acceptance is None else drafts,
        generated=tokens,
        prompts=float(prompts * requests),
        requests=float(requests),
        times={
            latency.TIME_TO_FIRST_TOKEN: [first_token] * requests,
            latency.TIME_PER_OUTPUT_TOKEN: times,
            latency.STEP_LATENCY: [fmean(times) * per_step if step is None else step] * round(steps),
            latency.END_TO_END_LATENCY: [queued + time * answers for time in times],
        },
        model=model,
    )
    queue = {**counted.gauges, (serving.REQUESTS_WAITING.name, ()): waiting}
    tallies = tuple(replace(counted, engine=str(number), gauges=queue) for number in range(engines))
    report = Reading([], Growth(tallies, seconds), settings, method).report()
    in_parts = tuple(
        Part(
            requests=len(times[number::parts]),
            seconds_per_token=sum(times[number::parts]),
            drafts=0 if acceptance is None else drafts / parts,
            draft_tokens=0 if acceptance is None else K * drafts / parts,
            accepted_tokens=0 if acceptance is None else K * acceptance * drafts / parts,
        )
        for number in range(parts)
    )
    (told,) = (replace(one, labels=dict(labels or {}), parts=in_parts) for one in report.models)
    run = replace(
        report,
        sources=("http://127.0.0.1:8000/metrics",),
        taken_at=1_800_000_000.0,
        models=(told,),
        sampling=Sampling(**(sampling or {})),
    )
    return Side(run, told)
