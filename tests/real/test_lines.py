"""Which models a graph draws, as a real Prometheus answers its query: of thirty, the worst few."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import program
from draftboard.prometheus import Client, Promtool, Series, Server
from draftboard.settings import Settings
from draftboard.signals.health import HEALTH
from support import grafana

pytestmark = pytest.mark.prometheus

END, PACE, HOURS = 1_800_000_000, 60, 3
COSTS, PAYS, OFF = (HEALTH[name].value for name in ("costs more", "pays", "off"))
# Standing and drafts per second, by model: seven cost more than they save, the rest pay or do not draft.
MODELS = {
    **{f"costs-{n}": (COSTS, 10 + n) for n in range(7)},
    **{f"pays-{n:02}": (PAYS, 100 + n) for n in range(20)},
    **{f"off-{n}": (OFF, None) for n in range(3)},
}
GONE, FAILS = "costs-6", "pays-00"
LEFT = END - 1800  # When the model that has gone left.


def _samples() -> Iterator[str]:
    times = range(END - HOURS * 3600, END + PACE, PACE)
    for metric, value in (
        ("model:vllm_health:enum_rate5m", lambda health, _: health),
        ("model:vllm_health:rank", lambda health, drafts: health + 0.5 / (1 + (drafts or 0))),
        ("model:vllm_spec_decode_drafts:rate5m", lambda _, drafts: drafts),
        ("model:vllm_spec_decode_acceptance_length:mean_rate5m", lambda _, drafts: drafts and 2.5),
    ):
        yield f"# TYPE {metric} gauge"
        for model, (health, drafts) in MODELS.items():
            shown = value(health, drafts)
            for time in times if shown is not None else ():
                if model != GONE or time < LEFT:
                    yield f'{metric}{{job="vllm",model_name="org/{model}",spec_method="eagle3"}} {shown} {time}'
    yield "# TYPE model:vllm_request_errors:ratio_rate5m gauge"
    for model in MODELS:
        for time in times:
            failed = 0.2 if model == FAILS and time < END - 7200 else 0
            yield f'model:vllm_request_errors:ratio_rate5m{{job="vllm",model_name="org/{model}"}} {failed} {time}'
    yield "# EOF\n"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("lines")
    server = Server(program("prometheus"), folder, lookback=settings.rules.rate_window)
    recording = Path(folder / "models.om")
    recording.write_text("\n".join(_samples()))
    Promtool(program("promtool")).load_openmetrics(recording, server.storage)
    with server.running() as url, Client(url) as client:
        yield client


def drawn(prometheus: Client, files: dict[str, str], subject: str, title: str, lines: str = "5") -> set[str]:
    """Models that a panel draws over the last hours."""
    series = answered(prometheus, files, subject, title, lines)[0]
    return {one.labels["model_name"].removeprefix("org/") for one in series}


def answered(
    prometheus: Client, files: dict[str, str], subject: str, title: str, lines: str = "5"
) -> list[list[Series]]:
    """Series of each of its queries."""
    dashboard = json.loads(files[f"dashboards/draftboard-{subject}.json"])
    (panel,) = (one for one in grafana.panels(dashboard) if one["title"] == title)
    exprs = (grafana.substituted(one["expr"], dashboard, "5m", {"lines": lines}) for one in panel["targets"])
    return [prometheus.query_range(expr, END - HOURS * 3600, END, PACE) for expr in exprs]


def test_the_five_worst_are_drawn_and_of_equals_the_busiest(prometheus: Client, files: dict[str, str]) -> None:
    # What has gone still has its past, and ranks where it stood.
    assert drawn(prometheus, files, "overview", "Mean acceptance length") == {f"costs-{n}" for n in range(2, 7)}


def test_twelve_are_one_click_away_and_so_are_all_that_draft(prometheus: Client, files: dict[str, str]) -> None:
    costs, pays = ({model for model in MODELS if model.startswith(kind)} for kind in ("costs", "pays"))
    twelve = drawn(prometheus, files, "overview", "Mean acceptance length", "12")
    assert twelve == costs | {f"pays-{n}" for n in range(15, 20)}
    assert drawn(prometheus, files, "overview", "Mean acceptance length", "1000") == costs | pays


def test_a_failure_is_drawn_whosever_it_is_and_although_it_has_ended(prometheus: Client, files: dict[str, str]) -> None:
    assert drawn(prometheus, files, "latency", "Share of failed requests") == {FAILS}


def test_that_nothing_fails_is_drawn_where_requests_are_counted(prometheus: Client, files: dict[str, str]) -> None:
    failing, none = answered(prometheus, files, "latency", "Share of failed requests")
    (zero,) = none
    assert {value for _, value in zero.samples} == {0}
    # At each moment the one or the other.
    times = {time for series in (*failing, zero) for time, _ in series.samples}
    assert len(times) == sum(len(series.samples) for series in (*failing, zero)) == HOURS * 60 + 1
    assert answered(prometheus, files, "latency", "Unanswered requests")[-1] == []
