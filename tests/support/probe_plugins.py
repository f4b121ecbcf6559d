"""Plugins that the tests have a real vLLM load in place of the probe: they watch it, or hand it what it cannot read."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from draftboard_probe import Probe


class Witness(Probe):
    """Writes of each step what the details tell, what the probe would have inferred, and what the call took."""

    def record(self, scheduler_stats: Any, iteration_stats: Any, **options: Any) -> None:
        details = scheduler_stats and scheduler_stats.iteration_details
        if not details:
            super().record(scheduler_stats, iteration_stats, **options)
            return
        assert self.recorder, "vLLM has engines"
        step: dict[str, Any] = {
            "told": self.recorder.kind(scheduler_stats, iteration_stats),
            "inferred": self.recorder.kind(replace(scheduler_stats, iteration_details=None), iteration_stats),
            "elapsed": details.elapsed_ms / 1000,
            "gap": min(iteration_stats.inter_token_latencies_iter, default=None) if iteration_stats else None,
            "preempted": bool(iteration_stats and iteration_stats.num_preempted_reqs),
        }
        begin = time.perf_counter()
        super().record(scheduler_stats, iteration_stats, **options)
        step["recorded"] = time.perf_counter() - begin
        with Path(os.environ["WITNESSED"]).open("a") as file:
            file.write(json.dumps(step) + "\n")


class BrokenStart(Probe):
    """Is made with a configuration that is none."""

    def __init__(self, _vllm_config: Any, engine_index: int = 0) -> None:
        super().__init__(object(), engine_index)


class BrokenRecord(Probe):
    """Is given steps that are none."""

    def record(self, scheduler_stats: Any, iteration_stats: Any, **options: Any) -> None:
        super().record(scheduler_stats and object(), iteration_stats, **options)
