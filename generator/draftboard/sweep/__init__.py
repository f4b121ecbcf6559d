"""The temperature sweep: completions at one temperature after the other, and what speculation made of them."""

from draftboard.sweep.objects import Sweep
from draftboard.sweep.plan import Plan
from draftboard.sweep.prompts import BUILT_IN, Prompt, Prompts, read_prompts
from draftboard.sweep.run import sweep
from draftboard.sweep.show import as_json, show

__all__ = ["BUILT_IN", "Plan", "Prompt", "Prompts", "Sweep", "as_json", "read_prompts", "show", "sweep"]
