"""Simulated faults whose cause is known, as windows of what was counted before and after."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftboard.attribution import Counted, Moment
from draftboard.catalogue import latency, lens, serving, speculation
from draftboard.lab.simulator.fleet import Instance, targets
from draftboard.lab.simulator.scenario import Scenario
from support.simulated import Values, scenario, values

WINDOW, SETTLES = 300, 600
EAGLE: dict[str, Any] = {"method": "eagle3", "k": 5, "instances": 2, "load": {"rate": 0.25}, "lens": True}
COLD, HOT = {"alpha": 0.82, "temperature": 0.0}, {"alpha": 0.35, "temperature": 1.1}
WORSE = {"alpha": 0.5, "temperature": 1.2}
"""What requests that were accepted at 0.72 became."""
FAIR = {**WORSE, "alpha": 0.72}
SHORT, LONG = {"prompt_tokens": 300, "alpha": 0.8}, {"prompt_tokens": 5000, "alpha": 0.4}


def mixed(one: Mapping[str, Any], other: Mapping[str, Any], share: float) -> list[dict[str, Any]]:
    """Requests of two kinds, with this share of the other."""
    return [{**one, "share": 1 - share}, {**other, "share": share}]


@dataclass(frozen=True)
class Fault:
    """A change from one way to serve to another; what is not changed is as before."""

    says: str
    causes: frozenset[str]
    after: Mapping[str, Any]
    before: Mapping[str, Any] = field(default_factory=dict)
    first_only: bool = False
    """Of the two servers only the first changes."""
    facts: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    restarts: bool = False


def sides(fault: Fault, windows: int = 12) -> tuple[list[Moment], list[Moment]]:
    """The windows before and after: each side is served by servers of its own, so that K may differ."""
    old = {**EAGLE, **fault.before}
    new = {**old, **fault.after}
    both = [scenario(**old), scenario(**new)]
    if fault.first_only:
        one, other = ({**settings, "instances": 1} for settings in (old, new))
        both[1] = Scenario.model_validate(
            {
                "story": "One of two servers differs.",
                "duration": "1h",
                "server": [{"model": "m"} | other, {"model": "m"} | one],
            }
        )
    before, after = (
        list(_windows(told, windows, seed, facts)) for told, seed, facts in zip(both, (1, 2), fault.facts, strict=True)
    )
    if fault.restarts:
        after[0] = Moment(**{**vars(after[0]), "restarted": frozenset(after[0].engines)})
    return before, after


def _windows(told: Scenario, count: int, seed: int, facts: Mapping[str, str]) -> Iterator[Moment]:
    instances = [Instance(target, 0.0) for target in targets(told, seed)]
    for instance in instances:
        instance.advance(SETTLES)
    past = [values(instance) for instance in instances]
    for number in range(1, count + 1):
        for instance in instances:
            instance.advance(SETTLES + WINDOW * number)
        now = [values(instance) for instance in instances]
        grown = [_grown(old, new) for old, new in zip(past, now, strict=True)]
        yield Moment(
            at=WINDOW * number,
            engines={f"vllm-{i}": _counted(own) for i, own in enumerate(grown)},
            classes=_classes(grown),
            facts=facts,
        )
        past = now


def _grown(before: Values, after: Values) -> Values:
    return {key: value - before.get(key, 0.0) for key, value in after.items()}


def _counted(grown: Values) -> Counted:
    return Counted(
        drafts=grown.get((speculation.DRAFTS.name,), 0.0),
        draft_tokens=grown.get((speculation.DRAFT_TOKENS.name,), 0.0),
        accepted=tuple(
            value for (name, *_), value in grown.items() if name == speculation.ACCEPTED_TOKENS_PER_POS.name
        ),
        steps=grown[latency.STEP_LATENCY.count.name,],
        seconds=grown[latency.STEP_LATENCY.sum.name,],
        computed=grown[serving.PROMPT_TOKENS_BY_SOURCE.name, "local_compute"],
        begun=grown[latency.TIME_TO_FIRST_TOKEN.count.name,],
        iterations=grown[latency.STEP_TOKENS.count.name,],
    )


def _classes(grown: Sequence[Values]) -> dict[tuple[str, str], tuple[float, float, float]]:
    found: dict[tuple[str, str], list[float]] = {}
    for own in grown:
        for index, metric in enumerate((lens.DRAFTS, lens.DRAFT_TOKENS, lens.ACCEPTED_TOKENS)):
            for (name, *labels), value in own.items():
                if name == metric.name:
                    found.setdefault((labels[0], labels[1]), [0.0] * 3)[index] += value
    return {key: (counts[0], counts[1], counts[2]) for key, counts in found.items()}


NOTHING = frozenset[str]()
UNKNOWN = frozenset({"not explained"})
FAULTS = (
    Fault("nothing changes", NOTHING, {}, {"requests": mixed(COLD, HOT, 0.3)}),
    Fault(
        "more hot requests",
        frozenset({"mix of requests"}),
        {"requests": mixed(COLD, HOT, 0.8)},
        {"requests": mixed(COLD, HOT, 0.2)},
    ),
    Fault(
        "longer prompts, which draft badly",
        frozenset({"mix of requests"}),
        {"requests": mixed(SHORT, LONG, 0.7)},
        {"requests": mixed(SHORT, LONG, 0.2)},
    ),
    Fault(
        "cached prompts",
        frozenset({"phantom drafts"}),
        {"requests": [{"alpha": 0.7, "output_tokens": 12, "fully_cached": 0.9}]},
        {"requests": [{"alpha": 0.7, "output_tokens": 12}]},
    ),
    Fault(
        "longer prompts, as well accepted",
        frozenset({"prompts"}),
        {"requests": [{"alpha": 0.7, "prompt_tokens": 6000}]},
    ),
    Fault("more requests", frozenset({"load"}), {"load": {"rate": 2.0}}, {"load": {"rate": 0.4}}),
    Fault("a restart that loses acceptance", frozenset({"restart"}), {"requests": [{"alpha": 0.5}]}, restarts=True),
    Fault(
        "another drafter",
        frozenset({"drafter"}),
        {"requests": [{"alpha": 0.5}]},
        facts=({"drafter": "A"}, {"drafter": "B"}),
        restarts=True,
    ),
    Fault(
        "a slower release",
        frozenset({"version"}),
        {"step_seconds": 0.026},
        facts=({"version": "0.32.0"}, {"version": "0.33.0"}),
        restarts=True,
    ),
    Fault("a longer K", frozenset({"K"}), {"k": 8}, {"k": 3}, facts=({"K": "3"}, {"K": "8"}), restarts=True),
    Fault("one engine accepts less", frozenset({"one engine"}), {"requests": [{"alpha": 0.3}]}, first_only=True),
    Fault("one engine is slow", frozenset({"one engine"}), {"step_seconds": 0.035}, first_only=True),
    Fault("other text, no lens", UNKNOWN, {"requests": [{"alpha": 0.45}]}, {"lens": False}),
    Fault(
        "other text of the same classes",
        UNKNOWN,
        {"requests": mixed({**COLD, "alpha": 0.6}, {**HOT, "alpha": 0.2}, 0.3)},
        {"requests": mixed(COLD, HOT, 0.3)},
    ),
    Fault("slower steps, nothing known", UNKNOWN, {"step_seconds": 0.027}),
    Fault("text repeats less", frozenset({"coverage"}), {"coverage": 0.3}, {"method": "ngram", "coverage": 0.8}),
    Fault(
        "hot requests and more of them",
        frozenset({"mix of requests", "load"}),
        {"requests": mixed(COLD, HOT, 0.8), "load": {"rate": 1.5}},
        {"requests": mixed(COLD, HOT, 0.2)},
    ),
    Fault(
        "another drafter and hot requests",
        frozenset({"drafter", "mix of requests"}),
        {"requests": mixed({**COLD, "alpha": 0.65}, {**HOT, "alpha": 0.25}, 0.7)},
        {"requests": mixed(COLD, HOT, 0.2)},
        facts=({"drafter": "A"}, {"drafter": "B"}),
        restarts=True,
    ),
    Fault(
        "a shorter K and more requests",
        frozenset({"K", "load"}),
        {"k": 2, "load": {"rate": 2.0}},
        {"load": {"rate": 0.4}},
        facts=({"K": "5"}, {"K": "2"}),
        restarts=True,
    ),
    Fault(
        "cached prompts and hot requests",
        frozenset({"phantom drafts", "mix of requests"}),
        {
            "requests": mixed(
                {**COLD, "fully_cached": 0.9, "output_tokens": 12},
                {**HOT, "fully_cached": 0.9, "output_tokens": 12},
                0.6,
            )
        },
        {"requests": mixed({**COLD, "output_tokens": 12}, {**HOT, "output_tokens": 12}, 0.2)},
    ),
    Fault(
        "more requests and other text",
        frozenset({"load", "not explained"}),
        {"requests": [{"alpha": 0.45}], "load": {"rate": 2.0}},
        {"load": {"rate": 0.4}, "lens": False},
    ),
    Fault(
        "more requests, of which fewer drafted tokens are verified",
        frozenset({"load"}),
        {"load": {"rate": 3.0}},
        {"load": {"rate": 0.5}, "lens": False, "verify_budget": 12},
        facts=({"verification": "adaptive"}, {"verification": "adaptive"}),
    ),
    Fault(
        "hot requests are accepted worse",
        frozenset({"class of requests"}),
        {"requests": mixed(COLD, WORSE, 0.4)},
        {"requests": mixed(COLD, FAIR, 0.4)},
    ),
    Fault(
        "hot requests are accepted worse, and come more often",
        frozenset({"class of requests", "mix of requests"}),
        {"requests": mixed(COLD, {**WORSE, "alpha": 0.3}, 0.7)},
        {"requests": mixed(COLD, {**FAIR, "alpha": 0.6}, 0.3)},
    ),
    Fault(
        "long prompts are accepted better",
        frozenset({"class of requests"}),
        {"requests": mixed(SHORT, {**LONG, "alpha": 0.7}, 0.5)},
        {"requests": mixed(SHORT, LONG, 0.5)},
    ),
    Fault(
        "hot requests are accepted worse, and steps are slower",
        frozenset({"class of requests", "not explained"}),
        {"requests": mixed(COLD, WORSE, 0.4), "step_seconds": 0.024},
        {"requests": mixed(COLD, FAIR, 0.4)},
    ),
    Fault(
        "hot requests are accepted worse, and all are more",
        frozenset({"class of requests", "load"}),
        {"requests": mixed(COLD, WORSE, 0.4), "load": {"rate": 1.5}},
        {"requests": mixed(COLD, FAIR, 0.4), "load": {"rate": 0.4}},
    ),
    Fault(
        "another drafter, which hot requests accept worse",
        frozenset({"drafter"}),
        {"requests": mixed(COLD, WORSE, 0.4)},
        {"requests": mixed(COLD, FAIR, 0.4)},
        facts=({"drafter": "A"}, {"drafter": "B"}),
        restarts=True,
    ),
    Fault(
        "other text of two classes, most of it of one",
        UNKNOWN,
        {"requests": mixed({**COLD, "alpha": 0.6}, {**HOT, "alpha": 0.2}, 0.05)},
        {"requests": mixed(COLD, HOT, 0.05)},
    ),
)
