"""Scripts that are no package, loaded as modules."""

import importlib.util
import sys
from types import ModuleType

import pytest

from conftest import ROOT


def loaded(path: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script at a path below the repository, executed anew."""
    name = path.rpartition("/")[2].removesuffix(".py")
    monkeypatch.syspath_prepend((ROOT / path).parent)  # As Python itself does for a script.
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module
