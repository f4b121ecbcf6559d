"""Why figures changed: parts that add up to the change, each with its cause, or none that is known."""

from draftboard.attribution.counted import Counted, Moment
from draftboard.attribution.result import Explanation, Figure, Part
from draftboard.attribution.shift import shift
