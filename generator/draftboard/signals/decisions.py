"""The state of an engine, whether speculation pays, and what to change: tables, whose first row that holds counts."""

from dataclasses import dataclass

from draftboard.expr.labels import CountValues, LabelReplace
from draftboard.expr.scope import Level
from draftboard.expr.tree import Expr, FirstOf, constant, first_of, over_level, setting
from draftboard.signals import economics
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.depth import first_position, last_position
from draftboard.signals.presence import down, silent, starting
from draftboard.signals.signal import Better, Code, Signal, Unit
from draftboard.signals.traffic import BOTH_LEVELS, drafts, generation_tokens
from draftboard.status import Status


@dataclass(frozen=True)
class Choice:
    """A row of a decision."""

    code: Code
    when: Expr  # Holds where it has a value.
    reason: str = ""
    """Why, in a sentence: `{acceptance}` is that signal's value in words, `{acceptance.title}` its name."""


@dataclass(frozen=True)
class Decision:
    """Rows in the order of asking, by name."""

    choices: dict[str, Choice]

    @property
    def expr(self) -> Expr:
        """The code of the first row that holds."""
        return FirstOf(tuple(constant(choice.code.value, choice.when) for choice in self.choices.values()))

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
        "down": Choice(Code(0, "down", Status.BAD), down, "the server does not answer"),
        "drafting": Choice(Code(4, "drafting", Status.GOOD), drafts > 0),
        "not drafting": Choice(
            Code(3, "serving without drafting", Status.WARN, "not-drafting"),
            (generation_tokens > 0) & drafts,
            "tokens were generated without a single draft: no text repeats (n-gram, suffix), or K is 0 under load",
        ),
        "idle": Choice(Code(2, "idle", Status.QUIET), drafts, "nothing was generated, so there is nothing to judge"),
        "off": Choice(
            Code(1, "speculation off", Status.NEUTRAL),
            generation_tokens,
            "no series of speculation is exposed: the server was started without a speculative configuration",
        ),
        "silent": Choice(
            Code(5, "answers without vLLM metrics", Status.WARN),
            silent,
            "no vLLM series is exposed: started with --disable-log-stats, or not a vLLM server",
        ),
        "starting": Choice(Code(6, "starting", Status.QUIET), starting, "the server has not answered yet"),
    }
)
VERDICT_REASON = (
    "{acceptance_length.title} {acceptance_length} tokens, {break_even.within} {break_even} ({draft_length} drafted x "
    "c {draft_cost:g} + v {costs.verify_inflation:g}): {expected_speedup.within} {expected_speedup} times plain "
    "decoding"
)
_LAST = "{last_position.title} in {last_position} of drafts"
ADVICE = Decision(
    {
        "workload": Choice(
            Code(5, "look at what changed", Status.WARN),
            acceptance_change < setting(lambda settings: settings.thresholds.drop),
            "{acceptance_change.title} is {acceptance_change}, under {thresholds.drop:.0%}: workload or drafter "
            "changed, and no K mends that",
        ),
        "off": Choice(
            Code(4, "turn it off, or change the drafter", Status.BAD),
            economics.best_speedup < economics.BREAK_EVEN,
            f"no k is expected to reach {economics.BREAK_EVEN:g}, what plain decoding gives",
        ),
        "drafter": Choice(
            Code(3, "look at the drafter", Status.WARN),
            economics.with_a_drafter(first_position) < setting(lambda settings: settings.thresholds.first_position),
            "{first_position.title} in {first_position} of drafts, under {thresholds.first_position:.0%}: this drafter "
            "is misaligned with its target",
        ),
        "shorter": Choice(
            Code(2, "try a shorter K", Status.WARN),
            first_of(
                last_position < setting(lambda settings: settings.thresholds.last_position_low),
                economics.expected_speedup < economics.BREAK_EVEN,
            )
            & economics.tail_costs,
            f"{_LAST}, which yields less than it costs",
        ),
        "longer": Choice(
            Code(1, "try a longer K", Status.ODD),
            (last_position > setting(lambda settings: settings.thresholds.last_position_high)) & economics.tail_pays,
            f"{_LAST}, over {{thresholds.last_position_high:.0%}}: a longer draft may still be accepted",
        ),
        "keep": Choice(Code(0, "keep", Status.GOOD), economics.expected_speedup),
    }
)

verdict = Signal(
    name="verdict",
    title="Verdict",
    question="Is it paying off?",
    description="The expected speedup in words: costs more than it saves, about even, or pays. Heuristic: the bounds "
    f"are settings. {economics.ASSUMPTION}",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=economics.expected_speedup,
    bands=economics.speedup_bands,
)
advice = Signal(
    name="advice",
    title="What to do",
    question="What should be changed?",
    description="The first that holds: acceptance dropped (check workload and drafter, not K); no k is expected to "
    "pay; a drafter misses the first position; the last drafted token costs more than it yields, the best k is "
    "shorter, and the last position is hardly reached or this K does not pay; the last position is often reached; "
    "else keep. Rules of thumb: a starting point for a search.",
    unit=Unit.CODE,
    expr=ADVICE.expr,
    record="vllm_spec_decode_advice:enum_rate{window}",
    codes=ADVICE.codes,
)
state = Signal(
    name="state",
    title="Speculation state",
    question="Is it drafting, and if not, why?",
    description="Down: the target does not answer. Starting: it is new and has not answered yet. Speculation off: no "
    "speculative series. Idle: nothing is generated. Serving without drafting: tokens, but no drafts. Drafting. "
    "Answers without vLLM metrics: labelled as vLLM, but started with --disable-log-stats. For a model: the state of "
    "its busiest engine.",
    unit=Unit.CODE,
    expr=over_level("max", STATES.expr.at(Level.ENGINE)),
    record="vllm_spec_decode_state:enum_rate{window}",
    levels=BOTH_LEVELS,
    rollup="max",
    codes=STATES.codes,
    empty="no vLLM target is scraped",
)


_counts: Expr = CountValues("state", state.at(Level.ENGINE))
for _code in STATES.codes:
    _counts = LabelReplace(_counts, "state", _code.says, "state", str(_code.value))
engines_by_state = Signal(
    name="engines_by_state",
    title="Engines by state",
    question="How many engines are doing what?",
    description="Number of engines in each speculation state.",
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
    description="1 if the target answered one of the last two scrapes or is new, else 0. Covers targets that exposed "
    "vLLM metrics lately or have a method label.",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=over_level("min", state.at(Level.ENGINE).combined("> bool", STATES["down"].value)),
    record="vllm_up:bool",
    levels=(Level.TARGET,),
    codes=(STATES["down"], Code(1, "answers, or starts", Status.GOOD)),
    empty="no vLLM target is scraped",
)
