"""What each alert catches and how soon it tells, measured with promtool on its cases: `make detect` writes the page."""

import argparse
import json
import math
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from draftboard.alerts import SUBJECTS, WATCHDOG, Alert, load
from draftboard.alerts.runbook import fires_when
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.durations import Duration
from draftboard.expr.scope import Level
from draftboard.settings import Settings, Severity
from support import cases
from support.rulefiles import needed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/alerts.md"
FALSE_ALARMS = ROOT / "tests/data/false-alarms.json"
STEP, SCRAPES = 15, (15, 60)
LONGEST = 1800  # Minutes: an alert that is not told by then is an error.
UNKNOWN = "-"
HEAD = """# Alerts

The condition, detection time and receiver of each alert. `make detect` writes this page: edit the alerts and their
cases instead.

- **Detection time**: minutes from the start of the cause to the first evaluation at which the alert fires, with scrape
  intervals of 15 s and 60 s. promtool measures it in one case of `tests/rules/` for each alert, and evaluates the rules
  once a minute. The cause starts right after a scrape, and the scrape is right after an evaluation: the worst case.
  Where a case has no healthy past, the fault fills the windows of the rates from the start. After a healthy past, a
  mild fault takes longer, by up to these windows (hours for error budgets, days for their slow burn). Alertmanager
  waits another 30 s before it sends.
- **False alarms**: for each month and model, under the steady traffic of two kinds of request that
  `tests/scripts/false_alarms.py` simulates. `-`: not simulated.
- **Receiver**: in Alertmanager. `critical` is for the person on call, `warning` for business hours, `info` is
  advice, and `heartbeat` is a dead man's switch. [Notifications](../operate/notifications.md) describes their channels.
- **Inhibited by**: alerts on the cause. While one fires on the same labels, Alertmanager does not send this alert.

Thresholds are the defaults, objectives those of `tests/rules/objectives.toml`: without an objective in `[slo]` there is
no alert on error budgets. The links lead to the runbooks.
"""
COLUMNS = """
| alert | fires when | detection time, 15 s | 60 s | false alarms | receiver | inhibited by |
|---|---|---|---|---|---|---|
"""
_RECORD = re.compile(rf"({'|'.join(level.value for level in Level)}):")
_ROW = re.compile(r"^\| \[?`(\w+)`.*?\| (\d+ min) \| (\d+ min) \|", re.MULTILINE)


@dataclass(frozen=True)
class Story:
    """A group of cases of the alert, and the last scrape before the cause begins."""

    beginning: str
    """Of the group's name."""
    cause: int
    """Minutes."""
    where: str = ""
    """A matcher, where the group tells of others too."""


