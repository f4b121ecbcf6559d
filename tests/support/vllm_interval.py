"""Some traffic between two saved pages of a real server: what Draftboard says of it, and what the answers say."""

from dataclasses import dataclass
from pathlib import Path

from draftboard import reading
from draftboard import report as report_room
from draftboard.report import ModelReport, Sample, Speculation
from draftboard.settings import Settings
from support.vllm_server import MODEL, Vllm
from support.vllm_traffic import TOKENS, Told, send, told


@dataclass(frozen=True)
class Interval:
    """The pages before and after, and who says what of the time between."""

    before: Path
    after: Path
    report: ModelReport
    answers: Told | None
    """None of a server that does not speculate."""

    @property
    def told(self) -> Told:
        """What the answers tell of speculation."""
        assert self.answers
        return self.answers

    @property
    def sample(self) -> Sample:
        """What the counters say of it."""
        assert self.report.sample
        return self.report.sample

    @property
    def speculation(self) -> Speculation:
        """What follows from them."""
        assert self.report.speculation
        return self.report.speculation

    @property
    def time_per_token(self) -> float:
        """Mean over the requests, in seconds."""
        assert self.report.latency.per_token
        return self.report.latency.per_token.mean


def interval(server: Vllm, folder: Path, settings: Settings, method: str = "") -> Interval:
    """Send the traffic once; the pages are saved into the folder."""
    before, after = folder / "before.prom", folder / "after.prom"
    folder.mkdir(parents=True, exist_ok=True)
    before.write_text(server.page())
    generated = server.generated
    answers = send(server)
    # An answer may arrive before its last step is counted.
    server.wait("all is counted", lambda: server.generated == generated + len(answers) * TOKENS)
    after.write_text(server.page())
    return Interval(before, after, of_pages(before, after, settings, method), told(answers) if method else None)


def of_pages(before: Path, after: Path, settings: Settings, method: str) -> ModelReport:
    """The report of the only model on two saved pages."""
    (model,) = report_room.report(reading.Pages(before, after), settings, method=method).models
    assert model.model == MODEL
    return model


def assert_counts(sample: Sample | None, answers: Told) -> None:
    """The counters are the sums of the answers, exactly."""
    assert sample
    assert sample.drafts == answers.drafts
    assert sample.draft_tokens == answers.draft_tokens
    assert sample.accepted_tokens == answers.accepted_tokens
    assert sample.accepted_per_position == answers.accepted_per_position


def assert_possible(model: ModelReport) -> None:
    """No speedup is told that the tokens of a decode step do not allow."""
    assert model.speculation
    assert model.speculation.expected_speedup
    assert model.traffic.tokens_per_step
    assert model.speculation.expected_speedup <= model.traffic.tokens_per_step
