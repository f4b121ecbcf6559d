"""The tests nearest to what has changed, for eight CPU seconds: `make quick`. docs/contribute/testing.md says which.

A change to a signal, rule or page shows in the committed files, and one to a function in the tests that import its
module. All others wait for `make unit`.
"""

import ast
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from support.cases import paths_with

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "generator", ROOT / "tests"
BUILD = "tests/unit/test_artifacts.py::test_the_committed_files_are_what_the_code_writes"
BUDGET = 8  # CPU seconds of Python; promtool, if any, comes on top.
MOST = 8  # Files of tests for a module: to collect more takes the time of those that are near.


def module_of(path: Path, root: Path = PACKAGE) -> str:
    """The name by which a file is imported."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py")}


@cache
def unit_tests() -> list[Path]:
    return sorted((TESTS / "unit").glob("test_*.py"))


@cache
def imports(path: Path) -> frozenset[tuple[str, str]]:
    """What a file imports, as (module, name)."""
    nodes = ast.walk(ast.parse(path.read_text()))
    found = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module)
    return frozenset((str(node.module), alias.name) for node in found for alias in node.names)


def home(module: str, name: str) -> str:
    """The module that defines an imported name, wherever a package passes it on."""
    if (inner := f"{module}.{name}") in MODULES:
        return inner
    if module in MODULES and MODULES[module].name == "__init__.py":
        for source, passed in imports(MODULES[module]):
            if passed == name and source != module:
                return home(source, name)
    return module


def importers(modules: set[str], files: Iterable[Path]) -> dict[Path, float]:
    """Files that import something of the modules, with the share of their imports that is."""
    homes = {path: [home(*imported) for imported in imports(path)] for path in files}
    taken = {path: sum(module in modules for module in found) / max(1, len(found)) for path, found in homes.items()}
    return {path: share for path, share in taken.items() if share}


def near(module: str) -> list[Path]:
    """Tests named after the module or its package, and those that import most of it; then those of its importers."""
    names = zip((1.0, 0.5), reversed(module.split(".")[1:]), strict=False)
    found: dict[Path, float] = {}
    seen, modules = set[str](), {module}
    ring = {path: bonus for bonus, name in sorted((*names,)) for path in unit_tests() if name in path.stem}
    while modules and len(found) < MOST:
        ring |= {path: share + ring.get(path, 0) for path, share in importers(modules, unit_tests()).items()}
        found |= {path: ring[path] for path in sorted(ring.keys() - found, key=lambda path: (-ring[path], path))}
        seen |= modules
        modules = {module_of(path) for path in importers(modules, MODULES.values())} - seen
    return list(found)[:MOST]


def tests_of(changed: Path) -> Iterator[str]:
    """The tests of one changed file, the nearest first."""
    if changed.name.endswith(".cases.yaml"):
        of_file = changed.name.removesuffix(".cases.yaml")
        for test, long in (("test_cases", False), ("test_long_cases", True)):
            if changed in paths_with(long=long):
                yield f"tests/test_promtool.py::{test}[{of_file}]"
    elif changed.match("test_*.py"):
        yield changed.relative_to(ROOT).as_posix()
    elif changed.is_relative_to(PACKAGE):
        yield BUILD
        if changed.suffix == ".py":
            yield from (path.relative_to(ROOT).as_posix() for path in near(module_of(changed)))
    elif changed.suffix == ".py" and changed.is_relative_to(TESTS):
        name = module_of(changed, TESTS)
        users = (
            path for path in unit_tests() if any(name in {source, f"{source}.{one}"} for source, one in imports(path))
        )
        yield from (path.relative_to(ROOT).as_posix() for path in users)
    elif changed.suffix == ".md":
        yield "tests/unit/test_docs.py"


def changed_files() -> list[Path]:
    """Files changed since the last commit, new ones first; of a clean checkout, by the last commit."""
    since = (("ls-files", "--others", "--exclude-standard"), ("diff", "--name-only", "HEAD"))
    for commands in (since, [("diff", "--name-only", "HEAD~1", "HEAD")]):
        git = (
            subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True) for words in commands
        )
        if files := [ROOT / line for run in git for line in run.stdout.splitlines() if (ROOT / line).is_file()]:
            return files
    return []


class Nearest:
    """A plugin of pytest: files in the order given, until the budget is spent."""

    def __init__(self, tests: list[str]) -> None:
        self.stopped = False  # No failure: pytest ends with another code when a test has failed.
        self._files = [test.partition("::")[0] for test in tests]

    @pytest.hookimpl(trylast=True)  # after the conftest, which begins with the longest
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self._files.index(item.nodeid.partition("::")[0]))

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if time.process_time() > BUDGET:
            self.stopped = True
            item.session.shouldstop = f"{BUDGET} CPU seconds are spent. The other tests: make unit"


def main() -> int:
    changed = changed_files()
    tests = list(dict.fromkeys(test for path in changed for test in tests_of(path)))
    if not tests:
        print("No unit test is near what has changed: make unit")  # noqa: T201
        return 0
    ended = pytest.main(["-q", "-x", *tests], plugins=[nearest := Nearest(tests)])
    return pytest.ExitCode.OK if nearest.stopped and ended == pytest.ExitCode.INTERRUPTED else ended


if __name__ == "__main__":
    sys.exit(main())
