"""What a real Prometheus stores of hostile pages, scraped with the generated options."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import program
from draftboard.build import stack
from draftboard.build.scraping import UNSAFE
from draftboard.durations import Duration
from draftboard.prometheus import Client, Server
from draftboard.settings import Settings
from support.hostile import ENCODABLE, escaped
from support.loopback import answering, page
from support.rulefiles import loaded
from support.waiting import sampled

pytestmark = pytest.mark.prometheus

RUNNING = "vllm:num_requests_running"
OWN_NAME, OWN_LABELS = "own_series", ",".join(f'l{number}="1"' for number in range(90))
FORGED = (
    "up",
    "scrape_series_added",
    "ALERTS",
    "model:vllm_generation_tokens:rate5m",
    "fleet:draftboard_heartbeat:bool",
)
OBEYED = ("{{", "<", ">", "\n", "\r", "\x1b", "\x9b", "\u202e", "\u2066", "\u200b", "\u2028", "\x00")


def hostile_page() -> str:
    models = [f'{RUNNING}{{model_name="{escaped(text)}",engine="0"}} 1' for text in ENCODABLE.values()]
    own = [f'{OWN_NAME}{{model_name="m"}} 1', f'{RUNNING}{{model_name="m",engine="1",{OWN_LABELS}}} 1']
    reasons = [f'vllm:request_success_total{{model_name="m",finished_reason="{one}"}} 1' for one in ("stop", "<b>")]
    return "\n".join([*models, *own, *reasons, *(f'{name}{{forged="yes"}} 1' for name in FORGED), ""])


def scrape(**tables: Any) -> dict[str, Any]:
    """The generated options, for any job of servers."""
    limits = {"label_value_length": 10_000}
    built = Settings.model_validate({"stack": {"limits": limits, "scrape": tables}})
    return dict(loaded(stack.text(stack.SCRAPE, built, "made by a test")))


@contextmanager
def scraped(folder: Path, jobs: Sequence[dict[str, Any]]) -> Iterator[Client]:
    """A Prometheus that has scraped each job."""
    content = yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": [*jobs]})
    with Server(program("prometheus"), folder, Duration(60), content).running() as url, Client(url) as client:
        sampled(client, f"count(scrape_samples_scraped) == {len(jobs)}")
        yield client


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The hostile page under default options, a list of models, and with everything kept; and a redirection."""
    with ExitStack() as both:
        place = both.enter_context(answering(page(hostile_page(), Content_Type="text/plain; version=0.0.4")))
        leading = both.enter_context(answering(page("", 307, Location=f"http://{place}/metrics")))
        options = {
            "known": scrape(),
            "listed": scrape(models=["m"]),
            "everything": scrape(keep="everything"),
            "redirected": scrape(),
        }
        jobs = [
            {"job_name": name, "static_configs": [{"targets": [leading if name == "redirected" else place]}], **own}
            for name, own in options.items()
        ]
        with scraped(tmp_path_factory.mktemp("hostile"), jobs) as client:
            yield client


def labels(client: Client, selector: str) -> list[dict[str, str]]:
    return [row.labels for row in client.query(selector, time.time())]


@pytest.mark.parametrize("job", ["known", "everything"])
def test_no_label_value_is_stored_that_anything_obeys(stored: Client, job: str) -> None:
    values = {text for one in labels(stored, f'{{job="{job}"}}') for text in one.values()}
    assert not [text for text in values if any(obeyed in text for obeyed in OBEYED)]
    assert any(text.startswith(UNSAFE) for text in values)
    assert {"meta", "stop", "@octocat"} & values == {"stop", "@octocat"}


def test_a_page_adds_no_series_and_no_label_of_its_own(stored: Client) -> None:
    assert not labels(stored, f'{OWN_NAME}{{job="known"}}')
    assert labels(stored, f'{OWN_NAME}{{job="everything"}}')
    assert {name for one in labels(stored, f'{RUNNING}{{job="known"}}') for name in one} == {
        *("__name__", "engine", "instance", "job", "model_name")
    }
    assert "l89" in labels(stored, f'{RUNNING}{{job="everything",engine="1"}}')[0]


@pytest.mark.parametrize("job", ["known", "everything"])
def test_no_page_reports_what_prometheus_adds_or_records_itself(stored: Client, job: str) -> None:
    assert not labels(stored, f'{{job="{job}",forged!=""}}')
    assert labels(stored, f'scrape_series_added{{job="{job}"}}')


def test_of_listed_models_no_other_is_stored(stored: Client) -> None:
    assert {one.get("model_name", "") for one in labels(stored, '{job="listed",__name__=~"vllm:.*"}')} <= {"", "m"}
    assert labels(stored, f'{RUNNING}{{job="listed",model_name="m"}}')


def test_a_redirection_is_not_followed(stored: Client) -> None:
    assert [row.samples[0][1] for row in stored.query('up{job="redirected"}', time.time())] == [0]
    assert not labels(stored, '{job="redirected",__name__=~"vllm:.*"}')
