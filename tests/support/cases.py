"""Cases of rules: promtool's test files, in which series, samples and alerts are tables: docs/contribute/testing.md.

`PYTHONPATH=tests python -m support.cases FILE` prints what promtool gets.
"""

import functools
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from draftboard import REVISION, __version__
from support.rulefiles import loaded

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests/rules"
RULE_FILES = {"recording": "alerts/recording.rules.yaml", "alerting": "alerts/alerting.rules.yaml"}

Labels = dict[str, str]
Rows = Iterable[list[str]]
_NAME = "__name__"
_HEAD = "series"
_NONE = "none"
_NO_MORE = {"{}", "fires"}  # Words that add no label to those of the file and the case.

_QUOTED = r'"[^"]*"'
_COMMENT = re.compile(rf"({_QUOTED})|(?:^|\s+)#.*")
_WORD = re.compile(rf'(?:{_QUOTED}|[^\s"])+')
_VALUE = re.compile(rf'(?:{_QUOTED}|[^,"])+')
_BAR = re.compile(rf'\|(?=(?:[^"]|{_QUOTED})*$)')
_TIMES = re.compile(r"(?P<times>\d\w*(?:, \d\w*)*)(?: (?P<alert>\w+))?:(?: +(?P<rest>.*))?")
_REPEATED = re.compile(r"(\d+)\*\(([^()]*)\)")
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)(\{.*\})?")
_CASE = re.compile(r"^- name:", re.MULTILINE)
_LONG = re.compile(r"^  long: true$", re.MULTILINE)


def paths() -> list[Path]:
    """All files of cases."""
    return sorted(FOLDER.glob("*.cases.yaml"))


def paths_with(*, long: bool) -> list[Path]:
    """The files with a case that is long, or with one that is not; known without reading their tables."""

    def has(text: str) -> bool:
        marked = len(_LONG.findall(text))
        return marked > 0 if long else len(_CASE.findall(text)) > marked

    return [path for path in paths() if has(path.read_text())]


@functools.cache
def read(path: Path) -> dict[str, Any]:
    """A file of cases in the form of promtool; its rule files are paths in the repository.

    Raises:
        ValueError: A row cannot be read; the message begins with the file, the line and the name of the case.
    """
    text_of_cases = path.read_text().replace("REVISION", REVISION)
    document: dict[str, Any] = {"evaluation_interval": "1m"} | loaded(text_of_cases)
    document.pop("costs", None)
    document.setdefault("rule_files", ["recording", "alerting"] if "alert" in document else ["recording"])
    tables = _Tables(document.pop("names", {}), document.pop("labels", {}), document.pop("alert", ""))
    interval = document.pop("interval", document["evaluation_interval"])
    for case in document["tests"]:
        case.setdefault("interval", interval)
        try:
            tables.expand(case)
        except ValueError as error:
            raise ValueError(f"{where(path, case['name'])}: {error}") from error
    return document | {"rule_files": [RULE_FILES[name] for name in document["rule_files"]]}


def sets_costs(path: Path) -> bool:
    """Whether the cases are of rules with the costs of costs.toml."""
    return bool(loaded(path.read_text()).get("costs"))


def where(path: Path, case: str) -> str:
    """A case as `file:line: name`."""
    tests = next(value for key, value in _composed(path).value if key.value == "tests")
    names = (value for test in tests.value for key, value in test.value if key.value == "name")
    lines = {name.value: name.start_mark.line + 1 for name in names}
    return f"{path.relative_to(ROOT)}:{lines[case]}: {case}"


@functools.cache
def _composed(path: Path) -> Any:
    return yaml.compose(path.read_text())


def text(document: Mapping[str, Any]) -> str:
    """All words of a file of cases, as they stand in expressions."""
    return json.dumps(document).replace('\\"', '"')


