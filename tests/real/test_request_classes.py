"""An overall acceptance that hides four classes of requests, as the report tells it from a real Prometheus."""

from pathlib import Path

import pytest

from conftest import replayed
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.output import as_markdown
from draftboard.reading import Recorded
from draftboard.report import Report, document, report
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.traffic import generation_tokens
from support.classed import ACCEPTED, END, recording
from support.replays import behind

pytestmark = [pytest.mark.prometheus]


def report_of(folder: Path, seen: float, settings: Settings, missed: float = 0.0) -> tuple[Report, str]:
    source = folder / "run.om"
    source.write_text("".join(recording(seen=seen, missed=missed)))
    rules, _ = behind([promql_of(generation_tokens, Scope(settings, Level.ENGINE))], settings)
    with replayed(source, settings, rules=rules) as replay:
        asked = Recorded(replay.client.url, Duration(600), "", END)
        said = report(asked, settings)
        return said, as_markdown(document(said, settings, engines=False))


WORST = "temperature and prompt over 1.2, up to 16384, 25.0% of requests, acceptance 9.3%, acceptance length 1.37"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (Settings(), f"Helped least: {WORST}: expected speedup of its steps "),
        (Settings.model_validate({"draft_cost": {"verify_inflation": {"1": 1.5}}}), f"Loses: {WORST}"),
    ],
)
def test_the_report_parts_the_mean_into_classes_and_names_the_one_that_gains_least(
    tmp_path: Path, settings: Settings, says: str
) -> None:
    said, text = report_of(tmp_path, 1.0, settings)
    (model,) = said.models
    assert model.speculation
    assert model.speculation.acceptance == pytest.approx(0.33975)
    found = {one.name: one for one in model.classes if one.dimension == "temperature and prompt"}
    assert {name: one.acceptance for name, one in found.items()} == pytest.approx(
        {name: accepted / 4000 for name, accepted in ACCEPTED.items()}
    )
    assert {one.share for one in found.values()} == {0.25}
    assert "Whom does speculation help?" in text
    assert says in text


@pytest.mark.parametrize("seen", [0.0, 0.8])
def test_nothing_is_said_of_classes_where_the_lens_sees_too_little(tmp_path: Path, seen: float) -> None:
    said, text = report_of(tmp_path, seen, Settings())
    assert said.models[0].classes == ()
    assert "Whom does speculation help?" not in text
    assert "Helped" not in text
    assert ("the lens sees 80.0% of the draft tokens, at least 90.0% are needed" in text) == (seen > 0)


def test_of_a_lens_that_sees_too_little_the_report_says_what_it_misses(tmp_path: Path) -> None:
    (model,) = report_of(tmp_path, 0.0, Settings(), missed=120)[0].models
    (note,) = (one for one in model.notes if "lens" in one)
    assert note == (
        "Classes of requests are not judged: the lens sees 0.0% of the draft tokens, at least 90.0% are needed. "
        "Missed: 2 requests/s whose answers have no metrics: streams without usage (--enable-force-include-usage), "
        "or n above 1; 0.1 requests/s that ended early: the client left, or vLLM failed"
    )
