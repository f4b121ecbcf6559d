"""Text of servers at every exit: it starts no line, closes nothing, moves no cursor, commands and mentions nobody."""

import ast
import contextlib
import io
import json
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from matplotlib import cbook
from rich.console import Console

from conftest import ROOT
from draftboard.assistant.serving import answering
from draftboard.cli.shared import print_line
from draftboard.errors import DraftboardError
from draftboard.output import (
    Bullets,
    Document,
    Heading,
    Note,
    Sentence,
    Table,
    Text,
    Verbatim,
    as_json,
    as_markdown,
    columns,
    escape,
    show,
)
from support.hostile import CORPUS, assert_words, every, is_seen, obeyed_by_a_ci
from support.scripts import loaded

PIECES = st.sampled_from(
    [
        *(text for text in CORPUS.values() if len(text) < 4000),
        "\n",
        "\r",
        "::",
        "##[",
        "```",
        "~~~",
        "@a",
        "](",
        "http://a.b",
        "#1",
        "    ",
        "1. ",
        "\x1b[2J",
        "$",
        "|",
    ]
)
HOSTILE = st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join)
GITHUB = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def document(text: str) -> Document:
    """A document that holds the text wherever one can hold text of a server."""
    headings = columns(text, numbers=["Value"])
    return Document(
        (
            Heading(text, Text(text)),
            Sentence(text),
            Bullets((text, "ours")),
            Note(text),
            Table(headings, ((text, "1"), (Text(text), text)), text),
            Sentence("the end"),
        )
    )