STORIES = {
    "SpecDecodeNotPaying": Story("length just under", 0),
    "SpecDecodeAcceptanceDrop": Story("a drop to just under", 62),
    "SpecDecodeLengthAnomaly": Story("exactly three deviations", 419, 'model_name="llama"'),
    "SpecDecodeAcceptanceDecline": Story("a steady leak", 720),
    "SpecDecodeEngineOutlier": Story("just under 75 percent", 0),
    "SpecDecodeSuspiciouslyHigh": Story("just over 98 percent", 0),
    "SpecDecodeInactive": Story("tokens without drafts", 0),
    "SpecDecodeMetricsMissing": Story("a server that came back", 20),
    "SpecDecodeMetricsInconsistent": Story("an identity that is off by over", 0),
    "SpecDecodeClassLoses": Story("a class just under", 0, 'class!="0"'),
    "VLLMModelDown": Story("an outage is told", 9),
    "VLLMModelGone": Story("a model that is away for exactly", 9, 'model_name="long"'),
    "VLLMReplicasMissing": Story("one server of three", 0, 'model_name="m"'),
    "VLLMUsersUnserved": Story("probes that all fail", 9, 'model_name="m"'),
    "VLLMTargetDown": Story("a server that stops answering", 9),
    "VLLMTargetFlapping": Story("it resolves half an hour", 29),  # The third restart.
    "VLLMModelFlapping": Story("exactly two replacements", 39, 'model_name="m"'),  # The third replacement.
    "VLLMServerOutlier": Story("a server that ends requests", 0),
    "VLLMEngineStuck": Story("scrapes every 60s", 39),
    "VLLMRequestsUnanswered": Story("scrapes every 60s", 40),
    "VLLMRequestsAbandoned": Story("scrapes every 60s", 0),
    "VLLMErrors": Story("5 % of errors", 0),
    "VLLMHTTPErrors": Story("a server whose engine has died", 5),
    "VLLMAdmissionRejected": Story("exactly 1 % of rejections", 0),
    "VLLMErrorBudgetBurnsFast": Story("over 14.4 times", 59, 'model_name="spike"'),
    "VLLMErrorBudgetBurnsSlowly": Story("exactly the budget", 0, 'model_name="llama"'),
    "VLLMSpeculationSlowsUsers": Story("exactly 0.95", 0),
    "VLLMKVCachePressure": Story("exactly 90 %", 0),
    "VLLMPreemptions": Story("exactly one preemption", 0),
    "VLLMUsersWait": Story("requests that wait while none", 0, 'model_name="llama"'),
    "VLLMQueueGrowing": Story("exactly one request more", 0),
    "VLLMStepsSlow": Story("a restart ends it", 150),
    "DraftboardRulesFail": Story("failures and missed", 5),
    "DraftboardSamplesStopped": Story("samples that stop", 10),
    "DraftboardRecordsMissing": Story("one engine of two", 20),
    "DraftboardModelUnwatched": Story("servers that no job", 5, 'model_name="m"'),
    "DraftboardAlertmanagerDown": Story("no Alertmanager", 5),
    "DraftboardNotificationsFail": Story("failures at every", 5),
    "DraftboardRemoteWriteFails": Story("samples that a store refuses", 5),
    "DraftboardStorageFails": Story("each kind", 5),
    "DraftboardDiskFilling": Story("less than 5 %", 5, 'instance="low:9100"'),
    "DraftboardSeriesChurn": Story("more than 500 new series", 4, 'instance="churns"'),
    "DraftboardWatchdog": Story("servers that are idle", 0),
}


def samples(notation: str) -> Iterator[str]:
    """The samples of promtool's notation, one by one; what is missing after a target has left stays stale."""
    gone = False
    for item in notation.split():
        found = re.fullmatch(r"(_|stale|-?[\d.]+)(?:([+-][\d.]+))?(?:x(\d+))?", item)
        assert found is not None, item
        start, step, times = found[1], float(found[2] or 0), int(found[3] or 0)
        if start in {"_", "stale"}:
            gone = start == "stale" or gone
            yield from ["stale" if gone else "_"] * max(1, times)
        else:
            gone = False
            yield from (repr(float(start) + step * at) for at in range(times + 1))


def scraped(series: Mapping[str, str], seconds: int, scrape: int) -> dict[str, str]:
    """The same series at another interval, on a grid of STEP: counters grow evenly, all else jumps at once.

    Records are evaluated, not scraped: they have a sample at each point of the grid.
    """
    values, counts = list(samples(series["values"])), re.match(r"\w+_(total|count|sum|bucket)\b", series["series"])

    def at(moment: int) -> str:
        index, beyond = divmod(moment, seconds)
        if not beyond:
            return values[index]
        before, after = values[index], values[index + 1]
        if not counts or {before, after} & {"_", "stale"} or float(after) < float(before):
            return after
        return repr(float(before) + (float(after) - float(before)) * beyond / seconds)

    moments = range(0, (len(values) - 1) * seconds + 1, STEP)
    step = STEP if _RECORD.match(series["series"]) else scrape
    seen = ("_" if moment % step else at(moment) for moment in moments)
    return {"series": series["series"], "values": " ".join(["_", *seen])}


