"""Every expression of every generated file, run by a real Prometheus on the recorded run."""

import re
from collections.abc import Mapping

import pytest

from draftboard.build import render
from draftboard.lab.replay import Replay
from support import grafana
from support.rulefiles import loaded

pytestmark = pytest.mark.prometheus

TOO_SHORT = "the run lasts ten minutes: there is no hour or day before it"
FEW_WINDOWS = "the run's models are measured for fewer than thirteen windows"
ONE_ENGINE = "each model of the run has one engine"
ONE_CONFIGURATION = "the run's servers keep their configuration"
NONE_FIRES = "no alert but the watchdog fires in the run"
NO_GPU = "the run has no GPU"
NO_ERROR = "no request of the run failed"
KEPT = "fewer than ten requests of the run miss an objective"
UNRESOLVED = "half of the samples and more lie under the first bound"
PROMISES = "Attainment and error budget by SLO"
NO_PLUGIN = "the run's server has no plugin that counts drafts by position"
NO_HOUR = "the run has no hour of any batch"
NOT_SCRAPED = "the run has no series of the monitoring itself"
ROOM = "the run's model is tiny, and so is its KV cache's use"

# Panels (by title), records and alerts that have no sample under the settings of the committed files.
EMPTY_BY_DEFAULT = {
    **dict.fromkeys(
        (
            f"{title} no_target"
            for title in ("To do first", "Models by health", "Health", "Best variant by measured speedup")
        ),
        "the run has a target",
    ),
    "service:vllm_slo_refused:rate5m": "no request fails outside the engines",
    **dict.fromkeys(("Firing alerts alert_age", "annotation Firing alerts"), NONE_FIRES),
    **dict.fromkeys(
        (
            *(
                f"annotation {what}"
                for what in ("Changes of K", "New methods", "Changes of version", "Changes of drafter")
            ),
            *("model:vllm_spec_decode_k:changed", "model:vllm_drafting:new"),
            "model:vllm_spec_decode_slower_k:by_batch_rate5m",
        ),
        ONE_CONFIGURATION,
    ),
    **dict.fromkeys(
        (
            "model:draftboard_spec_runs:info",
            *(f"model:draftboard_spec_{what}:changed" for what in ("vllm_version", "draft_model")),
        ),
        NO_PLUGIN,
    ),
    "raw annotation Restarts": "pages of raw series look back in steps of five minutes, half of the run",
    **dict.fromkeys(
        (
            *("service:vllm_replicas_missing:sum", "VLLMReplicasMissing"),
            *("service:vllm_unwatched:bool", "DraftboardModelUnwatched"),
        ),
        "nothing counts the replicas of the run's models",
    ),
    "service:vllm_busy:bool1d": TOO_SHORT,
    "SpecDecodeClassLoses": "no server of the run has the lens",
    **dict.fromkeys(("Acceptance by position", "model:vllm_spec_decode_position_acceptance:ratio_rate5m"), NO_PLUGIN),
    "Acceptance vs. earlier": TOO_SHORT,
    "Acceptance length vs. its own past": TOO_SHORT,
    "Acceptance length vs. other engines": ONE_ENGINE,
    "model:vllm_spec_decode_acceptance:change1h_ratio_rate5m": TOO_SHORT,
    "model:vllm_spec_decode_acceptance_length:avg1d_mean_rate5m": TOO_SHORT,
    "model:vllm_spec_decode_acceptance_length:stddev1d_mean_rate5m": TOO_SHORT,
    "model:vllm_spec_decode_acceptance_length:zscore1d_mean_rate5m": TOO_SHORT,
    **dict.fromkeys(
        (
            *(f"Variants by measured speedup measured_speedup_{end}" for end in ("low", "high")),
            *(f"Best variant by measured speedup best_measured_speedup_{end}" for end in ("low", "high")),
            *(f"Lead over the next variant {part}" for part in ("intervals_apart", "lead", "lead_low")),
            "model:vllm_measured_speedup:uncertainty_rate5m",
        ),
        FEW_WINDOWS,
    ),
    "engine:vllm_spec_decode_acceptance_length_to_others:ratio_rate5m": ONE_ENGINE,
    "target:vllm_spec_decode_metrics_missing:bool": "no target of the run lacks its counters",
    "SpecDecodeAcceptanceDrop": TOO_SHORT,
    "SpecDecodeLengthAnomaly": TOO_SHORT,
    "SpecDecodeEngineOutlier": ONE_ENGINE,
    "SpecDecodeMetricsMissing": "no target of the run lacks its counters",
    "SpecDecodeNotPaying": "over five minutes and with v = 1, n-gram stays above break-even",
    "SpecDecodeSuspiciouslyHigh": "acceptance stays under 98 %",
    "SpecDecodeInactive": "whenever the run generates, it drafts",
    "SpecDecodeMetricsInconsistent": "the counters of a real vLLM hold their identities",
    **dict.fromkeys(("GPU utilisation", "GPU memory in use", "GPU power", "Last XID error"), NO_GPU),
    **dict.fromkeys(("HTTP errors", "target:vllm_http_errors:ratio_rate5m", "VLLMErrors"), NO_ERROR),
    **dict.fromkeys(("service:vllm_http_failures:rate5m", "service:vllm_slo_unserved:rate5m"), NO_ERROR),
    **dict.fromkeys(("service:vllm_http_faults:rate5m", "service:vllm_http_faults:increase1h"), NO_ERROR),
    "DraftboardSamplesStopped": "samples arrive until the run ends",
    "VLLMUsersWait": "no request of the run waits for half a minute",
    **dict.fromkeys(("New series per scrape", "monitor:scrape_series_added:mean"), NOT_SCRAPED),
    "DraftboardSeriesChurn": NOT_SCRAPED,
    **dict.fromkeys(("VLLMHTTPErrors", "Share of failed requests"), NO_ERROR),
    **dict.fromkeys(("VLLMModelDown", "VLLMTargetDown", "Servers down"), "the outage falls between two evaluations"),
    **dict.fromkeys((f"To do first since_{unit}" for unit in ("h", "d")), "the run is shorter than an hour"),
    "Engines that needed somebody lasting": "every engine is healthy at the end",
    **dict.fromkeys(
        (
            *(
                "Stuck requests",
                "engine:vllm_requests_stuck:min5m",
                "model:vllm_requests_stuck:min5m",
                "model:vllm_engines_stuck:count5m",
                "VLLMEngineStuck",
            ),
            *("Unanswered requests", "target:vllm_requests_unanswered:increase5m", "VLLMRequestsUnanswered"),
            *("VLLMRequestsAbandoned", "service:vllm_gone:bool", "VLLMModelGone", "VLLMTargetFlapping"),
        ),
        "every request of the run is answered, and no server leaves",
    ),
    **dict.fromkeys(("VLLMAdmissionRejected", "Share of rejected requests"), "the run's queue has no limit"),
    **dict.fromkeys(
        (f"{PROMISES} burning_fast", "service:vllm_slo_burning_fast:ratio", "VLLMErrorBudgetBurnsFast"), KEPT
    ),
    **dict.fromkeys(
        (f"{PROMISES} burning_slowly", "service:vllm_slo_burning_slowly:ratio", "VLLMErrorBudgetBurnsSlowly"), KEPT
    ),
    **dict.fromkeys((f"{PROMISES} error_budget_lasts", "service:vllm_slo_error_budget_lasts:seconds"), KEPT),
    **dict.fromkeys(
        (
            *("Time per output token: P99 over P50", "Latency tail vs. its own past"),
            "model:vllm_request_time_per_output_token_seconds:p99_over_p50_rate5m",
            "model:vllm_request_time_per_output_token_seconds:tail_change1d_rate5m",
        ),
        UNRESOLVED,
    ),
    **dict.fromkeys(("VLLMKVCachePressure", "VLLMPreemptions", "Preemptions per request"), ROOM),
    **dict.fromkeys(
        (
            "Step latency vs. its own past",
            "engine:vllm_inter_token_latency_seconds:change1d_by_batch_rate5m",
            "VLLMStepsSlow",
        ),
        NO_HOUR,
    ),
    **dict.fromkeys(
        (
            *("Failed rule evaluations", "Failed notifications", "Storage failures"),
            *("Disk space left in a day", "Disk space left"),
            *("monitor:node_filesystem_avail:ratio", "DraftboardDiskFilling", "DraftboardStorageFails"),
            *("DraftboardRulesFail", "DraftboardNotificationsFail", "DraftboardAlertmanagerDown"),
            "DraftboardRemoteWriteFails",
        ),
        NOT_SCRAPED,
    ),
    **dict.fromkeys(
        (
            *(f"model:draftboard_spec_decode_step_seconds:{what}_by_batch_rate5m" for what in ("mean", "avg3d_mean")),
            "model:draftboard_spec_draft_tokens_per_pos:rate5m",
            "Drafting by engine",
        ),
        "no server of the run has the plugin",
    ),
    **dict.fromkeys(
        (
            "model:draftboard_spec_lens_coverage:ratio_rate5m",
            "model:draftboard_spec_class_share:ratio_rate5m",
            "model:draftboard_spec_class_acceptance:ratio_rate5m",
            "model:draftboard_spec_class_length:mean_rate5m",
            *(f"model:draftboard_spec_class_speedup_{end}:ratio_rate5m" for end in ("low", "high")),
            "model:draftboard_spec_class_time_per_token:mean_rate5m",
            "model:draftboard_spec_class_generation_tokens:ratio_rate5m",
            "model:draftboard_spec_class_prompt_tokens:mean_rate5m",
            "model:draftboard_spec_lens_unmeasured:rate5m",
            *("Share of output tokens by class", "Prompt length by class", "Requests that the lens misses"),
            *("Classes of requests", "Coverage of the lens", "Draft acceptance by class"),
        ),
        "no server of the run has the lens",
    ),
    **dict.fromkeys(
        (
            *("target:vllm_server_outlier:bool", "VLLMServerOutlier"),
            *("service:vllm_silent:bool", "service:vllm_unserved:bool", "VLLMUsersUnserved"),
            *("VLLMModelFlapping", "SpecDecodeAcceptanceDecline"),
        ),
        "the run has one server of each method, for ten minutes, and its users are served",
    ),
    "DraftboardRecordsMissing": "a replay has the records of its series",
}
# The demo's short windows give the run a past and a queue to resolve, and its settings an n-gram that does not pay.
SHOWN_IN_THE_DEMO = {*("VLLMTargetDown", "Servers down"), "SpecDecodeNotPaying", "raw annotation Restarts"}
EMPTY_IN_THE_DEMO = {
    re.sub(r"(rate|min|count|increase)5m$", r"\g<1>1m", name).replace("change1d", "change5m"): reason
    for name, reason in EMPTY_BY_DEFAULT.items()
    if reason not in {TOO_SHORT, NONE_FIRES} and name not in SHOWN_IN_THE_DEMO
}


