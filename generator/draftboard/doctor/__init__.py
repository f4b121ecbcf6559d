"""Is everything in place for the dashboards and rules to show something, and if not, what is missing and why?"""

from draftboard.doctor.command.examine import examine_command, examine_config
from draftboard.doctor.finding import Empty, Examination, Finding, Severity
from draftboard.doctor.running.pages import examine_pages
from draftboard.doctor.running.prometheus import examine_prometheus
from draftboard.doctor.running.sources import examine_sources
from draftboard.doctor.show import as_json, show

__all__ = [
    "Empty",
    "Examination",
    "Finding",
    "Severity",
    "as_json",
    "examine_command",
    "examine_config",
    "examine_pages",
    "examine_prometheus",
    "examine_sources",
    "show",
]
