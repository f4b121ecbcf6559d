"""The temperature sweep: completions at one temperature after the other, and speculation at each."""

from draftboard.sweep.client import Api, Batch, explained, require_answers
from draftboard.sweep.plan import BUILT_IN, Plan, Prompt, Prompts, read_prompts
from draftboard.sweep.result import Sweep
from draftboard.sweep.run import sweep
from draftboard.sweep.watch import foreign, foreign_notes, page_of, settled_page, total
from draftboard.sweep.words import document
