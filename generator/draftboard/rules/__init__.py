"""Signals become recording rules, alerts become alerting rules."""

from draftboard.rules.groups import AlertingRule, Group, RecordingRule, alerting_groups, recording_groups, to_yaml
