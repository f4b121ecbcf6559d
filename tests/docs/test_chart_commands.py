"""`helm install` as the documentation shows it: Helm's own code renders its objects."""

from pathlib import Path

import pytest

from conftest import ROOT
from support import charts
from support.documented import Shown, shown

pytestmark = pytest.mark.docs


@pytest.mark.parametrize("each", [one for one in shown() if one.command.startswith("helm install ")], ids=str)
def test_a_shown_installation_renders_objects_that_their_readers_take(each: Shown) -> None:
    release, chart, *rest = each.words[2:]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    # In the folder of the `cd` before it.
    here = charts.FOLDER if chart == "." else ROOT
    values = charts.preset(here / options.pop("--values"))
    objects = charts.rendered(values, folder=here / Path(chart), release=release, namespace=options.pop("--namespace"))
    assert not options
    assert {one["kind"] for one in objects} >= {"PrometheusRule", "PodMonitor", "ConfigMap"}
    assert [reason for one in objects for reason in charts.refused(one)] == []
