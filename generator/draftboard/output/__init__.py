"""What commands print: a document, shown on a terminal or as Markdown, or a result as JSON."""

from draftboard.output import escape
from draftboard.output.data import Described, as_json, from_json, schema
from draftboard.output.document import (
    Bar,
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Heading,
    Note,
    Progress,
    Sentence,
    Table,
    Text,
    Verbatim,
    columns,
    no_progress,
    shortened,
)
from draftboard.output.markdown import as_markdown
from draftboard.output.terminal import show
