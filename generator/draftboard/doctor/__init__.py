"""What keeps dashboards and rules empty or wrong: command lines, pages of servers and a Prometheus are examined."""

from draftboard.doctor.command import examine_command, examine_config
from draftboard.doctor.cost import examine_cost
from draftboard.doctor.evaluated import examine_ruler
from draftboard.doctor.finding import Diagnosis, document
from draftboard.doctor.loaded import ReadOnce
from draftboard.doctor.manifests import examine_manifest, is_manifest
from draftboard.doctor.pages import examine_sources
from draftboard.doctor.prometheus import examine_prometheus
from draftboard.doctor.releases import release_of
