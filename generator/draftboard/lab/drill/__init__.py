"""A fire drill: an alert travels from a counter to a webhook, through real servers and no containers."""

from draftboard.lab.drill.receiver import Arrival, Receiver, receiving
from draftboard.lab.drill.rehearse import Drill, rehearse, shown
from draftboard.lab.drill.wiring import Programs, Wiring, wired

__all__ = ["Arrival", "Drill", "Programs", "Receiver", "Wiring", "receiving", "rehearse", "shown", "wired"]
