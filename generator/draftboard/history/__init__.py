"""History: what changed in a model's past, and what each change did at like load.

`finding` asks a Prometheus, and is imported where that is done.
"""

from draftboard.history.result import Change, History
from draftboard.history.words import document, named, quoted
