"""Packages of extras, which only some commands require."""

import importlib
from types import ModuleType

from draftboard.errors import DraftboardError

INSTALL = "install the extra, pip install 'draftboard[{}]'"


def optional_module(name: str, why: str, extra: str) -> ModuleType:
    """A module that needs an extra. DraftboardError: `why`, such as "--plot requires", then the package to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise DraftboardError(f"{why} the package {missing}: {INSTALL.format(extra)}") from None
