"""The page itself, drawn by Textual."""

from collections.abc import Callable
from textwrap import wrap
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Markdown, Static

from draftboard.errors import DraftboardError
from draftboard.output import Document, as_markdown, escape
from draftboard.output.terminal import STYLES
from draftboard.report import ModelReport, time_in_words
from draftboard.top.looking import COLUMNS, Look, row

_SCROLLBAR = 2


class _Details(ModalScreen[None]):
    """A document over the page; escape closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "back")]

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._text = as_markdown(document)

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown(self._text, open_links=False)
        yield Footer()


class Top(App[None]):
    """Every model in a row, worst first, read anew every few seconds."""

    TITLE = "draftboard top"
    ENABLE_COMMAND_PALETTE = False
    CSS = "_Details VerticalScroll { height: 1fr; } DataTable { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "explain", "explain the verdict"),
        Binding("w,enter", "details", "what if: every K", priority=True),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, look: Callable[[], Look], pause: float) -> None:
        """`look` blocks while it reads; `pause` are the seconds between two readings."""
        super().__init__()
        self._look, self._pause = look, pause
        self._latest: Look | None = None

    def compose(self) -> ComposeResult:
        """The state of the reading, the models, the keys."""
        yield Static("reading ...", id="state", markup=False)
        yield DataTable[Text](cursor_type="row", zebra_stripes=True, cell_padding=0)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to read."""
        model, verdict = _shared(self.size.width)
        for title, width in COLUMNS.items():
            self.query_one(DataTable).add_column(title, width=width or (model if title == "Model" else verdict))
        self.read()

    @work(thread=True, exclusive=True)
    def read(self) -> None:
        """Read in a thread, show, and read again after the pause."""
        latest, failure = self._latest, ""
        try:
            latest = self._look()
        except DraftboardError as error:
            failure = str(error)
        self.call_from_thread(self.show, latest, failure)

    def show(self, latest: Look | None, failure: str) -> None:
        """Put a reading on the page; a failure stays above the last good one."""
        self._latest = latest
        state = self.query_one("#state", Static)
        state.update(Text(escape.log(escape.terminal(failure or _state(latest))), "bold red" if failure else "dim"))
        table = self.query_one(DataTable)
        at = table.cursor_row
        table.clear()
        for model in latest.models if latest else ():
            cells = zip(row(model), table.ordered_columns, strict=True)
            # A blank stays free in every line of a cell: the columns have none between them.
            table.add_row(
                *(
                    Text("\n".join(wrap(escape.terminal(words), of.width - 1)), STYLES[status])
                    for (words, status), of in cells
                ),
                height=None,
            )
        table.move_cursor(row=at)
        self.set_timer(self._pause, self.read)

    def action_explain(self) -> None:
        """Show the conditions of the verdict under the cursor."""
        self._open(lambda latest, model: latest.explanation(model))

    def action_details(self) -> None:
        """Show the numbers of the model under the cursor."""
        self._open(lambda latest, model: latest.details(model))

    def _open(self, document: Callable[[Look, ModelReport], Document]) -> None:
        latest, at = self._latest, self.query_one(DataTable).cursor_row
        if latest and at < len(latest.models):
            try:
                self.push_screen(_Details(document(latest, latest.models[at])))
            except DraftboardError as error:
                self.notify(escape.terminal(str(error)), severity="error", markup=False)


def _shared(width: int) -> tuple[int, int]:
    """Widths of a model's name and of its verdict on a terminal of this width."""
    rest = max(width - sum(COLUMNS.values()) - _SCROLLBAR, 30)
    name = rest * 2 // 5
    return name, rest - name


def _state(latest: Look | None) -> str:
    report = latest.report if latest else None
    if report is None:
        return ""
    models = "1 model" if len(report.models) == 1 else f"{len(report.models)} models"
    return ", ".join((models, *time_in_words(report.seconds, report.taken_at), *report.notes))
