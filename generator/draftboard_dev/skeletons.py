"""Skeletons: for each kind of addition the files that it takes, with `FILL IN` where only its author knows what to say.

A skeleton is a mapping from paths below the checkout to whole texts. It builds and passes the linter.
"""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from draftboard import signals
from draftboard.alerts import ALERTS
from draftboard.catalogue import CATALOGUE, around, latency, probe, serving, speculation
from draftboard.catalogue.dialects import DIALECTS, LEAST
from draftboard.dashboards.pages import PAGES
from draftboard.doctor.releases import NEWEST
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.signals import ALL, Level, Signal
from draftboard_dev import edit

MARK = "FILL IN"
Files = dict[str, str]
_SOURCE = "generator/draftboard"
_SUBJECTS = {"VLLM": "serving", "SpecDecode": "speculation", "Draftboard": "monitoring"}
_TEMPLATES = Environment(
    loader=PackageLoader("draftboard_dev"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    variable_start_string="<<",
    variable_end_string=">>",
    block_start_string="<%",
    block_end_string="%>",
    comment_start_string="<#",
    comment_end_string="#>",
    autoescape=False,  # noqa: S701  (source code, not HTML)
)


def _filled(template: str, **values: object) -> str:
    return _TEMPLATES.get_template(f"{template}.j2").render(mark=MARK, **values)


def _require_new(kind: str, name: str, pattern: str, example: str, known: Any) -> None:  # noqa: ANN401  (a container)
    if not re.fullmatch(pattern, name):
        raise DraftboardError(f"{name[:80]!r} is not a valid {kind}: write one such as {example}")
    if name in known:
        raise DraftboardError(f"{kind} {name} already exists")


def signal(root: Path, name: str, family: str) -> Files:
    """A signal of a module of `signals/`, and a promtool case of its record."""
    _require_new("signal", name, "[a-z][a-z0-9_]{2,60}", "queue_time_share", {one.name for one in ALL})
    modules = {key: part for key, part in vars(signals).items() if isinstance(part, ModuleType)}
    path = f"{_SOURCE}/signals/{family}.py"
    if family not in modules or not (root / path).exists():
        known = sorted(key for key in modules if (root / f"{_SOURCE}/signals/{key}.py").exists())
        raise DraftboardError(f"{family[:80]!r} is not a module of signals: write one of {', '.join(known)}")
    # Any expression that is valid in the module, to be replaced.
    plain = (key for key, one in vars(modules[family]).items() if isinstance(one, Signal) and not one.by)
    text = (root / path).read_text()
    expression = next(key for key in plain if re.search(rf"^{key} = ", text, re.MULTILINE))
    values = {"name": name, "expression": expression, "record": f"vllm_{name}:ratio_rate"}
    case = _filled("records.cases.yaml", **values, window=Settings().rules.rate_window)
    return {path: text + _filled("signal.py", **values), f"tests/rules/records-{name}.cases.yaml": case}


def alert(root: Path, name: str, signal_name: str, beyond: str) -> Files:
    """An alert on a band of a signal, its runbook and its promtool case."""
    _require_new(
        "alert",
        name,
        f"({'|'.join(_SUBJECTS)})[A-Z][A-Za-z]{{2,50}}",
        "VLLMQueueTimeLong",
        {one.name for one in ALERTS},
    )
    module, watched = _place_of(root, signal_name)
    ranges = [*(band.name for band in watched.bands if band.name), *(code.name or code.says for code in watched.codes)]
    if beyond not in ranges:
        known = ", ".join(ranges) or "none: give it bands first"
        raise DraftboardError(f"signal {signal_name} has no band {beyond[:80]!r}; it has {known}")
    subject = next(subject for prefix, subject in _SUBJECTS.items() if name.startswith(prefix))
    path = f"{_SOURCE}/alerts/{subject}.py"
    level = watched.levels[-1]
    values = {"name": name, "signal": f"{module}.{signal_name}", "beyond": beyond, "level": level.name}
    text = edit.listed((root / path).read_text(), f"ON_{subject.upper()}", _filled("alert.py", **values))
    return {
        path: edit.imported(text, f"from draftboard.signals import {Level.__name__}, {module}"),
        f"{_SOURCE}/alerts/runbooks/{name}.md.j2": _filled("runbook.md", **values),
        f"tests/rules/alert-{name}.cases.yaml": _filled("alert.cases.yaml", **values),
    }


def _place_of(root: Path, name: str) -> tuple[str, Signal]:
    """The module that defines a signal."""
    for key, part in vars(signals).items():
        one, path = getattr(part, name, None), root / f"{_SOURCE}/signals/{key}.py"
        if isinstance(one, Signal) and path.exists() and re.search(rf"^{name} = ", path.read_text(), re.MULTILINE):
            return key, one
    raise DraftboardError(f"{name[:80]!r} is not a signal that a module defines: `draftboard signals` lists all")


def page(root: Path, name: str) -> Files:
    """A page of the dashboards."""
    # Grafana takes 40 characters of uid, `draftboard-<page>-raw`.
    _require_new("page", name, "[a-z]{3,25}", "queue", PAGES)
    path = f"{_SOURCE}/dashboards/pages/__init__.py"
    text = edit.listed((root / path).read_text(), "PAGES", name)
    return {
        path: edit.imported(text, f"from draftboard.dashboards.pages import {name}"),
        f"{_SOURCE}/dashboards/pages/{name}.py": _filled("page.py", name=name),
    }


def metric(root: Path, name: str, labels: tuple[str, ...], since: str = NEWEST) -> Files:
    """A raw series of vLLM."""
    known = {one.name for one in CATALOGUE}
    _require_new("metric", name, r"vllm:[a-z][a-z0-9_]{2,80}", "vllm:spec_decode_num_skipped_drafts_total", known)
    for label in labels:
        _require_new("label", label, "[a-z][a-z0-9_]{1,40}", "reason", ())
    _require_new("release", since, r"\d+\.\d+\.\d+", NEWEST, ())
    family = "speculation" if name.startswith("vllm:spec_decode_") else "serving"
    path = f"{_SOURCE}/catalogue/{family}.py"
    constant = name.removeprefix("vllm:").removesuffix("_total").upper()
    taken = [part for part in (around, latency, probe, serving, speculation) if hasattr(part, constant)]
    if taken:
        raise DraftboardError(f"{constant} already exists in {taken[0].__name__}: define {name} by hand")
    text = (root / path).read_text()
    if "import Kind" not in text and not name.endswith("_total"):
        text = edit.imported(text, "from draftboard.catalogue.metric import Kind")
    values = {"name": name, "constant": constant, "labels": labels, "since": since, "family": family}
    return {path: text + _filled("metric.py", **values)}


def dialect(root: Path, name: str, engine: str, prefix: str) -> Files:
    """The names of another engine, its page for the tests, and its line in the documentation."""
    _require_new("dialect", name, "[a-z][a-z0-9.-]{1,30}", "tgi", DIALECTS)
    prefixes = [one for other in DIALECTS.values() for one in other.prefixes]
    _require_new("prefix", prefix, "[a-z][a-z0-9_]{1,30}[_:]", "tgi_", prefixes)
    _require_new("engine", engine, r"[\w .-]{1,60}", "SGLang", ())
    constant = re.sub(r"\W", "_", name).upper()
    path, docs = f"{_SOURCE}/catalogue/dialects.py", "docs/operate/dialects.md"
    least = [one.name.removeprefix("vllm:") for one in LEAST]
    values = {"name": name, "constant": constant, "engine": engine, "prefix": prefix, "least": least}
    text = edit.listed((root / path).read_text(), "DIALECTS", constant)
    row = f"| {engine} | `{name}` | **not run** | {MARK}: what works | {MARK}: what does not |\n"
    table = edit.row((root / docs).read_text(), "| engine | `dialect` |", row)
    return {
        path: edit.before(text, "DIALECTS", _filled("dialect.py", **values)),
        f"tests/data/dialects/{name}.txt": _filled("dialect.txt", **values),
        docs: table,
    }
