"""The report: what some servers did over a time, judged, from wherever it can be read."""

from draftboard.report.document import (
    OF_TIMES,
    cells_of,
    document,
    named,
    numbers_of,
    origin_in_words,
    time_in_words,
    verdict_of,
    warnings,
)
from draftboard.report.judge import broken_identities
from draftboard.report.objects import (
    SCHEMA_VERSION,
    Broken,
    EngineReport,
    Judged,
    Latencies,
    Latency,
    ModelReport,
    Origin,
    Report,
    Sample,
    Sampling,
    Speculation,
    Traffic,
    Verdict,
)
from draftboard.report.plot import draw, require_drawable
from draftboard.report.reporting import Reading, judged, report, report_each
from draftboard.report.schema import load_report, schema
