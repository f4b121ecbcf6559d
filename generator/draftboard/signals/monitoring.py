"""Whether the monitoring works: rules, records, notifications, storage and disks of the monitoring itself.

Their alerts read raw series, so that they fire where records are missing; the heartbeat shows that they exist.
"""

from draftboard.catalogue import Metric, around, serving
from draftboard.durations import Duration
from draftboard.expr.nodes import (
    LEVEL,
    Aggregate,
    Carrying,
    Evaluator,
    Expr,
    Function,
    If,
    InWindow,
    Labels,
    Now,
    OverTime,
    Raw,
    Span,
    constant,
    first_of,
    labelled,
    merged,
    on,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import LOOK_BACK, RATE_WINDOW, SILENCE, Setting
from draftboard.signals import requests
from draftboard.signals.presence import MANY, REMEMBERED, arriving
from draftboard.signals.signal import Better, Code, Signal, Unit, good_from, good_under
from draftboard.status import Status

_MONITOR = (Level.MONITOR,)
_DAY, _LATELY, _NOW = Duration(86_400), Duration(6 * 3600), Duration(900)
RETRIED = Duration(900)
"""Alertmanager gives a notification up, and tries again, once in its group_interval of mostly five minutes."""
GROUPS = "draftboard-"
"""With which the names of our groups of rules begin."""
_OUR_GROUPS = f".+;{GROUPS}.+"
_NO_DISK = "tmpfs|ramfs|overlay|squashfs|erofs|iso9660|fuse.*"


_SAME_PROGRAM = on(Labels("target"))


def _evaluating_ours(figure: Expr) -> Expr:
    """Of the Prometheus servers that evaluate our rules: others are not ours to watch."""
    return figure.combined("and", Raw(around.RULE_GROUPS).where("rule_group", _OUR_GROUPS), _SAME_PROGRAM)


def _increase(metric: Metric, span: Span, *by: str) -> Expr:
    return over_level("sum", Function("increase", Raw(metric, span)), *by)


heartbeat = Signal(
    name="heartbeat",
    title="Heartbeat",
    question="Do samples arrive, are the rules evaluated, and do alerts arrive?",
    description="1 while samples of any target arrive: if its alert stops, scraping, remote write, the rules or "
    "Alertmanager have failed.",
    action="Let a dead man's switch watch it.",
    unit=Unit.CODE,
    expr=arriving,
    record="draftboard_heartbeat:bool",
    levels=(Level.FLEET,),
    codes=(Code(1, "evaluated", Status.GOOD),),
    empty="no sample arrives, or no rules are evaluated",
)
_scraped_lately = OverTime("present_over_time", Raw(around.UP), REMEMBERED, pace=LOOK_BACK)
samples_stopped = Signal(
    name="samples_stopped",
    title="Samples stopped",
    question="Have all samples stopped?",
    description="1 where targets were scraped within rules.remember (by default 1h) and no sample of any target "
    "arrives now, by the widest label of labels.scope.",
    action="Look at scraping and at remote write: until samples arrive no other alert is right.",
    note="A target that is down still has samples: 0 of up.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=over_level("group", _scraped_lately).combined("unless", arriving),
    levels=(Level.SCOPE,),
    codes=(Code(1, "stopped", Status.BAD),),
    empty="samples arrive",
)
rules_failed = Signal(
    name="rules_failed",
    title="Failed rule evaluations",
    question="Are all rules evaluated?",
    description="Failed rules and missed evaluations of Draftboard's rule groups within the window of the rates, in "
    "Prometheus and in rulers of Mimir and Cortex.",
    action="Read the errors in Prometheus, under Status > Rule health.",
    unit=Unit.EVALUATIONS,
    better=Better.LOWER,
    expr=first_of(
        *(
            (InWindow(rate(failed)) + InWindow(rate(missed))).where("rule_group", _OUR_GROUPS)
            for failed, missed in (
                (around.RULES_FAILED, around.RULES_MISSED),
                (around.RULERS_FAILED, around.RULERS_MISSED),
            )
        )
    ),
    levels=_MONITOR,
    by=("rule_group",),
    bands=good_under(0, good="none", beyond="failed", status=Status.BAD),
    empty="Prometheus is not scraped",
)
records_missing = Signal(
    name="records_missing",
    title="Engines without records",
    question="Are the recording rules loaded?",
    description="Engines with series of vLLM and without the records made of them.",
    action="Load the recording rules, or build them for the labels that these servers carry.",
    unit=Unit.ENGINES,
    better=Better.LOWER,
    expr=over_level(
        "count",
        over_level("group", Raw(serving.REQUESTS_RUNNING))
        .combined("unless", requests.requests_running)
        .at(Level.ENGINE),
    ),
    levels=(Level.FLEET,),
    bands=good_under(0, good="none", beyond="missing", status=Status.BAD),
    empty="none is missing",
)
_refused, _dropped = (_increase(metric, RETRIED) for metric in (around.ALERTS_REFUSED, around.ALERTS_DROPPED))
notifications_failed = Signal(
    name="notifications_failed",
    title="Failed notifications",
    question="Do notifications arrive?",
    description=f"By integration, within {RETRIED}: what Alertmanager could not deliver; under alertmanager, what "
    "Prometheus could not hand to it.",
    action="Read Alertmanager's log: an expired secret, or a receiver that is down.",
    unit=Unit.NOTIFICATIONS,
    better=Better.LOWER,
    expr=first_of(
        # What reached none is counted twice, what was sent to none only as dropped.
        labelled(_evaluating_ours(first_of(_refused > _dropped, _dropped)), "integration", "alertmanager"),
        _increase(around.NOTIFICATIONS_FAILED, RETRIED, "integration"),
    ),
    levels=_MONITOR,
    by=("integration",),
    bands=good_under(0, good="none", beyond="failed"),
    empty="neither Prometheus nor Alertmanager is scraped",
)
_silent_alertmanagers = (
    Raw(around.UP)
    .equals(0)
    .combined("and", Function("last_over_time", Raw(around.ALERTMANAGER_BUILD, _DAY)), _SAME_PROGRAM)
    .combined("unless", Raw(around.ALERTMANAGER_BUILD), on(Labels("scope"), Labels("job")))
)
"""Alertmanagers that were seen within the day and do not answer, nor does any other of their job."""
alertmanagers = Signal(
    name="alertmanagers",
    title="Alertmanagers",
    question="Is there an Alertmanager to send alerts to?",
    description="Alertmanagers that a Prometheus sends to; 0 also for one that does not answer scrapes, unless "
    "another of its job does.",
    action="At 0, start Alertmanager, or correct alerting in prometheus.yml.",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=over_level("max", first_of(_evaluating_ours(Raw(around.ALERTMANAGERS)), _silent_alertmanagers)),
    levels=_MONITOR,
    codes=(Code(0, "none", Status.BAD),),
    empty="Prometheus is not scraped",
)
_corruptions = over_level("max", Raw(around.WAL_CORRUPTIONS))
_new_corruptions = first_of(
    # Found at start they are there from the first scrape on: no increase.
    _corruptions.combined(">", first_of(_corruptions.ago(REMEMBERED), constant(0, _corruptions))),
    constant(0, _corruptions),
)
storage_failures = Signal(
    name="storage_failures",
    title="Storage failures",
    question="Does Prometheus keep what it scrapes?",
    description="Corruptions, failed writes and truncations of the write-ahead log, and failed compactions, "
    "within rules.remember (by default 1h).",
    action="Make room on the disk, then read Prometheus' log.",
    note="Of Prometheus servers that evaluate Draftboard's rules.",
    unit=Unit.FAILURES,
    better=Better.LOWER,
    expr=_evaluating_ours(
        _increase(around.WAL_WRITES_FAILED, REMEMBERED)
        + _increase(around.WAL_TRUNCATIONS_FAILED, REMEMBERED)
        + _increase(around.COMPACTIONS_FAILED, REMEMBERED)
        + _new_corruptions
    ),
    levels=_MONITOR,
    bands=good_under(0, good="none", beyond="failed"),
    empty="Prometheus is not scraped",
)
remote_write_failed = Signal(
    name="remote_write_failed",
    title="Failed remote writes",
    question="Do samples reach the remote stores?",
    description=f"1 for a remote store that refused samples within {RETRIED}, or to which a Prometheus has sent none "
    "of the last window of the rates.",
    action="Read Prometheus' log: an expired token, a limit of the store, or no way to it.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=merged(
        "symptom",
        {
            "refuses samples": constant(1, _increase(around.REMOTE_SAMPLES_FAILED, RETRIED, "remote_name") > 0),
            "is behind": constant(
                1, Now() - over_level("min", Raw(around.REMOTE_SENT_UNTIL), "remote_name") > RATE_WINDOW
            ),
        },
    ),
    levels=_MONITOR,
    by=("remote_name", "symptom"),
    codes=(Code(1, "failing", Status.BAD),),
    empty="every remote store has the samples, or there is none",
)


