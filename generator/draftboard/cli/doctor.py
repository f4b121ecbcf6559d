"""`doctor`: what keeps dashboards and rules empty or wrong."""

import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from draftboard.cli import shared
from draftboard.durations import Duration

_WINDOW = Duration(10)


@click.command("doctor")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@shared.duration_option("--window", words=f"Time between two scrapes of a server. Default: {_WINDOW}.")
@click.option("--prometheus", metavar="URL", help="Examine a Prometheus: scrapes, stored series, rules.")
@click.option("--ruler", metavar="URL", help="Server that evaluates the rules of --prometheus, if it is another.")
@click.option("--cost", is_flag=True, help="Count series and rules of --prometheus, and what nothing reads.")
@shared.at_option
@click.option("--speculative-config", metavar="JSON", help="Examine a value of vLLM's --speculative-config.")
@click.option("--command", metavar="COMMANDLINE", help="Examine the command line of a vLLM server.")
@click.option("--vllm-version", metavar="VERSION", help="Release of vLLM to check for. Default: a SOURCE's own.")
@shared.config_option
@shared.access_options()
@shared.output_options
def doctor_command(
    *,
    sources: tuple[str, ...],
    window: Duration | None,
    prometheus: str | None,
    ruler: str | None,
    cost: bool,
    at: float | None,
    speculative_config: str | None,
    command: str | None,
    vllm_version: str | None,
    config: Path | None,
    token_file: Path | None,
    ca_file: Path | None,
) -> None:
    """Find what is missing or wrong, and how to correct it.

    SOURCE is the address of a vLLM server, a saved /metrics page, or a YAML file with command lines of vLLM (Compose,
    Kubernetes, Helm values). Exit codes: 0 no problem, 1 problems or warnings, 2 nothing could be examined.
    """
    from draftboard import doctor
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen

    reads = bool(sources or prometheus is not None)
    shared.require(at is None or prometheus is not None, "--at requires --prometheus")
    shared.require(ruler is None or prometheus is not None, "--ruler requires --prometheus")
    shared.require(not cost or prometheus is not None, "--cost requires --prometheus")
    shared.require(window is None or sources, "--window requires a SOURCE")
    shared.require(reads or not (token_file or ca_file), "--token-file and --ca-file require a SOURCE or --prometheus")
    settings, access, examinations = load(config), Access.from_files(token_file, ca_file), []
    manifests = [source for source in sources if doctor.is_manifest(source)]
    sources = tuple(source for source in sources if source not in manifests)
    release = doctor.release_of(vllm_version, sources, access)
    if speculative_config is not None:
        examinations.append(doctor.examine_config(speculative_config, settings, release))
    if command is not None:
        examinations.append(doctor.examine_command(command, settings, release))
    for manifest in manifests:
        examinations += doctor.examine_manifest(Path(manifest), settings, release)
    if prometheus is not None:
        with ExitStack() as opened:
            of_store = replace(access, tenant=settings.stack.queried.tenant) if settings.stack.queried else access
            client = opened.enter_context(doctor.ReadOnce(prometheus, of_store))
            evaluates = None if ruler is None else opened.enter_context(doctor.ReadOnce(ruler, of_store))
            then = time.time() if at is None else at
            examinations.append(doctor.examine_prometheus(client, settings, then, release, evaluates))
            examinations += [doctor.examine_cost(client, settings, then, evaluates)] if cost else []
            examinations += [doctor.examine_ruler(evaluates, client, settings, then)] if evaluates else []
    if sources:
        with screen.progress_bar() as progress:
            examinations += doctor.examine_sources(
                sources, settings, window or _WINDOW, access, progress=progress, release=release
            )
    shared.require(examinations, "nothing to examine: give a SOURCE, --prometheus, --speculative-config or --command")
    diagnosis = doctor.Diagnosis(tuple(examinations))
    shared.print_result(diagnosis, partial(doctor.document, diagnosis))
    if not diagnosis.content:
        raise SystemExit(1)
