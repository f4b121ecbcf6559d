"""The generated files by path: their text; written all or none; and compared with what is on disk."""

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from draftboard.alerts import Alert, by_subject, of_settings
from draftboard.alerts.runbook import fires_when, runbook
from draftboard.build import chart, mixin, rollouts, stack
from draftboard.dashboards import Dashboard, dashboards
from draftboard.errors import DraftboardError
from draftboard.files import whole
from draftboard.rulers import Ruler
from draftboard.rules import alerting_groups, managed_alerts, managed_records, recording_groups, to_yaml
from draftboard.settings import Settings
from draftboard.signals import Edition

RECORDING = "alerts/recording.rules.yaml"
ALERTING = "alerts/alerting.rules.yaml"
_FOLDERS = {Edition.RECORDS: "dashboards", Edition.RAW: "dashboards/standalone"}
_IMPORTS = "dashboards/grafana-com"
RUNBOOKS = "alerts/runbooks"
_PATTERNS = (
    "alerts/*.rules.yaml",
    *(f"{RUNBOOKS}/{prefix}*.md" for prefix in ("SpecDecode", "VLLM", "Draftboard")),
    *(f"{folder}/draftboard-*.json" for folder in (*_FOLDERS.values(), _IMPORTS, "mixin/dashboards", chart.DASHBOARDS)),
)
"""Paths in folders that hold generated files only: what matches and is not built any more is left over."""
_MADE_BY = "Made by `draftboard build`: edit the generator or your settings, not this file."
_OWN = re.compile(r'`draftboard build`|"uid": ?"draftboard-')
"""What every generated file contains, whatever version made it."""
_TYPED = """\
A runbook begins with what the alert means, whether it is one or several, and three commands, typed in the repository's
folder. Commands are those of the platform that `[runbooks]` names in the settings; a table has the others.
"""


class Rendered(Mapping[str, str]):
    """Texts by path, each rendered when it is first read."""

    def __init__(self, makers: Mapping[str, Callable[[], str]]) -> None:
        self._makers = {path: cache(make) for path, make in makers.items()}

    def __getitem__(self, path: str) -> str:
        return self._makers[path]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def render(settings: Settings) -> Rendered:
    """All files: the same settings give the same bytes."""
    return Rendered(_makers(settings))


def _makers(settings: Settings) -> dict[str, Callable[[], str]]:
    # Dashboards and rules are in several files, and built once, on demand.
    pages = {edition: dashboards(settings, edition) for edition in _FOLDERS}
    imports = {
        edition: {uid: cache(partial(_import, page)) for uid, page in built.items()} for edition, built in pages.items()
    }
    alerts = of_settings(settings)
    linked = frozenset(alert.name for alert in alerts)
    rules = cache(partial(_rules, settings))
    ruler = settings.rules.ruler
    return {
        RECORDING: partial(rules, "recording", ruler),
        ALERTING: partial(rules, "alerting", ruler),
        "alerts/grafana/alerts.yaml": lambda: f"# {_MADE_BY}\n{managed_alerts(settings)}",
        "alerts/grafana/records.yaml": lambda: f"# {_MADE_BY}\n{managed_records(settings)}",
        "alerts/README.md": partial(_list_of_alerts, settings),
        **{f"{RUNBOOKS}/{alert.name}.md": partial(_runbook, alert, linked, settings) for alert in alerts},
        **{
            f"{folder}/{uid}.json": partial(_dashboard, page)
            for edition, folder in _FOLDERS.items()
            for uid, page in pages[edition].items()
        },
        **{f"{_IMPORTS}/{uid}.json": text for built in imports.values() for uid, text in built.items()},
        **mixin.files(settings, _MADE_BY),
        **{path: partial(stack.text, path, settings, _MADE_BY) for path in stack.TEMPLATES},
        **{path: partial(chart.text, path, settings, _MADE_BY) for path in chart.TEMPLATES},
        **{path: partial(rollouts.text, path, settings, _MADE_BY) for path in rollouts.paths(settings)},
        chart.RECORDING: partial(rules, "recording", "prometheus"),
        chart.ALERTING: partial(_rules, chart.on_kubernetes(settings), "alerting", "prometheus"),
        **{f"{chart.DASHBOARDS}/{uid}.json": text for uid, text in imports[Edition.RECORDS].items()},
    }


