"""Replaying a recording: what the rules would have recorded, which alerts would have fired, and the story in short."""

from draftboard.replay.evaluate import Replay, leave_running, replaying
from draftboard.replay.firing import Firing, firings
from draftboard.replay.show import as_json, show
from draftboard.replay.story import Story, tell

__all__ = ["Firing", "Replay", "Story", "as_json", "firings", "leave_running", "replaying", "show", "tell"]
