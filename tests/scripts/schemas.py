"""Write the JSON Schemas of all commands to `docs/schemas/`."""

from pathlib import Path

from conftest import ROOT
from draftboard.cli.schemas import RESULTS, schema_of


def schema_file(command: str) -> Path:
    """Where the schema of a command's JSON is kept."""
    return ROOT / "docs/schemas" / f"{command.replace(' --', '-').replace(' ', '-')}.schema.json"


if __name__ == "__main__":
    for command in RESULTS:
        schema_file(command).write_text(schema_of(command))
