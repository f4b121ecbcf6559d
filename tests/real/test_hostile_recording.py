"""A recording of hostile models and targets, replayed: whatever it names is printed as words."""

from pathlib import Path

import pytest

from support.command_line import run
from support.hostile import ENCODABLE, assert_words, escaped

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

SETTINGS = """
[rules]
scrape_interval = "1s"
window = "4s"
down_after = "2s"
evaluation_interval = "1s"
compare_with = "4s"
[traffic]
drafts_to_judge = 1
"""
BEGIN, SECONDS = 1_700_000_000, 20
COUNTERS = {
    "vllm:num_requests_running": 0,
    "vllm:generation_tokens_total": 300,
    "vllm:spec_decode_num_drafts_total": 100,
    "vllm:spec_decode_num_draft_tokens_total": 300,
    "vllm:spec_decode_num_accepted_tokens_total": 200,
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every text as the name of a model, as its variant and as its server."""
    lines = []
    for name, growth in {**COUNTERS, "up": 0}.items():
        for text in ENCODABLE.values():
            said = escaped(text)
            of_server = "" if name == "up" else f',model_name="{said}",engine="0"'
            own = f'job="vllm",instance="{said}",spec_method="ngram",variant="{said}"{of_server}'
            lines += [f"{name}{{{own}}} {1 + growth * second} {BEGIN + second}" for second in range(SECONDS)]
    path = tmp_path_factory.mktemp("hostile") / "recording.om"
    path.write_bytes("\n".join([*lines, "# EOF", ""]).encode())
    return path


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["terminal", "JSON"])
def test_a_replay_of_hostile_models_is_words(
    recording: Path, form: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "draftboard.toml").write_text(SETTINGS)
    code, out, err = run("replay", recording, "--config", tmp_path / "draftboard.toml", *form, capsys=capsys)
    assert (code, err) == (0, ""), err
    assert_words(out)
    if not form:
        assert out.count("Does it pay?") == len(set(ENCODABLE.values()))
