"""Dashboards drawn from their own JSON with real query results, where no Grafana runs.

A preview, not Grafana: what it draws follows Grafana's rules as far as Draftboard's dashboards need them, and what it
does not know it refuses by name. Needs the extra `plots`.
"""

from draftboard.preview.document import Dashboard
from draftboard.preview.preview import drawn, pages
from draftboard.preview.sources import in_folder, made
from draftboard.preview.times import Span, between

__all__ = ["Dashboard", "Span", "between", "drawn", "in_folder", "made", "pages"]
