"""What a step with drafts costs, from published measurements or the server's own steps, and what follows from it."""

from draftboard.evidence.assumed import LONG_PROMPT, Assumed, Own, assumed, assumed_ranges
from draftboard.evidence.curve import Curve, Steps, TooLittle, curves
from draftboard.evidence.ends import BLOCKS, End, cheap, dear
from draftboard.evidence.law import Load
from draftboard.evidence.lengths import Change, Depth, Drafting, LengthAdvice, length_advice
from draftboard.evidence.measurements import Measurement, published
from draftboard.evidence.range import Range, Ruling, expected_speedup, ruling
from draftboard.evidence.words import SETTLES, UNKNOWN_LOAD, headline
