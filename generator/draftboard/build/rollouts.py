"""Objects of Kubernetes that decide a rollout, or scale, by Draftboard's records: Argo Rollouts, Flagger, KEDA."""

from functools import partial

from draftboard.build.templating import environment
from draftboard.expr.scope import Level
from draftboard.rules import records
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.latency import per_token
from draftboard.signals.requests import request_rate, requests_running, requests_waiting

_NAMES = ("argo-rollouts.yaml", "flagger.yaml", "keda.yaml")
_TEMPLATES = {f"deploy/kubernetes/rollouts/{name}": f"rollouts/{name}.j2" for name in _NAMES}
"""Template of each file, by the file's path."""
_READ = (per_token.mean, request_rate, requests_running, requests_waiting)


def paths(settings: Settings) -> tuple[str, ...]:
    """The files; none where a record that they read is not made, by an engine that counts no requests or by a tier."""
    made = records(settings)
    return tuple(_TEMPLATES) if all(signal.record_name(Level.MODEL, settings) in made for signal in _READ) else ()


def text(path: str, settings: Settings, made_by: str) -> str:
    """One of the files; it names its origin, `made_by`."""
    return environment.get_template(_TEMPLATES[path]).render(
        dict(settings),
        made_by=made_by,
        speedup=partial(speedup_over, settings),
        demand=partial(_demand, settings),
        window=settings.rules.rate_window,
        consecutive=3,
    )


def speedup_over(settings: Settings, model: str, stable: str, canary: str) -> str:
    """Users' time per output token of one variant over that of another, where each finished enough requests.

    Above 1 the canary is faster. No value, where either has too few requests, is no reason to go on or back.
    """

    def of(signal: Signal, variant: str) -> str:
        selector = f'{{{settings.labels.model_name}="{model}", {settings.labels.variant}="{variant}"}}'
        return f"{signal.record_name(Level.MODEL, settings)}{selector}"

    enough = settings.traffic.requests_per_second
    times = f"avg({of(per_token.mean, stable)})\n/ avg({of(per_token.mean, canary)})"
    guards = (f"sum({of(request_rate, variant)}) > {enough:g}" for variant in (stable, canary))
    return "\nand ".join((times, *guards))


def _demand(settings: Settings, model: str) -> str:
    """Requests in service and in the queue of a model."""
    names = (signal.record_name(Level.MODEL, settings) for signal in (requests_running, requests_waiting))
    return " + ".join(f'sum({name}{{{settings.labels.model_name}="{model}"}})' for name in names)
