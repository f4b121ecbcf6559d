"""Made-up runs, as reports: requests of given times, and drafts of given acceptance."""

from collections.abc import Mapping, Sequence

from draftboard.compare import Side
from draftboard.report import Report, Sampling
from draftboard.report.entries import model_report
from draftboard.report.histogram import Distribution
from draftboard.report.judge import judge
from draftboard.report.objects import SCHEMA_VERSION, Origin
from draftboard.report.totals import Totals
from draftboard.settings import Settings

BOUNDS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5, 10, 20, 40)
K = 4
LENGTH = 100
"""Tokens of a prompt, and of an answer."""


def ran(
    times: Sequence[float] = (0.03,) * 200,
    *,
    acceptance: float | None = None,
    drafts: int = 1000,
    step: float = 0.03,
    per_step: float = 1.0,
    model: str = "m",
    method: str = "",
    seconds: float = 100.0,
    answers: int = LENGTH,
    prompts: int = LENGTH,
    sampling: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Side:
    """A run whose finished requests took so long a token; without an acceptance nothing was drafted.

    Drafts are accepted whole or not at all, so that any acceptance can be had exactly.
    """
    requests, settings = len(times), Settings()
    tokens = float(answers * requests)
    steps = (tokens - requests) / per_step
    accepted = {} if acceptance is None else dict.fromkeys(range(K), acceptance * drafts)
    sums = Totals(
        drafts=None if acceptance is None else drafts,
        draft_tokens=None if acceptance is None else drafts * K,
        accepted_tokens=None if acceptance is None else acceptance * drafts * K,
        accepted_by_position=accepted,
        configured_k=K,
        generation_tokens=tokens,
        prompt_tokens=float(prompts * requests),
        decode_steps=steps,
        first_tokens=float(requests),
        requests=float(requests),
        latencies={
            "first_token": timed([0.04] * requests),
            "per_token": timed(times),
            "step": timed([step] * round(steps)),
            "end_to_end": timed([time * answers for time in times]),
        },
    )
    told = model_report(judge(sums, seconds, method, settings), model, method, labels=dict(labels or {}))
    report = Report(
        schema_version=SCHEMA_VERSION,
        origin=Origin.SCRAPES,
        sources=("http://127.0.0.1:8000/metrics",),
        taken_at=1_800_000_000.0,
        seconds=seconds,
        models=(told,),
        notes=(),
        sampling=Sampling(**(sampling or {})),
    )
    return Side(report, told)


def timed(times: Sequence[float]) -> Distribution:
    """A histogram of them."""
    buckets = {str(bound): float(sum(time <= bound for time in times)) for bound in (*BOUNDS, float("inf"))}
    return Distribution.of([buckets], sum(times))