def _distinct(label: str) -> Expr:
    """How many values of a label the engines of a target had lately."""
    lately = Function("last_over_time", Raw(serving.REQUESTS_RUNNING, SILENCE))
    return over_level("count", Aggregate("group", (LEVEL, Labels(label)), lately))


_scrapes = Raw(around.SERIES_ADDED, RATE_WINDOW)
_all_but_one = Function("sum_over_time", _scrapes) - Function("max_over_time", _scrapes)
_added = over_level("sum", _all_but_one / (Function("count_over_time", _scrapes) - 1))
"""A restart adds all series of a server anew, in one scrape: the largest does not count."""


def _many(label: str, name: str) -> Expr:
    return labelled(constant(1, _distinct(label) > MANY), "about", name)


_of_target = labelled(constant(1, over_level("max", Raw(around.SERIES_ADDED))), "about", "other")
_due_to = (
    _many("model_name", "models")
    .combined("or", _many("engine", "engines"), _SAME_PROGRAM)
    .combined("or", _of_target, _SAME_PROGRAM)
)
_named = Carrying(_added, "about", _due_to, (Labels("target"),))
new_series = Signal(
    name="new_series",
    title="New series per scrape",
    question="Does a server fill the memory of Prometheus?",
    description="Mean number of series that a scrape of a target adds, without the largest, and whether models or "
    "engines have many names; `other` where neither has.",
    action="List the models that servers may report in stack.scrape.models, or stop scraping the server.",
    unit=Unit.SERIES,
    better=Better.LOWER,
    expr=If(Evaluator.RECORDS, _named, labelled(_added, "about", "other")),
    record="scrape_series_added:mean",
    levels=_MONITOR,
    by=("about",),
    bands=good_under(Setting("thresholds.new_series"), good="steady", beyond="churning"),
    empty="nothing is scraped",
)


