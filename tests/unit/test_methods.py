"""Methods as people write them: known spellings are read, others refused."""

from pathlib import Path

import pytest

from draftboard.errors import DraftboardError
from draftboard.reading import Lifetime
from draftboard.report import report
from draftboard.settings import Settings, method_of, spelled

PAGE = Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom"


@pytest.mark.parametrize(
    ("given", "method"),
    [
        ("ngram", "ngram"),
        ("N-gram", "ngram"),
        ("n gram", "ngram"),
        ("Eagle-3", "eagle3"),
        ("EAGLE_3", "eagle3"),
        ("eagle", "eagle"),
        ("ngram-gpu", "ngram_gpu"),
        ("Draft-Model", "draft_model"),
        ("deepseek_mtp", "mtp"),
        ("None", "none"),
        ("", ""),
    ],
)
def test_a_known_method_is_read_whatever_its_spelling(given: str, method: str) -> None:
    assert method_of(given, Settings()) == method


@pytest.mark.parametrize("given", ["eagle4", "ngramm", "tmp", "mtp2", "eagle 3 and more", "-", "é"])
def test_an_unknown_method_is_refused_with_the_known_ones(given: str) -> None:
    assert spelled(given, Settings()) is None
    with pytest.raises(DraftboardError, match=r"is unknown: one of custom_class, dflash, .*or name it in settings"):
        method_of(given, Settings())


def test_a_method_of_the_settings_is_known_and_wins_over_a_spelling() -> None:
    own = Settings.model_validate({"draft_cost": {"by_method": {"Eagle-3": 0.2, "mine": 0.1}}})
    assert [method_of(given, own) for given in ("Eagle-3", "MINE", "ngram")] == ["Eagle-3", "mine", "ngram"]


def test_a_spelling_does_not_change_a_report() -> None:
    told = {given: report(Lifetime(PAGE), method=given) for given in ("ngram", "N-gram", "NGRAM")}
    assert len({str(result) for result in told.values()}) == 1
