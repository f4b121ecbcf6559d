"""Is everything in place for the dashboards and rules to show something, and if not, what is missing and why?"""

from draftboard.doctor.examine import examine_command, examine_config
from draftboard.doctor.finding import Empty, Examination, Finding, Severity
from draftboard.doctor.prometheus import examine_prometheus
from draftboard.doctor.show import as_json, show

__all__ = [
    "Empty",
    "Examination",
    "Finding",
    "Severity",
    "as_json",
    "examine_command",
    "examine_config",
    "examine_prometheus",
    "show",
]
