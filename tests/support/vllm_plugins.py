"""Folders of plugins that a real vLLM finds by PYTHONPATH."""

import shutil
from pathlib import Path

from conftest import ROOT


def plugin_folder(folder: Path, group: str, entries: dict[str, str], *modules: str) -> Path:
    """Copy modules of tests/support into a folder, with entry points of one group, by their names."""
    for module in modules:
        shutil.copy(ROOT / f"tests/support/{module}.py", folder)
    info = folder / "plugins_of_tests-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins-of-tests\nVersion: 0\n")
    lines = "".join(f"{name} = {target}\n" for name, target in entries.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    return folder
