"""Signals become recording rules, alerts become alerting rules."""

from draftboard.rules.groups import alerting_groups, recording_groups
from draftboard.rules.text import AlertingRule, Group, RecordingRule, to_yaml
