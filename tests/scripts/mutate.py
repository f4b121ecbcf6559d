"""Do the rule tests notice a wrong rule? Change the rules one token at a time and see that some test fails.

A mutant is one small change in one rule. It is killed when a case, an entry of `tests/rules`, that names the rule or
one that reads it gets another answer than from the rules as they are: cases further away hardly ever see a change (2 in
100), and are most of the cost of a mutant that survives. promtool gets a case with all mutants of a rule at once: each
is a copy of the rule, and of all that reads it, under names that end in its number. What a run found is kept in
`build/mutations` by a hash of all that it read: an interrupted run goes on, and the next repeats only what a change
touches. A mutant that survives is a hole in the tests, unless `mutation_equivalents.yaml` says why it means the same.
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
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import promql_parser
from rich.console import Console

from draftboard.build import render
from draftboard.settings import load
from support import cases, crowds
from support.rulefiles import loaded

ROOT = Path(__file__).parents[2]
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.yaml")
KNOWN = ROOT / "build/mutations"
ONE_OF_MANY = {"GOGC": "400", "GOMAXPROCS": "1"}  # for a promtool among others, with little memory to collect
RULES = "rules.yaml"
RULE_FILES = ("alerts/recording.rules.yaml", "alerts/alerting.rules.yaml")
AT_ONCE = 120  # mutants in a run: more take more memory than they save time
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
COPY, AS_IT_IS = "_mutant", r"\g<0>"
NAMING = {"record", "alert", "expr"}  # what names a rule or others
FAILED = re.compile(rf"rule: \w[\w:]*{COPY}(\d+), time: .*, err: ")
ANSWER = re.compile(r'exp: \{question="(\d+)"\} 0E\+00\n\s*got: (.*)')
SAMPLE = re.compile(r'([\w:]*\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}) (\S+?)(?:, |$)')
ANY_ALERT = re.compile(r'\bALERTS(?!\{alertname=")')
PATTERN = re.compile(r'__name__=~"([^"]+)"')

TOKEN = re.compile(r'"[^"]*"|[a-zA-Z_:][\w:]*|(?:\d+[smhdwy])+|\d+(?:\.\d+)?|=~|!~|!=|==|<=|>=|[-+*/<>=(){}\[\],]')
THE_SAME = re.compile(r"\S+ \+ - 0 \*|\S+:bool == >= 1")  # What is added is 0; such a record is 1 at most.
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

    def diff(self, original: "Rule") -> str:
        old, new = ("\n".join(f"{key}: {value}" for key, value in rule.body.items()) for rule in (original, self))
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
        return "\n".join(line for line in lines if line[:2] not in {"--", "++", "@@"})


@functools.cache
def load_rules(settings: str = "objectives.toml") -> dict[str, Rule]:
    """The committed rules and those on objectives of the tests. No case compares annotations."""
    built = render(load(ROOT / "tests/rules" / settings))
    rules = (
        Rule(body.get("record") or body["alert"], file, group["name"], body | {"annotations": {}})
        for file in RULE_FILES
        for group in loaded(built[file])["groups"]
        for body in group["rules"]
    )
    return {rule.name: rule for rule in rules}


@dataclass
class Case:
    """One entry of the `tests` in a file: promtool runs each on series of its own."""

    document: dict[str, Any]  # all of the file that concerns this entry
    words: frozenset[str]
    asked: str  # its expressions
    rules: dict[str, Rule]

    @property
    def crowded(self) -> bool:
        """Whether it is many beside each other."""
        return bool(re.fullmatch(crowds.NAME.format(r"\w+"), self.document["tests"][0]["name"]))

    @property
    def seconds(self) -> int:
        """Until the last question, about."""
        times = re.findall(r'"eval_time": "(\d+)([smhd])', cases.text(self.document))
        return max((int(number) * SECONDS[unit] for number, unit in times), default=0)

    def questions(self, names: re.Pattern[str], affected: Iterable[str]) -> Iterator[tuple[str, str]]:
        """What the case asks of the affected rules: an expression and its time."""
        (test,) = self.document["tests"]
        for alert in test.get("alert_rule_test", ()):
            if names.fullmatch(alert["alertname"]):
                yield f'ALERTS{{alertname="{alert["alertname"]}",alertstate="firing"}}', alert["eval_time"]
        for query in test.get("promql_expr_test", ()):
            expression = PATTERN.sub(
                lambda pattern: f'__name__=~"{"|".join(filter(re.compile(pattern[1]).fullmatch, affected))}"',
                query["expr"],
            )
            if names.search(expression):
                yield expression, query["eval_time"]


def load_cases() -> Iterator[Case]:
    for path in cases.paths():
        document = cases.read(path)
        if "exp_annotations" in cases.text(document):
            continue  # It compares messages, not what rules compute.
        rules = load_rules("costs.toml" if cases.sets_costs(path) else "objectives.toml")
        rules = {name: rule for name, rule in rules.items() if rule.file in document["rule_files"]}
        crowded = (crowd for label in crowds.LABELS for crowd in crowds.together(path, label))
        for only in (*(document | {"tests": [entry]} for entry in document["tests"]), *crowded):
            (entry,) = only["tests"]
            asked = " ".join(test["expr"] for test in entry.get("promql_expr_test", ()))
            yield Case(only, words_of(cases.text(only)), asked, rules)


@functools.cache
def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w:]+", text))


def visible(case: Case) -> dict[str, Rule]:
    """The rules that a case names and all that they read, in the order of the rule files."""
    rules = case.rules
    matching = {name for name in rules for pattern in PATTERN.findall(case.asked) if re.fullmatch(pattern, name)}
    waiting = set(rules) if ANY_ALERT.search(case.asked) else case.words & rules.keys() | matching
    seen: set[str] = set()
    while waiting:
        seen |= waiting
        waiting = {read for name in waiting for read in words_of(rules[name].body["expr"]) if read in rules} - seen
    return {name: rule for name, rule in rules.items() if name in seen}


def tested(case: Case) -> set[str]:
    """The rules that a case names and what those read."""
    named = case.words & case.rules.keys()
    read = {word for name in named for word in words_of(case.rules[name].body["expr"])}
    return {*named, *read} & case.rules.keys()


def mutants(rule: Rule, metrics: list[str], only: Container[str] | None = None) -> Iterator[Rule]:
    """Every change of the rule that still parses, numbered where the same change is possible in several places.

    `only`: make these changes of the expression alone, as they are without a number.
    """
    changes: list[tuple[str, dict[str, Any]]] = []
    for change, start, end, text in edits(rule.body["expr"], [metric for metric in metrics if metric != rule.name]):
        if only is not None and change not in only:
            continue
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


def metrics_of(rules: dict[str, Rule]) -> list[str]:
    """The metrics that may stand in place of each other: records and what they read of vLLM."""
    raw = {read for rule in rules.values() for read in words_of(rule.body["expr"]) if re.fullmatch(r"vllm:.+|up", read)}
    return sorted(raw | {name for name, rule in rules.items() if "record" in rule.body})


def excused() -> list[tuple[str, str]]:
    """The mutants that mean the same as their rule, as (name of the rule, change)."""
    return [(entry["rule"], change) for entry in loaded(EQUIVALENTS.read_text()) for change in entry["changes"]]


def carried(mutant: Rule, rule: Rule, other: Rule) -> Rule | None:
    """The same change of a rule that costs make another; None where that has no such line."""
    before, after, there = (one.body["expr"].splitlines() for one in (rule, mutant, other))
    changed = next((at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new), None)
    if changed is None:
        return replace(mutant, body=mutant.body | {"expr": other.body["expr"]})
    here, others = ([line.strip() for line in lines] for lines in (before, there))
    for first, at, size in difflib.SequenceMatcher(None, here, others, autojunk=False).get_matching_blocks():
        if first <= changed < first + size:
            there[changed - first + at] = after[changed]
            return replace(mutant, body=mutant.body | {"expr": "\n".join(there)})
    return None


def edits(expression: str, metrics: list[str]) -> Iterator[tuple[str, int, int, str]]:
    """Each change of a token as (its name, from, to, new text)."""
    tokens = list(TOKEN.finditer(expression))
    words = [token[0] for token in tokens]
    for i, (token, word) in enumerate(zip(tokens, words, strict=True)):
        for new in replacements(word, metrics):
            if not THE_SAME.match(" ".join([*words[:i][-1:], word, new, *words[i + 1 : i + 3]])):
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
    """Runs promtool on a case and copies of the rules that it can see."""

    def __init__(self, promtool: Path, rules: dict[str, Rule]) -> None:
        self.promtool = promtool
        self.rules = rules
        self.order = [{"name": group} for group in dict.fromkeys(rule.group for rule in rules.values())]
        self.version = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True).stdout
        self.testing: dict[str, list[Case]] = {name: [] for name in rules}
        for case in load_cases():
            for name in tested(case) & rules.keys():
                self.testing[name].append(case)

    def survivors(self, mutants: list[Rule]) -> list[Rule]:
        """Those of a rule's mutants that no case kills: first come those that name the rule and end soon, alone."""
        name = mutants[0].name
        for case in sorted(self.testing[name], key=lambda case: (case.crowded, name not in case.words, case.seconds)):
            both = [(mutant, carried(mutant, self.rules[name], case.rules[name])) for mutant in mutants]
            shown = [there for _, there in both if there]
            chunks = (shown[first : first + AT_ONCE] for first in range(0, len(shown), AT_ONCE))
            left = {there.change for chunk in chunks for there in self.left(case, chunk)}
            mutants = [mutant for mutant, there in both if not there or there.change in left]
        return mutants

    def left(self, case: Case, mutants: list[Rule]) -> list[Rule]:
        """Those of the mutants that the case does not kill."""
        rules, test = self.copies(case, mutants)
        known = KNOWN / hashlib.sha256(f"{self.version}\0{rules}\0{test}".encode()).hexdigest()
        if not known.exists():
            known.write_text(killed(self.run(rules, test), len(mutants)))
        outcome, _, numbers = known.read_text().partition(":")
        left = [mutant for number, mutant in enumerate(mutants) if str(number) not in numbers.split(",")]
        return self.left(case, left) if left and outcome == "failed" else left

    def copies(self, case: Case, mutants: list[Rule]) -> tuple[str, str]:
        """A rule file of what the case can see, with copies for each mutant, and the case's questions to each copy."""
        shown = visible(case)
        affected = readers(mutants[0].name, shown)
        names = re.compile(rf"(?<![\w:])(?:{'|'.join(affected)})(?![\w:])")
        numbers = [rf"\g<0>{COPY}{number}" for number in range(len(mutants))]
        groups = defaultdict[str, list[dict[str, Any]]](list)
        for rule in shown.values():
            groups[rule.group].append(rule.body)
            for mutant, number in zip(mutants, numbers, strict=True) if rule.name in affected else ():
                body = (mutant if rule.name == mutant.name else rule).body
                groups[rule.group].append(body | {k: names.sub(number, body[k]) for k in NAMING & body.keys()})
        (test,) = case.document["tests"]
        given = [
            one | {"series": names.sub(number, one["series"])}
            for one in test.get("input_series", ())
            for number in [AS_IT_IS, *(numbers if names.search(one["series"]) else ())]
        ]
        asked: list[dict[str, Any]] = [
            {"expr": names.sub(number, expression), "eval_time": at}
            for number in [AS_IT_IS, *numbers]
            for expression, at in case.questions(names, affected)
        ]
        for at, question in enumerate(asked):  # Each expects what no rule answers: promtool prints what it got.
            question["exp_samples"] = [{"labels": f'{{question="{at}"}}', "value": 0}]
        only = test | {"input_series": given, "promql_expr_test": asked, "alert_rule_test": []}
        file = {"groups": [{"name": name, "rules": group} for name, group in groups.items()]}
        return json.dumps(file), cases.for_promtool(case.document | {"tests": [only]}, RULES, self.order)

    def run(self, rules: str, test: str) -> str:
        """What promtool prints."""
        with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
            Path(folder, RULES).write_text(rules)
            file = Path(folder, "test.yaml")
            file.write_text(test)
            command: list[str | Path] = [self.promtool, "test", "rules", file]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | ONE_OF_MANY)
        return done.stdout + done.stderr


