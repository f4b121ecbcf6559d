"""Where a remote store evaluates the rules: its records are asked for there, and no alert comes twice."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from draftboard.build import stack
from draftboard.errors import DraftboardError
from draftboard.settings import Settings, load

DATASOURCES = "deploy/grafana/provisioning/datasources/draftboard.yaml"
MIMIR = {"url": "https://mimir.example.com/api/v1/push"}
RULER = {**MIMIR, "rules_there": True, "query_url": "https://mimir.example.com/prometheus"}


def asked(*remotes: dict[str, object]) -> dict[str, Any]:
    """The data source that the dashboards read."""
    settings = Settings.model_validate({"stack": {"remote_write": remotes}})
    sources = yaml.safe_load(stack.render(settings, "made by a test")[DATASOURCES])["datasources"]
    [source] = [source for source in sources if source["uid"] == "draftboard-prometheus"]
    return dict(source)


def test_grafana_asks_where_the_records_are() -> None:
    assert asked()["url"] == "http://prometheus:9090"
    assert asked(MIMIR)["url"] == "http://prometheus:9090"
    assert asked(MIMIR, RULER)["url"] == "https://mimir.example.com/prometheus"


def test_grafana_shows_the_token_of_the_ruler_and_of_nobody_else() -> None:
    source = asked({**RULER, "token": True})
    assert source["jsonData"]["httpHeaderName1"] == "Authorization"
    assert source["secureJsonData"] == {"httpHeaderValue1": "Bearer $__file{/run/secrets/remote_write_token}"}
    assert "secureJsonData" not in asked({**MIMIR, "token": True}, RULER)


@pytest.mark.parametrize(
    ("remotes", "says"),
    [
        ('{ url = "https://m/push", rules_there = true }', "rules_there needs query_url"),
        ('{ url = "https://m/push", query_url = "https://m/prometheus" }', "query_url needs rules_there"),
        (
            ", ".join(
                f'{{ url = "https://{name}/push", rules_there = true, query_url = "https://{name}" }}' for name in "mn"
            ),
            "every alert would come twice",
        ),
    ],
)
def test_rules_that_nobody_or_two_would_evaluate_are_refused_in_one_line(
    tmp_path: Path, remotes: str, says: str
) -> None:
    file = tmp_path / "my.toml"
    file.write_text(f"[stack]\nremote_write = [{remotes}]\n")
    with pytest.raises(DraftboardError) as caught:
        load(file)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