def _rules(settings: Settings, name: str, ruler: Ruler) -> str:
    groups = recording_groups(settings, ruler) if name == "recording" else alerting_groups(settings)
    return f"# {_MADE_BY}\n" + to_yaml(groups, ruler, name=name)


def _list_of_alerts(settings: Settings) -> str:
    lines = [f"<!-- {_MADE_BY} -->", "", "# Alerts", "", _TYPED]
    for subject, alerts in by_subject(settings).items():
        lines += ["", f"## On {subject}", "", "| alert | fires when | severity | for |", "|---|---|---|---|"]
        for alert in alerts:
            policy, link = alert.policy(settings), f"[`{alert.name}`](runbooks/{alert.name}.md)"
            lines.append(f"| {link} | {fires_when(alert, settings)} | {policy.severity} | {policy.pending_period} |")
    return "\n".join(lines) + "\n"


def _runbook(alert: Alert, linked: Collection[str], settings: Settings) -> str:
    """The runbook; of alerts without one it has the names, not the links."""
    return re.sub(r"\[(\w+)\]\((\w+)\.md\)", lambda m: m[0] if m[2] in linked else m[1], runbook(alert, settings))


def _dashboard(page: Callable[[], Dashboard]) -> str:
    return _json(page().document, indent=2, separators=(",", ": "))


def _import(page: Callable[[], Dashboard]) -> str:
    """Without indentation: people read the other folders. Lines remain, so that changes can be merged."""
    return _json(page().importable, indent=0, separators=(",", ":"))


def _json(document: Mapping[str, object], *, indent: int, separators: tuple[str, str]) -> str:
    text = json.dumps(
        document, indent=indent, separators=separators, sort_keys=True, ensure_ascii=False, allow_nan=False
    )
    return text + "\n"


@dataclass(frozen=True)
class Difference:
    """One file on disk that differs from the build."""

    path: str
    what: str  # `missing`, `differs` or `left over`.
    diff: str = ""


def write(files: Mapping[str, str], out: Path, *, force: bool = False) -> None:
    """Write all files below `out`, or none: every text is on disk before the first old file is replaced.

    Generated files are replaced; any other is, too, where `force` is set, and a DraftboardError else.
    """
    for path in () if force else sorted(files):
        if (text := _read(out / path)) and not _OWN.search(text):
            raise DraftboardError(f"{out / path}: not made by `draftboard build`: choose another --out, or add --force")
    with ExitStack() as staging:
        for path, text in sorted(files.items()):
            target = out / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise DraftboardError(
                    f"{target.parent}: cannot write below this path: {error.strerror}; choose another folder"
                ) from None
            staged = staging.enter_context(whole(target, "generated file"))
            staged.write_text(text, encoding="utf-8", newline="\n")


def compare(files: Mapping[str, str], out: Path) -> list[Difference]:
    """How the files below `out` differ from `files`, including files that are left over."""
    differences = []
    for path, expected in sorted(files.items()):
        actual = _read(out / path)
        if actual is None:
            differences.append(Difference(path, "missing"))
        elif actual != expected:
            old, new = actual.splitlines(keepends=True), expected.splitlines(keepends=True)
            diff = difflib.unified_diff(old, new, f"{path} on disk", f"{path} as built", n=2)
            differences.append(Difference(path, "differs", "".join(diff)))
    return differences + [Difference(path, "left over") for path in left_over(files, out)]


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DraftboardError(f"{path}: cannot read: {error}; run `draftboard build`") from None


def left_over(files: Mapping[str, str], out: Path) -> list[str]:
    """Files below `out` that an earlier version or other settings generated, and these do not."""
    paths = (str(path.relative_to(out)) for pattern in _PATTERNS for path in out.glob(pattern))
    return sorted(set(paths) - set(files))
