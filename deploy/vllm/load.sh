#!/bin/sh
# Send requests to vLLM with its own benchmark; results go to the log of this container.
#
# A drafter cannot predict random text: it loads the server and shows nothing about speculation. A data set of the
# Hugging Face hub, such as philschmid/mt-bench, does.
set -eu

secrets=${SECRETS:-/run/secrets}
OPENAI_API_KEY=$(cat "$secrets/vllm_api_key")
export OPENAI_API_KEY
if [ -s "$secrets/hf_token" ]; then
    export HF_TOKEN_PATH="$secrets/hf_token"
fi

case $DATASET in
    */*) set -- --dataset-name hf --dataset-path "$DATASET" --no-oversample ;;
    *) set -- --dataset-name "$DATASET" ;;
esac
result=${TMPDIR:-/tmp}/result.json
vllm bench serve \
    --backend openai \
    --base-url "$TARGET" \
    --endpoint /v1/completions \
    --model "$MODEL" \
    --num-prompts "$PROMPTS" \
    --request-rate "$RATE" \
    --temperature 0 \
    --disable-tqdm \
    --save-result \
    --result-filename "$result" \
    "$@"
# The benchmark ends with 0 even if every request failed.
python3 - "$result" <<'EOF'
import json
import sys

with open(sys.argv[1]) as file:
    result = json.load(file)
answered, failed = result["completed"], result.get("failed", 0)
if failed or not answered:
    sys.exit(f"load.sh: {failed} requests failed, {answered} were answered")
EOF
