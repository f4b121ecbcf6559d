"""Pages of made-up servers, for tests of what is read from them."""

from collections.abc import Sequence

from draftboard.catalogue import latency, serving, speculation

MODEL = "m"


def page(
    accepted: Sequence[float] = (),
    *,
    drafts: float = 0,
    drafted: float | None = None,
    model: str = MODEL,
    engine: str = "0",
    generated: float | None = None,
    requests: float = 0,
    steps: float | None = None,
    started: float = 0,
    running: float = 0,
) -> str:
    """One engine's counters; more pages can be appended.

    Drafts have full length unless drafted tokens are given, and every step drafts unless steps and tokens are given.
    """
    labels = f'engine="{engine}",model_name="{model}"'
    whole = drafts * len(accepted) if drafted is None else drafted
    samples: dict[str, float] = {
        f"{serving.GENERATION_TOKENS.name}{{{labels}}}": drafts + sum(accepted) if generated is None else generated,
        f'{serving.REQUESTS_FINISHED.name}{{{labels},finished_reason="stop"}}': requests,
        f"{serving.REQUESTS_RUNNING.name}{{{labels}}}": running,
        f"{latency.STEP_LATENCY.count.name}{{{labels}}}": drafts if steps is None else steps,
        f"{latency.TIME_TO_FIRST_TOKEN.count.name}{{{labels}}}": started,
    }
    if accepted:
        samples |= {
            f"{speculation.DRAFTS.name}{{{labels}}}": drafts,
            f"{speculation.DRAFT_TOKENS.name}{{{labels}}}": whole,
            f"{speculation.ACCEPTED_TOKENS.name}{{{labels}}}": sum(accepted),
        }
    for position, count in enumerate(accepted):
        samples[f'{speculation.ACCEPTED_TOKENS_PER_POS.name}{{{labels},position="{position}"}}'] = count
    return "".join(f"{series} {value}\n" for series, value in samples.items())
