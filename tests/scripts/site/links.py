"""Links of a page as the site has them: to another page, or to the file in the repository at this release."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from draftboard import REVISION

REPOSITORY = f"https://github.com/draftboard/draftboard/blob/{REVISION}"
_CODE = re.compile(r"(?ms)^( *)(`{3,}).*?^ *\2|`[^`\n]+`")
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(#[^)\s]+)?\)")


def for_site(text: str, source: str, pages: Mapping[str, str], root: Path) -> str:
    """The text of the file `source`; `pages` has the page of each file outside docs/ that the site has, too."""
    page = page_of(source, pages)

    def target(match: re.Match[str]) -> str:
        path = os.path.normpath(os.path.join(os.path.dirname(source), match[1]))  # noqa: PTH118, PTH120
        if path.startswith("docs/") or path in pages:
            to = os.path.relpath(page_of(path, pages), os.path.dirname(page) or ".")  # noqa: PTH120
        elif (root / path).exists():
            to = f"{REPOSITORY}/{path}"
        else:
            to = match[1]  # which the strict build reports
        return f"]({to}{match[2] or ''})"

    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(target, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join(parts) + _LINK.sub(target, text[end:])


def page_of(source: str, pages: Mapping[str, str]) -> str:
    """The page of a file, by its path in the repository."""
    return pages.get(source) or source.removeprefix("docs/")
