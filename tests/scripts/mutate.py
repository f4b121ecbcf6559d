"""Do the rule tests notice a wrong rule? Change the rules one token at a time and see that some test fails.

A mutant is one small change in one rule. It is killed when promtool fails on a case, an entry of `tests/rules`, that
names the rule or one that reads it: cases further away hardly ever see a change (2 in 100), and are most of the cost of
a mutant that survives. Each run gets one case and only the rules that it names and all that those read: no other can
make it fail. What a run found is kept in `.mutation_cache` by a hash of all that it read: an interrupted run goes on,
and the next repeats only what a change touches. A mutant that survives is a hole in the tests, unless
`mutation_equivalents.yaml` says why it means the same.
"""

import argparse
import difflib
import functools
import hashlib
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
from rich.progress import Progress, TimeElapsedColumn

from draftboard.build import render
from draftboard.settings import load
from support import cases

ROOT = Path(__file__).parents[2]
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.yaml")
KNOWN = ROOT / ".mutation_cache"
ONE_OF_MANY = {"GOGC": "400", "GOMAXPROCS": "1"}  # for a promtool among others, with little memory to collect
RULES = "rules.yaml"
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

    @functools.cached_property
    def text(self) -> str:
        """As promtool reads it. No case compares annotations."""
        return json.dumps({key: value for key, value in self.body.items() if key != "annotations"})

    def diff(self, original: "Rule") -> str:
        old, new = ("\n".join(f"{key}: {value}" for key, value in rule.body.items()) for rule in (original, self))
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
        return "\n".join(line for line in lines if line[:2] not in {"--", "++", "@@"})


def load_rules() -> dict[str, Rule]:
    """The committed rules and those on objectives, which the settings of the tests declare."""
    built = render(load(ROOT / "tests/rules/objectives.toml"))
    rules = (
        Rule(body.get("record") or body["alert"], file, group["name"], body)
        for file in RULE_FILES
        for group in yaml.safe_load(built[file])["groups"]
        for body in group["rules"]
    )
    return {rule.name: rule for rule in rules}


@dataclass(frozen=True)
class Case:
    """One entry of the `tests` in a file: promtool runs each on series of its own."""

    file: Path
    name: str
    document: dict[str, Any] = field(hash=False)  # all of the file that concerns this entry
    words: frozenset[str]
    patterns: frozenset[str]  # of names
    rule_files: frozenset[str]

    @functools.cached_property
    def text(self) -> str:
        return cases.text(self.document)

    @property
    def key(self) -> str:
        return hashed(self.file.name, self.name)


def load_cases() -> Iterator[Case]:
    for path in cases.paths():
        document = cases.read(path)
        if "exp_annotations" in cases.text(document) or cases.sets_costs(path):
            continue  # It compares messages, not what rules compute; or rules other than those that are changed.
        for entry in document["tests"]:
            only = document | {"tests": [entry]}
            asked = " ".join(test["expr"] for test in entry.get("promql_expr_test", ()))
            patterns = frozenset(re.findall(r'__name__=~"([^"]+)"', asked))
            yield Case(
                path, entry["name"], only, words_of(cases.text(only)), patterns, frozenset(document["rule_files"])
            )


@functools.cache
def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w:]+", text))