def for_promtool(document: Mapping[str, Any], rule_file: str, groups: Iterable[Mapping[str, Any]]) -> str:
    """Cases on the rules of a file; without an order of its groups, promtool evaluates them in any."""
    order = [group["name"] for group in groups]
    tests = [{key: value for key, value in case.items() if key != "long"} for case in document["tests"]]
    return json.dumps({**document, "tests": tests, "rule_files": [rule_file], "group_eval_order": order})


class _Tables:
    """The tables of a file: its names, its labels for each kind of table, and its alerts."""

    def __init__(self, names: Mapping[str, str], labels: Mapping[str, Any], alert: str) -> None:
        own = {"this_release": f"release={__version__}"}
        self._names = loaded((FOLDER / "names.yaml").read_text()) | own | names
        self._labels, self._alert = labels, alert

    def expand(self, case: dict[str, Any]) -> None:
        """Each table becomes a list; what is a list already stays."""
        own = self._one(case.pop("labels", ""))
        if isinstance(table := case.get("input_series"), str):
            case["input_series"] = list(self._series(table, own))
            for name, times in Counter(one["series"] for one in case["input_series"]).items():
                if times > 1:
                    raise ValueError(f"{name} is given twice: a label of a name goes before that of a row")
        if isinstance(table := case.get("promql_expr_test"), str):
            labels = self._one(self._labels.get("promql_expr_test", "")) | own
            case["promql_expr_test"] = list(self._queries(table, labels))
        if isinstance(table := case.get("alert_rule_test"), str):
            labels = self._one(self._labels.get("alert_rule_test", "")) | own
            case["alert_rule_test"] = list(self._alerts(table, labels))

    def _series(self, table: str, own: Labels) -> Iterator[Labels]:
        patterns = {pattern: self._one(text) for pattern, text in self._labels.get("input_series", {}).items()}
        for selected, (values,) in self._cells(_lines(table)):
            shared = (labels for pattern, labels in patterns.items() if fnmatch(selected[_NAME], pattern))
            labels = functools.reduce(Labels.__or__, (*shared, own, selected))
            yield {"series": _text(labels), "values": _REPEATED.sub(_repeated, values)}

    def _queries(self, table: str, shared: Labels) -> Iterator[dict[str, Any]]:
        """Queries one below the other are the columns of the rows below them; a single cell counts for all."""
        for heads, rows in _entries(_lines(table)):
            if not rows:
                raise ValueError(f"{heads[-1][0]}: neither a sample nor {_NONE}")
            queries = [(time, head["rest"]) for head in heads for time in head["times"].split(", ")]
            expected: list[list[dict[str, Any]]] = [[] for _ in queries]
            for selected, cells in self._cells(rows, len(queries)):
                spread = [*cells] * len(queries) if len(cells) == 1 else cells
                for (_, expr), cell, samples in zip(queries, spread, expected, strict=True):
                    name = _SELECTOR.fullmatch(expr)
                    labels = shared | ({_NAME: name[1]} if name else {}) | selected
                    if cell:
                        samples.append({"labels": _text(labels), "value": float(cell)})
            for (time, expr), samples in zip(queries, expected, strict=True):
                yield {"expr": expr, "eval_time": time, "exp_samples": samples}

    def _alerts(self, table: str, shared: Labels) -> Iterator[dict[str, Any]]:
        """At each time the label sets that fire, beside it or in the rows below; "; " begins the next time."""
        for heads, rows in _entries([part] for first, *_ in _lines(table) for part in first.split("; ")):
            below = [first for first, *_ in rows if first]
            for head, texts in zip(heads, [*([] for _ in heads[1:]), below], strict=True):
                listed = [head["rest"]] if head["rest"] else texts
                if not listed:
                    raise ValueError(f"{head[0]} neither what fires nor {_NONE}")
                firing = [labels for text in listed if text != _NONE for labels in self._selectors(text)]
                expected = [{"exp_labels": _present(shared | labels)} for labels in firing]
                alerts = (head["alert"] or self._alert).split(", ")
                for time, alert in itertools.product(head["times"].split(", "), alerts):
                    yield {"eval_time": time, "alertname": alert, "exp_alerts": expected}

    def _cells(self, rows: Rows, columns: int = 1) -> Iterator[tuple[Labels, Sequence[str]]]:
        """Each label set that a row selects, or a row and the head of a column together, with its cells."""
        head: list[str] = []
        for first, *cells in rows:
            if first == _HEAD or not first:
                head = cells
                continue
            if first != _NONE and len(cells) not in ({len(head)} if head else {1, columns}):
                raise ValueError(f"{first!r} has {len(cells)} cells instead of {len(head) or columns}")
            selected = self._selectors(first) if first != _NONE else []
            if not head:
                spread = (_spread(cell, len(selected)) for cell in cells)
                yield from zip(selected, zip(*spread, strict=True), strict=True)
            for at, cell in zip(head, cells, strict=True) if head else ():
                both = self._selectors(f"{first} {at}") if cell else []
                yield from zip(both, ([value] for value in _spread(cell, len(both))), strict=True)

    def _one(self, text: str) -> Labels:
        (labels,) = self._selectors(text)
        return labels

    def _selectors(self, text: str) -> list[Labels]:
        """The label sets of `name,name label=value,value`, one of each choice; what a name stands for goes first."""
        choices = [self._choices(word) for word in _WORD.findall(text) if word not in _NO_MORE]
        ordered = (sorted(chosen, key=lambda labels: _NAME in labels) for chosen in itertools.product(*choices))
        return [functools.reduce(Labels.__or__, chosen, Labels()) for chosen in ordered]

    def _choices(self, word: str) -> list[Labels]:
        label, assigned, values = word.partition("=")
        if assigned:
            return [{label: value.replace('"', "")} for value in _VALUE.findall(values) or [""]]
        return [self._named(name) for name in word.split(",")]

    def _named(self, name: str) -> Labels:
        """What a name stands for: a series, labels or both."""
        words = (word.partition("=") for word in self._names.get(name, name).split(" "))
        return {label if assigned else _NAME: value if assigned else label for label, assigned, value in words}


