"""What files are written, and whether those on disk are still what the code would write."""

from draftboard.build.files import render
from draftboard.build.inventory import Entry, inventory
from draftboard.build.store import Difference, compare, left_over, write

__all__ = ["Difference", "Entry", "compare", "inventory", "left_over", "render", "write"]
