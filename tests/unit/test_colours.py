"""Whether colour-blind people tell states apart: by the simulation of Machado, Oliveira and Fernandes (2009)."""

import math
from collections.abc import Sequence

import pytest

from draftboard.dashboards.fields import IN_STATES
from draftboard.signals import events, overview
from draftboard.signals.health import HEALTH, WELL
from draftboard.status import Status

# At full severity, for linear RGB: table 1 of the paper, https://doi.org/10.1109/TVCG.2009.113
SEEN_BY = {
    "protanopes": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopes": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopes": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))  # sRGB, D65
WHITE = (0.95047, 1.0, 1.08883)
APART = 20  # In CIE Lab, where 2 is the least difference that is seen.


def _times(matrix: Sequence[Sequence[float]], vector: Sequence[float]) -> list[float]:
    return [sum(one * other for one, other in zip(row, vector, strict=True)) for row in matrix]


def _lab(colour: str, seen_by: str) -> tuple[float, float, float]:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    seen = [min(1.0, max(0.0, one)) for one in _times(SEEN_BY[seen_by], linear)]
    shares = [one / white for one, white in zip(_times(TO_XYZ, seen), WHITE, strict=True)]
    x, y, z = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _distance(one: str, other: str, seen_by: str) -> float:
    return math.dist(_lab(one, seen_by), _lab(other, seen_by))


@pytest.mark.parametrize("seen_by", SEEN_BY)
def test_colour_blind_people_see_what_is_well_apart_from_all_that_needs_somebody(seen_by: str) -> None:
    needs_somebody = {code.status: code.says for code in HEALTH.codes if code.value < WELL}
    for status, says in needs_somebody.items():
        for well in (Status.GOOD, Status.QUIET):
            distance = _distance(IN_STATES[status], IN_STATES[well], seen_by)
            assert distance > APART, (says, well, distance)


ACT = (Status.DOWN, Status.BAD), (Status.DUE,), (Status.WARN,)
"""Failing, degraded, and worth watching."""


def test_tiles_count_by_the_colours_of_what_they_count() -> None:
    """Red in a row is red in the tile that counts it."""
    for tiles in (overview.MODELS, overview.ENGINES):
        for (_, tile), statuses in zip(tiles.items(), ACT, strict=False):
            assert tile.bands[-1].status in statuses, tile.title
    least = [min(code.value for code in HEALTH.codes if code.status in statuses) for statuses in ACT]
    for code in HEALTH.codes:
        if code.value < WELL:
            place = max(number for number, first in enumerate(least) if code.value >= first)
            assert code.status in ACT[place], code.says
    severities = {code.says: code.status for code in events.alert_severity.codes}
    assert {says: tile.bands[-1].status for says, tile in overview.ALERTS.items()} == {
        says: severities[says] for says in overview.ALERTS
    }


def test_engines_and_models_have_one_word_for_one_state() -> None:
    words = {code.says for code in HEALTH.codes}
    assert "costs more" in words
    assert "pays" in words
    assert not [says for says in words if "break-even" in says]
