"""What files are written, and whether those on disk are still what the code would write."""

from draftboard.artifacts.files import is_generated, render
from draftboard.artifacts.store import Difference, compare, write

__all__ = ["Difference", "compare", "is_generated", "render", "write"]
