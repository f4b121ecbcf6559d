"""Signals become rule groups: recording rules from their definitions, alerting rules from their thresholds."""

from draftboard.rules.alerting import alerting_groups
from draftboard.rules.recording import WHY_LONG_GROUPS, recording_groups
from draftboard.rules.text import to_yaml

__all__ = ["WHY_LONG_GROUPS", "alerting_groups", "recording_groups", "to_yaml"]
