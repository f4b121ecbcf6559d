"""Text that a server may put into a label, by what it attacks: `tests/data/hostile.json`."""

import json
import re
import unicodedata

import pytest

from conftest import ROOT

CORPUS: dict[str, str] = json.loads((ROOT / "tests/data/hostile.json").read_text())
ENCODABLE = {name: text for name, text in CORPUS.items() if "\ud800" not in text}
"""Those that a page or an answer in UTF-8 can hold."""

JOINER = "\N{WORD JOINER}"  # Breaks mentions in Markdown.

every = pytest.mark.parametrize("text", CORPUS.values(), ids=CORPUS)


def escaped(text: str) -> str:
    """A label value as a page of metrics has it."""
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def obeyed_by_a_ci(printed: str) -> list[str]:
    """Lines that a runner of GitHub, Azure or TeamCity would take for a command."""
    lines = re.split(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", re.sub(r"\x1b\[[0-9;]*m", "", printed))
    return [line for line in lines if line.strip().startswith("::") or re.search(r"##(vso|teamcity)?\[", line)]


def is_seen(character: str) -> bool:
    """Whether it is drawn as something, and moves no cursor."""
    invisible = r"FILLER|VARIATION SELECTOR|GRAPHEME JOINER|PATTERN BLANK|VOWEL INHERENT"
    return character.isprintable() and not re.search(invisible, unicodedata.name(character, ""))


def assert_words(printed: str) -> None:
    """Lines of ours in which a server moved no cursor, hid nothing, and commands no CI."""
    assert all(is_seen(character) or character in f"\n{JOINER}" for character in set(printed))
    assert not obeyed_by_a_ci(printed)
