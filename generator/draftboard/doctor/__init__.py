"""What keeps dashboards and rules empty or wrong: command lines, pages of servers and a Prometheus are examined."""

from draftboard.doctor.command import examine_command, examine_config
from draftboard.doctor.finding import Diagnosis, Examination, Finding, Severity, document
from draftboard.doctor.pages import examine_pages, examine_sources
from draftboard.doctor.prometheus import examine_prometheus
