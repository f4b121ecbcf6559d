"""The notifications that people would have had: what fired, after inhibition and grouping, against their incidents."""

from draftboard.lab.notified.firing import Evaluator, Fired
from draftboard.lab.notified.incidents import Incident, compared, load_incidents
from draftboard.lab.notified.outlook import outlook
from draftboard.lab.notified.result import Notification, Outlook
from draftboard.lab.notified.sent import sent
from draftboard.lab.notified.words import document
