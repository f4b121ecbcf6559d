"""The decisions on plain numbers against the expressions that say the same: made-up models, asked of a Prometheus."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from conftest import program
from draftboard.catalogue import Metric, serving, speculation
from draftboard.durations import Duration
from draftboard.expr.scope import Level
from draftboard.prometheus import Client, Promtool, Server
from draftboard.report import Recorded, report
from draftboard.settings import Settings
from draftboard.signals import Edition, Scope, Signal
from draftboard.signals.decisions import ADVICE, advice, state
from draftboard.signals.depth import configured_k
from draftboard.signals.economics import best_k, best_speedup, break_even, expected_speedup, speedup_at
from draftboard.signals.integrity import identity_error
from draftboard.signals.judgement import Case, state_of
from draftboard.theory import Counted

pytestmark = pytest.mark.prometheus

START, SPAN, GAP = 1_800_000_000, 300, 60
NOW = START + SPAN
METHODS = ("", "ngram", "suffix", "eagle3", "draft_model", "mtp")


@dataclass(frozen=True)
class Model:
    """What a made-up model counted in the window, and what it generated."""

    name: str
    method: str
    drafts: int
    drafted: int
    positions: tuple[int, ...]
    generated: int

    @property
    def counted(self) -> Counted:
        return Counted(self.drafts, self.drafted, sum(self.positions), self.positions)


def made_up(number: int, chance: random.Random) -> Model:
    """Any drafter: from useless to perfect, of short or full drafts; some whose counters contradict each other."""
    k, drafts, alpha = chance.randint(1, 8), chance.randint(1, 500) * 10, chance.random()
    if chance.random() < 0.1:
        drafts = 0
    positions = tuple(round(drafts * alpha ** (position + 1)) for position in range(k))
    if chance.random() < 0.15:
        positions = tuple(chance.sample(range(drafts + 1), k)) if drafts > k else positions
    drafted = round(drafts * k * (1 if chance.random() < 0.7 else chance.uniform(0.4, 1)))
    generated = chance.choice((0, drafts * 3 + 60))
    return Model(f"m{number}", chance.choice(METHODS), drafts, max(drafted, sum(positions)), positions, generated)


MODELS = [made_up(number, random.Random(number)) for number in range(300)]


def series(model: Model) -> dict[str, float]:
    labels = f'job="vllm",instance="{model.name}:8000",model_name="{model.name}",engine="0"'
    labels += f',spec_method="{model.method}"' if model.method else ""

    def named(metric: Metric, further: str = "") -> str:
        return f"{metric.name}{{{labels}{further}}}"

    return {
        named(speculation.DRAFTS): model.drafts,
        named(speculation.DRAFT_TOKENS): model.drafted,
        named(speculation.ACCEPTED_TOKENS): sum(model.positions),
        named(serving.GENERATION_TOKENS): model.generated,
    } | {
        named(speculation.ACCEPTED_TOKENS_PER_POS, f',position="{position}"'): accepted
        for position, accepted in enumerate(model.positions)
    }


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A Prometheus in which every counter rises evenly over the window, from high enough to be no new one."""
    folder = tmp_path_factory.mktemp("judgement")
    lines = [
        f"{name} {1_000_000 + grown * (at - START) / SPAN} {at}\n"
        for model in MODELS
        for name, grown in series(model).items()
        for at in range(START, NOW + 1, GAP)
    ]
    recording = folder / "models.om"
    recording.write_text("".join(sorted(lines, key=lambda line: line.rpartition("}")[0])) + "# EOF\n")
    server = Server(program("prometheus"), folder, lookback=Duration(300))
    Promtool(program("promtool")).load_openmetrics(recording, server.storage)
    with server.running() as url, Client(url) as asked:
        yield asked


@pytest.fixture(scope="module")
def asked(client: Client, settings: Settings):  # noqa: ANN201
    """Values of a signal by model and by its own label."""

    def ask(signal: Signal, level: Level = Level.MODEL) -> dict[str, dict[str, float]]:
        scope = Scope(settings, level, Edition.ASKED, span=Duration(SPAN))
        found: dict[str, dict[str, float]] = {}
        for each in client.query(scope(signal), NOW):
            own = each.labels.get(signal.by[0], "") if signal.by else ""
            found.setdefault(each.labels["model_name"], {})[own] = each.samples[0][1]
        return found

    return ask


