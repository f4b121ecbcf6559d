"""A drop whose causes are known, as `history --explain` and the report tell it from a real Prometheus."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from conftest import replayed
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.history import document
from draftboard.history.explained import queried
from draftboard.history.finding import of_past
from draftboard.history.runs import RUNS, of_effects
from draftboard.lab.openmetrics import series
from draftboard.output import as_markdown
from draftboard.reading import Recorded
from draftboard.report import document as report_document
from draftboard.report import report
from draftboard.rules import Group
from draftboard.settings import Settings
from draftboard.signals import Scope
from support.replays import behind

pytestmark = pytest.mark.prometheus
MINUTES, CHANGE = 120, 60
START = 1_756_800_000
SERVER = {"job": "vllm", "instance": "a:8000", "model_name": "m", "spec_method": "eagle3"}
ENGINE = SERVER | {"engine": "0"}
LENGTHS = {"0": 3.2, "up to 1.2": 1.6}
"""Mean acceptance length by temperature."""


def recording(hot: tuple[float, float], lengths_after: Mapping[str, float], *, upgrade: bool) -> Iterator[str]:
    """At one minute the share of hot requests' tokens and the lengths change, perhaps release and drafter too."""
    totals: dict[str, float] = {}
    for minute in range(MINUTES + 1):
        later = minute > CHANGE
        shares = {"0": 1 - hot[later], "up to 1.2": hot[later]}
        lengths = lengths_after if later else LENGTHS
        tokens = 6000 + minute % 7 * 40
        drafts = {of: tokens * share / lengths[of] for of, share in shares.items()}
        accepted = {of: count * (lengths[of] - 1) for of, count in drafts.items()}
        whole, kept = sum(drafts.values()), sum(accepted.values())
        grows = [
            ("vllm:spec_decode_num_drafts_total", ENGINE, whole),
            ("vllm:spec_decode_num_draft_tokens_total", ENGINE, 3 * whole),
            ("vllm:spec_decode_num_accepted_tokens_total", ENGINE, kept),
            ("vllm:generation_tokens_total", ENGINE, whole + kept + 30),
            ("vllm:inter_token_latency_seconds_count", ENGINE, whole),
            ("vllm:inter_token_latency_seconds_sum", ENGINE, whole * 0.02 * (1 + minute % 5 / 200)),
            ("vllm:iteration_tokens_total_count", ENGINE, whole / 2),
            ("vllm:time_to_first_token_seconds_count", ENGINE, 30),
            *(
                ("vllm:spec_decode_num_accepted_tokens_per_pos_total", ENGINE | {"position": str(place)}, kept * share)
                for place, share in enumerate((0.5, 0.3, 0.2))
            ),
        ]
        for of in shares:
            own = SERVER | {"dimension": "temperature", "class": of}
            amounts = {"drafts": drafts[of], "draft_tokens": 3 * drafts[of], "accepted_tokens": accepted[of]}
            grows += [(f"draftboard_spec_class_{what}_total", own, each) for what, each in amounts.items()]
        new = later and upgrade
        runs = {"vllm_version": "0.33.0" if new else "0.32.0", "draft_model": "B" if new else "A"}
        info = ENGINE | {"method": "eagle3", "k": "3", "adaptive": "false", "rejection": "", **runs}
        at = START + 60 * minute
        yield f"{series('draftboard_spec_info', info)} 1 {at}\n"
        yield f"{series('vllm:num_requests_running', ENGINE)} 2 {at}\n"
        for metric, labels, amount in grows:
            key = series(metric, labels)
            totals[key] = 0.0 if upgrade and minute == CHANGE + 1 else totals.get(key, 0.0) + amount
            yield f"{key} {totals[key]} {at}\n"


def replayable(folder: Path, recorded: Iterator[str], settings: Settings) -> tuple[Path, Sequence[Group]]:
    """The recording as a file, and the rules that hold what a history reads."""
    source = folder / "run.om"
    lines = sorted(recorded, key=lambda line: line.split(" ")[0])
    source.write_text("".join([*lines, "# EOF\n"]))
    wanted = [promql_of(one, scope) for scope, some in queried(settings, 300) for one in some.values()]
    wanted += [promql_of(one, Scope(settings)) for name, one in of_effects(settings).items() if name != RUNS]
    return source, behind(wanted, settings)[0]


def test_a_drop_is_told_with_the_mix_the_drafter_and_the_release_that_made_it(tmp_path: Path) -> None:
    settings = Settings()
    lengths = {of: length - 0.4 for of, length in LENGTHS.items()}
    source, rules = replayable(tmp_path, recording((0.1, 0.7), lengths, upgrade=True), settings)
    end = START + 60 * MINUTES
    with replayed(source, settings, rules=rules) as replay:
        found = of_past(Recorded(replay.client.url, Duration(7200)), settings, at=end, explain=True)
        said = as_markdown(document(found))
        last = Recorded(replay.client.url, Duration(1200))
        short, unasked = (of_past(last, settings, at=end, explain=explain) for explain in (True, False))
        later = report(Recorded(replay.client.url, at=START + 60 * (CHANGE + 40)), settings)
        reported = as_markdown(report_document(later, settings, engines=False))
    assert [note[:20] for one in short.models for note in one.notes] == ["No change to explain"]
    assert [one.notes for one in unasked.models] == [()]
    (model,) = found.models
    assert model.explanation
    assert abs(model.explanation.at - START - 60 * CHANGE) <= 900
    assert set(model.explanation.causes) == {"mix of requests", "version and drafter"}
    (length, time) = model.explanation.figures
    for figure in (length, time):
        assert sum(part.amount for part in figure.parts) == pytest.approx(figure.after - figure.before)
    # 1 / (0.9 / 3.2 + 0.1 / 1.6), and with drafter B 1 / (0.3 / 2.8 + 0.7 / 1.2).
    assert (length.before, length.after) == pytest.approx((2.909, 1.448), rel=0.02)
    assert "(version 0.32.0 -\\> 0.33.0, drafter A -\\> B; not separable)" in said
    assert "version and drafter changed at once: their effects cannot be separated" in said
    assert "up to 1.2: 10% -\\> 70% of tokens" in said
    # The report says it where acceptance dropped.
    assert later.models[0].acceptance_change
    assert later.models[0].acceptance_change < settings.thresholds.drop
    assert ": Mean acceptance length fell from 2.91 to 1.45 tokens (-50%): -0.9" in reported
    (change,) = model.changes
    assert change.what == ("vllm_version", "draft_model")


def test_a_drop_at_an_equal_mix_is_told_with_the_class_that_caused_it(tmp_path: Path) -> None:
    settings = Settings()
    source, rules = replayable(tmp_path, recording((0.4, 0.4), {**LENGTHS, "up to 1.2": 1.1}, upgrade=False), settings)
    with replayed(source, settings, rules=rules) as replay:
        found = of_past(Recorded(replay.client.url, Duration(7200)), settings, at=START + 60 * MINUTES, explain=True)
        later = report(Recorded(replay.client.url, at=START + 60 * (CHANGE + 40)), settings)
    (model,) = found.models
    assert model.explanation
    assert model.explanation.causes == ("class of requests",)
    cause = "class of requests (temperature up to 1.2: acceptance length 1.60 -\\> 1.10)"
    assert cause in as_markdown(document(found))
    assert cause in as_markdown(report_document(later, settings, engines=False))
    for figure in model.explanation.figures:
        assert sum(part.amount for part in figure.parts) == pytest.approx(figure.after - figure.before)
