"""A fire drill: an alert travels from a counter to a webhook, through real servers and no containers."""

from draftboard.drill.receiver import Arrival, Receiver, receiving
from draftboard.drill.rehearse import Drill, Told, rehearse
from draftboard.drill.wiring import Programs, Wiring, wired

__all__ = ["Arrival", "Drill", "Programs", "Receiver", "Told", "Wiring", "receiving", "rehearse", "wired"]
