"""What a page's JSON says, against what Grafana knows of it and what the panel then holds."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from draftboard.settings import Settings
from grafana.past import HERE
from grafana.reading import none_of, panels
from grafana.views import View
from support import grafana

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]

LONGEST_DESCRIPTION = 300
# Overrides for what does not occur in this past, by what they match.
ABSENT = {
    "answers without vLLM metrics": "no server hides its metrics",
    "starting": "no server is new at the end",
    **dict.fromkeys(("gain", "try"), "the worst model needs no other K"),
    **dict.fromkeys(("Cluster", "Namespace"), "no server has a label wider than its job"),
    **dict.fromkeys(("3xx", "4xx", "5xx"), "every request is answered"),
}
# Queries without an answer in this past.
UNANSWERED = {
    **dict.fromkeys(("since_h", "since_d"), "the worst model went down minutes ago"),
    "well": "a model needs somebody",
    **dict.fromkeys(("no_target", "no_rules"), "models are known"),
}


def test_every_override_concerns_a_field(wide: list[View], settings: Settings) -> None:
    absent = {*ABSENT, *(label.capitalize() for label in settings.labels.scope)}

    def problems() -> Iterator[str]:
        for view, panel in panels(wide):
            for override in panel["overrides"] if any(frame["length"] for frame in panel["frames"]) else ():
                what = str(override["options"])
                if override["matcher"] == "byFrameRefID" and what in UNANSWERED:
                    if override["fields"]:
                        yield f"{view.where(panel)}: {what} is answered"
                elif not override["fields"] and not any(part in what for part in absent):
                    yield f"{view.where(panel)}: {override['matcher']} {what}"

    none_of(problems())


def test_columns_that_are_renamed_or_ordered_are_there(wide: list[View], settings: Settings) -> None:
    # These stand in tables of those who have them.
    optional = {*settings.labels.scope, *settings.labels.model_level}

    def problems() -> Iterator[str]:
        for view, panel in panels(wide):
            for step in panel["organized"] if any(frame["length"] for frame in panel["frames"]) else ():
                for kind in ("renamed", "ordered"):
                    for name in set(step[kind]) - set(step["names"]) - optional:
                        yield f"{view.where(panel)}: {name!r} is {kind}"

    none_of(problems())


def test_no_panel_sets_an_option_that_its_plugin_does_not_know(wide: list[View]) -> None:
    none_of(f"{view.where(panel)}: {name}" for view, panel in panels(wide) for name in panel["unknownCustom"])


def test_every_panel_says_in_few_words_what_it_shows(pages: Mapping[str, str]) -> None:
    def problems() -> Iterator[str]:
        for path, text in pages.items():
            for panel in grafana.panels(json.loads(text)):
                said = panel.get("description", "")
                if not 0 < len(said) <= LONGEST_DESCRIPTION:
                    yield f"{path} {panel['title']!r}: {len(said)} characters"

    none_of(problems())


# What Grafana's plugins have and its published types lack.
UNTYPED = {("state-timeline", "insertNulls"), ("state-timeline", "spanNulls")}
SCHEMA = HERE / "node_modules/@grafana/schema/dist/types/raw/composable"
# Enums are written as their values in JSON.
PRELUDE = """
import type { Panel } from '@grafana/schema';
type Literal<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends (infer U)[] ? Literal<U>[] : T extends object ? { [K in keyof T]: Literal<T[K]> } : T;
type Partly<T> = T extends (infer U)[] ? Partly<U>[] : T extends object ? { [K in keyof T]?: Partly<T[K]> } : T;
type Rest = Partly<Literal<Omit<Panel, 'fieldConfig' | 'options' | 'panels'>>>;
"""


def _types(kind: str) -> Iterator[str]:
    """Names for the options and the field options of a kind of panel."""
    path = SCHEMA / kind.replace("-", "") / "panelcfg/x/types.gen.d.ts"
    name = kind.replace("-", "_")
    yield f"import type * as {name} from '../{path.relative_to(HERE).as_posix().removesuffix('.d.ts')}';"
    text = path.read_text()
    for what in ("Options", "FieldConfig"):
        given = re.search(rf"interface {what}\b|type {what}\b", text)
        yield f"type {name}_{what} = {f'Partly<Literal<{name}.{what}>>' if given else 'Record<string, never>'};"


def test_options_have_the_types_of_grafanas_schema(pages: Mapping[str, str]) -> None:
    every = [(path, panel) for path, text in pages.items() for panel in grafana.panels(json.loads(text))]
    lines = [PRELUDE, *(line for kind in sorted({panel["type"] for _, panel in every}) for line in _types(kind))]
    places = {}
    for number, (path, panel) in enumerate(every):
        kind = panel["type"].replace("-", "_")
        custom = panel["fieldConfig"]["defaults"].get("custom", {})
        known = {key: value for key, value in custom.items() if (panel["type"], key) not in UNTYPED}
        rest = {key: value for key, value in panel.items() if key not in {"fieldConfig", "options", "panels"}}
        for what, given in ((f"{kind}_Options", panel["options"]), (f"{kind}_FieldConfig", known), ("Rest", rest)):
            lines.append(f"export const {what}_{number}: {what} = {json.dumps(given)};")
            places[f"{what}_{number}"] = f"{path} {panel['title']!r}"
    out = HERE / "dist/options.ts"
    out.parent.mkdir(exist_ok=True)
    out.write_text("\n".join(lines))
    options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext"]
    command = ["node_modules/.bin/tsc", *options, "--moduleResolution", "bundler", "--types", "react", str(out)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    text = "\n".join(lines).splitlines()

    def problems() -> Iterator[str]:
        for error in re.finditer(r"\((\d+),\d+\): error (.*)", done.stdout):
            name = re.match(r"export const (\w+)", text[int(error[1]) - 1])
            yield f"{places.get(name[1]) if name else 'prelude'}: {error[2]}"

    none_of(problems())
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_sources_of_this_check_have_types() -> None:
    done = subprocess.run(["node_modules/.bin/tsc", "-p", "."], cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
