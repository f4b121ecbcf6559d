"""Commands that the documentation shows, each with what a test does with it: run, parsed, or neither and why."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```")
_SHELL = {"sh", "bash"}
_SYNOPSIS = re.compile(r" \[|\.\.\.| URL\b|_URL\b")
OFFLINE = re.compile(
    r"draftboard (plan \w+|signals|doctor( --vllm-version \S+)? --command|simulate --list|report --before tests/)"
)
"""What needs nothing but the clone, and writes nothing."""
ELSEWHERE = {
    r"make ": "a target of the Makefile, which is looked up",
    r"(COMPOSE_PROFILES=\S+ )?docker ": "needs a Docker Engine: make test-stack",
    r"(\w+_PORT=\d+ )+make ": "needs a Docker Engine: make test-stack",
    r"git ": "changes the clone, or needs its public home",
    r"(sha256sum|gh|tar) ": "needs a published release: make test-dist checks and unpacks one",
    r"curl ": "needs the stack's vLLM: make test-stack-vllm",
    r"(PYTHONPATH=\S+ )?vllm serve": "needs vLLM: make test-vllm; its flags are examined",
    r"(helm|kubectl|cd deploy/kubernetes)": "needs a cluster: the chart is rendered by test_chart.py",
    r"promtool (check|tsdb)": "runs in test_promtool.py and test_runbook_commands.py",
    r"(cp|rm|chmod|\$EDITOR) ": "changes files of a host",
    r"python3 deploy/tools/": "needs registries of images: test_pin.py asks servers of the tests",
    r"pre-commit ": "changes the clone",
    r"PYTHONPATH=\S+ \.venv/bin/python -m scripts": "needs a source distribution of vLLM: test_speculative_releases.py",
    r"[A-Z_]+=\S+(\s*#.*)?$": "a line of deploy/.env",
}
"""What no test types, by how it begins, with the reason."""


@dataclass(frozen=True)
class Shown:
    """A command of a page, and the lines that it is shown to print."""

    page: Path
    command: str
    output: tuple[str, ...]

    @property
    def fate(self) -> str:
        """`run`, `parsed`, or why neither."""
        if OFFLINE.match(self.command):
            return "runs in test_plan_docs.py" if self.page.name == "plan.md" else "run"
        if self.command.startswith("draftboard "):
            return "parsed"
        return next((why for start, why in ELSEWHERE.items() if re.match(start, self.command)), "")

    @property
    def words(self) -> list[str]:
        """As a shell splits them, up to a redirection."""
        words = shlex.split(self.command, comments=True)
        return words[: words.index(">")] if ">" in words else words

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.command}"


def shown() -> list[Shown]:
    """Every command of a page once, with all that is shown of its output."""
    found = []
    for page in PAGES:
        for _, language, block in _BLOCK.findall(page.read_text()):
            lines = [line.strip() if line.strip().startswith("$ ") else line.rstrip() for line in block.splitlines()]
            if language in _SHELL:
                joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
                # A quoted text goes on over lines.
                joined = re.sub(r"'[^'\n]*\n[^']*'", lambda quoted: " ".join(quoted[0].split()), joined)
                found += [Shown(page, line.strip(), ()) for line in joined.splitlines() if line.strip()]
            elif language in {"console", ""} and any(line.startswith("$ ") for line in lines):
                starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
                for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
                    found.append(Shown(page, lines[start].removeprefix("$ "), tuple(lines[start + 1 : end])))
            elif not language and all(line.startswith("draftboard ") for line in lines if line):
                found += [Shown(page, line, ()) for line in lines if line and not _SYNOPSIS.search(line)]
    outputs: dict[tuple[Path, str], tuple[str, ...]] = {}
    for each in found:
        key = (each.page, each.command)
        outputs[key] = (*outputs.get(key, ()), *each.output)
    return [Shown(page, command, output) for (page, command), output in outputs.items()]


if __name__ == "__main__":
    for each in shown():
        click.echo(f"{each.fate}: {each}")
