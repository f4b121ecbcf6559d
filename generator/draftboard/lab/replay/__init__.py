"""Replaying a recording: what the rules would have recorded, which alerts would have fired, and a summary of both."""

from draftboard.lab.replay.brief import brief
from draftboard.lab.replay.evaluate import Replay, leave_running, replaying
from draftboard.lab.replay.story import Firing, Story, firings, story_of, summary
