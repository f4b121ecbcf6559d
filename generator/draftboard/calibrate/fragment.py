"""The settings that a calibration writes: `[draft_cost]` as TOML, with its evidence as comments."""

from pathlib import Path

from draftboard.calibrate.result import Calibration
from draftboard.durations import minute
from draftboard.errors import DraftboardError
from draftboard.files import whole
from draftboard.output import escape


def require_fragment(calibration: Calibration) -> None:
    """Raise DraftboardError where there is nothing to write."""
    if not calibration.settings:
        reason = "give the drafting method with --method" if not calibration.method else "nothing was drafted"
        raise DraftboardError(f"no settings to write: {reason}")


def toml(calibration: Calibration) -> str:
    """The fragment, which `draftboard build --config` accepts."""
    own = calibration.settings
    if not own:
        return ""
    when = minute(calibration.taken_at)
    sources = {"fitted": "fitted", "settings": "assumed by the settings", "lowered": "lowered so that v is 1 or more"}
    by_batch = ", ".join(f"{batch} = {inflation:g}" for batch, inflation in own.verify_inflation.items())
    comments = [
        f"Calibrated {when} from {calibration.origin}: model {calibration.model!r}, method {own.method!r},",
        f"{calibration.windows} windows, {calibration.steps:,.0f} decode steps. c is {sources[own.draft_cost_source]}.",
        "Measured, with 95 % intervals:",
        *(
            f"batch {point.batch:.3g}, {point.draft_length:.3g} tokens drafted: v + L * c = {point.together}"
            for point in calibration.costs.points
        ),
    ]
    lines = (
        *(f"# {escape.terminal(comment)}" for comment in comments),
        "[draft_cost]",
        f"by_method.{own.method} = {own.draft_cost:g}",
        f"verify_inflation = {{ {by_batch} }}",
        f'calibrated = ["{own.method}"]',
    )
    return "\n".join(lines) + "\n"


def write(calibration: Calibration, path: Path) -> None:
    """Write the fragment, atomically."""
    with whole(path, "settings") as staged:
        staged.write_text(toml(calibration), encoding="utf-8")
