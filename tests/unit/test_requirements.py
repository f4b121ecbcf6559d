"""The catalogue of requirements that the command line must meet: each is shown by a test, or its reason stands here."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
SPANS = ((125, 131), (139, 147), (148, 175), (193, 201), (218, 225))
REQUIRED = {f"R{number}" for first, last in SPANS for number in range(first, last + 1)}
UNMET = {
    "R194": "a claim on what vLLM spends on counting (under 1 %), which needs a GPU to measure; docs/plan.md says that "
    "it is claimed and not measured",
}


def marked() -> set[str]:
    """The requirements that `pytest.mark.requirement` names anywhere in the tests."""
    return {
        argument.value
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def test_every_requirement_is_shown_by_a_test_or_says_why_not() -> None:
    assert REQUIRED - marked() == set(UNMET)


def test_only_known_requirements_are_named() -> None:
    assert marked() <= {f"R{number}" for number in range(1, 229)}
