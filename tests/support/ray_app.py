"""vLLM's AsyncLLM in Ray Serve, with the logger that Ray Serve LLM uses.

Usage: .venv-vllm/bin/python tests/support/ray_app.py MODEL TEMP REPLICAS K PORT METRICS_PORT
"""

import os
import sys
import uuid
from pathlib import Path
from typing import Any

import ray
from ray import serve
from starlette.requests import Request

MODEL, TEMP, REPLICAS, K, PORT, METRICS_PORT = sys.argv[1:]
OF_WORKERS = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}


class Tiny:
    """Answers `/v1/completions`, and says which replica did."""

    def __init__(self, model: str, k: int) -> None:
        from vllm.engine.arg_utils import AsyncEngineArgs  # noqa: PLC0415
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415
        from vllm.v1.metrics.ray_wrappers import RayPrometheusStatLogger  # noqa: PLC0415

        ngram = {"method": "ngram", "num_speculative_tokens": k, "prompt_lookup_max": 4, "prompt_lookup_min": 1}
        words = AsyncEngineArgs(
            model=model,
            served_model_name="tiny",
            max_model_len=1024,
            max_num_seqs=8,
            enforce_eager=True,
            dtype="float32",
            speculative_config=ngram,
        )
        self.engine = AsyncLLM.from_engine_args(words, stat_loggers=[RayPrometheusStatLogger])
        self.replica = serve.get_replica_context().replica_id.unique_id

    async def __call__(self, request: Request) -> dict[str, Any]:
        """The tokens of a greedy answer, and who gave it."""
        from vllm.sampling_params import SamplingParams  # noqa: PLC0415

        asked = await request.json()
        sampling = SamplingParams(max_tokens=asked["max_tokens"], temperature=0, ignore_eos=True)
        async for answer in self.engine.generate(asked["prompt"], sampling, uuid.uuid4().hex):
            tokens = len(answer.outputs[0].token_ids)
        return {"tokens": tokens, "replica": self.replica}


os.environ |= OF_WORKERS | {"RAY_USAGE_STATS_ENABLED": "0"}
ray.init(
    address="local",
    num_cpus=8,
    include_dashboard=False,
    object_store_memory=200 * 2**20,
    runtime_env={"env_vars": OF_WORKERS},
    _metrics_export_port=int(METRICS_PORT),
    _node_ip_address="127.0.0.1",
    _temp_dir=str(Path(TEMP)),
)
serve.start(http_options={"host": "127.0.0.1", "port": int(PORT)})
replicas = serve.deployment(num_replicas=int(REPLICAS), ray_actor_options={"num_cpus": 1}, max_ongoing_requests=64)
serve.run(replicas(Tiny).bind(MODEL, int(K)), route_prefix="/v1/completions", blocking=True)
