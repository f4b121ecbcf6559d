"""Which servers of a model speculate, and which are its baseline, by the label of the drafting method."""

from draftboard.expr.nodes import Expr, Labels
from draftboard.quantity import Setting

METHOD = Labels("spec_method")
"""The label that names the drafting method."""
_BASELINE = Setting("methods.baseline")
MODEL = (Labels("scope"), Labels("model_name"))
"""A variant and its baseline have these labels in common."""


def of_baseline(figure: Expr) -> Expr:
    """Of servers that run without speculation on purpose."""
    return figure.where(METHOD, _BASELINE)


def of_speculating(figure: Expr) -> Expr:
    """Of servers that speculate: one without the label may or may not."""
    return figure.without(METHOD, _BASELINE, "")
