"""Replaying a recording: what the rules would have recorded, which alerts would have fired, and the story in short."""

from draftboard.lab.replay.evaluate import Replay, leave_running, replaying
from draftboard.lab.replay.firing import Firing, firings
from draftboard.lab.replay.show import as_json, show
from draftboard.lab.replay.story import Story, tell

__all__ = ["Firing", "Replay", "Story", "as_json", "firings", "leave_running", "replaying", "show", "tell"]
