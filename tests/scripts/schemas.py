"""Write the JSON Schemas of all commands to `docs/schemas/`."""

from conftest import ROOT
from draftboard.cli.schemas import ANSWERS, file_of, schema_of

if __name__ == "__main__":
    for command in ANSWERS:
        (ROOT / "docs/schemas" / file_of(command)).write_text(schema_of(command))
