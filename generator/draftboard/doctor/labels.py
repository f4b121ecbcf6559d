"""Labels of targets: those that separate servers which rules add up, methods by another spelling, a missing model."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from draftboard.catalogue import serving
from draftboard.doctor.finding import Finding
from draftboard.doctor.series import Server, place
from draftboard.expr.nodes import Raw
from draftboard.expr.scope import Edition, Matcher, Scope
from draftboard.expr.to_promql import promql_of
from draftboard.output import shortened
from draftboard.prometheus import Client
from draftboard.reading.apart import Apart, kept_apart, separated
from draftboard.settings import Settings, known_methods, spelled
from draftboard.signals import Level, Signal
from draftboard.signals.acceptance import acceptance, acceptance_length

_SHOWN = 4  # Values of a label in one finding.


def of_labels(client: Client, settings: Settings, servers: Sequence[Server], time: float) -> Iterator[Finding]:
    """What labels of targets make wrong: servers added up, a method that no setting names, a model without a name."""
    for one in separated(client, settings, time):
        yield _blended(client, one, settings, time)
    yield from _methods(servers, settings)
    yield from _models(client, settings, time)


def _blended(client: Client, one: Apart, settings: Settings, time: float) -> Finding:
    names, own = settings.labels, dict(one.model)
    window = settings.rules.rate_window
    apart = kept_apart(settings, [one.label])

    def numbers(signal: Signal, of: Settings) -> dict[str, float]:
        scope = Scope(of, Level.MODEL, Edition.ONCE, span=window)
        scope = scope.where(*(Matcher.exactly(*pair) for pair in sorted(one.model)))
        rows = client.query(promql_of(signal, scope), time)
        return {row.labels.get(one.label, ""): row.samples[0][1] for row in rows}

    shares, lengths = numbers(acceptance, apart), numbers(acceptance_length, apart)
    parts = [
        f"{share:.1%} and a length of {lengths.get(value, 1):.2f} "
        + (f'where it is "{value}"' if value else "without it")
        for value, share in sorted(shares.items())[:_SHOWN]
    ]
    together = "".join(
        f"{share:.1%} of draft tokens accepted together, but " for share in numbers(acceptance, settings).values()
    )
    known = f'"{own.get(names.model_name, "")}"' + "".join(
        f" ({own[names.spec_method]})" for _ in own.keys() & {names.spec_method}
    )
    words = {
        "label": one.label,
        "also": f" ({', '.join(one.labels[1:])} separates them alike)" if one.labels[1:] else "",
        "values": shortened([value or '""' for value in one.values]),
        "apart": f"{together}{'; '.join(parts)}, in {window}" if parts else f"no draft in {window}",
        "scope": _toml(names.scope),
        "with": _toml((*names.scope, one.label)),
        "job": names.job,
        "job_name": json.dumps(own.get(names.job, "")),
        "label_name": json.dumps(one.label),
    }
    return Finding.of("added-up", f"model {known} of job {own.get(names.job, '')}", **words)


def _toml(names: Sequence[str]) -> str:
    return json.dumps([*names])


def _methods(servers: Sequence[Server], settings: Settings) -> Iterator[Finding]:
    """Values of the method's label that no setting names: the rules compare them letter by letter."""
    label, known = settings.labels.spec_method, known_methods(settings)
    unknown = sorted((server for server in servers if server.method and server.method not in known), key=_method)
    for method, own in groupby(unknown, _method):
        where, meant = shortened([server.where for server in own]), spelled(method, settings)
        words = {"label": label, "method": method, "meant": meant, "known": ", ".join(sorted(known))}
        yield Finding.of("method-spelled" if meant else "method-unknown", where, **words)


def _method(server: Server) -> str:
    return server.method or ""


def _models(client: Client, settings: Settings, time: float) -> Iterator[Finding]:
    """Servers whose series lack the label of the model, under whatever name it is now."""
    names, metric = settings.labels, serving.REQUESTS_RUNNING
    if not settings.dialect.spelled(metric) or not settings.dialect.has_models:
        return
    rows = client.query(promql_of(Raw(metric), Scope(settings, edition=Edition.ONCE)), time)
    nameless = [row.labels for row in rows if not row.labels.get(names.model_name)]
    if nameless:
        other = sorted({name for labels in nameless for name in labels if "model" in name})
        where = shortened(list(dict.fromkeys(place(labels, settings) for labels in nameless)))
        fix = f'set model_name = "{other[0]}" in [labels] of the settings, or keep its name' if other else "keep it"
        yield Finding.of("no-model-label", where, label=names.model_name, fix=fix)
