"""The generated files: their text, their place on disk, and the list of all signals."""

from draftboard.build.files import Difference, Rendered, compare, left_over, render, write
from draftboard.build.inventory import Inventory, inventory
from draftboard.build.standalone import standalone
