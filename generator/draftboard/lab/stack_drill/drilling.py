"""What a drill of the stack sets up and takes away again, whatever happens in between."""

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab.listening import Listener, answering
from draftboard.lab.receivers import StandIns
from draftboard.lab.stack_drill.containers import Container, Stack, find
from draftboard.lab.stack_drill.result import Moment, StackDrill
from draftboard.lab.stack_drill.routing import channels, rerouted, route_of
from draftboard.lab.stack_drill.server import NAME, DrillServer, scraped
from draftboard.lab.stack_drill.steps import PAGE, Drill, Killed, OverdueError
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client
from draftboard.settings import Settings

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STARTS = 60
"""Seconds until Alertmanager answers after its start."""
_FORGOTTEN = Duration(900)
"""After it Prometheus has forgotten an outage that was broken off."""
_ABSENCE = "DraftboardAlertmanagerDown|DraftboardNotificationsFail"
_ALERTS_ON_ABSENCE = Duration(3600)
"""For so long after Alertmanager's absence these alerts may fire: the second looks back half an hour."""


def rehearse(
    settings: Settings,
    *,
    project: str | None,
    killed: Killed,
    away: Duration,
    real: bool,
    progress: Progress = no_progress,
) -> StackDrill:
    """Drill the stack that runs on this machine, and leave it as it was.

    The real receivers are sent nothing of the drill unless `real`; all other alerts go where they always go.
    Raises DraftboardError where no stack runs, or where its containers do not reach this machine.
    """
    stack, stand_ins = find(project), StandIns()
    server, matcher = DrillServer(stand_ins), f'{settings.labels.job}="{NAME}"'
    failures: list[str] = []
    with ExitStack() as undo:
        prometheus = undo.enter_context(Client(stack.prometheus.url))
        severity = _severity(prometheus)
        for number in _SIGNALS:
            undo.callback(signal.signal, number, signal.getsignal(number))
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # A terminal that is closed, as an interrupt.
            signal.signal(signal.SIGHUP, signal.default_int_handler)
        place = undo.enter_context(_listening(stack, server))
        configuration = undo.enter_context(rerouted(stack.alertmanager, matcher, f"http://{place}", real=real))
        silences = _Silences(stack.alertmanager)
        silences.expire(matcher)
        if killed == "alertmanager":
            silences.add(away + _ALERTS_ON_ABSENCE, "a drill kills Alertmanager", f'alertname=~"{_ABSENCE}"')
        undo.enter_context(scraped(stack.prometheus, place, settings))
        broken_off = undo.enter_context(ExitStack())
        if not real:
            broken_off.callback(silences.add, _FORGOTTEN, "a drill was broken off", matcher)
        for container in (stack.prometheus, stack.alertmanager):
            undo.callback(container.start)
        for number in _SIGNALS:  # Nothing interrupts what follows.
            undo.callback(signal.signal, number, signal.SIG_IGN)
        route = route_of(configuration, severity)
        must = channels(configuration, route["receiver"])
        drill = Drill(stack, prometheus, server, place, stand_ins, must, route, settings, progress)
        try:
            drill.run(killed, away)
            broken_off.pop_all()
        except OverdueError as error:
            failures.append(str(error))
    failures += drill.wrong_ends()
    moments = sorted([*drill.done, *_heard(stand_ins, drill.began)], key=lambda one: one.after_seconds)
    return StackDrill(
        stack.project,
        killed,
        away.seconds,
        route["receiver"],
        must,
        tuple(moments),
        tuple(failures),
        passed=not failures,
    )


def _heard(stand_ins: StandIns, began: float) -> Iterator[Moment]:
    for one in stand_ins.arrivals:
        what = f"{one.status}: {one.title.removeprefix('Resolved: ')}"
        yield Moment(one.at - began, f"{one.receiver} {one.channel}", what)


@contextmanager
def _listening(stack: Stack, server: DrillServer) -> Iterator[str]:
    """Answer the stack's containers for the time of a `with`; yields host:port."""
    host = stack.alertmanager.gateway
    try:
        listener = Listener(host, 0, server)
    except DraftboardError:
        reason = "is not an address of this machine, as with Docker Desktop: run the drill on the host of Docker"
        raise DraftboardError(f"{host or 'the gateway'} of {stack.project}'s network {reason}") from None
    with listener, answering([listener]):
        place = f"{host}:{listener.server_port}"
        for one in (stack.prometheus, stack.alertmanager):
            if one.answers(f"http://{place}/") is None:
                reason = "let the firewall accept what comes from Docker's networks"
                raise DraftboardError(f"{place}: not reached from the container of {one.service}: {reason}")
        yield place


def _severity(prometheus: Client) -> str:
    """Of the page, as the loaded rules have it."""
    found = [rule for rule in prometheus.rules() if rule.name == PAGE and "severity" in rule.labels]
    if not found:
        reason = "is not among the rules, with a severity: the drill needs it. See `make reload`"
        raise DraftboardError(f"{prometheus.url}: {PAGE} {reason}")
    return found[0].labels["severity"]


@dataclass(frozen=True)
class _Silences:
    """Of Alertmanager, for what the real receivers would be sent for no other reason than the drill."""

    alertmanager: Container

    def add(self, duration: Duration, why: str, matcher: str) -> None:
        """Add one, as soon as Alertmanager answers."""
        deadline = time.time() + _STARTS
        while self.alertmanager.answers("http://127.0.0.1:9093/-/ready") is None and time.time() < deadline:
            time.sleep(1)
        self._amtool("add", f"--duration={duration}", f"--comment={why}", matcher)

    def expire(self, matcher: str) -> None:
        """End those of an earlier drill."""
        if found := self._amtool("query", "--quiet", matcher).split():
            self._amtool("expire", *found)

    def _amtool(self, *words: str) -> str:
        return self.alertmanager.run("amtool", "--alertmanager.url=http://127.0.0.1:9093", "silence", *words)
