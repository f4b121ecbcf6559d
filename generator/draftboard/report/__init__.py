"""The report: what some servers did over a time, judged, from wherever it can be read."""

from draftboard.report.document import (
    BY_COSTS,
    document,
    health_of,
    named,
    range_of,
    status_of,
    time_in_words,
    verdict_of,
    verdict_text,
    warnings,
    worst_first,
)
from draftboard.report.felt import SOONER, Felt
from draftboard.report.judge import broken_identities
from draftboard.report.numbers import Part, Sample, Speculation
from draftboard.report.objects import APPEARED, RESTARTED, ModelReport, Origin, Report, Sampling, Verdict
from draftboard.report.plot import draw
from draftboard.report.reporting import Reading, judged, of_pages, read, report, report_each
from draftboard.report.saved import load_report, schema
from draftboard.report.scatter import ratios, why_none
from draftboard.report.standardised import standardised