def expressions(files: Mapping[str, str], rate_interval: str) -> dict[tuple[str, str], str]:
    """By file and name."""
    found = {}
    for path, dashboard in grafana.dashboards(files).items():
        for where, expr in grafana.queries(dashboard):
            found[path, where] = grafana.substituted(expr, dashboard, rate_interval)
    for path, text in files.items():
        if path.endswith(".rules.yaml"):
            for rule in (rule for group in loaded(text)["groups"] for rule in group["rules"]):
                found[path, rule.get("record") or rule["alert"]] = rule["expr"]
    return found


def check_all(replay: Replay, empty: Mapping[str, str]) -> None:
    files = render(replay.settings)
    unexpected, used = [], set()
    for (path, name), expr in expressions(files, str(replay.settings.rules.rate_window)).items():
        if name.endswith(" none"):  # Nothing above 0, of what the query beside it reads: test_lines.py.
            continue
        answer = replay.client.query_range(expr, replay.start, replay.end, replay.step)
        names = (
            *([f"raw {name}"] if path.endswith("-raw.json") else []),
            name,
            name.removesuffix(" none").rpartition(" ")[0],
        )
        listed = next((key for key in names if key in empty), None)
        if bool(answer) == (listed is not None):
            unexpected.append(f"{path}: {name}: {'has samples, but is listed as empty' if answer else 'no sample'}")
        used.add(listed)
    assert unexpected == []
    assert set(empty) <= used, "listed, but no such expression"


@pytest.mark.xdist_group("default_run")
def test_every_committed_expression_has_samples_on_the_recorded_run_or_a_listed_reason(default_run: Replay) -> None:
    check_all(default_run, EMPTY_BY_DEFAULT)


@pytest.mark.xdist_group("demo_run")
def test_every_expression_of_the_demo_build_has_samples_or_a_listed_reason(demo_run: Replay) -> None:
    check_all(demo_run, EMPTY_IN_THE_DEMO)
