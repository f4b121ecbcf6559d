"""Every text of ours that a user reads: pages, runbooks, help, messages, what signals and alerts say."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from conftest import ROOT

_PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "deploy/**/*.md", "generator/**/*.md")
_CODE = re.compile(r"(?ms)^( *)```python\n.*?^\1```")
_TEMPLATE = re.compile(r"\$\{[^}]*\}")
"""What a build fills in, and refuses where it does not exist."""


class Text(NamedTuple):
    """A line of a page, or a string of a module."""

    place: str
    text: str


def texts(files: Mapping[str, str]) -> Iterator[Text]:
    """Pages and those among the generated files, strings of the package, and of its TOML files."""
    for path in (page for pattern in _PAGES for page in sorted(ROOT.glob(pattern))):
        yield from _lines(str(path.relative_to(ROOT)), path.read_text())
    for name in (name for name in files if name.endswith((".md", ".txt"))):
        yield from _lines(name, files[name])
    for path in sorted((ROOT / "generator").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            # A string without a space is a name in the code, such as the path of a setting that an expression reads.
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield Text(f"{path.relative_to(ROOT)}:{node.lineno}", _TEMPLATE.sub("", node.value))
    for path in sorted((ROOT / "generator").rglob("*.toml")):
        strings = _strings(tomllib.loads(path.read_text()))
        yield from (Text(str(path.relative_to(ROOT)), string) for string in strings)


def _lines(place: str, page: str) -> Iterator[Text]:
    """Without code in Python, whose dots are not those of settings, and without the escapes of Markdown."""
    lines = _CODE.sub(lambda code: "\n" * code[0].count("\n"), page).replace(r"\_", "_").splitlines()
    return (Text(f"{place}:{number}", line) for number, line in enumerate(lines, start=1))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
