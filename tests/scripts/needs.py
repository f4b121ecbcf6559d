"""Print the packages that the project and its build need, with the extras that are named, one requirement a line.

With hashes pip installs packages only, not the project's folder beside them: `make` installs these first.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


DOCUMENT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def needs(*extras: str) -> list[str]:
    """Requirements of the project and its extras, as pyproject.toml has them."""
    project = DOCUMENT["project"]
    return [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]


if __name__ == "__main__":
    lines = [*DOCUMENT["build-system"]["requires"], *needs(*sys.argv[1:])]
    sys.stdout.writelines(f"{line}\n" for line in lines)
