"""Do the rule tests notice a wrong rule? Change the rules one token at a time and see that some test fails.

A mutant is one small change in one rule. It is killed when promtool fails on a test file that depends on the rule. Each
run gets only the rules that its test file can see, which makes it several times as fast and changes no result. A mutant
that survives is a hole in the tests, unless `mutation_equivalents.yaml` says why it means the same.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).parent.parent
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.yaml")
RULE_FILES = ("alerts/recording.rules.yaml", "alerts/alerting.rules.yaml")

TOKEN = re.compile(
    r'"[^"]*"|[a-zA-Z_:][\w:]*|(?:\d+[smhdwy])+|\d+(?:\.\d+)?|=~|!~|!=|==|<=|>=|[-+*/<>=(){}\[\],]',
)
INSTEAD = {
    "<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=", ">="),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",),
    "and": ("or", "unless"), "or": ("and", "unless"), "unless": ("and", "or"),
    "sum": ("avg", "max"), "min": ("max",), "max": ("min",), "count": ("sum",), "group": ("sum",),
    "rate": ("increase",), "resets": ("changes",), "abs": ("floor",),
    "avg_over_time": ("max_over_time",), "stddev_over_time": ("stdvar_over_time",),
    "count_over_time": ("sum_over_time",), "last_over_time": ("absent_over_time",),
    "ignoring": ("on",),
}  # fmt: skip
NEGATED = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}
SEVERITIES = {"info": "warning", "warning": "critical", "critical": "info"}
LABEL_LISTS = {"by", "without", "on", "ignoring"}


@dataclass(frozen=True)
class Rule:
    """A rule, where it stands, and what it reads."""

    name: str
    file: str
    group: str
    body: dict[str, Any]

    def reads(self, known: frozenset[str]) -> set[str]:
        return set(re.findall(r"[\w:]+", self.body["expr"])) & known


@dataclass(frozen=True)
class Mutant:
    """A rule with one change, which `change` names uniquely within the rule."""

    change: str
    rule: Rule = field(repr=False)

    def diff(self, original: Rule) -> Iterator[str]:
        old, new = (yaml.safe_dump(rule.body, sort_keys=False, width=200).splitlines() for rule in (original, self.rule))
        return (line for line in difflib.unified_diff(old, new, n=0, lineterm="") if line[:2] not in {"--", "++", "@@"})


@dataclass(frozen=True)
class Test:
    """A test file and the rules that its assertions name."""

    path: Path
    names: frozenset[str]


def load_rules() -> dict[str, Rule]:
    rules = {}
    for file in RULE_FILES:
        for group in yaml.safe_load((ROOT / file).read_text())["groups"]:
            for body in group["rules"]:
                name = body.get("record") or body["alert"]
                rules[name] = Rule(name, file, group["name"], body)
    return rules


def load_tests(rules: dict[str, Rule]) -> list[Test]:
    tests = []
    for path in sorted((ROOT / "tests/rules").glob("*.test.yaml")):
        words = set(re.findall(r"[\w:]+", path.read_text()))
        names = set(rules) if words & {"ALERTS", "__name__"} else words & set(rules)
        tests.append(Test(path, frozenset(names)))
    return tests


def closure(names: frozenset[str], rules: dict[str, Rule]) -> dict[str, Rule]:
    """The rules of these names and all that they read, in the order of the files."""
    known, seen, waiting = frozenset(rules), set[str](), set(names)
    while waiting:
        seen |= waiting
        waiting = {read for name in waiting for read in rules[name].reads(known)} - seen
    return {name: rule for name, rule in rules.items() if name in seen}


def mutants(rule: Rule, metrics: list[str]) -> Iterator[Mutant]:
    """Every change of the rule that still parses, numbered where the same change is possible in several places."""
    expression = rule.body["expr"]
    changes: list[tuple[str, dict[str, Any]]] = []
    for change, start, end, new in edits(expression, [metric for metric in metrics if metric != rule.name]):
        text = expression[:start] + new + expression[end:]
        with suppress(ValueError):
            promql_parser.parse(text)
            changes.append((change, {"expr": text}))
    for key in ("for", "keep_firing_for"):
        changes += [(f"{key}: {new}", {key: new}) for new in neighbours(rule.body.get(key, ""))]
    for severity in rule.body.get("labels", {}).values():
        changes.append((f"severity: {SEVERITIES[severity]}", {"labels": {"severity": SEVERITIES[severity]}}))
    times, count = Counter(change for change, _ in changes), Counter[str]()
    for change, new in changes:
        count[change] += 1
        label = f"{change} #{count[change]}" if times[change] > 1 else change
        yield Mutant(label, Rule(rule.name, rule.file, rule.group, rule.body | new))


def edits(expression: str, metrics: list[str]) -> Iterator[tuple[str, int, int, str]]:
    """Each change of a token as (its name, from, to, new text)."""
    tokens = list(TOKEN.finditer(expression))
    words = [token[0] for token in tokens] + [""]
    for i, (token, word) in enumerate(zip(tokens, words, strict=False)):
        for new in replacements(word, metrics):
            yield f"{word} -> {new}", token.start(), token.end(), new
        if word in LABEL_LISTS:
            last = words.index(")", i)
            labels = [j for j in range(i + 2, last) if words[j] != ","]
            for j in labels:
                yield f"{word}: no {words[j]}", *item_span(tokens, j, j), ""
        if word in NEGATED and words[i + 1].startswith('"'):
            yield f"no {words[i - 1]}{word}{words[i + 1]}", *item_span(tokens, i - 1, i + 1), ""


def item_span(tokens: list[re.Match[str]], first: int, last: int) -> tuple[int, int]:
    """Where an item of a list begins and ends, a comma beside it included."""
    if tokens[last + 1][0] == ",":
        return tokens[first].start(), tokens[last + 2].start()
    return tokens[first - 1].start() if tokens[first - 1][0] == "," else tokens[first].start(), tokens[last].end()


def replacements(word: str, metrics: list[str]) -> Iterator[str]:
    """What may stand in place of a token."""
    if word.startswith('"'):
        for digits in re.finditer(r"\d+", word):
            yield f"{word[: digits.start()]}{int(digits[0]) + 1}{word[digits.end() :]}"
    elif word[:1].isdigit():
        yield from neighbours(word)
    elif word in INSTEAD:
        yield from INSTEAD[word]
    elif word in NEGATED:
        yield NEGATED[word]
    elif ":" in word or word == "up":
        yield swapped(word, metrics)


def neighbours(number: str) -> Iterator[str]:
    """A number or duration a little larger and a little smaller: by one in its last digit."""
    for part in re.finditer(r"\d+(?:\.\d+)?", number):
        step = Decimal(1).scaleb(-len(part[0].partition(".")[2]))
        for new in (Decimal(part[0]) + step, Decimal(part[0]) - step):
            yield f"{number[: part.start()]}{new}{number[part.end() :]}"


def swapped(metric: str, metrics: list[str]) -> str:
    """The next metric of the same kind, or at least of the same level."""
    others = [other for other in metrics if other != metric]
    alike = (
        [other for other in others if kind(other) == kind(metric)]
        or [other for other in others if kind(other)[0] == kind(metric)[0]]
        or others
    )
    return next((other for other in alike if other > metric), alike[0])


def kind(metric: str) -> tuple[str, str]:
    """Level and operation of a record, `vllm` and the suffix of a raw series."""
    level, _, rest = metric.partition(":")
    return level, rest.rpartition(":" if ":" in rest else "_")[2]


class Runner:
    """Runs promtool on a test file and just the rules it can see, in a folder laid out like the repository."""

    def __init__(self, promtool: Path, folder: Path, rules: dict[str, Rule], tests: list[Test]) -> None:
        self.promtool, self.folder, self.rules, self.tests = promtool, folder, rules, tests
        self.seconds: dict[Path, float] = defaultdict(float)

    def run(self, test: Test, rules: dict[str, Rule]) -> str:
        """What promtool complains about; nothing when the test passes."""
        folder = self.folder / str(threading.get_ident())
        copy = folder / "tests/rules" / test.path.name
        if not copy.exists():
            for part in (copy.parent, folder / "alerts"):
                part.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(test.path)
        visible = closure(test.names, rules).values()
        for file in RULE_FILES:
            groups: dict[str, list[Any]] = defaultdict(list)
            for rule in visible:
                if rule.file == file:
                    groups[rule.group].append(rule.body)
            content = {"groups": [{"name": name, "rules": bodies} for name, bodies in groups.items()]}
            (folder / file).write_text(json.dumps(content))
        command = [self.promtool, "test", "rules", copy]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
        return (done.stdout + done.stderr or "failed") if done.returncode else ""

    def baseline(self) -> list[str]:
        """Time every test file on the rules as they are; the failures."""
        failures = []
        for test in self.tests:
            start = time.monotonic()
            output = self.run(test, self.rules)
            self.seconds[test.path] = time.monotonic() - start
            failures += [f"{test.path.name} fails on the rules as they are:\n{output}"] if output else []
        return failures

    def outcome(self, mutant: Mutant) -> str:
        """`killed`, `survived` or `rejected`. Files that name the rule come first, quick ones before slow ones."""
        name = mutant.rule.name
        rules = self.rules | {name: mutant.rule}
        tests = [test for test in self.tests if name in closure(test.names, self.rules)]
        for test in sorted(tests, key=lambda test: (name not in test.names, self.seconds[test.path])):
            output = self.run(test, rules)
            if output:
                return "rejected" if "could not parse expression" in output else "killed"
        return "survived"


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the rules one token at a time and see that some test fails.")
    parser.add_argument("--promtool", type=Path, default=os.environ.get("PROMTOOL", ROOT / ".tools/bin/promtool"))
    parser.add_argument("--rule", help="only the rule of this name")
    options = parser.parse_args()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    rules = load_rules()
    if options.rule and options.rule not in rules:
        parser.error(f"no rule is named {options.rule}")
    words = (re.findall(r"vllm:\w+|\bup\b", rule.body["expr"]) for rule in rules.values())
    records = (name for name, rule in rules.items() if "record" in rule.body)
    metrics = sorted({*records, *(word for found in words for word in found if not word.startswith("vllm:vllm"))})
    chosen = [rule for name, rule in rules.items() if options.rule in {None, name}]
    todo = [mutant for rule in chosen for mutant in mutants(rule, metrics)]
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        runner = Runner(options.promtool.resolve(), Path(folder), rules, load_tests(rules))
        failures = runner.baseline()
        if failures:
            console.print("\n".join(failures))
            return 2
        outcomes = judge(runner, todo, console)
    return report(console, rules, outcomes)


def judge(runner: Runner, todo: list[Mutant], console: Console) -> dict[Mutant, str]:
    outcomes: dict[Mutant, str] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool, Progress(console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("mutants", total=len(todo))
        futures: dict[Future[str], Mutant] = {pool.submit(runner.outcome, mutant): mutant for mutant in todo}
        try:
            for future in as_completed(futures):
                outcomes[futures[future]] = future.result()
                bar.advance(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return outcomes


def report(console: Console, rules: dict[str, Rule], outcomes: dict[Mutant, str]) -> int:
    """Print the table, the survivors and the equivalents that are none; 1 where there is something to mend."""
    excused = {(entry["rule"], entry["change"]) for entry in yaml.safe_load(EQUIVALENTS.read_text())}
    survivors = {(m.rule.name, m.change): m for m, outcome in outcomes.items() if outcome == "survived"}
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, outcome in outcomes.items():
        key = (mutant.rule.name, mutant.change)
        table[mutant.rule.name]["equivalent" if outcome == "survived" and key in excused else outcome] += 1
    columns = ("mutants", "killed", "equivalent", "survived")
    rows = [(name, table[name]) for name in rules if name in table]
    console.print(f"{'rule':72}" + "".join(f"{column:>12}" for column in columns))
    for name, count in [*rows, ("total", sum(table.values(), Counter[str]()))]:
        count["mutants"] = count.total() - count["rejected"]
        console.print(f"{name:72}" + "".join(f"{count[column]:12}" for column in columns))
    holes = [mutant for key, mutant in survivors.items() if key not in excused]
    for mutant in sorted(holes, key=lambda mutant: list(rules).index(mutant.rule.name)):
        console.print(f"\n{mutant.rule.name}: {mutant.change}")
        console.print("\n".join(mutant.diff(rules[mutant.rule.name])))
    stale = sorted(key for key in excused if key[0] in table and key not in survivors or key[0] not in rules)
    for rule, change in stale:
        console.print(f"\n{EQUIVALENTS.name}: {rule}: {change}: is killed, or no such change exists: remove it")
    return 1 if holes or stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
