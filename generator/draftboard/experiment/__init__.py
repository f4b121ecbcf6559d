"""An experiment on one fleet: two ways to serve in blocks of time, in random order, and what that shows."""

from draftboard.experiment.effect import Effect, effect
from draftboard.experiment.plan import Arm, Block, Experiment, load, plan, save
from draftboard.experiment.reading import Result, read, result_of
from draftboard.experiment.words import planned, read_out
