#!/bin/sh
# Start vLLM as .env describes it. The API key goes from its file into this process alone: no argument, no compose file.
set -eu

secrets=${SECRETS:-/run/secrets}
VLLM_API_KEY=$(cat "$secrets/vllm_api_key")
[ -n "$VLLM_API_KEY" ] || {
    echo "serve.sh: deploy/secrets/vllm_api_key is empty, so anybody could use the server. Delete it and run: make secrets" >&2
    exit 2
}
export VLLM_API_KEY
[ -w "$HF_HOME" ] || {
    echo "serve.sh: user $(id -u) may not write to the cache of models, $HF_HOME: let that user write to the folder that HF_CACHE in deploy/.env names, or unset HF_CACHE" >&2
    exit 2
}
# Public models need no token: an empty file stands for none.
if [ -s "$secrets/hf_token" ]; then
    export HF_TOKEN_PATH="$secrets/hf_token"
fi

set -- vllm serve "$MODEL" \
    --host 0.0.0.0 \
    --port 8000 \
    --tensor-parallel-size "$TENSOR_PARALLEL_SIZE" \
    --gpu-memory-utilization "$GPU_MEMORY_UTILIZATION" \
    --max-model-len "$MAX_MODEL_LEN" \
    --custom-histogram-buckets "$BUCKETS"
if [ -n "$SPEC_CONFIG" ]; then
    set -- "$@" --speculative-config "$SPEC_CONFIG"
fi
# Further options are words: to be split here, but no pattern of file names.
set -f
# shellcheck disable=SC2086
exec "$@" $VLLM_ARGS
