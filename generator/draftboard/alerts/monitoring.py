"""Alerts on the monitoring itself: `critical` where it means that no other alert arrives."""

from draftboard.alerts.alert import Alert
from draftboard.signals import Level, monitoring
from draftboard.signals.events import WATCHDOG

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
        when="rules of a group fail or miss their time, again and again",
        summary="Rules fail, so their alerts cannot fire.",
        description="${who}: ${value} evaluations in rule group {{ $labels.rule_group }} failed or were missed within "
        "${rules.rate_window}. Alerts that depend on them do not fire.",
        dashboard="capacity",
    ),
    Alert(
        name="DraftboardRecordsMissing",
        signal=monitoring.records_missing,
        beyond="missing",
        for_="10m",
        severity="critical",
        level=Level.FLEET,
        guard=None,
        when="engines are scraped, and the records made of their series are missing",
        summary="Metrics of vLLM arrive, and their records are missing.",
        description="${value} engines have no records: the recording rules are not loaded or not evaluated. Most "
        "alerts cannot fire.",
        dashboard="overview",
    ),
    Alert(
        name="DraftboardAlertmanagerDown",
        signal=monitoring.alertmanagers,
        beyond="none",
        for_="5m",
        severity="critical",
        level=Level.MONITOR,
        guard=None,
        when="Prometheus knows no Alertmanager, or none of a job of Alertmanagers answers scrapes",
        summary="No Alertmanager takes alerts.",
        description="${who}: no Alertmanager is known or answers. Alerts reach nobody.",
        dashboard="overview",
    ),
    Alert(
        name="DraftboardNotificationsFail",
        signal=monitoring.notifications_failed,
        beyond="failed",
        for_="20m",
        level=Level.MONITOR,
        guard=None,
        when="notifications fail, or alerts do not reach an Alertmanager, again and again",
        summary="Notifications of alerts fail.",
        description="${who}: ${value} notifications to {{ $labels.integration }} failed within "
        f"{monitoring.RETRIED}.",
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
        summary="The storage of Prometheus fails.",
        description="${who}: ${value} operations of its storage failed within ${rules.remember}. Samples may be lost.",
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
        when="less than ${limit} of a disk is left, or will be within a day",
        summary="A disk fills up.",
        description="${who}: ${value} of {{ $labels.device }} is left, now or in a day if it goes on.",
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
        when="the rules are evaluated, which is always",
        summary="Alerting works.",
        description="Rules are evaluated and alerts arrive. A dead man's switch that stops receiving this alert must "
        "page.",
        dashboard="overview",
    ),
)
