"""Rules of thumb of `draftboard plan vram`.

Both are HEUR: authors' advice that nobody has measured. A default to start from.
"""

from draftboard.files import Table
from draftboard.settings.fields import Share


class Planning(Table):
    """Limits above which `draftboard plan vram` warns."""

    target_share: Share = 0.7
    """Target weights over all GPU memory, above which a draft model cuts concurrency."""
    draft_share: Share = 0.15
    """Draft weights over all GPU memory, above which they take too much of the KV cache."""
