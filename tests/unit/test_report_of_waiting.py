"""Whether users wait stands before the verdict: a gain in decoding helps nobody who is still in the queue."""

from pathlib import Path

import pytest

from draftboard.durations import Duration
from draftboard.output.markdown import as_markdown
from draftboard.reading import Lifetime, Pages
from draftboard.report import Report, report
from draftboard.report.document import document
from draftboard.settings import Settings
from support.pages import page


def judged(path: Path, *, waiting: float, running: float = 64, first_token: float | None = None) -> Report:
    labels = '{engine="0",model_name="m"}'
    text = page((950, 900, 850), drafts=1000, running=running) + f"vllm:num_requests_waiting{labels} {waiting}\n"
    if first_token is not None:
        name = "vllm:time_to_first_token_seconds"
        text = "".join(line for line in text.splitlines(keepends=True) if name not in line)
        buckets = "".join(
            f'{name}_bucket{{engine="0",model_name="m",le="{bound}"}} {100 if first_token <= float(bound) else 0}\n'
            for bound in ("1.0", "1000.0", "+Inf")
        )
        text += f"{buckets}{name}_sum{labels} {100 * first_token}\n{name}_count{labels} 100\n"
    path.write_text(text)
    return report(Lifetime(path), method="eagle3")


@pytest.mark.parametrize(
    ("waiting", "first_token", "says"),
    [
        (1998, 808.0, "users wait: 1,998 in the queue, first token after 808 s"),
        (65, None, "users wait: 65 in the queue"),
        (0, 11.0, "users wait: first token after 11 s"),
        (64, 9.9, None),
        (0, None, None),
    ],
)
def test_a_queue_and_late_first_tokens_are_the_headline(
    tmp_path: Path, waiting: float, first_token: float | None, says: str | None
) -> None:
    found = judged(tmp_path / "page.prom", waiting=waiting, first_token=first_token)
    (model,) = found.models
    assert (model.waiting.requests, model.waiting.first_token) == (waiting, first_token and pytest.approx(first_token))
    assert model.waiting.says == says
    heading = next(
        line for line in as_markdown(document(found, Settings(), engines=False)).splitlines() if "##" in line
    )
    prefix = f"{says}; " if says else ""
    assert heading.startswith(f"## m (eagle3): {prefix}unclear: ")


def test_an_empty_batch_with_a_queue_makes_users_wait(tmp_path: Path) -> None:
    (model,) = judged(tmp_path / "page.prom", waiting=1, running=0).models
    assert model.waiting.says == "users wait: 1 in the queue"


def test_the_bound_of_a_late_first_token_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "page.prom"
    judged(path, waiting=0, first_token=5.0)
    settings = Settings.model_validate({"thresholds": {"late_first_token": 4}})
    (model,) = report(Lifetime(path), settings, method="eagle3").models
    assert model.waiting.says == "users wait: first token after 5 s"


@pytest.mark.parametrize(
    ("answered", "says"),
    [(60, None), (4, "users wait: 5 in the queue for about 75 s"), (0, "users wait: 5 in the queue for about 300 s")],
)
def test_a_queue_shorter_than_the_batch_that_hardly_moves_is_told(
    tmp_path: Path, answered: float, says: str | None
) -> None:
    queue = 'vllm:num_requests_waiting{engine="0",model_name="m"} 5\n'
    before, after = tmp_path / "before.prom", tmp_path / "after.prom"
    before.write_text(page((0, 0, 0), drafts=0, started=10, running=64) + queue)
    after.write_text(page((950, 900, 850), drafts=1000, started=10 + answered, running=64) + queue)
    (model,) = report(Pages(before, after, Duration(60)), method="eagle3").models
    assert model.waiting.says == says
