"""What commands say: one document, printed on a terminal or as Markdown; and one way to JSON."""

from draftboard.output.data import Described, as_json, schema
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
)
from draftboard.output.markdown import as_markdown
from draftboard.output.terminal import show
