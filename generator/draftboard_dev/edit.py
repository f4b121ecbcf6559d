"""Edits of modules that are part of a skeleton."""

import ast

from draftboard.errors import DraftboardError


def imported(module: str, line: str) -> str:
    """The module with one more import; ruff sorts and merges it."""
    body = ast.parse(module).body
    first = next(node for node in body if isinstance(node, ast.Import | ast.ImportFrom))
    lines = module.splitlines(keepends=True)
    return "".join([*lines[: first.lineno - 1], line + "\n", *lines[first.lineno - 1 :]])


def listed(module: str, variable: str, element: str) -> str:
    """The module with one more element at the end of the tuple that the variable is made of."""
    for node in ast.parse(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == variable for target in targets):
            (elements,) = (
                part
                for part in (node.value, *(one.iter for one in getattr(node.value, "generators", ())))  # type: ignore[attr-defined]
                if isinstance(part, ast.Tuple)
            )
            return _before_end(module, elements, element)
    raise DraftboardError(f"no tuple {variable} to add to")


def before(module: str, variable: str, text: str) -> str:
    """The module with a text above the assignment of a variable."""
    line = next(
        node.lineno
        for node in ast.parse(module).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == variable
    )
    lines = module.splitlines(keepends=True)
    return "".join([*lines[: line - 1], text, *lines[line - 1 :]])


def row(page: str, head: str, line: str) -> str:
    """The Markdown page with one more row at the end of the table that has a head."""
    lines = page.splitlines(keepends=True)
    start = next(number for number, text in enumerate(lines) if text.startswith(head))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    return "".join([*lines[:end], line, *lines[end:]])


def _before_end(module: str, elements: ast.Tuple, element: str) -> str:
    lines = module.splitlines(keepends=True)
    last, column = (elements.end_lineno or 0) - 1, (elements.end_col_offset or 0) - 1
    head = "".join(lines[:last]) + lines[last][:column]
    comma = "" if head.rstrip().endswith((",", "(")) else ","
    return f"{head}{comma}{element},{lines[last][column:]}" + "".join(lines[last + 1 :])
