"""Commands that the documentation shows, each with what a test does with it: run, or why not."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from conftest import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```")
_SHELL = {"sh", "bash"}
_SYNOPSIS = re.compile(r" \[|\.\.\.| URL\b|_URL\b| NAME\b")
OFFLINE = re.compile(
    r"draftboard (plan \w+|signals|doctor( --vllm-version \S+)? --command|simulate --list|report --before tests/)"
)
"""What needs nothing but the clone, and writes nothing."""
BESIDE = re.compile(
    r"draftboard (?!new |top |drill --stack|.* --every )|promtool (check|tsdb) |cp alerts/|echo '.*' > draftboard\.toml"
)
"""What needs servers, or writes: it runs beside simulated servers and a Prometheus."""
ELSEWHERE = {
    r"draftboard new ": "writes into the checkout: test_new.py does so in a copy",
    r"draftboard .* --every ": "goes on until it is stopped: tests/unit/test_report_lines.py stops it",
    r"draftboard drill --stack": "needs a Docker Engine: test_drill.py of make test-stack",
    r"draftboard top ": "a screen that ends with a key: tests/unit/test_top.py presses it",
    r"make demo": "runs in tests/docs/test_demo_page.py",
    r"make test ": "runs the tests",
    r"(\w+_PORT=\d+ )*make ": "needs a Docker Engine: make test-stack types it in a copy",
    r"(COMPOSE_PROFILES=\S+ |for name in [^;]*; do )?docker ": "needs a Docker Engine: make test-stack",
    r"git ": "changes the clone, or needs its public home",
    r"(sha256sum|gh|tar) ": "needs a published release: make test-dist checks and unpacks one",
    r"curl ": "needs the stack's vLLM: make test-stack-vllm",
    r"(PYTHONPATH=\S+ )?vllm serve": "needs vLLM: make test-vllm; its flags are examined",
    r"helm (install|upgrade) ": "needs a cluster: its objects are rendered in tests/docs/test_chart_commands.py",
    r"sh deploy/kubernetes/without-helm.sh ": "needs a cluster: test_without_helm.py reads what it prints",
    r"cd deploy/kubernetes/chart": "the folder of the commands after it",
    r"kubectl ": "needs a cluster",
    r"(cp|rm|chmod|\$EDITOR) ": "changes files of a host",
    r"python3 deploy/tools/": "needs registries of images: test_pin.py asks servers of the tests",
    r"(echo|printf) ": "writes settings of a host: test_claims.py lets a shell write those of [slo]",
    r"pre-commit ": "changes the clone",
    r"PYTHONPATH=\S+ \.venv/bin/python -m scripts": "needs vLLM, or its sources: test_speculative_releases.py",
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
        """`run`, `run beside servers`, or why neither."""
        if OFFLINE.match(self.command):
            return "runs in test_plan_docs.py" if self.page.name == "plan.md" else "run"
        if BESIDE.match(self.command):
            return "run beside servers"
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


def shape(line: str) -> str:
    """A line without its numbers."""
    return " ".join(re.sub(r"\d[\d.,:]*", "#", line).split())


if __name__ == "__main__":
    for each in shown():
        click.echo(f"{each.fate}: {each}")
