"""A private Prometheus that scrapes one server and evaluates the rules, as the stack's would."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from conftest import program
from draftboard import reading
from draftboard import report as report_room
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.expr.to_promql import promql_of
from draftboard.prometheus import Client, Server
from draftboard.report import ModelReport
from draftboard.settings import Settings
from draftboard.signals import Scope, Signal
from draftboard.signals.events import firing_alerts

SETTLED = 8
"""Evaluations after which every record is of now: some read others, in groups that take turns."""

PATIENCE = 90
"""Seconds in which an alert fires or resolves, with rules for seconds and on a slow machine."""


@dataclass(frozen=True)
class Scraper:
    """It scrapes."""

    client: Client
    settings: Settings

    def settled(self) -> float:
        """Wait until all that was counted by now is in every record; returns the time then."""
        time.sleep(SETTLED * self.settings.rules.evaluation_interval.seconds)
        return time.time()

    def recorded(self, signal: Signal, at: float) -> list[float]:
        """Values of a record: one, or by the signal's own label in order of numbers."""
        found = self.client.query(promql_of(signal, Scope(self.settings)), at)
        own = signal.by[0] if signal.by else ""
        return [series.samples[0][1] for series in sorted(found, key=lambda one: int(one.labels.get(own, 0)))]

    def wait_until_firing(self, alerts: set[str]) -> None:
        """Until these alerts fire, and no others."""
        until = time.monotonic() + PATIENCE
        while (found := self.firing) != alerts:
            assert time.monotonic() < until, f"{found} fire, not {alerts}"
            time.sleep(self.settings.rules.evaluation_interval.seconds)

    @property
    def firing(self) -> set[str]:
        """Names of the alerts that fire now."""
        return {
            series.labels["alertname"]
            for series in self.client.query(promql_of(firing_alerts, Scope(self.settings)), time.time())
        }

    def report(self, at: float) -> ModelReport:
        """What a report says of the window that ends then."""
        source = reading.Recorded(self.client.url, self.settings.rules.rate_window, at=at)
        (model,) = report_room.report(source, self.settings).models
        return model


@contextmanager
def scraping(folder: Path, settings: Settings, port: int, method: str) -> Iterator[Scraper]:
    """Scrape a server on loopback for the time of a `with`, from its first scrape on."""
    rules, built = settings.rules, render(settings)
    files = {Path(name).name: built[name] for name in (RECORDING, ALERTING)}
    for name, text in files.items():
        (folder / name).write_text(text)
    configuration = {
        "global": {
            "scrape_interval": str(rules.scrape_interval),
            "scrape_timeout": str(rules.scrape_interval),
            "evaluation_interval": str(rules.evaluation_interval),
        },
        "rule_files": list(files),
        "scrape_configs": [
            {
                "job_name": "vllm",
                "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": {"spec_method": method}}],
            }
        ],
    }
    server = Server(program("prometheus"), folder, rules.rate_window, yaml.safe_dump(configuration))
    with server.running() as url, Client(url) as client:
        scraper = Scraper(client, settings)
        scraper.settled()
        yield scraper
