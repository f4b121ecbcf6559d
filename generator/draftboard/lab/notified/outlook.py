"""The notifications of a past: what fired, what Alertmanager makes of it, and how that compares with incidents."""

from collections.abc import Sequence

from draftboard.durations import Duration
from draftboard.lab.notified.firing import Evaluator, past
from draftboard.lab.notified.incidents import Incident, compared
from draftboard.lab.notified.result import Outlook
from draftboard.lab.notified.sent import sent
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client
from draftboard.settings import Settings


def outlook(
    client: Client,
    settings: Settings,
    evaluator: Evaluator,
    *,
    since: float,
    until: float,
    incidents: Sequence[Incident] | None,
    late: Duration,
    early: Duration,
    progress: Progress = no_progress,
) -> Outlook:
    """The notifications from `since` to `until` (Unix seconds); incidents are those within that time.

    Raises DraftboardError where nothing was scraped, or where the server cannot answer.
    """
    found = past(client, settings, evaluator, since=since, until=until, progress=progress)
    messages = sent(found.fired, settings, step=settings.rules.evaluation_interval.seconds)
    within = [one for one in incidents or () if found.start <= one.since <= found.end]
    detections, false = compared(within, messages, late=late, early=early)
    return Outlook(
        source=client.url,
        start=found.start,
        end=found.end,
        basis=found.basis,
        scraped=found.scraped,
        fired=len(found.fired),
        notifications=tuple(messages),
        incidents=detections,
        false_pages=None if incidents is None else false,
    )