def case(model: Model, settings: Settings) -> Case:
    return Case(counted=model.counted, configured_k=len(model.positions), method=model.method, settings=settings)


@pytest.fixture(scope="module")
def cases(settings: Settings) -> dict[str, Case]:
    return {model.name: case(model, settings) for model in MODELS if model.drafts}


@pytest.mark.parametrize(
    ("signal", "plain"),
    [
        (break_even, lambda c: {"": c.break_even}),
        (expected_speedup, lambda c: {"": c.expected_speedup}),
        (best_speedup, lambda c: {"": c.best[1]}),
        (configured_k, lambda c: {"": c.configured_k}),
        (speedup_at, lambda c: {str(k): gain for k, gain in enumerate(c.speedup_at, start=1)}),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_numbers_are_the_signal_s(signal: Signal, plain, asked, cases: dict[str, Case]) -> None:  # noqa: ANN001
    found = asked(signal)
    for name, each in cases.items():
        assert found[name] == pytest.approx(plain(each), rel=1e-6), name
    assert len(cases) > 200


def test_the_best_k_is_the_signal_s_but_for_ties(asked, cases: dict[str, Case]) -> None:  # noqa: ANN001
    found, speedups = asked(best_k), asked(speedup_at)
    for name, each in cases.items():
        # Speedups that are equal on paper differ in the last digit, whichever way they are computed.
        assert speedups[name][str(round(found[name][""]))] == pytest.approx(each.best[1], rel=1e-9), name


def test_advice_is_the_signal_s(asked, cases: dict[str, Case]) -> None:  # noqa: ANN001
    found = asked(advice)
    for name, each in cases.items():
        assert each.advice.value == found[name][""], (name, each)
    # Nobody remembers a before here, so that nothing dropped.
    assert {each.advice for each in cases.values()} == {code for word, code in ADVICE.items() if word != "workload"}


def test_states_are_the_signal_s(asked) -> None:  # noqa: ANN001
    found = asked(state)
    for model in MODELS:
        assert state_of(model.drafts, model.generated).value == found[model.name][""], model
    assert {state_of(model.drafts, model.generated).says for model in MODELS} == {
        *("drafting", "idle", "serving without drafting"),
    }


def test_broken_identities_are_the_signal_s(asked, cases: dict[str, Case], settings: Settings) -> None:  # noqa: ANN001
    found = asked(identity_error, Level.ENGINE)
    limit, broken = settings.thresholds.inconsistent, 0
    for name, each in cases.items():
        errors = each.counted.identity_errors
        assert errors == pytest.approx(found[name], rel=1e-6, abs=1e-9), name
        broken += any(error > limit for error in errors.values())
    assert broken > 10


def test_a_drop_is_asked_before_everything_else(settings: Settings) -> None:
    model = next(model for model in MODELS if model.drafts)
    dropped = settings.thresholds.drop - 0.01
    fallen = Case(counted=model.counted, configured_k=1, method="", settings=settings, acceptance_change=dropped)
    assert fallen.advice == ADVICE["workload"]


@pytest.mark.parametrize("model", [model for model in MODELS if model.drafts > 1000][:5], ids=lambda model: model.name)
def test_without_rules_a_report_reads_raw_series(model: Model, client: Client, settings: Settings) -> None:
    (found,) = report(Recorded(client.url, Duration(SPAN), model.name, at=NOW), settings).models
    expected = case(model, settings)
    assert found.sample
    assert found.speculation
    assert found.sample.drafts == pytest.approx(model.drafts)
    assert found.speculation.speedup_at == pytest.approx(expected.speedup_at)
    told = (None, None) if found.broken else (expected.verdict.says, expected.advice.says)
    assert (found.verdict.says, found.verdict.advice) == told
    assert [one.identity for one in found.broken] == [
        name
        for name, error in sorted(expected.counted.identity_errors.items())
        if error > settings.thresholds.inconsistent
    ]