def readers(name: str, rules: dict[str, Rule]) -> list[str]:
    """A rule and all that read it, directly or not."""
    read, more = set[str](), {name}
    while more:
        read |= more
        more = {rule.name for rule in rules.values() if words_of(rule.body["expr"]) & more} - read
    return sorted(read)


def killed(printed: str, mutants: int) -> str:
    """The numbers of mutants that promtool `failed` to evaluate, and asked no other, or that `answered` otherwise."""
    if failed := set(FAILED.findall(printed)):
        return f"failed:{','.join(failed)}"
    got = {int(question): answer for question, answer in ANSWER.findall(printed)}
    if "FAILED" in printed and not got:
        sys.exit(printed)
    each = printed.count("    expr: ") // (mutants + 1)

    def answers(first: int, copy: str) -> list[list[str]]:
        texts = (got.get(question, "{} error").replace(copy, "") for question in range(first, first + each))
        return [sorted(SAMPLE.findall(text)) for text in texts]  # promtool sorts them by name.

    right = answers(0, COPY)
    differ = (number for number in range(mutants) if answers(each * (number + 1), f"{COPY}{number}") != right)
    return f"answered:{','.join(map(str, differ))}"


def report(console: Console, rules: dict[str, Rule], judged: Iterable[tuple[list[Rule], list[Rule]]]) -> int:
    """Print the table, the survivors and the equivalents that are none; 1 where there is something to mend."""
    same = set(excused())
    survivors: dict[tuple[str, str], Rule] = {}
    seen = Counter[str]()

    def row(name: str, *cells: object) -> None:
        console.print(f"{name:72}" + "".join(f"{cell:>12}" for cell in cells))

    row("rule", "mutants", "killed", "equivalent", "survived")
    for made, left in judged:
        found = {(mutant.name, mutant.change): mutant for mutant in left}
        row(made[0].name, len(made), len(made) - len(left), len(found.keys() & same), len(found.keys() - same))
        seen[made[0].name] = len(made)
        survivors |= found
    equivalent, total = len(survivors.keys() & same), seen.total()
    row("total", total, total - len(survivors), equivalent, len(survivors) - equivalent)
    holes = sorted(survivors.keys() - same)
    for key in holes:
        console.print(f"\n{': '.join(key)}\n{survivors[key].diff(rules[key[0]])}")
    stale = sorted((name, change) for name, change in same - survivors.keys() if name in seen or name not in rules)
    for key in stale:
        console.print(f"\n{': '.join(key)}\nis no equivalent: it is killed, or no such change is made. Remove it.")
    return 1 if holes or stale else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Change the rules one token at a time and see that some test fails.")
    parser.add_argument("--promtool", type=Path, default=os.environ.get("PROMTOOL", ROOT / ".tools/bin/promtool"))
    parser.add_argument("--rule", nargs="+", help="only the rules of these names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many promtools run at once")
    options = parser.parse_args()
    if not options.promtool.is_file():
        parser.error(f"{options.promtool} does not exist: name promtool with --promtool")
    rules = load_rules()
    if unknown := sorted(set(options.rule or ()) - rules.keys()):
        parser.error(f"no rule is named {', '.join(unknown)}")
    metrics = metrics_of(rules)
    todo = [found for name in sorted(options.rule or rules) if (found := list(mutants(rules[name], metrics)))]
    console = Console(highlight=False, markup=False, soft_wrap=True)
    KNOWN.mkdir(parents=True, exist_ok=True)
    runner = Runner(options.promtool.absolute(), rules)
    with ThreadPoolExecutor(options.jobs) as pool:
        return report(console, rules, zip(todo, pool.map(runner.survivors, todo), strict=True))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
