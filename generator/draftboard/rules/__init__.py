"""Signals become recording rules, alerts become alerting rules."""

from draftboard.rules.forms import document, to_yaml
from draftboard.rules.groups import RELEASES, alerting_groups, recording_groups
from draftboard.rules.links import LINKS, LONGEST_QUERY, ROOM
from draftboard.rules.managed import managed_alerts, managed_records
from draftboard.rules.packing import LONGEST, depths, packed, reads, records_in
from draftboard.rules.rule import AlertingRule, Group, RecordingRule
