"""The generated files: their text, their place on disk, and the list of all signals."""

from draftboard.build.files import artifacts, render
from draftboard.build.inventory import Inventory, inventory
from draftboard.build.store import Difference, compare, left_over, write

__all__ = ["Difference", "Inventory", "artifacts", "compare", "inventory", "left_over", "render", "write"]
