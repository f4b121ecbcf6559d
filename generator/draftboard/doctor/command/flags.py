"""The command line of a server: dead flags, and what its flags do to the metrics."""

from collections.abc import Iterator
from dataclasses import replace

from draftboard.catalogue import CATALOGUE, Presence
from draftboard.doctor.command import buckets, dead, secrets, speculation
from draftboard.doctor.command.commandline import CommandLine
from draftboard.doctor.command.configured import SHORTHANDS, WHOLE, configured, keys_of_json, moved
from draftboard.doctor.command.keys import nearest
from draftboard.doctor.finding import Finding, note, problem, shown, warning
from draftboard.doctor.running.readers import all_readers, silenced_by
from draftboard.settings import Settings

_READ_HERE = (WHOLE, *SHORTHANDS, buckets.FLAG, "disable_log_stats", "per_request_spec_decode_metrics")
_PER_REQUEST = ("none", "summary", "detailed")
_FROM_STATISTICS = {Presence.ALWAYS, Presence.SPECULATING}


def lint(line: CommandLine, settings: Settings) -> tuple[Finding, ...]:
    """Everything that is wrong with, or to be known of, a command line."""
    config, mistakes = configured(line)
    findings = [*_entry(line), *_dead(line), *_mistyped(line), *mistakes, *_twice(line), *secrets.found(line)]
    around = speculation.Around(line.number("tensor_parallel_size"), line.number("data_parallel_size"))
    findings += speculation.lint_spelling(config or {})
    if config is not None or moved(line):
        findings += speculation.lint_meaning(moved(line) | (config or {}), settings, around)
    findings += [*_statistics(line, settings), *_per_request(line, speculates=config is not None or bool(mistakes))]
    findings += [*_processes(line), *buckets.lint(line.value(buckets.FLAG), settings)]
    if config is None and not mistakes and not any(dead.FLAGS.get(a.flag) for a in line.arguments):
        findings.append(_no_speculation(settings))
    return tuple(findings)


def _entry(line: CommandLine) -> Iterator[Finding]:
    if line.old_entrypoint:
        yield note(
            "python -m", "the server is started as in the V0 days", "write `vllm serve MODEL` with the same flags"
        )
    if line.environment.get("VLLM_USE_V1") == "0":
        yield problem("VLLM_USE_V1=0", "the V0 engine is gone", "leave it out")
    if line.environment.get("PROMETHEUS_MULTIPROC_DIR"):
        yield warning(
            "PROMETHEUS_MULTIPROC_DIR",
            "its files outlive the server: the next start adds to the old counters, and two servers to each other",
            "leave it out, vLLM then takes a fresh folder; or empty one of its own before each start",
        )


def _dead(line: CommandLine) -> Iterator[Finding]:
    for argument in line.arguments:
        if gone := dead.FLAGS.get(argument.flag):
            yield problem(argument.written, "a dead flag: vLLM 0.32 refuses to start with it", gone.fix)


def _mistyped(line: CommandLine) -> Iterator[Finding]:
    for argument in line.arguments:
        if not argument.flag or argument.flag in _READ_HERE or argument.flag in dead.FLAGS:
            continue
        if meant := nearest(argument.flag, list(_READ_HERE)):
            where = shown(argument.written)
            yield problem(where, "vLLM 0.32 knows no such flag", f"write --{meant.replace('_', '-')}")


def _twice(line: CommandLine) -> Iterator[Finding]:
    keys = keys_of_json(line)
    for argument in line.all(*SHORTHANDS):
        key = SHORTHANDS[argument.flag]
        if key in keys:
            what = f'says the same as "{key}" in --speculative-config: vLLM refuses both together'
            yield problem(argument.written, what, "leave one out")
    whole = [argument for argument in line.all(WHOLE) if not argument.path]
    if len(whole) > 1:
        yield warning(whole[0].written, "given more than once: the last one counts", "leave the others out")


def _statistics(line: CommandLine, settings: Settings) -> Iterator[Finding]:
    names = {part.name for metric in CATALOGUE for part in metric.parts if metric.presence in _FROM_STATISTICS}
    for argument in line.all("disable_log_stats"):
        what = "the server exposes no vllm: series at all: everything made of them stays empty"
        told = problem(argument.written, what, "leave it out")
        yield replace(told, empty=silenced_by(names, all_readers(settings)))


def _per_request(line: CommandLine, *, speculates: bool) -> Iterator[Finding]:
    for argument in line.all("per_request_spec_decode_metrics"):
        if argument.value not in _PER_REQUEST:
            allowed = ", ".join(_PER_REQUEST)
            yield problem(argument.written, f"{shown(argument.value)} is not allowed", f"write one of {allowed}")
        elif argument.value != "none" and not speculates:
            yield problem(
                argument.written, "without speculation vLLM refuses to start with it", "leave it out, or speculate"
            )


def _processes(line: CommandLine) -> Iterator[Finding]:
    engines = line.number("data_parallel_size")
    frontends = line.number("api_server_count") if line.all("api_server_count") else engines
    if frontends > 1:
        read = ", ".join(metric.name for metric in CATALOGUE if metric.presence is Presence.ONE_PROCESS)
        yield note(
            f"--api-server-count {frontends}" if line.all("api_server_count") else f"--data-parallel-size {engines}",
            f"several API servers expose no {read}: restarts show only where counters start anew",
            "nothing, or --api-server-count 1 where one front end is fast enough",
        )


def _no_speculation(settings: Settings) -> Finding:
    label, baseline = settings.labels.spec_method, settings.methods.baseline
    return note(
        "--speculative-config",
        "not given: the server does not speculate, and exposes no series about it",
        f'give its target the label {label}="{baseline}", so that it is a baseline and not a fault',
    )
