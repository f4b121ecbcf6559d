"""Live values of expressions: from counts of servers and pages, or from a Prometheus."""

import math
from dataclasses import dataclass
from typing import Protocol

from draftboard.expr.counts import Counts
from draftboard.expr.nodes import Expr
from draftboard.expr.to_numbers import values_of
from draftboard.expr.to_promql import to_promql
from draftboard.expr.vector import NOTHING, Vector
from draftboard.prometheus import Client
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope


class Values(Protocol):
    """Where values come from."""

    @property
    def rates(self) -> bool:
        """Whether rates are per second; counts hold the growth within the window instead."""

    def of(self, expression: Expr, level: Level) -> Vector:
        """The values of an expression at a level, by labels."""


@dataclass(frozen=True)
class NoValues:
    """None: an explanation of the expressions alone."""

    rates = False

    def of(self, expression: Expr, level: Level) -> Vector:  # noqa: ARG002
        """Nothing."""
        return NOTHING


@dataclass(frozen=True)
class FromCounts:
    """Of servers or pages."""

    counts: Counts
    rates = False

    def of(self, expression: Expr, level: Level) -> Vector:
        """The values of an expression at a level, by labels."""
        return values_of(expression, self.counts, level)


@dataclass(frozen=True)
class FromPrometheus:
    """Of a Prometheus at one time: records where it has them, else raw series."""

    client: Client
    settings: Settings
    at: float
    edition: Edition
    rates = True

    def of(self, expression: Expr, level: Level) -> Vector:
        """The values of an expression at a level, by labels."""
        answer = self.client.query(to_promql(expression, Scope(self.settings, level, self.edition)), self.at)
        return {
            frozenset(series.unnamed.items()): value
            for series in answer
            if math.isfinite(value := series.samples[0][1])
        }