def hashed(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def visible(case: Case, rules: dict[str, Rule]) -> dict[str, Rule]:
    """The rules that a case names and all that they read, in the order of the rule files."""
    rules = {name: rule for name, rule in rules.items() if rule.file in case.rule_files}
    matching = {name for name in rules for pattern in case.patterns if re.fullmatch(pattern, name)}
    waiting = set(rules) if "ALERTS" in case.words else case.words & rules.keys() | matching
    seen: set[str] = set()
    while waiting:
        seen |= waiting
        waiting = {read for name in waiting for read in words_of(rules[name].body["expr"]) if read in rules} - seen
    return {name: rule for name, rule in rules.items() if name in seen}


def tested(case: Case, rules: dict[str, Rule]) -> set[str]:
    """The rules that a case names and what those read."""
    named = {name: rule for name, rule in rules.items() if name in case.words and rule.file in case.rule_files}
    return named.keys() | {read for rule in named.values() for read in words_of(rule.body["expr"]) if read in rules}


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


class Known(dict[str, str]):
    """What runs found, by a hash of all that they read: kept in a file, so that no run is repeated."""

    def __init__(self, file: Path) -> None:
        file.touch()
        entries = (line.split() for line in file.read_text().splitlines())
        super().__init__(entry for entry in entries if len(entry) == 2)
        self._file = file.open("a", buffering=1)

    def __setitem__(self, key: str, found: str) -> None:
        super().__setitem__(key, found)
        self._file.write(f"{key} {found}\n")


class Runner:
    """Runs promtool on a case and just the rules that it can see."""

    def __init__(self, promtool: Path, folder: Path, rules: dict[str, Rule], known: Known) -> None:
        self.promtool, self.folder, self.rules, self.known = promtool, folder, rules, known
        self.order = [{"name": group} for group in dict.fromkeys(rule.group for rule in rules.values())]
        self.version = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True).stdout
        self.testing: dict[str, list[Case]] = {name: [] for name in rules}
        for case in load_cases():
            for name in tested(case, rules):
                self.testing[name].append(case)
        self.seconds: dict[str, float] = {}
        self.kills = Counter[tuple[str, str]]()

    def outcome_of(self, case: Case, rules: dict[str, Rule]) -> str:
        """`passed`, `failed`, or `rejected` for an expression that promtool cannot parse."""
        content = self.content(case, rules)
        key = hashed(self.version, case.text, content)
        if key not in self.known:
            self.known[key] = self.run(case, content)
        return self.known[key]

    def content(self, case: Case, rules: dict[str, Rule]) -> str:
        """A rule file of what the case can see."""
        groups = defaultdict[str, list[str]](list)
        for rule in visible(case, rules).values():
            groups[rule.group].append(rule.text)
        listed = (f'{{"name": "{name}", "rules": [{", ".join(texts)}]}}' for name, texts in groups.items())
        return f'{{"groups": [{", ".join(listed)}]}}'

    def run(self, case: Case, content: str) -> str:
        """The outcome of promtool."""
        folder = self.folder / str(threading.get_ident())
        folder.mkdir(exist_ok=True)
        (folder / RULES).write_text(content)
        file = folder / case.file.name
        file.write_text(cases.for_promtool(case.document, RULES, self.order))
        command: list[str | Path] = [self.promtool, "test", "rules", file]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | ONE_OF_MANY)
        rejected = "could not parse expression" in done.stdout + done.stderr
        return "rejected" if rejected else "failed" if done.returncode else "passed"

    def baseline(self, case: Case) -> str:
        """How long a case takes on the rules as they are; its name if it fails."""
        content, duration = self.content(case, self.rules), hashed("seconds", case.text)
        key = hashed(self.version, case.text, content)
        if duration not in self.known or key not in self.known:
            start = time.monotonic()
            self.known[key] = self.run(case, content)
            self.known[duration] = f"{time.monotonic() - start:.3f}"
        self.seconds[case.key] = float(self.known[duration])
        return "" if self.known[key] == "passed" else cases.where(case.file, case.name)

    def outcome(self, mutant: Rule) -> str:
        """`killed`, `survived` or `rejected`: first by what killed it before, then by what kills most a second."""
        rules, own = self.rules | {mutant.name: mutant}, hashed(mutant.name, mutant.text)
        before = self.known.get(own)

        def order(case: Case) -> tuple[bool, float]:
            likely = 1 + self.kills[mutant.name, case.key] + (mutant.name in case.words)
            return case.key != before, -likely / self.seconds[case.key]

        for case in sorted(self.testing[mutant.name], key=order):
            outcome = self.outcome_of(case, rules)
            if outcome == "failed":
                self.kills[mutant.name, case.key] += 1
                if before != case.key:
                    self.known[own] = case.key
            if outcome != "passed":
                return {"failed": "killed"}.get(outcome, outcome)
        return "survived"

    def judge(self, todo: list[Rule], console: Console) -> dict[Rule, str]:
        """The outcome of every mutant, on all cores."""
        outcomes: dict[Rule, str] = {}
        needed = {case.key: case for mutant in todo for case in self.testing[mutant.name]}
        bar = Progress(
            *Progress.get_default_columns(), TimeElapsedColumn(), console=console, disable=not console.is_terminal
        )
        with bar, ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:  # one waits for the disk
            if failures := list(filter(None, pool.map(self.baseline, needed.values()))):
                sys.exit("These fail on the rules as they are:\n" + "\n".join(failures))
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
    parser.add_argument("--rule", nargs="+", help="only the rules of these names")
    options = parser.parse_args()
    if not options.promtool.is_file():
        parser.error(f"{options.promtool} does not exist: name promtool with --promtool")
    rules = load_rules()
    if unknown := sorted(set(options.rule or ()) - rules.keys()):
        parser.error(f"no rule is named {', '.join(unknown)}")
    raw = {read for rule in rules.values() for read in words_of(rule.body["expr"]) if re.fullmatch(r"vllm:.+|up", read)}
    metrics = sorted(raw | {name for name, rule in rules.items() if "record" in rule.body})
    todo = [mutant for name in sorted(options.rule or rules) for mutant in mutants(rules[name], metrics)]
    console = Console(highlight=False, markup=False, soft_wrap=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        outcomes = Runner(options.promtool.absolute(), Path(folder), rules, Known(KNOWN)).judge(todo, console)
    status = report(console, rules, outcomes)
    console.print(f"\n{len(todo)} mutants in {time.monotonic() - start:.0f} s")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
