"""History: what changed in a model's past, and what each change did at like load."""

from draftboard.history.explained import SIX_HOURS, explanations
from draftboard.history.finding import MOST_MODELS, last_changes, no_records, of_past
from draftboard.history.result import Change, History
from draftboard.history.words import document, named, quoted
