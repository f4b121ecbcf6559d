"""Signals become recording rules, as many as the settings' tier needs; alerts become alerting rules."""

from draftboard.rules.forms import document, to_yaml
from draftboard.rules.groups import RELEASES, alerting_groups, recording_groups, records
from draftboard.rules.links import LINKS, LONGEST_QUERY, ROOM
from draftboard.rules.managed import managed_alerts, managed_records
from draftboard.rules.packing import LONGEST, depths, packed, reads, records_in
from draftboard.rules.price import RECORDED_BYTES, SCRAPED_BYTES, Amount, Price, price
from draftboard.rules.rule import AlertingRule, Group, RecordingRule
