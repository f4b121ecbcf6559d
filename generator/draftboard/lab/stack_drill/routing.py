"""The stack's Alertmanager during a drill: alerts of the drill go to stand-ins, all others where they always go."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab.stack_drill.containers import Container

Configuration = dict[str, Any]
_OWN = "draftboard-drill-"
"""Begins the names of the receivers of a drill."""
_ADDRESSES: dict[str, dict[str, str]] = {
    "webhook": {"url": "{place}/webhook"},
    "slack": {"api_url": "{place}/slack"},
    "pagerduty": {"url": "{place}/pagerduty", "routing_key": "drill"},
}
_REPLACED = ("url_file", "api_url_file", "routing_key_file", "http_config")
"""Of the real receivers: files with their addresses and keys, proxies and credentials."""


def with_stand_ins(configuration: Configuration, matcher: str, url: str, *, real: bool) -> Configuration:
    """A configuration whose alerts with a matcher go to stand-ins at a URL, by the routes of all alerts.

    With `real` they go to the real receivers too. E-mail has no stand-in. A receiver without any is given a webhook.
    """
    changed = deepcopy(configuration)
    receivers = [_stand_in(receiver, url) for receiver in configuration["receivers"]]
    of_drill = {**_renamed(configuration["route"]), "matchers": [matcher], "continue": real}
    changed["route"]["routes"] = [of_drill, *changed["route"].get("routes", ())]
    changed["receivers"] += receivers
    return changed


def _stand_in(receiver: Configuration, url: str) -> Configuration:
    made: Configuration = {"name": _OWN + receiver["name"]}
    place = f"{url}/{quote(receiver['name'])}"
    for channel, addresses in _ADDRESSES.items():
        filled = {name: text.format(place=place) for name, text in addresses.items()}
        for real in receiver.get(f"{channel}_configs") or ():
            kept = {name: value for name, value in real.items() if name not in _REPLACED}
            made.setdefault(f"{channel}_configs", []).append(kept | filled)
    if len(made) == 1:
        made["webhook_configs"] = [{"url": f"{place}/webhook", "send_resolved": True}]
    return made


def _renamed(route: Configuration) -> Configuration:
    """A route and those below it, to the stand-ins."""
    made = {**route, "routes": [_renamed(one) for one in route.get("routes") or ()]}
    return made | ({"receiver": _OWN + route["receiver"]} if "receiver" in route else {})


def route_of(configuration: Configuration, severity: str) -> Configuration:
    """The route of a severity, with what it inherits."""
    top = configuration["route"]
    own: Configuration = next((one for one in top["routes"] if f'severity="{severity}"' in one.get("matchers", ())), {})
    return {**top, **own}


def channels(configuration: Configuration, receiver: str) -> tuple[str, ...]:
    """Those of a receiver of the drill."""
    found = next(one for one in configuration["receivers"] if one["name"] == _OWN + receiver)
    return tuple(channel for channel in _ADDRESSES if f"{channel}_configs" in found)


def interval(route: Configuration, name: str) -> int:
    """Seconds."""
    return Duration.parse(route[name]).seconds


@contextmanager
def rerouted(alertmanager: Container, matcher: str, url: str, *, real: bool) -> Iterator[Configuration]:
    """Route so for the time of a `with`, and restore every byte after it; yields the configuration."""
    path = alertmanager.folder / "alertmanager.yml"
    backup = path.with_name("alertmanager.yml.before-drill")
    with backup.open("a+b") as kept:
        try:
            fcntl.flock(kept, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DraftboardError(f"{backup}: another drill of this stack runs: wait for its end") from None
        kept.seek(0)
        _put_back(path, kept.read())  # of one that was killed
        before = path.read_bytes()
        kept.truncate(0)
        kept.write(before)
        kept.flush()
        try:
            changed = with_stand_ins(yaml.safe_load(before), matcher, url, real=real)
        except (yaml.YAMLError, LookupError, TypeError, AttributeError):
            backup.unlink()
            raise DraftboardError(f"{path}: not a configuration of Alertmanager: build it again") from None
        try:
            path.write_text(yaml.safe_dump(changed, sort_keys=False))
            alertmanager.run("amtool", "check-config", "/etc/alertmanager/alertmanager.yml")
            alertmanager.reload()
            yield changed
        finally:
            _put_back(path, before)
            backup.unlink()
            alertmanager.reload()


def _put_back(path: Path, before: bytes) -> None:
    """Restore what a drill has changed, unless it was built anew since."""
    if before and f"name: {_OWN}".encode() in path.read_bytes():
        path.write_bytes(before)
