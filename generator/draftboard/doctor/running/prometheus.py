"""A Prometheus: is every series there that dashboards and rules read, and are the rules loaded?"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from draftboard.catalogue import Presence
from draftboard.doctor.finding import Examination, Finding, problem, warning
from draftboard.doctor.running import loaded, resolution, scrapes, series
from draftboard.doctor.running.readers import SAMPLES, Reader, all_readers, silenced_by
from draftboard.doctor.running.series import NAMES
from draftboard.doctor.running.stored import Stored, look
from draftboard.errors import DraftboardError
from draftboard.prometheus import Client
from draftboard.settings import Settings

_Answer = TypeVar("_Answer")


def examine_prometheus(client: Client, settings: Settings, time: float) -> Examination:
    """What it holds at a time, in Unix seconds; how it scrapes and what it evaluates, now.

    Raises:
        DraftboardError: it gives no answer.
    """
    stored, readers = look(client, settings, time), all_readers(settings)
    findings = [*_scraped(client, stored, settings, readers)]
    findings += loaded.explain(_if_known(client.rules), stored, settings, readers)
    if stored.servers:
        findings += [*resolution.explain(client, stored, settings, time), *_gpus(stored, readers)]
    return Examination(f"Prometheus at {client.url}", tuple(findings))


def _scraped(client: Client, stored: Stored, settings: Settings, readers: tuple[Reader, ...]) -> Iterator[Finding]:
    if not stored.servers:
        yield _nobody(settings, readers)
        return
    yield from series.explain(stored.servers, settings, readers)
    yield from scrapes.explain(_if_known(client.targets) or [], stored, settings)


def _if_known(ask: Callable[[], _Answer]) -> _Answer | None:
    """The answer of a server that may be one that only stores, and so knows neither targets nor rules."""
    try:
        return ask()
    except DraftboardError:
        return None


def _nobody(settings: Settings, readers: tuple[Reader, ...]) -> Finding:
    where = f"the selector {settings.selector}" if settings.selector else "scrape_configs"
    what = "no vLLM server is scraped: no series of vLLM, and no target with a method label"
    job = f"""\
scrape_configs:
  - job_name: vllm
    static_configs:
      - targets: ['HOST:8000']
        labels: {{{settings.labels.spec_method}: eagle3}}"""
    told = problem(where, what, "add a job such as the one below", job)
    return replace(told, empty=silenced_by(SAMPLES, readers))


def _gpus(stored: Stored, readers: tuple[Reader, ...]) -> Iterator[Finding]:
    names = NAMES[Presence.GPU_EXPORTER]
    if not stored.beside.intersection(names):
        what = f"no GPU exporter is scraped: there is no {names[0]}"
        told = warning("scrape_configs", what, "run dcgm-exporter on the GPU hosts and scrape it")
        yield replace(told, empty=silenced_by(names, readers))
