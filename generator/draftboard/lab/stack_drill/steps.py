"""A drill on the running stack: an outage, its end, and another, with a part of the monitoring killed in between."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab.receivers import Message, StandIns, Status
from draftboard.lab.stack_drill.containers import Container, Stack
from draftboard.lab.stack_drill.result import Moment
from draftboard.lab.stack_drill.routing import Configuration, interval
from draftboard.lab.stack_drill.server import NAME, DrillServer
from draftboard.output import Progress
from draftboard.prometheus import Client
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.states import target_up

PAGE = "VLLMModelDown"
"""The alert on an outage."""
Killed = Literal["alertmanager", "prometheus"]
_PATIENCE = 900
"""Seconds for what takes an outage to be noticed, or Prometheus to read its log, at settings that people use."""
_BETWEEN_LOOKS = 1
_STEPS = 10
_SAVED = 70
"""Seconds after which Alertmanager has saved what it has sent (--data.maintenance-interval=1m): with less, it sends all
again after a crash, and the harder case is not tried."""


class OverdueError(Exception):
    """Something did not come in time: the drill has failed, and ends."""


@dataclass
class Drill:
    """A drill that runs."""

    stack: Stack
    prometheus: Client
    server: DrillServer
    place: str
    """host:port of the server."""
    stand_ins: StandIns
    must: tuple[str, ...]
    """Channels that must be sent what happens."""
    route: Configuration
    """Of the page in Alertmanager."""
    settings: Settings
    progress: Progress
    began: float = field(default_factory=time.time)
    outages: list[float] = field(default_factory=list)
    """Unix times at which an outage began."""
    done: list[Moment] = field(default_factory=list)

    def note(self, what: str) -> None:
        """Write down what the drill does."""
        self.done.append(Moment(time.time() - self.began, "drill", what))
        self.progress(what, len(self.done), _STEPS)

    def fires(self) -> bool:
        """Whether the page of the drill's server fires; DraftboardError while Prometheus does not answer."""
        # Not by the series ALERTS, whose samples from before a crash hold for minutes.
        own = {"alertname": PAGE, self.settings.labels.job: NAME}.items()
        return any(one.state == "firing" and own <= one.labels.items() for one in self.prometheus.alerts())

    def known(self) -> bool:
        """Whether the rules have seen the server answer, with its model; DraftboardError as above."""
        record, labels = target_up.record_name(Level.TARGET, self.settings), self.settings.labels
        own = f'{labels.instance}="{self.place}",{labels.model_name}="{NAME}"'  # Not that of a drill just before.
        return bool(self.prometheus.query(f"{record}{{{own}}} == 1", time.time()))

    def outage(self) -> None:
        """The server stops answering."""
        self.server.up = False
        if not self.outages:
            self.began = time.time()
        self.outages.append(time.time())
        self.note(f"outage {len(self.outages)} begins: the server answers 503")

    def recovery(self) -> None:
        """It answers again."""
        self.server.up = True
        self.note(f"outage {len(self.outages)} ends")

    def until(self, holds: Callable[[], object], what: str, seconds: float = _PATIENCE) -> None:
        """Wait until it holds; while a program does not answer, it does not."""
        deadline = time.time() + seconds
        while True:
            try:
                if holds():
                    return
                problem = ""
            except DraftboardError as error:
                problem = f": {error}"
            if time.time() > deadline:
                raise OverdueError(f"not within {Duration(int(seconds))}: {what}{problem}")
            time.sleep(_BETWEEN_LOOKS)

    def wait_for(self, status: Status, since: float, more: float = 0) -> None:
        """Wait until every channel has had a message of a status since a Unix time, up to `more` seconds longer."""

        def missing(messages: tuple[Message, ...]) -> set[str]:
            of_page = self.of_page(messages)
            return {*self.must} - {one.channel for one in of_page if one.status == status and one.at >= since}

        seconds = _PATIENCE + more
        if not self.stand_ins.wait_for(lambda messages: not missing(messages), seconds):
            late = ", ".join(sorted(missing(self.stand_ins.arrivals)))
            raise OverdueError(f"{late}: no message `{status}` of outage {len(self.outages)} within {seconds:g} s")
        self.note(f"every receiver has been sent `{status}`")

    def of_page(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Those to the receiver of the page: of the drill, there are warnings too."""
        return (one for one in messages if one.receiver == self.route["receiver"])

    def wrong_ends(self) -> Iterator[str]:
        """Messages that a page was over, between one that it fires and the end of the outage."""
        ended = [one.after_seconds + self.began for one in self.done if one.what.endswith(" ends")]
        for number, began in enumerate(self.outages):
            end = ended[number] if number < len(ended) else time.time()
            for channel in self.must:
                fired = False
                for one in self.of_page(self.stand_ins.arrivals):
                    if one.channel != channel or not began < one.at < end:
                        continue
                    if fired and one.status == "resolved":
                        after = Duration(round(one.at - began))
                        yield f"{channel}: `resolved` {after} after outage {number + 1} began, which went on"
                    fired = one.status == "firing"

    def run(self, killed: Killed, away: Duration) -> None:
        """All of it."""
        self.progress("waiting until the rules know the drill's server", 0, _STEPS)
        # An outage of a drill that was killed may still fire.
        ready = "the rules know the drill's server: is Prometheus overloaded?"
        self.until(lambda: self.known() and not self.fires(), ready)
        self.outage()
        self.wait_for("firing", self.outages[0])
        if killed == "alertmanager":
            self._without_alertmanager(away)
        else:
            self._without_prometheus(away)
        self.recovery()
        self.wait_for("resolved", time.time())

    def _without_alertmanager(self, away: Duration) -> None:
        """It learns neither of the end nor of the second beginning, and has saved that it has sent the first."""
        time.sleep(_SAVED)
        self._kill(self.stack.alertmanager)
        gone = time.time()
        self.recovery()
        self.until(lambda: not self.fires(), "the end of outage 1 in Prometheus")
        self.outage()
        self.until(self.fires, "outage 2 in Prometheus")
        self.until(lambda: time.time() >= gone + away.seconds, "the time without Alertmanager", away.seconds + 60)
        self._start(self.stack.alertmanager)
        self.wait_for("firing", self.outages[1], interval(self.route, "repeat_interval"))

    def _without_prometheus(self, away: Duration) -> None:
        """Alertmanager must not take an outage as over of which it hears nothing for a while."""
        self.recovery()
        self.wait_for("resolved", time.time())
        self.outage()
        self.wait_for("firing", self.outages[1])
        self._kill(self.stack.prometheus)
        time.sleep(away.seconds)
        self._start(self.stack.prometheus)
        self.until(self.fires, "outage 2 in Prometheus again")
        # If it took the silence for the end, it sends that at the next flush of the group.
        look = interval(self.route, "group_interval") + interval(self.route, "group_wait")
        self.stand_ins.wait_for(lambda messages: [*self.of_page(messages)][-1].status == "resolved", look)

    def _kill(self, container: Container) -> None:
        container.kill()
        self.note(f"{container.service} is killed")

    def _start(self, container: Container) -> None:
        container.start()
        self.note(f"{container.service} is started again")
