"""Calibration: the cost of drafts and of verifying them, measured against a baseline over batch sizes."""

from draftboard.calibrate.calibrating import calibrated
from draftboard.calibrate.fit import require_statsmodels
from draftboard.calibrate.fragment import require_fragment, write
from draftboard.calibrate.history import of_history
from draftboard.calibrate.load import Load, of_load
from draftboard.calibrate.plot import draw
from draftboard.calibrate.result import Calibration
from draftboard.calibrate.words import document