def printed(text: str, *, width: int = 60, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False)
    show(document(text), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def assert_harmless(text: str) -> None:
    for width in (20, 60, 200):
        plain = printed(text, width=width)
        assert all(is_seen(character) or character == "\n" for character in set(plain))
        assert not obeyed_by_a_ci(plain)
    coloured = printed(text, terminal=True)
    assert all(is_seen(one) or one == "\n" for one in re.sub(r"\x1b\[[0-9;]*m", "", coloured))
    assert not obeyed_by_a_ci(coloured)


@every
def test_nothing_on_a_terminal_is_obeyed(text: str) -> None:
    assert_harmless(text)


@given(HOSTILE)
def test_nothing_on_a_terminal_is_obeyed_whatever_it_is(text: str) -> None:
    assert_harmless(text)


@every
def test_text_of_a_server_adds_no_line_to_a_sentence_that_fits(text: str) -> None:
    console = Console(file=io.StringIO(), width=10_000, highlight=False)
    show(Document((Sentence(text), Sentence("ours"))), console)
    assert isinstance(console.file, io.StringIO)
    assert len(console.file.getvalue().split("\n")) == len(("sentence", "ours", "end"))


def inline(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from inline(token.children or [])


def structure(text: str) -> list[str]:
    """The kinds of elements of the document in Markdown, without words."""
    return [token.type for token in inline(GITHUB.parse(as_markdown(document(text)))) if token.type != "text"]


def assert_only_words(text: str) -> None:
    marked = as_markdown(document(text))
    assert structure(text) in (structure("words"), structure(""))
    assert not obeyed_by_a_ci(marked)
    for token in inline(GITHUB.parse(marked)):
        shown = token.content if token.type == "text" else ""
        assert not re.search(r"@[A-Za-z0-9]|#\d|GH-\d", shown), shown
    assert not re.search(r"(?i)https?://|www\.\S", marked), marked


@every
def test_text_of_a_server_stays_words_in_markdown(text: str) -> None:
    assert_only_words(text)


@given(HOSTILE)
def test_text_of_a_server_stays_words_in_markdown_whatever_it_is(text: str) -> None:
    assert_only_words(text)


@given(HOSTILE)
def test_nothing_in_lines_to_copy_closes_their_fence(text: str) -> None:
    marked = as_markdown(Document((Verbatim(f"ours\n{text}\nend"), Sentence("after"))))
    assert [token.type for token in GITHUB.parse(marked)] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert not obeyed_by_a_ci(marked)


def test_words_of_ours_read_in_markdown_as_they_are() -> None:
    said = (
        "Tokens per decode step 3.64, break-even 1.40: 2.60 times; (a lower bound), k = 5, 20 % at gpu-1:8000 - good!"
    )
    assert escape.markdown_block(said) == said


@given(HOSTILE)
def test_an_annotation_is_one_line_with_the_title_and_the_message_as_they_are(text: str) -> None:
    line = escape.annotation("error", text, title=text)
    found = re.fullmatch(r"::error title=([^,:]*)::(.*)", line)
    assert found
    assert all(map(is_seen, line))
    decoded = [part.replace("%3A", ":").replace("%2C", ",").replace("%25", "%") for part in found.groups()]
    assert decoded == [escape.terminal(text)] * 2


@given(HOSTILE)
def test_json_has_the_same_values_and_nothing_that_a_terminal_or_a_ci_obeys(text: str) -> None:
    written = as_json([text])
    assert json.loads(written) == [text]
    assert_words(written)


@given(HOSTILE)
def test_an_attribute_of_xml_is_read_back(text: str) -> None:
    written = ET.tostring(ET.Element("testcase", name=escape.xml(text)))
    assert ET.fromstring(written).get("name") == escape.terminal(text)  # noqa: S314  (our own)


@given(HOSTILE)
def test_matplotlib_reads_no_formula_in_a_title(text: str) -> None:
    drawn = escape.picture(text)
    assert not cbook.is_math_text(drawn)
    assert drawn.replace(r"\$", "$") == escape.terminal(text).replace(r"\$", "$")
    assert all(map(is_seen, drawn))


@given(HOSTILE)
def test_a_line_on_stderr_is_one_line(text: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        print_line(text, err=True)
    assert_words(printed.getvalue())
    assert printed.getvalue().count("\n") == 1


@given(HOSTILE)
def test_an_error_for_an_assistant_is_one_line(text: str) -> None:
    def tool() -> str:
        raise DraftboardError(text)

    with pytest.raises(RuntimeError) as refused:
        answering(tool, RuntimeError)()
    assert_words(str(refused.value))


SOURCES = sorted((ROOT / "generator/draftboard").rglob("*.py"))
EXITS = {"log", "as_json", "as_markdown", "schema_of", "get"}


PRINTING = re.compile(
    r"(print|(click\.)?s?echo|(click\.)?echo_via_pager|(click\.)?(confirm|prompt)|sys\.(__)?std(out|err)(__)?(\.buffer)?\.write(lines)?"
    r"|os\.write|warnings\.warn|(logging|logger)\.(debug|info|warning|error|critical|exception|log)|traceback\.print_\w+|rich\.print|pprint)"
)


def prints(source: str) -> Iterator[str]:
    """Arguments of calls that print to a standard stream: neither constant nor made by an exit."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not PRINTING.fullmatch(ast.unparse(node.func)):
            continue
        for argument in node.args:
            of_exit = isinstance(argument, ast.Call) and ast.unparse(argument.func).rpartition(".")[2] in EXITS
            if not isinstance(argument, ast.Constant) and not of_exit:
                yield ast.unparse(argument)


def test_every_text_that_is_printed_passes_an_exit() -> None:
    """What is not a text of ours is printed by `print_result` and `print_line`, or is a whole result of an exit."""
    found = {(path.name, one) for path in SOURCES for one in prints(path.read_text())}
    assert found == {("compare.py", "line")}


@pytest.mark.parametrize(
    "source",
    [
        "print(model)",
        "click.echo(f'{model}: done')",
        "click.secho(str(error), fg='red')",
        "sys.stderr.write(model + end)",
        "sys.stdout.writelines(lines)",
        "sys.stdout.buffer.write(page)",
        "warnings.warn(f'{label} is odd')",
        "logging.warning('%s', model)",
        "traceback.print_exception(error)",
    ],
)
def test_a_text_that_passes_no_exit_is_found(source: str) -> None:
    assert list(prints(source))


def test_no_text_is_printed_by_a_console_but_in_the_exit_itself() -> None:
    consoles = [path for path in SOURCES if re.search(r"\bconsole\.(print|out|log|rule)\(", path.read_text())]
    assert [path.name for path in consoles] == ["terminal.py"]


@every
def test_a_script_of_the_stack_prints_a_text_as_the_commands_do(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded("deploy/tools/printing.py", monkeypatch).warn("pin.py", text)
    line = escape.log(f"pin.py: {escape.terminal(' '.join(text.split()))}")
    assert capsys.readouterr().err == f"{line}\n"
