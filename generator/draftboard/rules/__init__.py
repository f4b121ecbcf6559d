"""Signals become recording rules, alerts become alerting rules."""

from draftboard.rules.alerting import alerting_groups
from draftboard.rules.recording import WHY_LONG_GROUPS, recording_groups
from draftboard.rules.text import AlertingRule, Group, RecordingRule, to_yaml

__all__ = [
    "WHY_LONG_GROUPS",
    "AlertingRule",
    "Group",
    "RecordingRule",
    "alerting_groups",
    "recording_groups",
    "to_yaml",
]
