"""One run of the browser over all pages, whose findings all checks share."""

from collections.abc import Iterator, Mapping

import pytest

from conftest import OBJECTIVES
from draftboard.build import render
from draftboard.settings import Settings, load
from grafana.past import BUILD, Past, serving
from grafana.views import CHOSEN, WIDTHS, View, show
from support import grafana

OVERVIEW = "dashboards/draftboard-overview.json"


@pytest.fixture(scope="session")
def settings() -> Settings:
    """With objectives, for without them the panels of SLOs are left out."""
    return load(OBJECTIVES)


@pytest.fixture(scope="session")
def pages(settings: Settings) -> Mapping[str, str]:
    """Every dashboard by path, without the copies for the import dialog, which ask for a data source first."""
    built = render(settings)
    return {path: built[path] for path in grafana.dashboards(built)}


@pytest.fixture(scope="session")
def past(settings: Settings) -> Iterator[Past]:
    with serving(BUILD / "past", settings) as served:
        yield served


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--page", action="append", default=[], help="only pages with this in their path, such as depth")


@pytest.fixture(scope="session")
def all_views(pages: Mapping[str, str], past: Past, request: pytest.FixtureRequest) -> list[View]:
    chosen = request.config.getoption("--page")
    paths = [path for path in pages if any(part in path for part in chosen or "/")]
    views = [
        *(View(path, width, search=CHOSEN.get(path, "")) for path in paths for width in WIDTHS),
        *(View(path, WIDTHS[0], empty=True) for path in paths),
        *(
            View(path, width, "light", search=CHOSEN.get(path, ""))
            for path in paths
            if "standalone" not in path
            for width in WIDTHS
        ),
    ]
    return list(show(views, pages, past, BUILD / "views", pictures=True))


@pytest.fixture(scope="session")
def views(all_views: list[View]) -> list[View]:
    """Every page in both widths, with data."""
    return [view for view in all_views if view.theme == "dark" and not view.empty]


@pytest.fixture(scope="session")
def wide(views: list[View]) -> list[View]:
    """Every page once, with data."""
    return [view for view in views if view.width == WIDTHS[0]]


@pytest.fixture(scope="session")
def overview(views: list[View]) -> dict[int, View]:
    """The first page, by width."""
    found = {view.width: view for view in views if view.path == OVERVIEW}
    return found or pytest.skip("the overview was not chosen by --page")


@pytest.fixture(scope="session")
def empty(all_views: list[View]) -> list[View]:
    """Every page over a time without samples."""
    return [view for view in all_views if view.empty]