def _entries(lines: Rows) -> Iterator[tuple[list[re.Match[str]], list[list[str]]]]:
    """Lines that begin with times, and the rows below them, or the cells beside one."""
    heads: list[re.Match[str]] = []
    rows: list[list[str]] = []
    for first, *cells in lines:
        head = _TIMES.fullmatch(first)
        if head and heads and (rows or cells):
            yield heads, rows
            heads, rows = [], []
        if head and cells:
            yield [head], [["{}", *cells] if cells != [_NONE] else cells]
        elif head:
            heads.append(head)
        elif heads and (rows or first or cells):
            rows.append([first, *cells])
    if heads:
        yield heads, rows


def _lines(table: str) -> Iterator[list[str]]:
    """The cells of each line, without comments; a backslash at the end of a line joins it with the next."""
    for line in re.sub(r"\\\n\s*", "", table).splitlines():
        text = _COMMENT.sub(r"\1", line).strip()
        if text or not line.strip():
            yield [cell.strip() for cell in _BAR.split(text)]


def _spread(cell: str, count: int) -> list[str]:
    """One value for each of so many label sets; a single one counts for all."""
    values = cell.split(", ")
    if len(values) not in {1, count}:
        raise ValueError(f"{cell!r} has {len(values)} values for {count} series")
    return values * count if len(values) == 1 else values


def _present(labels: Labels) -> Labels:
    """Without those that are empty: to Prometheus they are absent."""
    return {label: value for label, value in labels.items() if value}


def _text(labels: Labels) -> str:
    inside = ",".join(f'{label}="{value}"' for label, value in _present(labels).items() if label != _NAME)
    return f"{labels.get(_NAME, '')}{{{inside}}}"


def _repeated(match: re.Match[str]) -> str:
    return " ".join([match[2]] * int(match[1]))


if __name__ == "__main__":
    print(yaml.safe_dump(read(Path(sys.argv[1]).resolve()), sort_keys=False, width=200))  # noqa: T201
