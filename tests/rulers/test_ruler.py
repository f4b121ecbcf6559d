"""A ruler with Mimir's API takes the rules as built, and the doctor reads from it what is loaded: `make test-ruler`.

By default it is a stand-in that enforces Mimir's limits. RULER_URL names a real Mimir or Cortex, such as
`http://127.0.0.1:8080/prometheus`; RULER_CONFIG is where it loads rules, of Cortex `http://127.0.0.1:8080/api/v1/rules`.
Their tenants `draftboard-test` and `draftboard-test-groups` must be empty.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import httpx
import pytest
import yaml

from conftest import OBJECTIVES
from draftboard.access import Access
from draftboard.build import render
from draftboard.doctor import examine_prometheus, examine_ruler
from draftboard.prometheus import Client
from draftboard.rulers import Ruler
from draftboard.settings import load
from draftboard.settings.rules import TIERS, Tier
from support.loopback import answering, page
from support.rulefiles import groups
from support.ruler_api import GROUPS, RULES, ruler

TENANT = "draftboard-test"
# libyaml is ten times as fast, where PyYAML has it.
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
NOTHING = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}})


class Loading:
    """The part of the API that loads rules."""

    def __init__(self, url: str, connections: httpx.Client) -> None:
        self.url = url
        self._connections = connections
        self._config = os.environ.get("RULER_CONFIG") or f"{url}/config/v1/rules"

    def load(self, group: dict[str, Any], tenant: str = TENANT) -> httpx.Response:
        headers = {"X-Scope-OrgID": tenant} if tenant else {}
        text = yaml.dump(group, Dumper=DUMPER)
        return self._connections.post(f"{self._config}/draftboard", content=text, headers=headers)

    def client(self) -> Client:
        return Client(self.url, Access(tenant=TENANT))


@pytest.fixture
def loading() -> Iterator[Loading]:
    with ExitStack() as stack:
        connections = stack.enter_context(httpx.Client())
        yield Loading(os.environ.get("RULER_URL") or stack.enter_context(ruler()), connections)


@cache
def built(tier: Tier = "full", ruler: Ruler = "mimir") -> list[dict[str, Any]]:
    settings = load(OBJECTIVES)
    rules = settings.rules.model_copy(update={"ruler": ruler, "tier": tier})
    return groups(render(settings.model_copy(update={"rules": rules})))


def of(count: int, name: str = "many") -> dict[str, Any]:
    rules = [{"record": f"test:rule_{number}:sum", "expr": "vector(1)"} for number in range(count)]
    return {"name": name, "interval": "1m", "rules": rules}


@pytest.mark.parametrize("tier", TIERS)
def test_every_group_of_a_build_is_taken(loading: Loading, tier: Tier) -> None:
    answers = {group["name"]: loading.load(group) for group in built(tier)}
    assert {name: answer.text for name, answer in answers.items() if answer.status_code != 202} == {}
    assert len(answers) <= GROUPS


def test_a_rule_more_than_a_group_may_have_is_refused(loading: Loading) -> None:
    assert loading.load(of(RULES)).status_code == 202
    refused = loading.load(of(RULES + 1))
    assert refused.status_code == 400
    assert f"limit: {RULES} actual: {RULES + 1}" in refused.text


def test_a_group_more_than_a_tenant_may_have_is_refused(loading: Loading) -> None:
    answers = [loading.load(of(1, f"group-{number}"), "draftboard-test-groups") for number in range(GROUPS + 1)]
    assert [answer.status_code for answer in answers] == [202] * GROUPS + [400]


def test_without_a_tenant_nothing_is_loaded(loading: Loading) -> None:
    assert loading.load(of(1), tenant="").status_code == 401


def test_what_is_no_promql_is_refused(loading: Loading) -> None:
    assert loading.load(of(1) | {"rules": [{"record": "test:a:sum", "expr": "sum("}]}).status_code == 400


@contextmanager
def store() -> Iterator[Client]:
    """A Prometheus that has nothing."""
    with answering(page(NOTHING, Content_Type="application/json")) as place, Client(place) as client:
        yield client


def findings(loading: Loading) -> dict[str, str]:
    with store() as client, loading.client() as server:
        examination = examine_prometheus(client, load(OBJECTIVES), 0.0, ruler=server)
    return {one.where: one.what for one in examination.findings}


def test_the_doctor_finds_nothing_to_say_of_rules_that_are_loaded_as_built(loading: Loading) -> None:
    for group in built():
        loading.load(group)
    assert "rules" not in findings(loading)


def test_the_doctor_names_what_was_not_loaded(loading: Loading) -> None:
    for group in built():
        if group["name"] != "draftboard-servers-alerts":
            loading.load(group)
    assert "are not loaded: " in findings(loading)["rules"]


def test_the_doctor_names_rules_that_were_built_for_another_ruler(loading: Loading) -> None:
    """A ruler takes unknown keys without a word: only the expressions tell."""
    for group in built(ruler="vmalert"):
        assert loading.load(group).status_code == 202
    assert "have other expressions than this build" in findings(loading)["rules"]


def test_each_alert_has_its_longest_delay(loading: Loading) -> None:
    for group in built():
        loading.load(group)
    with store() as client, loading.client() as server:
        examination = examine_ruler(server, client, load(OBJECTIVES), 0.0)
    late = {one.alert: one for one in examination.delays}
    assert late.keys() == {rule["alert"] for group in built() for rule in group["rules"] if "alert" in rule}
    for one in late.values():
        assert one.at_most_seconds >= one.pending_seconds + 60 + 15
    (nothing,) = examination.findings
    assert "nothing was computed again" in nothing.what
