"""Do the rule tests notice a wrong rule? Change the rules one token at a time and see that some test fails.

A mutant is one small change in one rule. It is killed when promtool fails on a test file that depends on the rule. Each
run gets only the rules that its test file asserts on and what those read: no other can make an assertion fail, and it
is several times as fast. A mutant that survives is a hole in the tests, unless `mutation_equivalents.yaml` says why it
means the same.
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
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).parents[2]
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.yaml")
RULE_FILES = ("alerts/recording.rules.yaml", "alerts/alerting.rules.yaml")

TOKEN = re.compile(r'"[^"]*"|[a-zA-Z_:][\w:]*|(?:\d+[smhdwy])+|\d+(?:\.\d+)?|=~|!~|!=|==|<=|>=|[-+*/<>=(){}\[\],]')
INSTEAD = {
    "<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=", ">="),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",),
    "=": ("!=",), "!=": ("=",), "=~": ("!~",), "!~": ("=~",),
    "and": ("or", "unless"), "or": ("and", "unless"), "unless": ("and", "or"), "ignoring": ("on",),
    "sum": ("avg", "max"), "min": ("max",), "max": ("min",), "count": ("sum",), "group": ("sum",),
    "rate": ("increase",), "resets": ("changes",), "abs": ("floor",), "last_over_time": ("absent_over_time",),
    "avg_over_time": ("max_over_time",), "max_over_time": ("min_over_time",), "min_over_time": ("max_over_time",),
    "count_over_time": ("sum_over_time",), "stddev_over_time": ("stdvar_over_time",),
    "info": ("warning",), "warning": ("critical",), "critical": ("info",), "none": ("info",),
}  # fmt: skip
LABEL_LISTS = {"by", "without", "on", "ignoring"}
MATCHES = {"=", "!=", "=~", "!~"}


@dataclass(frozen=True)
class Rule:
    """A rule and where it stands; of a mutant, `change` says what is different, uniquely within the rule."""

    name: str
    file: str
    group: str
    body: dict[str, Any] = field(hash=False)
    change: str = ""

    def reads(self) -> set[str]:
        return set(re.findall(r"[\w:]+", self.body["expr"]))

    def diff(self, original: "Rule") -> str:
        old, new = ("\n".join(f"{key}: {value}" for key, value in rule.body.items()) for rule in (original, self))
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
        return "\n".join(line for line in lines if line[:2] not in {"--", "++", "@@"})


def load_rules() -> dict[str, Rule]:
    rules = (
        Rule(body.get("record") or body["alert"], file, group["name"], body)
        for file in RULE_FILES
        for group in yaml.safe_load((ROOT / file).read_text())["groups"]
        for body in group["rules"]
    )
    return {rule.name: rule for rule in rules}


def visible(test: Path, rules: dict[str, Rule]) -> dict[str, Rule]:
    """The rules that a test file names and all that they read, in the order of the rule files."""
    words = set(re.findall(r"[\w:]+", test.read_text()))
    waiting = set(rules) if words & {"ALERTS", "__name__"} else words & set(rules)
    seen: set[str] = set()
    while waiting:
        seen |= waiting
        waiting = {read for name in waiting for read in rules[name].reads() if read in rules} - seen
    return {name: rule for name, rule in rules.items() if name in seen}


def mutants(rule: Rule, metrics: list[str]) -> Iterator[Rule]:
    """Every change of the rule that still parses, numbered where the same change is possible in several places."""
    changes: list[tuple[str, dict[str, Any]]] = []
    for change, start, end, text in edits(rule.body["expr"], [metric for metric in metrics if metric != rule.name]):
        expression = rule.body["expr"][:start] + text + rule.body["expr"][end:]
        with suppress(ValueError):
            promql_parser.parse(expression)
            changes.append((change, {"expr": expression}))
    for key in ("for", "keep_firing_for"):
        changes += [(f"{key}: {new}", {key: new}) for new in neighbours(rule.body.get(key, ""))]
    for key, value in rule.body.get("labels", {}).items():
        changes += [(f"{key}: {new}", {"labels": {key: new}}) for new in INSTEAD[value]]
    times, count = Counter(change for change, _ in changes), Counter[str]()
    for change, new in changes:
        count[change] += 1
        number = f" #{count[change]}" if times[change] > 1 else ""
        yield replace(rule, body=rule.body | new, change=change + number)


def edits(expression: str, metrics: list[str]) -> Iterator[tuple[str, int, int, str]]:
    """Each change of a token as (its name, from, to, new text)."""
    tokens = list(TOKEN.finditer(expression))
    words = [token[0] for token in tokens]
    for i, (token, word) in enumerate(zip(tokens, words, strict=True)):
        for new in replacements(word, metrics):
            yield f"{word} -> {new}", token.start(), token.end(), new
        if word in LABEL_LISTS:
            for j in range(i + 2, words.index(")", i), 2):
                yield f"{word}: no {words[j]}", *item(tokens, j, j), ""
        if word in MATCHES and words[i + 1].startswith('"'):
            yield f"no {words[i - 1]}{word}{words[i + 1]}", *item(tokens, i - 1, i + 1), ""


def item(tokens: list[re.Match[str]], first: int, last: int) -> tuple[int, int]:
    """Where an item of a list begins and ends, the comma beside it included."""
    if tokens[last + 1][0] == ",":
        return tokens[first].start(), tokens[last + 2].start()
    return tokens[first - (tokens[first - 1][0] == ",")].start(), tokens[last].end()


def replacements(word: str, metrics: list[str]) -> Iterable[str]:
    """What may stand in place of a token."""
    if word.startswith('"'):
        digits = re.finditer(r"\d+", word)
        return [f"{word[: number.start()]}{int(number[0]) + 1}{word[number.end() :]}" for number in digits]
    if word[0].isdigit():
        return neighbours(word)
    if ":" in word or word == "up":
        return [swapped(word, metrics)]
    return INSTEAD.get(word, ())


def neighbours(number: str) -> Iterator[str]:
    """A number or duration a little larger and a little smaller: by one in its last digit."""
    for part in re.finditer(r"\d+(?:\.\d+)?", number):
        step = Decimal(1).scaleb(-len(part[0].partition(".")[2]))
        for new in (Decimal(part[0]) + step, Decimal(part[0]) - step):
            yield f"{number[: part.start()]}{new}{number[part.end() :]}"


def swapped(metric: str, metrics: list[str]) -> str:
    """The next metric of the same level and operation; else, of the same level; else, any."""
    level, operation = kind(metric)

    def unlikeness(other: str) -> tuple[bool, bool, bool]:
        return kind(other)[0] != level, kind(other)[1] != operation, other < metric

    return min((other for other in metrics if other != metric), key=unlikeness)


def kind(metric: str) -> tuple[str, str]:
    """Level and operation of a record; of a raw series, its prefix and suffix."""
    level, _, rest = metric.partition(":")
    return level, rest.rpartition(":" if ":" in rest else "_")[2]


class Runner:
    """Runs promtool on a test file and just the rules it can see, in a folder laid out like the repository."""

    def __init__(self, promtool: Path, folder: Path, rules: dict[str, Rule], chosen: set[str]) -> None:
        self.promtool, self.folder, self.rules = promtool, folder, rules
        tests = sorted((ROOT / "tests/rules").glob("*.test.yaml"))
        self.sees = {test: seen for test in tests if chosen & set(seen := visible(test, rules))}
        self.seconds: dict[Path, float] = {}

    def run(self, test: Path, rules: dict[str, Rule]) -> str:
        """What promtool complains about; nothing when the test passes."""
        folder = self.folder / str(threading.get_ident())
        copy = folder / "tests/rules" / test.name
        if not copy.exists():
            for part in (copy.parent, folder / "alerts"):
                part.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(test)
        groups: dict[str, dict[str, list[Any]]] = {file: defaultdict(list) for file in RULE_FILES}
        for rule in visible(test, rules).values():
            body = {key: value for key, value in rule.body.items() if key != "annotations"}  # No case compares them.
            groups[rule.file][rule.group].append(body)
        for file, bodies in groups.items():
            content = {"groups": [{"name": name, "rules": rules} for name, rules in bodies.items()]}
            (folder / file).write_text(json.dumps(content))
        command = [str(self.promtool), "test", "rules", str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip() or "failed" if done.returncode else ""

    def baseline(self, test: Path) -> str:
        """Time a test file on the rules as they are; how it fails, if it does."""
        start = time.monotonic()
        output = self.run(test, self.rules)
        self.seconds[test] = time.monotonic() - start
        return f"{test.name} fails on the rules as they are:\n{output[:1000]}" if output else ""

    def outcome(self, mutant: Rule) -> str:
        """`killed`, `survived` or `rejected`; files that name the rule come first, quick ones before slow ones."""
        tests = [test for test, seen in self.sees.items() if mutant.name in seen]
        for test in sorted(tests, key=lambda test: (mutant.name not in test.read_text(), self.seconds[test])):
            output = self.run(test, self.rules | {mutant.name: mutant})
            if output:
                return "rejected" if "could not parse expression" in output else "killed"
        return "survived"

    def judge(self, todo: list[Rule], console: Console) -> dict[Rule, str]:
        """The outcome of every mutant, on all cores."""
        outcomes: dict[Rule, str] = {}
        bar = Progress(console=console, disable=not console.is_terminal)
        with bar, ThreadPoolExecutor(os.cpu_count()) as pool:
            if failures := list(filter(None, pool.map(self.baseline, self.sees))):
                sys.exit("\n".join(failures))
            task = bar.add_task("mutants", total=len(todo))
            futures = {pool.submit(self.outcome, mutant): mutant for mutant in todo}
            try:
                for future in as_completed(futures):
                    outcomes[futures[future]] = future.result()
                    bar.advance(task)
            finally:
                pool.shutdown(cancel_futures=True)
        return outcomes


def report(console: Console, rules: dict[str, Rule], outcomes: dict[Rule, str]) -> int:
    """Print the table, the survivors and the equivalents that are none; 1 where there is something to mend."""
    entries = yaml.safe_load(EQUIVALENTS.read_text())
    excused = {(entry["rule"], change) for entry in entries for change in entry["changes"]}
    survivors = {(mutant.name, mutant.change): mutant for mutant, outcome in outcomes.items() if outcome == "survived"}
    table: dict[str, Counter[str]] = {mutant.name: Counter() for mutant in outcomes}
    for mutant, outcome in outcomes.items():
        table[mutant.name]["equivalent" if (mutant.name, mutant.change) in excused & set(survivors) else outcome] += 1
    columns = ("mutants", "killed", "equivalent", "survived")
    console.print(f"{'rule':72}" + "".join(f"{column:>12}" for column in columns))
    for name, count in [*sorted(table.items()), ("total", sum(table.values(), Counter()))]:
        count["mutants"] = count.total() - count["rejected"]
        console.print(f"{name:72}" + "".join(f"{count[column]:12}" for column in columns))
    holes = sorted(set(survivors) - excused)
    for key in holes:
        console.print(f"\n{': '.join(key)}\n{survivors[key].diff(rules[key[0]])}")
    stale = sorted((name, change) for name, change in excused - set(survivors) if name in table or name not in rules)
    for key in stale:
        console.print(f"\n{': '.join(key)}\nis no equivalent: it is killed, or no such change is made. Remove it.")
    return 1 if holes or stale else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the rules one token at a time and see that some test fails.")
    parser.add_argument("--promtool", type=Path, default=os.environ.get("PROMTOOL", ROOT / ".tools/bin/promtool"))
    parser.add_argument("--rule", help="only the rule of this name")
    options = parser.parse_args()
    if not options.promtool.is_file():
        parser.error(f"{options.promtool} does not exist: name promtool with --promtool")
    rules = load_rules()
    if options.rule not in {None, *rules}:
        parser.error(f"no rule is named {options.rule}")
    raw = {read for rule in rules.values() for read in rule.reads() if re.fullmatch(r"vllm:.+|up", read)}
    metrics = sorted(raw | {name for name, rule in rules.items() if "record" in rule.body})
    chosen = {name for name in rules if options.rule in {None, name}}
    console = Console(highlight=False, markup=False, soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        runner = Runner(options.promtool.absolute(), Path(folder), rules, chosen)
        outcomes = runner.judge(
            [mutant for name in sorted(chosen) for mutant in mutants(rules[name], metrics)], console
        )
    return report(console, rules, outcomes)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
