"""The state of an engine, whether speculation pays, and what to change: tables, whose first row that holds counts."""

from collections.abc import Mapping
from dataclasses import dataclass

from draftboard.expr.nodes import (
    Condition,
    CountValues,
    Expr,
    FirstOf,
    If,
    InWindow,
    IsSet,
    LabelReplace,
    constant,
    first_of,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals import economics, users
from draftboard.signals.acceptance import acceptance
from draftboard.signals.arms import METHOD
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.costs import KEEPS_A_PAST, step_cost
from draftboard.signals.depth import adaptive, configured_k, first_position, k_differs
from draftboard.signals.integrity import contradicting, judged
from draftboard.signals.presence import down, expected, known, known_down, scraped, silent, starting
from draftboard.signals.signal import Better, Code, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, draft_tokens, drafts, enough_drafts, generation_tokens
from draftboard.status import Status


@dataclass(frozen=True)
class Choice:
    """A row of a decision."""

    code: Code
    when: Expr  # Holds where it has a value.
    reason: str = ""
    """Why, in a sentence: `{acceptance}` is that signal's value in words, `{acceptance.title}` its name."""
    basis: str = ""  # What a verdict rests on; empty where it is withheld.
    possible: Condition | None = None
    """Where it can hold at all, if not everywhere."""

    def where_possible(self, expression: Expr) -> Expr:
        """The expression, where this row can hold at all."""
        return If(self.possible, expression) if self.possible else expression


@dataclass(frozen=True)
class Decision:
    """Rows in the order of asking, by name."""

    choices: dict[str, Choice]

    @property
    def expr(self) -> Expr:
        """The code of the first row that holds."""
        return FirstOf(tuple(row.where_possible(constant(row.code.value, row.when)) for row in self.choices.values()))

    def any_of(self, signal: Expr, *rows: str) -> Expr:
        """Where the signal has the code of one of these rows."""
        chosen = (self.choices[row] for row in rows)
        return FirstOf(tuple(row.where_possible(signal.equals(row.code.value)) for row in chosen))

    @property
    def codes(self) -> tuple[Code, ...]:
        """All codes, in order of their values."""
        return tuple(sorted((choice.code for choice in self.choices.values()), key=lambda code: code.value))

    def __getitem__(self, name: str) -> Code:
        """The code of a row."""
        return self.choices[name].code

    def of(self, value: float | None) -> Choice | None:
        """The row of a code; None where there is none."""
        return next((choice for choice in self.choices.values() if choice.code.value == value), None)


# A rate outlives its target by a window, so that `down` is asked first.
STATES = Decision(
    {
        "down": Choice(Code(0, "down", Status.DOWN), down, "the server does not answer"),
        "drafting": Choice(Code(4, "drafting", Status.NEUTRAL), drafts > 0),
        "not drafting": Choice(
            Code(3, "serving without drafting", Status.STUCK, "not-drafting"),
            (generation_tokens > 0) & drafts,
            "tokens were generated without drafts: no text repeats (n-gram, suffix), or K is 0 under load",
        ),
        "idle": Choice(Code(2, "idle", Status.QUIET), drafts, "no tokens were generated"),
        "off": Choice(
            Code(1, "speculation off", Status.OFF),
            generation_tokens,
            "no series of speculation is exposed: the server was started without a speculative configuration",
        ),
        "silent": Choice(
            Code(5, "answers without vLLM metrics", Status.ODD),
            silent,
            "no vLLM series is exposed: started with --disable-log-stats, or not a vLLM server",
        ),
        "starting": Choice(Code(6, "starting", Status.STARTING), starting, "the server has not answered yet"),
    }
)
_EXPECTED = (
    "{tokens_per_step.title} {tokens_per_step}, {needed_per_step.within} {needed_per_step}: {expected_speedup.within} "
    "{expected_speedup} times plain decoding, over all steps "
)
_BY_COSTS = _EXPECTED + "(c {draft_cost:g} and v {verify_inflation:.3g} are {basis})"
_BY_STEPS = _EXPECTED + "(a step takes {step_cost} times the baseline's, in batches of the same size)"
MEASURED = "measured"
"""The basis of a verdict that rests on users' own times."""
BY_STEPS = "measured by steps"
"""The basis of a verdict that rests on step times in batches of the baseline's size."""
ASSUMED = "assumed"
"""The basis of a verdict that rests on costs that nobody measured."""
_BY_USERS = "{measured_speedup.title} {measured_speedup} against the baseline at like load"


def _by_bands(
    signal: Signal,
    basis: str,
    first: int,
    reason: str,
    *,
    is_in: Mapping[str, Expr] | None = None,
    where: Expr = enough_drafts,
    possible: Condition | None = None,
) -> dict[str, Choice]:
    """A row for each band of a speedup, from the lowest; codes are counted from `first`.

    `is_in` says by band when it holds, where its bound alone does not.
    """
    bands = signal.bands
    return {
        f"{band.name}, {basis}": Choice(
            Code(first + number, f"{band.says} ({basis})", band.status),
            (is_in[band.name] if is_in else signal if upper is None else signal < upper) & where,
            reason.replace("{basis}", basis),
            basis,
            possible,
        )
        for number, (band, upper) in enumerate(zip(bands, (*(band.at for band in bands[1:]), None), strict=True))
    }


_calibrated = enough_drafts.where(METHOD, Setting("draft_cost.calibrated"))
# A measurement outranks what is expected; neither counts where the counters themselves are wrong, or too few.
VERDICT = Decision(
    {
        "contradiction": Choice(
            Code(6, "counters contradict each other", Status.ODD),
            drafts & contradicting,
            "The counters contradict each other, so there is no verdict",
        ),
        "few": Choice(
            Code(7, "not enough drafts", Status.QUIET),
            (drafts > 0).combined("unless", enough_drafts),
            "Not enough drafts ({drafts_in_window} of {least.drafts_to_judge:g})",
        ),
        "empty": Choice(
            Code(9, "drafts hold no tokens", Status.ODD),
            (drafts > 0) & draft_tokens.equals(0),
            "No token was drafted: a grammar rejects every draft, or a counter does not increase",
        ),
        **_by_bands(users.measured_speedup, MEASURED, 3, _BY_USERS, is_in=users.speedup_is),
        **_by_bands(
            *(economics.expected_speedup, BY_STEPS, 10, _BY_STEPS),
            where=enough_drafts & step_cost,
            possible=KEEPS_A_PAST,
        ),
        **_by_bands(
            *(economics.expected_speedup, "calibrated", 13, _BY_COSTS),
            where=_calibrated,
            possible=IsSet("draft_cost.calibrated"),
        ),
        **_by_bands(economics.expected_speedup, ASSUMED, 0, _BY_COSTS),
        "unknown": Choice(
            Code(8, "decode steps are unknown", Status.ODD),
            drafts > 0,
            "The share of steps with a draft needs inter_token_latency_seconds, generated and drafted tokens, of which "
            "one is not exposed",
        ),
    }
)
_EXPECTATIONS = (BY_STEPS, "calibrated", ASSUMED)
ADVICE = Decision(
    {
        "slower": Choice(
            Code(7, "draft less under load, or turn it off", Status.BAD),
            users.speedup_is["slower"],
            "{measured_speedup.title} is {measured_speedup}: users wait longer",
        ),
        "adaptive": Choice(
            Code(8, "none: verification is adaptive", Status.QUIET),
            adaptive,
            "A step may verify fewer than K tokens, so positions depend on the load, not on the drafter: measure "
            "against a baseline",
        ),
        "workload": Choice(
            Code(5, "look at what changed", Status.WARN),
            acceptance_change < Setting("thresholds.drop"),
            "{acceptance_change.title} is {acceptance_change}, under {thresholds.drop:.0%}: workload or drafter "
            "changed; changing K will not help",
        ),
        "mixed": Choice(
            Code(6, "none: K differs", Status.ODD),
            k_differs,
            "K differs: {lowest_k} and {configured_k}, so positions mix drafts of several lengths. Repeat the report "
            "when all engines have had one K for a whole window",
        ),
        "unfit": Choice(
            Code(9, "the drafter does not fit", Status.BAD),
            (economics.with_a_drafter(acceptance) < Setting("thresholds.unfit"))
            & (InWindow(draft_tokens) >= Setting("traffic.draft_tokens_to_judge_fit")),
            "{acceptance.title} is {acceptance}, under {thresholds.unfit:.0%}: a drafter of another model, another "
            "tokenizer, or weights that were not loaded",
        ),
        "shorter": Choice(
            Code(2, "try a shorter K", Status.WARN),
            # What is lost at every k by counters of this K may be a gain at a shorter one: try that first.
            first_of(economics.too_long, (economics.best_speedup < economics.BREAK_EVEN) & (configured_k > 1)),
            "{best_speedup.title} of any k is {best_speedup} (a lower bound), now it is {expected_speedup}",
        ),
        "drafter": Choice(
            Code(3, "look at the drafter", Status.WARN),
            economics.with_a_drafter(first_position) < Setting("thresholds.first_position"),
            "{first_position.title} is {first_position}, under {thresholds.first_position:.0%}: this drafter "
            "is misaligned with its target",
        ),
        "off": Choice(
            Code(4, "turn it off, or change the drafter", Status.BAD),
            (economics.best_speedup < economics.BREAK_EVEN).combined(
                "unless", users.measured_speedup >= economics.BREAK_EVEN
            ),
            f"Even K = 1 is not expected to reach {economics.BREAK_EVEN:g}, what plain decoding gives",
        ),
        "longer": Choice(
            Code(1, "try a longer K", Status.ODD),
            economics.too_short,
            "One more token is expected to make it {longer_gain} times as fast as now, if it is accepted as often as "
            "the last one (extrapolated)",
        ),
        "keep": Choice(
            Code(0, "keep", Status.GOOD),
            economics.best_speedup,
            "No other k is expected to gain more than {thresholds.gain:.0%}",
        ),
    }
)
verdict = Signal(
    name="verdict",
    title="Verdict",
    question="Does speculation pay for this model?",
    description="Measured speedup against a baseline at like load, where there is one; else the expected speedup: with "
    "step times measured in batches of the same size, with calibrated costs, or with assumed ones.",
    action="Where speculation costs more than it saves, follow the advice.",
    note="The expected speedup is that over all decode steps. Withheld where the counters contradict each "
    "other or there are too few drafts. The bounds are settings.",
    unit=Unit.CODE,
    expr=VERDICT.expr,
    record="vllm_spec_decode_verdict:enum_rate{window}",
    codes=VERDICT.codes,
)
advice = Signal(
    name="advice",
    title="Advice",
    question="What should be changed?",
    description="The first change that the numbers suggest: rules of thumb, a starting point for a search.",
    action="Try it on one server, and compare that one with the others.",
    note="The first that holds: users wait longer than with the baseline; acceptance dropped (check "
    "workload and drafter, not K); the drafter does not fit; another K gains, shorter before longer; "
    "a drafter misses the first position; K = 1 does not pay; else keep. None where K differs, "
    "verification is adaptive or drafts are too few.",
    unit=Unit.CODE,
    expr=ADVICE.expr & judged,
    record="vllm_spec_decode_advice:enum_rate{window}",
    codes=ADVICE.codes,
    empty="no verdict",
)
state = Signal(
    name="state",
    title="Speculation state",
    question="Does the engine draft, and if not, why?",
    description="Whether an engine drafts, and if not, why; for a model, the state of its busiest engine.",
    action="If it is down, restart it; if it serves without drafting, check K and method.",
    note="Down: the target does not answer. Starting: it is new and has not answered yet. Speculation off: no "
    "speculative series. Idle: no tokens are generated. Serving without drafting: tokens, but no drafts. Answers "
    "without vLLM metrics: labelled as vLLM, but started with --disable-log-stats.",
    unit=Unit.CODE,
    expr=over_level("max", STATES.expr.at(Level.ENGINE)),
    record="vllm_spec_decode_state:enum_rate{window}",
    levels=BOTH_LEVELS,
    rollup="max",
    codes=STATES.codes,
    empty="no vLLM target is scraped",
)


loses = VERDICT.any_of(verdict, *(f"loses, {basis}" for basis in _EXPECTATIONS))
"""Where it is expected that speculation costs more than it saves, and users' own times do not tell."""


def _judged(band: str, measured: str) -> Expr:
    """Where the verdict is this band of the expected speedup, or that one of the measured."""
    return VERDICT.any_of(verdict, f"{measured}, measured", *(f"{band}, {basis}" for basis in _EXPECTATIONS))


# Codes in order of badness, so that the least is the worst.
STANDING = Decision(
    {
        "down": Choice(Code(0, "down", Status.DOWN), STATES.any_of(state, "down")),
        "costs more": Choice(Code(1, "costs more", Status.BAD), _judged("loses", "slower")),
        "about even": Choice(Code(3, "about even", Status.WARN), _judged("even", "even")),
        "pays": Choice(Code(5, "pays", Status.GOOD), _judged("pays", "faster")),
        "unclear": Choice(
            Code(4, "unclear", Status.ODD),
            first_of(VERDICT.any_of(verdict, "contradiction", "empty", "unknown"), STATES.any_of(state, "silent")),
        ),
        # The verdict follows the state by an evaluation.
        "few drafts": Choice(
            Code(6, "few drafts", Status.QUIET),
            first_of(VERDICT.any_of(verdict, "few"), STATES.any_of(state, "drafting")),
        ),
        "not drafting": Choice(Code(2, "not drafting", Status.STUCK), STATES.any_of(state, "not drafting")),
        "idle": Choice(Code(7, "idle", Status.QUIET), STATES.any_of(state, "idle")),
        "off": Choice(Code(8, "off", Status.OFF), STATES.any_of(state, "off")),
        "starting": Choice(Code(9, "starting", Status.STARTING), STATES.any_of(state, "starting")),
    }
)
standing = Signal(
    name="standing",
    title="Health",
    question="Which model needs attention?",
    description="State and verdict of each model in one word, worst first: down, costs more, not drafting, about even, "
    "unclear, pays, few drafts, idle, off, starting.",
    action="Act on red and amber, from the top.",
    note="Unclear: the counters contradict each other, are incomplete, or are not exposed. A verdict counts in any "
    "state but down.",
    unit=Unit.CODE,
    expr=STANDING.expr,
    record="vllm_spec_decode_standing:enum_rate{window}",
    codes=STANDING.codes,
    empty="no vLLM target is scraped",
)

_counts: Expr = CountValues("state", state.at(Level.ENGINE))
for _code in STATES.codes:
    _counts = LabelReplace(_counts, "state", _code.says, "state", str(_code.value))
engines_by_state = Signal(
    name="engines_by_state",
    title="Engines by state",
    question="How many engines are in each state?",
    description="Number of engines in each speculation state.",
    action="Restart those that are down; check K and method of those that serve without drafting.",
    unit=Unit.ENGINES,
    expr=_counts,
    record="vllm_spec_decode_engines:count_rate{window}",
    by=("state",),
    kinds=tuple((code.says, code.status) for code in STATES.codes),
    empty="no vLLM target is scraped",
    decimals=0,
)
target_up = Signal(
    name="target_up",
    title="Servers up",
    question="Can the server be reached?",
    description="1 if the target answered a scrape lately (rules.down_after, by default 2m30s) or is new, else 0.",
    action="If it is 0, read the server's log, and check the network from Prometheus to it.",
    note="Covers targets that have exposed vLLM metrics or have a method label.",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=over_level("min", state.at(Level.ENGINE).combined("> bool", STATES["down"].value)),
    record="vllm_up:bool",
    levels=(Level.TARGET,),
    codes=(STATES["down"], Code(1, "answers, or starts", Status.GOOD)),
    empty="no vLLM target is scraped",
)
servers_down = Signal(
    name="servers_down",
    title="Servers down",
    question="Which share of a model's servers is down?",
    description="Servers that do not answer / all servers of the model that are scrape targets.",
    action="Restart them, or add servers before the others are overloaded.",
    better=Better.LOWER,
    expr=over_level("avg", first_of(constant(1, known_down), constant(0, known.at(Level.TARGET)))),
    record="vllm_servers_down:ratio",
    levels=(Level.SERVICE,),
    bands=good_under(Setting("thresholds.servers_down"), good="few", beyond="too-many-down", status=Status.BAD),
    empty="no vLLM target is scraped",
)
gone = Signal(
    name="gone",
    title="Models without a server",
    question="Has a model lost its last server?",
    description="1 for a model that was served within rules.remember (by default 1h) and has no scrape target left.",
    action="Restore the deployment, or label its servers scale_to_zero if they may disappear.",
    note="Servers with the label scale_to_zero are not expected to stay.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=over_level("group", expected).combined("unless", over_level("group", scraped)),
    record="vllm_gone:bool",
    levels=(Level.SERVICE,),
    codes=(Code(1, "gone", Status.BAD),),
    empty="every model has a server",
)
