"""The stack's `serve.sh` starts a real vLLM, which is as the stack's other parts take it to be."""

import httpx
import pytest

from draftboard import reading
from draftboard.catalogue import latency
from draftboard.settings import Settings
from support.vllm_server import KEY, Vllm

pytestmark = pytest.mark.vllm


def bounds(vllm: Vllm, histogram: latency.Histogram) -> tuple[float, ...]:
    page = reading.read(vllm.page(), "page")
    return tuple(sorted({float(dict(labels)["le"]) for labels in page.of(histogram.bucket)})[:-1])


def test_histograms_have_the_bounds_that_the_stack_gives(vllm: Vllm, stack_settings: Settings) -> None:
    wanted = stack_settings.buckets
    assert bounds(vllm, latency.TIME_TO_FIRST_TOKEN) == wanted.time_to_first_token
    assert bounds(vllm, latency.STEP_LATENCY) == wanted.inter_token_latency
    assert bounds(vllm, latency.END_TO_END_LATENCY) == wanted.request_latency


def test_who_has_no_key_gets_no_answer_but_the_page_of_metrics(vllm: Vllm) -> None:
    with httpx.Client(base_url=vllm.url, trust_env=False, timeout=30) as nobody:
        assert nobody.get("/v1/models").status_code == httpx.codes.UNAUTHORIZED
        assert nobody.get("/health").status_code == httpx.codes.OK
        assert nobody.get("/metrics").status_code == httpx.codes.OK


def test_the_key_is_in_no_argument_and_no_log(vllm: Vllm) -> None:
    assert KEY not in " ".join(vllm.command)
    assert KEY not in vllm.log
