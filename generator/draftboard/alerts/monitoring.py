"""Alerts on the monitoring itself: `critical` where it means that no other alert arrives."""

from draftboard.alerts.alert import Alert
from draftboard.signals import Level, absence, monitoring
from draftboard.signals.events import WATCHDOG

SAMPLES_STOPPED = "DraftboardSamplesStopped"
"""While it fires, the end of any other alert means nothing: nobody is notified of it."""
ON_MONITORING = (
    Alert(
        name="DraftboardRulesFail",
        signal=monitoring.rules_failed,
        beyond="failed",
        for_="10m",
        keep_firing_for="10m",
        severity="critical",
        level=Level.MONITOR,
        guard=None,
        when="rule evaluations of a group keep failing or being missed",
        summary="Rule evaluations fail, so their alerts cannot fire.",
        description="${who}: ${value} evaluations in rule group {{ $labels.rule_group }} failed or were missed within "
        "${rules.rate_window}. Alerts that depend on them do not fire.",
        dashboard="capacity",
    ),
    Alert(
        name=SAMPLES_STOPPED,
        signal=monitoring.samples_stopped,
        beyond="stopped",
        for_="1m",
        severity="critical",
        level=Level.SCOPE,
        guard=None,
        when="targets of a cluster were scraped within ${rules.remember}, and no sample of any of them arrives",
        summary="No samples arrive.",
        description="No sample of any target arrives. Alerts that were firing have not been resolved: their state is "
        "unknown until samples arrive.",
        dashboard="status",
    ),
    Alert(
        name="DraftboardRecordsMissing",
        signal=monitoring.records_missing,
        beyond="missing",
        for_="10m",
        severity="critical",
        level=Level.FLEET,
        guard=None,
        when="engines are scraped, but the recording rules produce no records of them",
        summary="vLLM is scraped, but its records are missing.",
        description="${value} engines have no records: the recording rules are not loaded or not evaluated. Most "
        "alerts cannot fire.",
        dashboard="overview",
    ),
    Alert(
        name="DraftboardModelUnwatched",
        signal=absence.unwatched,
        beyond="unwatched",
        for_="10m",
        level=Level.SERVICE,
        guard=None,
        when="deployments of a model have servers ready, and none of them is a scrape target",
        summary="A model is served, and Prometheus scrapes none of its servers.",
        description="${who} has servers ready, and none is a scrape target. No other alert on it can fire.",
        dashboard="latency",
    ),
    Alert(
        name="DraftboardAlertmanagerDown",
        signal=monitoring.alertmanagers,
        beyond="none",
        for_="5m",
        severity="critical",
        level=Level.MONITOR,
        guard=None,
        when="Prometheus has no Alertmanager, or no Alertmanager of a job answers scrapes",
        summary="No Alertmanager receives alerts.",
        description="${who}: Prometheus has no Alertmanager, or none answers. Alerts reach nobody.",
        dashboard="overview",
    ),
    Alert(
        name="DraftboardNotificationsFail",
        signal=monitoring.notifications_failed,
        beyond="failed",
        for_="20m",
        level=Level.MONITOR,
        guard=None,
        when="notifications keep failing, or alerts do not reach an Alertmanager",
        summary="Alert notifications fail.",
        description="${who}: ${value} notifications to {{ $labels.integration }} failed within "
        f"{monitoring.RETRIED}.",
        dashboard="capacity",
    ),
    Alert(
        name="DraftboardRemoteWriteFails",
        signal=monitoring.remote_write_failed,
        beyond="failing",
        for_="10m",
        keep_firing_for="10m",
        level=Level.MONITOR,
        guard=None,
        when="a remote store refuses samples, or is more than ${rules.rate_window} behind",
        summary="Samples do not reach a remote store.",
        description="${who}: the remote store {{ $labels.remote_name }} {{ $labels.symptom }}. Pages and alerts that "
        "read it miss samples; those that wait for over two hours are lost.",
        dashboard="capacity",
    ),
    Alert(
        name="DraftboardStorageFails",
        signal=monitoring.storage_failures,
        beyond="failed",
        for_="5m",
        level=Level.MONITOR,
        guard=None,
        when="the write-ahead log of Prometheus is corrupt or cannot be written or truncated, or a compaction fails, "
        "within the last ${rules.remember}",
        summary="Prometheus storage fails.",
        description="${who}: ${value} storage operations failed within ${rules.remember}. Samples may be lost.",
        dashboard="capacity",
    ),
    Alert(
        name="DraftboardDiskFilling",
        signal=monitoring.disk_left,
        beyond="filling",
        for_="30m",
        keep_firing_for="1h",
        level=Level.MONITOR,
        guard=None,
        when="less than ${limit} of a disk is free, or will be within a day",
        summary="A disk is filling up.",
        description="${who}: ${value} of {{ $labels.device }} is free, now or within a day at the present rate.",
        dashboard="capacity",
    ),
    Alert(
        name="DraftboardSeriesChurn",
        signal=monitoring.new_series,
        beyond="churning",
        for_="1m",
        level=Level.MONITOR,
        guard=None,
        when="each scrape of a server adds more than ${limit} new series",
        summary="A server adds new series with each scrape.",
        description="${who} adds ${value} new series with each scrape. What is new: {{ $labels.about }}. They fill the "
        "memory of Prometheus, and then no alert fires. Before that, the stack stops scraping it for three hours: then "
        "VLLMTargetDown fires for it, though it may serve.",
        dashboard="capacity",
    ),
    Alert(
        name=WATCHDOG,
        signal=monitoring.heartbeat,
        beyond="evaluated",
        for_="1m",
        severity="none",  # Inhibitions of others, such as kube-prometheus' of infos, leave it alone.
        level=Level.FLEET,
        guard=None,
        when="samples arrive and the rules are evaluated",
        summary="Alerting works.",
        description="Samples arrive, rules are evaluated and alerts arrive. A dead man's switch that stops receiving "
        "this alert must page.",
        dashboard="overview",
    ),
)
