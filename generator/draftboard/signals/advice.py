"""What to change: the first change that the numbers suggest."""

from draftboard.expr.nodes import AsRecorded, Before, Evaluator, Expr, If, InWindow, Now, Ref, first_of
from draftboard.expr.scope import Level
from draftboard.quantity import RATE_WINDOW, Setting
from draftboard.signals import economics, gains, users
from draftboard.signals.acceptance import acceptance, draft_length
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.costs import KEEPS_A_PAST, step_cost
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.depth import first_position
from draftboard.signals.drafting import adaptive, k_differs
from draftboard.signals.health import WELL, health, health_since
from draftboard.signals.integrity import judged
from draftboard.signals.presence import REMEMBERED
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.signals.traffic import draft_tokens
from draftboard.signals.verdicts import even, loses, refuted, unclear
from draftboard.status import Status

_MAY_GAIN = (
    "the best k may be {shorter_gain} to {shorter_gain_high} times as fast as now",
    "one more token may be {longer_gain} to {longer_gain_high} times as fast as now",
)
_FELL = Code(5, "look at what changed", Status.WARN)


def _lasts(advised: Expr, since: Expr) -> Expr:
    """Where a fall lasts as long as what began with it: once as old as "before", acceptance is what it was before."""
    began_then = health_since.at(Level.MODEL) + RATE_WINDOW * 2 >= since
    return advised.equals(_FELL.value) & (began_then & (health.at(Level.MODEL) < WELL))


fall_age = Signal(
    name="fall_age",
    title="Time since acceptance fell",
    question="How long ago did acceptance fall, while the model is unwell since then?",
    description="Time since rules first advised to look at what changed, for as long as the model needs somebody.",
    action="Look for what changed at that time.",
    unit=Unit.AGE,
    expr=AsRecorded((Now() - Ref("advice_since")) & _lasts(Ref("advice"), Ref("advice_since"))),
    empty="no fall of acceptance, or the model is well again",
    decimals=1,
)
"""For reports, which keep no past: rules go on from their own."""
_fell_before = _lasts(Before(Ref("advice"), REMEMBERED), Before(Ref("advice_since"), REMEMBERED))
ADVICE = Decision(
    {
        "slower": Choice(
            Code(7, "draft less under load, or turn it off", Status.DUE),
            users.speedup_is["slower"],
            "{measured_speedup.title} is {measured_speedup}: users wait longer",
        ),
        "adaptive, pays": Choice(
            Code(11, "keep: its adaptive verification pays", Status.GOOD),
            adaptive & (users.measured_speedup >= Setting("thresholds.pays_clearly")),
            "{measured_speedup.title} is {measured_speedup}, with as many tokens verified as the engine chooses",
        ),
        "adaptive": Choice(
            Code(8, "compare with a fixed K, or a baseline", Status.ODD),
            adaptive,
            "The engine chooses by the load how many tokens a step verifies, so positions say nothing of the drafter. "
            "Whether its choice pays, only a server with a fixed K or without speculation beside it shows",
        ),
        "workload": Choice(
            _FELL,
            first_of(
                acceptance_change < Setting("thresholds.drop"),
                If(Evaluator.RECORDS, _fell_before),
                If(Evaluator.ONCE, fall_age),
            ),
            "Workload or drafter changed; changing K will not help",
            details=(
                "{acceptance_change.title} is {acceptance_change}, where under {thresholds.drop:.0%} is a fall",
                "acceptance fell {fall_age} ago",
            ),
        ),
        "mixed": Choice(
            Code(6, "none: K differs", Status.ODD),
            k_differs,
            "K differs: {lowest_k} and {configured_k}, so positions mix drafts of several lengths. Repeat the report "
            "when all engines have had one K for a whole window",
        ),
        "unfit": Choice(
            Code(9, "the drafter does not fit", Status.DUE),
            (economics.with_a_drafter(acceptance) < Setting("thresholds.unfit"))
            & (InWindow(draft_tokens) >= Setting("traffic.draft_tokens_to_judge_fit")),
            "{acceptance.title} is {acceptance}, under {thresholds.unfit:.0%}: a drafter of another model, another "
            "tokenizer, or weights that were not loaded",
        ),
        "shorter": Choice(
            Code(2, "try a shorter K", Status.WARN),
            # What is lost at every k by counters of this K may be a gain at a shorter one: try that first, where it
            # would shorten most drafts.
            first_of(gains.too_long, gains.no_k_pays & (gains.fastest_k < draft_length) & gains.shorter_gain),
            "{fastest_k.title} is {fastest_k}, {shorter_gain} to {shorter_gain_high} times as fast as now; any k "
            "reaches {best_speedup} times plain decoding at most",
        ),
        "off": Choice(
            Code(4, "turn it off, or change the drafter", Status.DUE),
            gains.no_k_pays.combined("unless", users.measured_speedup),
            f"No K is expected to reach {economics.BREAK_EVEN:g}, what plain decoding gives",
        ),
        "longer": Choice(
            Code(1, "try a longer K", Status.ODD),
            gains.too_short,
            "One more token is expected to make it {longer_gain} times as fast as now at least, if it is accepted as "
            "often as the last one (extrapolated)",
        ),
        "drafter": Choice(
            Code(3, "look at the drafter", Status.WARN),
            economics.with_a_drafter(first_position) < Setting("thresholds.first_position"),
            "{first_position.title} is {first_position}, under {thresholds.first_position:.0%}: this drafter "
            "is misaligned with its target",
        ),
        "even": Choice(
            Code(13, "no clear gain: measure at peak load", Status.WARN),
            gains.best_speedup.combined("unless", gains.may_gain) & even,
            "No other k is known to gain more than {thresholds.gain:.0%}. Where the busiest hour gains nothing either, "
            "the drafter's memory serves more as KV cache",
        ),
        "keep": Choice(
            Code(0, "keep", Status.GOOD),
            gains.best_speedup.combined("unless", gains.may_gain).combined("unless", first_of(unclear, loses)),
            "No other k is known to gain more than {thresholds.gain:.0%}",
        ),
        "another": Choice(
            Code(12, "measure another K", Status.ODD),
            gains.best_speedup & first_of(users.measured_speedup, step_cost),
            "No other K is measured. Run one server with another K beside it",
            details=_MAY_GAIN,
        ),
        "measure": Choice(
            Code(10, "measure against a baseline", Status.ODD),
            gains.best_speedup,
            "What to change depends on what a step costs",
            details=_MAY_GAIN,
        ),
    }
)

_judged = If(KEEPS_A_PAST, judged.combined("unless", refuted), judged)
advice = Signal(
    name="advice",
    title="Advice",
    question="What should be changed?",
    description="The first change that the numbers suggest: rules of thumb, a starting point for a search.",
    action="Try it on one server, and compare that one with the others.",
    note="The first that holds: users wait longer than with the baseline; acceptance dropped, and the "
    "model, well until then, is not so since (check workload and drafter, not K); the drafter does not fit; another K "
    "gains at any cost, shorter before longer; no K pays; a drafter misses the first position; no clear gain; keep. "
    "Else the costs decide: measure them, or another K where a baseline measured this one. None where K differs, "
    "drafts are too few or numbers disprove a measurement. Where verification is adaptive, only measurements decide.",
    unit=Unit.CODE,
    expr=ADVICE.expr & _judged,
    record="vllm_spec_decode_advice:enum_rate{window}",
    codes=ADVICE.codes,
    empty="no verdict",
)
