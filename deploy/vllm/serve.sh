#!/bin/sh
# Start vLLM with the variables of .env. The API key is read from its file: it is in no argument and no compose file.
set -eu

secrets=${SECRETS:-/run/secrets}
VLLM_API_KEY=$(cat "$secrets/vllm_api_key")
[ -n "$VLLM_API_KEY" ] || {
    echo "serve.sh: deploy/secrets/vllm_api_key is empty, so authentication would be off. Delete the file and run: make secrets" >&2
    exit 2
}
export VLLM_API_KEY
[ -w "$HF_HOME" ] || {
    echo "serve.sh: user $(id -u) may not write to the model cache $HF_HOME: grant write access to the folder HF_CACHE in deploy/.env, or unset HF_CACHE" >&2
    exit 2
}
# An empty file means no token; public models need none.
if [ -s "$secrets/hf_token" ]; then
    export HF_TOKEN_PATH="$secrets/hf_token"
fi

# The probe is found by its folder. An image's own path stays, and comes first.
case $PROBE in
    on)
        PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$(dirname "$0")/probe
        export PYTHONPATH
        ;;
    off) ;;
    *)
        echo "serve.sh: VLLM_PROBE is '$PROBE': set it to on or off in deploy/.env" >&2
        exit 2
        ;;
esac

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
# Further options are split into words, without file name expansion.
set -f
# shellcheck disable=SC2086
exec "$@" $SERVE_ARGS
