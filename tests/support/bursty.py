"""The exact truth of text in easy and hard stretches, token by token, where the simulator goes draft by draft.

A Markov chain over the tokens of an endless answer: each is easy or hard, and has so many accepted tokens of its draft
before it. Tokens without any begin a draft: their share of all tokens is drafts per token.
"""

from itertools import product

import numpy as np

from draftboard.lab.simulator.scenario import Bursts
from support import theory


def survival(text: Bursts, longest: int) -> tuple[float, ...]:
    """By position: share of drafts of this length that are accepted at least so deep."""
    depth = _shares_by_depth(text, longest)
    return tuple(share / depth[0] for share in depth[1:])


def speedups(text: Bursts, longest: int, cost: float, inflation: float) -> tuple[float, ...]:
    """Speedup of K = 1 to the longest, each if it were set: not what the counters at one K promise for the others."""
    return tuple(theory.speedup(1 + sum(survival(text, k)), k, cost, inflation) for k in range(1, longest + 1))


def _shares_by_depth(text: Bursts, longest: int) -> list[float]:
    """Share of the tokens that have so many accepted ones of their draft before them."""
    states = list(product((True, False), range(longest + 1)))
    moves = np.zeros((len(states), len(states)))
    for (easy, depth), (then_easy, then_depth) in product(states, states):
        accepted = (text.easy if easy else text.hard) if depth < longest else 0.0
        reaches = accepted * (then_depth == depth + 1) + (1 - accepted) * (then_depth == 0)
        drawn = text.easy_share if then_easy else 1 - text.easy_share
        goes_on = (easy == then_easy) * (1 - 1 / text.stretch_tokens) + drawn / text.stretch_tokens
        moves[states.index((easy, depth)), states.index((then_easy, then_depth))] = reaches * goes_on
    balance = np.vstack([moves.T - np.eye(len(states)), np.ones(len(states))])
    shares = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1), rcond=None)[0].reshape(2, -1).sum(axis=0)
    return [float(share) for share in shares]
