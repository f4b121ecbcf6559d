"""`compare`: two runs side by side, and a gate for CI."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from draftboard.cli import shared
from draftboard.durations import READING, Duration


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate")
@shared.duration_option("--window", words=f"Sampling window of servers. Default: {READING}.")
@click.option("--prometheus", metavar="URL", default="", help="Read from Prometheus; the sides are LABEL=VALUE.")
@shared.range_option
@shared.at_option
@click.option("--model", default="", help="Served model name; required where a side has several.")
@click.option("--method", default="", help="Drafting method of the candidate (servers only); sets the draft cost.")
@click.option("--baseline-method", default="", help="Drafting method of the baseline (servers only).")
@click.option("--force", is_flag=True, help="Compare despite different models, loads or sampling.")
@click.option(
    "--max-drop-pp", type=shared.Number(0, 100), metavar="POINTS", help="Gate: maximum acceptance drop, in points."
)
@click.option("--min-speedup", type=shared.Number(0, 1e9), metavar="TIMES", help="Gate: minimum measured speedup.")
@click.option("--whole-interval", is_flag=True, help="Gates: the whole 95 % interval must be within the limit.")
@shared.duration_option("--sessions", words="How long a session stays with a server: a run must last two of them.")
@click.option("--junit", type=shared.FILE, metavar="FILE.xml", help="Also write the gates as JUnit XML.")
@click.option("--github", is_flag=True, help="Also print the gates as annotations of GitHub Actions, to stderr.")
@click.option("--gpu-hour-price", type=shared.Number(0, 1e9), metavar="PRICE", help="Price of one GPU-hour.")
@click.option("--gpus", type=click.IntRange(1, 100_000), help="GPUs per engine. Default: 1.")
@click.option(
    "--baseline-gpus", type=click.IntRange(1, 100_000), help="GPUs per engine of the baseline. Default: --gpus."
)
@click.option(
    "--confirm",
    type=shared.FILE,
    metavar="REPORT",
    help="Report of the candidate with homogeneous prompts, to explain its P99.",
)
@shared.access_options()
@shared.config_option
@shared.output_options
def compare_command(
    *,
    baseline: str,
    candidate: str,
    window: Duration | None,
    prometheus: str,
    span: Duration | None,
    at: float | None,
    model: str,
    method: str,
    baseline_method: str,
    junit: Path | None,
    github: bool,
    gpus: int | None,
    confirm: Path | None,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    **judged: Any,  # noqa: ANN401  (--force, the gates, --sessions, the price, the baseline's GPUs)
) -> None:
    """Compare CANDIDATE with BASELINE (latency, throughput, acceptance) and check the gates.

    Each is a report saved with `draftboard report --json`, or a running server; servers are read over the same time.
    With --prometheus, each is a label and its value, such as variant=a or spec_method=none.

    Exit code 0: compared, all gates met. 1: a gate was missed or cannot be judged. 2: not comparable, or an error.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.compare import annotations, compare, document, recorded, require_unused, saved, sides, write_junit
    from draftboard.reading import Recorded

    require, priced = shared.require, judged["gpu_hour_price"] is not None
    require(prometheus or (span is None and at is None), "--range and --at require --prometheus")
    require(not (prometheus and window), "--window applies to servers: use --range with --prometheus")
    methods = (baseline_method, method)
    require(
        not (prometheus and any(methods)),
        "--method and --baseline-method apply to servers: Prometheus has a label for the method",
    )
    require(gpus is None or priced or judged["baseline_gpus"], "--gpus requires --gpu-hour-price or --baseline-gpus")
    gated = judged["max_drop_pp"] is not None or judged["min_speedup"] is not None
    of_gates = {"--whole-interval": judged["whole_interval"], "--junit": junit, "--github": github}
    for option in (option for option, given in of_gates.items() if given):
        require(gated, f"{option} requires --max-drop-pp or --min-speedup")
    if junit:
        require_unused(junit)
    settings, access, names = load(config), Access.from_files(token_file, ca_file), (baseline, candidate)
    with screen.progress_bar() as progress:
        if prometheus:
            both = recorded(Recorded(prometheus, span, model, at, access), names, settings, progress)
        else:
            window = window or READING
            both = sides(names, settings, model=model, methods=methods, window=window, access=access, progress=progress)
    third = saved(confirm, model) if confirm else None
    result = compare(*both, settings, gpus=gpus or 1, confirmation=third, **judged)
    if junit:  # Whoever reads the rest may close the pipe.
        write_junit(result, junit)
    shared.print_result(result, partial(document, result, settings))
    for line in annotations(result) if github else ():
        click.echo(line, err=True)
    if not result.passed:
        raise SystemExit(1)