def _of_disk(metric: Metric) -> Expr:
    """By device: one disk is mounted at many places."""
    return over_level("max", Raw(metric), "device").without("fstype", _NO_DISK)


_available = _of_disk(around.DISK_AVAILABLE)
# A container sees its host's disk through read-only mounts: that alone does not tell a medium that nobody writes.
_written = _available.combined("!=", _available.ago(REMEMBERED))
_never_written = (_of_disk(around.DISK_READ_ONLY).equals(1) & (_available > 0)).combined("unless", _written)
disk_free = Signal(
    name="disk_free",
    title="Disk space left",
    question="How full are the disks?",
    description="Share of a disk that is free for users, by node-exporter; without read-only disks that never change.",
    action="Remove weights and images that nobody uses, or enlarge the disk.",
    better=Better.HIGHER,
    expr=(_available / _of_disk(around.DISK_SIZE)).combined("unless", _never_written),
    record="node_filesystem_avail:ratio",
    levels=_MONITOR,
    by=("device",),
    empty="no node-exporter is scraped",
)
_LIMIT = Setting("thresholds.disk_left")


def _in_a_day(span: Duration) -> Expr:
    """What is left in a day if it goes on as within the span."""
    return disk_free + (disk_free - disk_free.ago(span)) * (_DAY.seconds // span.seconds)


_fills = (
    _in_a_day(_LATELY)
    & (_in_a_day(_NOW) < _LIMIT)  # A download that has ended does not go on.
    & (disk_free < Setting("thresholds.disk_low"))
)
disk_left = Signal(
    name="disk_left",
    title="Disk space left in a day",
    question="Does a disk fill up?",
    description="Share of a disk that is left; below thresholds.disk_low the share in a day if it goes on as in "
    f"the last {_LATELY}.",
    action="Remove weights and images that nobody uses, or enlarge the disk.",
    note=f"Extrapolated only if the last {_NOW} agree. Negative if the disk is full within a day.",
    better=Better.HIGHER,
    expr=over_level("min", first_of(disk_free < _LIMIT, _fills, disk_free), "device"),
    levels=_MONITOR,
    by=("device",),
    bands=good_from(Setting("thresholds.disk_left"), good="room", under="filling"),
    empty=disk_free.empty,
    least=None,
)
