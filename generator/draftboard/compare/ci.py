"""Gates for a CI system: as JUnit XML, and as annotations of GitHub Actions."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from draftboard.compare.objects import Comparison, Gate
from draftboard.errors import DraftboardError
from draftboard.files import require_folder, whole
from draftboard.output import escape

_SUITE = "draftboard compare"


def write_junit(comparison: Comparison, path: Path) -> None:
    """A test case for each gate; one that is missed or cannot be judged is a failure."""
    gates = comparison.gates
    missed = str(sum(not gate.met for gate in gates))
    suite = ET.Element("testsuite", name=_SUITE, tests=str(len(gates)), failures=missed, errors="0", skipped="0")
    for gate in gates:
        case = ET.SubElement(suite, "testcase", classname=escape.xml(_sides(comparison)), name=_named(gate))
        if not gate.met:
            ET.SubElement(case, "failure", message=escape.xml(gate.says))
    with whole(path, "JUnit XML") as staged:
        ET.ElementTree(suite).write(staged, encoding="utf-8", xml_declaration=True)


def annotations(comparison: Comparison) -> Iterator[str]:
    """A line for each gate, which GitHub Actions shows beside the run."""
    for gate in comparison.gates:
        kind, title = "notice" if gate.met else "error", f"{_SUITE} {_named(gate)}"
        yield escape.annotation(kind, f"{_sides(comparison)}: {gate.says}", title=title)


def require_unused(path: Path) -> None:
    """Raise DraftboardError where a file exists (--force is about the runs), or its folder does not."""
    require_folder(path)
    if path.exists():
        raise DraftboardError(f"{path}: exists: choose another path, or remove it first")


def _named(gate: Gate) -> str:
    return f"{gate.option} {gate.limit:g}"


def _sides(comparison: Comparison) -> str:
    return f"{comparison.candidate.name} against {comparison.baseline.name}"
