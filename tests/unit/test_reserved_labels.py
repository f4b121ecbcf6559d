"""Label names that settings refuse, because series, records or dashboards use them: none is missing, none is idle."""

from collections.abc import Iterator
from pathlib import Path

import promql_parser
import pytest

from draftboard.errors import DraftboardError
from draftboard.settings import Settings, load
from draftboard.settings.labels import ADDED_LABELS, RESERVED_LABELS, SERIES_LABELS, VARIABLES
from support import grafana
from support.rulefiles import nodes, rules

EDIT = "edit generator/draftboard/settings/labels.py"


def labels_in(expr: str) -> Iterator[str]:
    """Every label that an expression selects, groups, matches, reads or adds."""
    for selector in nodes(expr, promql_parser.VectorSelector):
        yield from (matcher.name for matcher in selector.matchers.matchers)
    for aggregate in nodes(expr, promql_parser.AggregateExpr):
        yield from aggregate.modifier.labels if aggregate.modifier else ()
        if str(aggregate.op) == "count_values":
            yield aggregate.param.val
    for binary in nodes(expr, promql_parser.BinaryExpr):
        yield from binary.modifier.matching.labels if binary.modifier and binary.modifier.matching else ()
    for call in nodes(expr, promql_parser.Call):
        if call.func.name == "label_replace":
            yield from (call.args[1].val, call.args[3].val)
        if call.func.name == "label_join":
            yield from (call.args[place].val for place in (1, *range(3, len(call.args))))


@pytest.fixture(scope="module")
def chosen(settings: Settings) -> set[str]:
    """The names that users can change."""
    return {*settings.labels.engine_level, settings.labels.host, settings.labels.scale_to_zero}


def test_labels_that_expressions_use_are_reserved(files: dict[str, str], chosen: set[str]) -> None:
    exprs = {rule["expr"] for kind in ("record", "alert") for rule in rules(files, kind)}
    for dashboard in grafana.dashboards(files).values():
        exprs |= {grafana.substituted(query, dashboard, "5m") for _, query in grafana.queries(dashboard)}
    used = {label for expr in exprs for label in labels_in(expr)} - chosen - {""}
    assert used - SERIES_LABELS == ADDED_LABELS, EDIT


def test_variables_of_dashboards_are_reserved(files: dict[str, str], chosen: set[str]) -> None:
    pages = grafana.dashboards(files).values()
    variables = {variable["name"] for page in pages for variable in page["templating"]["list"]}
    assert variables - chosen == VARIABLES, EDIT


@pytest.mark.parametrize("name", sorted(RESERVED_LABELS))
@pytest.mark.parametrize("key", ["variant", "scope"])
def test_a_reserved_name_is_refused(name: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "draftboard.toml"
    path.write_text(f"labels.{key} = {[name] if key == 'scope' else repr(name)}")
    with pytest.raises(DraftboardError, match="use themselves: choose another"):
        load(path)


@pytest.mark.parametrize("name", ["lines", "price"])
def test_a_selector_may_name_what_only_dashboards_use(name: str) -> None:
    assert Settings(selector=f'{name}="a"')
