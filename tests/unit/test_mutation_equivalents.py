"""An excuse of a mutant names a change that is made: with a rule that changes, its excuses are thought over again."""

from collections import Counter, defaultdict

from scripts.mutate import excused, load_rules, metrics_of, mutants


def test_every_excused_mutant_is_made() -> None:
    rules = load_rules()
    metrics = metrics_of(rules)
    changes = defaultdict[str, set[str]](set)
    for name, change in excused():
        changes[name].add(change.partition(" #")[0])
    assert [name for name in changes if name not in rules] == []
    made = {(name, one.change) for name, only in changes.items() for one in mutants(rules[name], metrics, only)}
    assert [f"{name}: {change}" for name, change in excused() if (name, change) not in made] == []


def test_no_mutant_is_excused_twice() -> None:
    assert [f"{name}: {change}" for (name, change), times in Counter(excused()).items() if times > 1] == []
