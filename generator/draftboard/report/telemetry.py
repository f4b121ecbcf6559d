"""Reports as OpenTelemetry log records (extra `draftboard[otlp]`)."""

import atexit
from collections.abc import Callable

from draftboard import __version__, output
from draftboard.extras import optional_module
from draftboard.report.document import health_of
from draftboard.report.objects import Report
from draftboard.status import Status

_WHY, _EXTRA = "--otlp requires", "otlp"
_BAD = {Status.DOWN, Status.BAD, Status.DUE}


def sender() -> Callable[[Report], None]:
    """A function that sends a report of one model; the exporter reads its address from OTEL_EXPORTER_OTLP_ENDPOINT.

    The body is the report as JSON, as `--json` prints it. DraftboardError where the SDK is not installed.
    """
    sdk = optional_module("opentelemetry.sdk._logs", _WHY, _EXTRA)
    batches = optional_module("opentelemetry.sdk._logs.export", _WHY, _EXTRA)
    otlp = optional_module("opentelemetry.exporter.otlp.proto.http._log_exporter", _WHY, _EXTRA)
    records = optional_module("opentelemetry._logs", _WHY, _EXTRA)
    provider = sdk.LoggerProvider()
    provider.add_log_record_processor(batches.BatchLogRecordProcessor(otlp.OTLPLogExporter()))
    atexit.register(provider.shutdown)
    logger = provider.get_logger("draftboard", __version__)

    def send(report: Report) -> None:
        (model,) = report.models
        worst = health_of(model)
        bad = worst is not None and worst.status in _BAD
        severity = records.SeverityNumber.WARN if bad else records.SeverityNumber.INFO
        taken = None if report.taken_at is None else int(report.taken_at * 1e9)
        body, about = output.as_json(report, indent=None), {"gen_ai.request.model": model.model}
        record = records.LogRecord(timestamp=taken, severity_number=severity, body=body, attributes=about)
        logger.emit(record)

    return send
