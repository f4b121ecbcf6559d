"""Whether a draft model fits its target: size, family, tokenizer, speed. Only methods with a draft model are asked."""

from dataclasses import replace

from draftboard.plan.check import Check, Outcome
from draftboard.plan.situation import Situation
from draftboard.plan.terms import DRAFT_MODEL
from draftboard.settings.planning import Planning

_RATIO_SOURCE = "a published guide says 1:8 to 1:12, a course 5 to 15 times; they contradict each other on 1B and 13B"
_FAMILY_SOURCE = "guide and course alike"
_TOKENIZER_SOURCE = "vLLM: method draft_model needs equal vocabulary sizes, unless use_heterogeneous_vocab is set"
_SPEED_SOURCE = "a course: at least 5 times faster, benchmarked by itself"
_NO_DRAFT_MODEL = "has no draft model"


def model_checks(situation: Situation, limits: Planning) -> tuple[Check, ...]:
    """Size ratio, family, tokenizer, draft speed."""
    checks = (
        _size_ratio(situation, limits),
        _family(situation),
        _tokenizer(situation),
        _draft_speed(situation, limits),
    )
    if situation.method == DRAFT_MODEL:
        return checks
    reason = f"{situation.method} {_NO_DRAFT_MODEL}"
    return tuple(replace(check, outcome=Outcome.SKIPPED, reason=reason) for check in checks)


def size_ratio(target_params: float, draft_params: float) -> float:
    """Parameters of the target over those of the draft."""
    return target_params / draft_params


def _size_ratio(situation: Situation, limits: Planning) -> Check:
    target, draft = situation.target, situation.draft
    if target is None or draft is None or not target.params or not draft.params:
        outcome, reason = Outcome.UNKNOWN, "give the parameters of target and draft"
    else:
        ratio = size_ratio(target.params, draft.params)
        outcome, reason = judge_ratio(ratio, limits), f"1:{ratio:.3g}"
        if outcome is not Outcome.PASS:
            best = f"{limits.size_ratio_best_from:g} to {limits.size_ratio_best_to:g}"
            reason += f", outside 1:{best}; batch size matters more than this ratio, so measure"
    return Check("size ratio", outcome, reason, _RATIO_SOURCE)


def judge_ratio(ratio: float, limits: Planning) -> Outcome:
    """Pass where both sources agree, warn where only the wider does; bounds belong to the better side."""
    if limits.size_ratio_best_from <= ratio <= limits.size_ratio_best_to:
        return Outcome.PASS
    if limits.size_ratio_from <= ratio <= limits.size_ratio_to:
        return Outcome.WARN
    return Outcome.FAIL


def _family(situation: Situation) -> Check:
    if situation.same_family is None:
        outcome, reason = Outcome.UNKNOWN, "say whether target and draft are of one family and training data"
    elif situation.same_family:
        outcome, reason = Outcome.PASS, "one family: drafts are guessed from like training data"
    else:
        outcome = Outcome.FAIL
        reason = "another family: if memory is the reason, quantise the draft of the same family instead"
    return Check("model family", outcome, reason, _FAMILY_SOURCE)


def _tokenizer(situation: Situation) -> Check:
    target, draft = situation.target_vocabulary, situation.draft_vocabulary
    sizes = (situation.target_vocab_size, situation.draft_vocab_size)
    sizes_known = None not in sizes
    if sizes_known and sizes[0] != sizes[1]:
        return _judged(
            Outcome.FAIL,
            f"vocab_size {sizes[0]} against {sizes[1]}: vLLM refuses, unless use_heterogeneous_vocab is set",
        )
    if target is not None and draft is not None:
        if target == draft:
            also = "" if sizes_known else "; vLLM compares vocab_size of both config.json as well"
            return _judged(Outcome.PASS, f"the same {target.size:,} tokens under the same ids{also}")
        counts = f"{target.size:,} tokens against {draft.size:,}"
        same_count = target.size == draft.size
        told = f"{target.size:,} tokens in both, but not the same under the same ids" if same_count else counts
        return _judged(Outcome.FAIL, f"{told}: vLLM compares vocab_size only and may start, and drafts would be noise")
    if sizes_known:
        return _judged(Outcome.WARN, "equal size is not the same tokenizer: give both tokenizer.json")
    return _judged(Outcome.UNKNOWN, "give both tokenizer.json")


def _judged(outcome: Outcome, reason: str) -> Check:
    return Check("tokenizer", outcome, reason, _TOKENIZER_SOURCE, rule_of_thumb=False, forbids=True)


def _draft_speed(situation: Situation, limits: Planning) -> Check:
    cost, most = situation.cost_ratio, limits.draft_cost
    if cost is None:
        outcome, reason = Outcome.UNKNOWN, "benchmark the draft by itself: time of its token over one target step"
    else:
        outcome = Outcome.PASS if cost <= most else Outcome.FAIL
        reason = f"one drafted token takes {cost:g} of a target step, limit {most:g}"
    return Check("draft speed", outcome, reason, _SPEED_SOURCE)
