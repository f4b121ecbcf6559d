"""Where a number comes from: a signal, record or alert as the tree of what it is computed from, with live values."""

from draftboard.explain.document import document
from draftboard.explain.explaining import explain, of_prometheus, of_reading
from draftboard.explain.explanation import Explanation
