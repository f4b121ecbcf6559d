"""Text in easy and hard stretches: how deep drafts are accepted there, and in which kind of stretch each one ends.

Requests go through many steps in one array. The law of one step is a table; where a step begins follows from all steps
before it, which are joined pair by pair instead of one after the other.
"""

import numpy as np
from numpy.typing import NDArray

from draftboard.lab.simulator.arrivals import Floats, Integers
from draftboard.lab.simulator.scenario import Bursts

_KINDS = 2  # of stretches: hard, easy
_EVERY_KIND = np.arange(_KINDS)


class BurstyText:
    """What is accepted of drafts of up to a length, from each kind of stretch that they may begin in."""

    def __init__(self, bursts: Bursts, longest: int) -> None:
        law = _law(bursts, longest).reshape((longest + 1) * _KINDS, -1)
        self._outcomes = law.shape[1]
        up_to = law.cumsum(axis=1)
        up_to[:, -1] = 1  # whatever the sum is rounded to
        # Row by row in one rising list, at row + share, so that one search serves all drafts.
        self._up_to = (up_to + np.arange(len(up_to))[:, None]).ravel()

    def accepted(
        self, easy: NDArray[np.bool_], verified: Integers, drawn: Floats, moves: NDArray[np.bool_]
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """Tokens accepted of each draft, and whether the text is easy after the last.

        Requests (rows) do steps (columns): of so many tokens, by such draws from 0 to 1, where the request moves.
        """
        row = verified[..., None] * _KINDS + _EVERY_KIND
        outcome = self._up_to.searchsorted(row + drawn[..., None], side="right") - row * self._outcomes
        depth, after = np.divmod(outcome, _KINDS)
        after = _joined(np.where(moves[..., None], after, _EVERY_KIND))
        begun = easy.astype(int)[:, None, None]
        ends = np.take_along_axis(after, np.broadcast_to(begun, (*verified.shape, 1)), axis=2)
        begins = np.concatenate([begun, ends[:, :-1]], axis=1)
        deep = np.take_along_axis(depth, begins, axis=2)[..., 0]
        return np.minimum(deep, verified), ends[:, -1, 0] == 1


def _joined(after: Integers) -> Integers:
    """By kind of stretch before the first step, that after each step, of what each step alone makes of it."""
    span = 1
    while span < after.shape[1]:
        after[:, span:] = np.take_along_axis(after[:, span:], after[:, :-span], axis=2)
        span *= 2
    return after


def _law(bursts: Bursts, longest: int) -> Floats:
    """By length of the draft and kind of stretch before: probability of each number accepted and kind after.

    The token behind the accepted ones comes from the target model: the next draft begins after it.
    """
    accepts = np.array([bursts.hard, bursts.easy])
    shares = np.array([1 - bursts.easy_share, bursts.easy_share])
    goes_on = np.eye(_KINDS) + (shares - np.eye(_KINDS)) / bursts.stretch_tokens
    reached = np.empty((longest + 1, _KINDS, _KINDS))  # all before are accepted, by kind before and kind here
    reached[0] = np.eye(_KINDS)
    for depth in range(longest):
        reached[depth + 1] = reached[depth] * accepts @ goes_on
    depths = np.arange(longest + 1)
    ends_here = depths[:, None] == depths
    rejected = np.where((depths[:, None] > depths)[..., None, None], reached * (1 - accepts) @ goes_on, 0)
    law: Floats = np.where(ends_here[..., None, None], reached @ goes_on, rejected)
    return law.transpose(0, 2, 1, 3)
