"""Which servers of a model speculate, and which are its baseline, by the label of the drafting method."""

from draftboard.expr.tree import Expr, Where
from draftboard.settings import Settings


def method_of(settings: Settings) -> str:
    """Name of the label that names the drafting method."""
    return settings.labels.spec_method


def of_baseline(figure: Expr) -> Expr:
    """Of servers that run without speculation on purpose."""
    return Where(figure, method_of, lambda settings: (settings.methods.baseline,))


def of_speculating(figure: Expr) -> Expr:
    """Of servers that speculate: one without the label may or may not."""
    return Where(figure, method_of, lambda settings: (settings.methods.baseline, ""), negated=True)