def minutes_to_tell(alert: str, scrape: int, promtool: Path, files: Mapping[str, str]) -> int:
    """From the cause in the alert's story to the first evaluation at which it fires, rounded up.

    The story begins STEP after an evaluation, so that scrapes every minute are seen late.
    """
    story, files_of_alert = STORIES[alert], cases.FOLDER.glob(f"alert-{alert}*.cases.yaml")
    ((document, group),) = (
        (document, group)
        for document in map(cases.read, files_of_alert)
        for group in document["tests"]
        if group["name"].startswith(story.beginning)
    )
    interval = Duration.parse(group.get("interval", document["evaluation_interval"])).seconds
    end = story.cause + LONGEST
    firing = f'alertname="{alert}",alertstate="firing",{story.where}'
    first = f"min(min_over_time(timestamp(ALERTS{{{firing}}})[{end + 1}m:1m]))"
    rules = needed({name: rules for name, rules in files.items() if name in document["rule_files"]}, alert)
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "group_eval_order": [group["name"] for group in rules],
        "tests": [
            {
                "interval": f"{STEP}s",
                "input_series": [scraped(series, interval, scrape) for series in group["input_series"]],
                "promql_expr_test": [{"eval_time": f"{end}m", "expr": first}],
            }
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rules.yaml").write_text(json.dumps({"groups": rules}))
        (Path(folder) / "story.yaml").write_text(json.dumps(test))
        command = [str(promtool), "test", "rules", f"{folder}/story.yaml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Nothing is expected, so that promtool prints what it got.
    got = re.search(r"got:\s*\{\} ([\d.E+]+)", said := done.stdout + done.stderr)
    assert got is not None, f"{alert} does not fire with scrapes every {scrape} s: {said}"
    return math.ceil((float(got[1]) - STEP) / 60) - story.cause


def receiver(alert: Alert, severity: Severity) -> str:
    """Where Alertmanager sends it."""
    return "heartbeat" if alert.name == WATCHDOG else severity


def row(alert: Alert, settings: Settings, times: tuple[str, ...], alarms: Mapping[str, float]) -> str:
    """The line of an alert on the page."""
    runbook = f"alerts/runbooks/{alert.name}.md"
    name = f"[`{alert.name}`](../../{runbook})" if (ROOT / runbook).is_file() else f"`{alert.name}`"
    false = f"{alarms[alert.name]:.2g}" if alert.name in alarms else UNKNOWN
    causes = ", ".join(f"`{cause}`" for cause in alert.inhibited_by) or UNKNOWN
    told = f"`{receiver(alert, alert.policy(settings).severity)}`"
    return f"| {' | '.join((name, fires_when(alert, settings), *times, false, told, causes))} |"


def page(settings: Settings, times: Mapping[str, tuple[str, ...]]) -> str:
    """The page, with these times to tell."""
    alarms = json.loads(FALSE_ALARMS.read_text())["alarms"] if FALSE_ALARMS.is_file() else {}
    return HEAD + "".join(
        f"\n## On {subject}\n{COLUMNS}"
        + "".join(row(alert, settings, times[alert.name], alarms) + "\n" for alert in alerts)
        for subject, alerts in SUBJECTS.items()
    )


def stated() -> dict[str, tuple[str, ...]]:
    """The times to tell that the page states, by alert."""
    return {name: tuple(times) for name, *times in _ROW.findall(PAGE.read_text())}


def measured(alert: str, promtool: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """The times to tell of an alert, at each interval of scrapes."""
    return tuple(f"{minutes_to_tell(alert, scrape, promtool, files)} min" for scrape in SCRAPES)


def under_test() -> tuple[Settings, dict[str, str]]:
    """The settings of the cases, under which every alert exists, and the rules made of them."""
    settings = load(ROOT / "tests/rules/objectives.toml")
    return settings, {path: render(settings)[path] for path in (RECORDING, ALERTING)}


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--promtool", type=Path, help="measure the times to tell; else those of the page stay")
    promtool = parser.parse_args().promtool
    settings, files = under_test()
    times = {alert: measured(alert, promtool, files) for alert in STORIES} if promtool else stated()
    PAGE.write_text(page(settings, times))


if __name__ == "__main__":
    main()
