{{- /* Made by `draftboard build`: edit the generator or your settings, not this file. */ -}}

{{- /* Every name begins with the release's, which is one of a kind in its namespace. */ -}}
{{- define "draftboard.name" -}}
{{ .Release.Name }}{{ if ne .Release.Name "draftboard" }}-draftboard{{ end }}
{{- end }}

{{- /* Labels of an object, from the root and the labels of its kind. */ -}}
{{- define "draftboard.labels" -}}
{{- $root := index . 0 }}
{{- $own := dict
  "app.kubernetes.io/name" "draftboard"
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/managed-by" $root.Release.Service
  "app.kubernetes.io/version" $root.Chart.AppVersion
}}
{{- mustMergeOverwrite $own $root.Values.labels (index . 1) | toYaml }}
{{- end }}

{{- /* A PrometheusRule of the groups in a file, from the root, its suffix and the path. */ -}}
{{- define "draftboard.rule" -}}
{{- $root := index . 0 }}
{{- $rules := $root.Values.rules }}
{{- $groups := list }}
{{- range ($root.Files.Get (index . 2) | fromYaml).groups }}
{{- $kept := list }}
{{- range .rules }}
{{- with .annotations }}
{{- $_ := set . "runbook_url" (.runbook_url | replace "https://github.com/draftboard/draftboard/blob/main/alerts/runbooks/" (print $rules.runbooks "/")) }}
{{- $_ := mustMerge . $rules.additionalRuleAnnotations }}
{{- end }}
{{- if .alert }}
{{- $_ := set .labels "severity" (get $rules.severities .labels.severity | default .labels.severity) }}
{{- $_ := mustMerge .labels $rules.additionalRuleLabels }}
{{- end }}
{{- if not (has .alert $rules.without) }}
{{- $kept = append $kept . }}
{{- end }}
{{- end }}
{{- if $kept }}
{{- $groups = append $groups (set . "rules" $kept) }}
{{- end }}
{{- end -}}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  {{- /* Not the release's: a second release in this namespace would alert a second time, so Helm refuses it. */}}
  name: draftboard-{{ index . 1 }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "draftboard.labels" (list $root $rules.labels) | nindent 4 }}
  {{- with $rules.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  groups:
    {{- toYaml $groups | nindent 4 }}
{{- end }}

{{- /* The label of pods that names the drafting method. */ -}}
{{- define "draftboard.method" -}}
{{ get .Values.scrape.podLabels "spec_method" | default "spec_method" }}
{{- end }}

{{- /* Seconds of a duration, such as 1m30s. */ -}}
{{- define "draftboard.seconds" -}}
{{- $seconds := 0 }}
{{- range regexFindAll "[0-9]+[hms]" . -1 }}
{{- $seconds = add $seconds (mul (regexFind "[0-9]+" . | int64) (get (dict "h" 3600 "m" 60 "s" 1) (regexFind "[hms]" .))) }}
{{- end }}
{{- $seconds }}
{{- end }}

{{- /* The operator leaves out, without a word, a monitor whose times contradict each other. */ -}}
{{- define "draftboard.require_times" -}}
{{- $interval := include "draftboard.seconds" .interval | int64 }}
{{- if or (lt $interval 1) (gt $interval 60) }}
{{- fail (printf "scrape.interval %s is not between 1s and 1m, which the rules were built for" .interval) }}
{{- end }}
{{- if .timeout }}
{{- $timeout := include "draftboard.seconds" .timeout | int64 }}
{{- if or (lt $timeout 1) (gt $timeout $interval) }}
{{- fail (printf "scrape.timeout %s is not between 1s and scrape.interval, %s" .timeout .interval) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A PodMonitor or ServiceMonitor, but for its endpoint. */ -}}
{{- define "draftboard.monitor" -}}
{{- $scrape := .Values.scrape -}}
apiVersion: monitoring.coreos.com/v1
kind: {{ $scrape.kind }}
metadata:
  name: {{ include "draftboard.name" . }}-vllm
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "draftboard.labels" (list . $scrape.labels) | nindent 4 }}
spec:
  {{- if has "*" $scrape.namespaces }}
  namespaceSelector:
    any: true
  {{- else if $scrape.namespaces }}
  namespaceSelector:
    matchNames:
      {{- toYaml $scrape.namespaces | nindent 6 }}
  {{- end }}
  selector:
    {{- if $scrape.selector }}
    {{- toYaml $scrape.selector | nindent 4 }}
    {{- else }}
    matchExpressions:
      - key: {{ include "draftboard.method" . }}
        operator: Exists
    {{- end }}
{{- end }}

{{- /* What the endpoints of both kinds of monitor have in common. */ -}}
{{- define "draftboard.endpoint" -}}
{{- $scrape := .Values.scrape -}}
{{- include "draftboard.require_times" $scrape -}}
path: {{ $scrape.path | toJson }}
scheme: {{ $scrape.scheme }}
{{- with $scrape.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $scrape.authorization }}
authorization:
  {{- toYaml . | nindent 2 }}
{{- end }}
followRedirects: false
interval: {{ $scrape.interval }}
{{- with $scrape.timeout }}
scrapeTimeout: {{ . }}
{{- end }}
relabelings:
  - sourceLabels: [__meta_kubernetes_pod_node_name]
    regex: (.+)
    targetLabel: host
  {{- range $label, $value := $scrape.targetLabels }}
  - targetLabel: {{ $label | toJson }}
    replacement: {{ $value | replace "$" "$$" | toJson }}
  {{- end }}
  {{- range $label, $key := $scrape.podLabels }}
  - sourceLabels: [__meta_kubernetes_pod_label_{{ regexReplaceAll "[^a-zA-Z0-9_]" $key "_" }}]
    regex: (.+)
    targetLabel: {{ $label | toJson }}
  {{- end }}
  {{- with $scrape.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
metricRelabelings:
  {{- with $scrape.metricRelabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- if eq $scrape.keep "known" }}
  - {"sourceLabels": ["__name__"], "regex": "draftboard_spec_class_accepted_tokens_total|draftboard_spec_class_decode_seconds_total|draftboard_spec_class_decode_tokens_total|draftboard_spec_class_draft_tokens_total|draftboard_spec_class_drafts_total|draftboard_spec_class_generation_tokens_total|draftboard_spec_class_prompt_tokens_total|draftboard_spec_class_requests_total|draftboard_spec_decode_step_seconds_total|draftboard_spec_decode_steps_total|draftboard_spec_draft_tokens_per_pos_total|draftboard_spec_info|draftboard_spec_lens_unmeasured_total|http_requests_total|llamacpp:requests_processing|process_start_time_seconds|ray_node_mem_total|ray_vllm:generation_tokens_total|ray_vllm_generation_tokens_total|sglang:num_running_reqs|trtllm_num_requests_running|vllm:admission_rejections_total|vllm:cache_config_info|vllm:cpu_cache_usage_perc(_count)?|vllm:cpu_prefix_cache_hit_rate(_count)?|vllm:e2e_request_latency_seconds_bucket|vllm:e2e_request_latency_seconds_count|vllm:e2e_request_latency_seconds_sum|vllm:estimated_flops_per_gpu_total|vllm:estimated_read_bytes_per_gpu_total|vllm:estimated_write_bytes_per_gpu_total|vllm:external_prefix_cache_hits_total|vllm:external_prefix_cache_queries_total|vllm:generation_tokens_total|vllm:gpu_cache_usage_perc(_count)?|vllm:gpu_prefix_cache_hit_rate(_count)?|vllm:gpu_prefix_cache_hits_total(_count)?|vllm:gpu_prefix_cache_queries_total(_count)?|vllm:inter_token_latency_seconds_bucket|vllm:inter_token_latency_seconds_count|vllm:inter_token_latency_seconds_sum|vllm:iteration_tokens_total_bucket|vllm:iteration_tokens_total_count|vllm:iteration_tokens_total_sum|vllm:kv_cache_usage_perc|vllm:model_execute_time_milliseconds(_count)?|vllm:model_forward_time_milliseconds(_count)?|vllm:num_preemptions_total|vllm:num_requests_running|vllm:num_requests_swapped(_count)?|vllm:num_requests_waiting|vllm:num_requests_waiting_by_reason|vllm:prefix_cache_hits_total|vllm:prefix_cache_queries_total|vllm:prompt_tokens_by_source_total|vllm:prompt_tokens_recomputed_total(_count)?|vllm:prompt_tokens_total|vllm:request_decode_time_seconds_bucket|vllm:request_decode_time_seconds_count|vllm:request_decode_time_seconds_sum|vllm:request_generation_tokens_bucket|vllm:request_generation_tokens_count|vllm:request_generation_tokens_sum|vllm:request_prefill_time_seconds_bucket|vllm:request_prefill_time_seconds_count|vllm:request_prefill_time_seconds_sum|vllm:request_prompt_tokens_bucket|vllm:request_prompt_tokens_count|vllm:request_prompt_tokens_sum|vllm:request_queue_time_seconds_bucket|vllm:request_queue_time_seconds_count|vllm:request_queue_time_seconds_sum|vllm:request_success_total|vllm:request_time_per_output_token_seconds_bucket|vllm:request_time_per_output_token_seconds_count|vllm:request_time_per_output_token_seconds_sum|vllm:spec_decode_draft_acceptance_rate(_count)?|vllm:spec_decode_efficiency(_count)?|vllm:spec_decode_num_accepted_tokens_per_pos_total|vllm:spec_decode_num_accepted_tokens_total|vllm:spec_decode_num_draft_tokens_per_pos_total|vllm:spec_decode_num_draft_tokens_total|vllm:spec_decode_num_drafts_total|vllm:spec_decode_num_emitted_tokens_total(_count)?|vllm:time_in_queue_requests(_count)?|vllm:time_per_output_token_seconds(_count)?|vllm:time_to_first_token_seconds_bucket|vllm:time_to_first_token_seconds_count|vllm:time_to_first_token_seconds_sum|vllm_num_requests_running", "action": "keep"}
  - {"sourceLabels": ["adaptive", "attention_backend", "batch", "block_size", "cache_dtype", "class", "data_parallel_size", "dimension", "draft_model", "draft_model_revision", "engine", "expert_parallel", "finished_reason", "handler", "k", "k_schedule", "kv_cache_dtype", "kv_cache_max_concurrency", "kv_cache_size_tokens", "le", "method", "model_revision", "model_runner", "num_gpu_blocks", "pipeline_parallel_size", "position", "quantization", "reason", "rejection", "source", "status", "tensor_parallel_size", "vllm_version"], "regex": "(?s).*(?:\\{\\{|[<>[:cntrl:]\\x{80}-\\x{9f}\\p{Cf}\\p{Zl}\\p{Zp}]).*", "action": "drop"}
  - {"sourceLabels": ["model_name"], "targetLabel": "__tmp_number", "modulus": 1000, "action": "hashmod"}
  - {"sourceLabels": ["__tmp_number", "model_name"], "separator": ":", "regex": "(\\d+):(?s).*(?:\\{\\{|[<>[:cntrl:]\\x{80}-\\x{9f}\\p{Cf}\\p{Zl}\\p{Zp}]).*", "targetLabel": "model_name", "replacement": "unsafe-name-$1", "action": "replace"}
  {{- $known := list "adaptive" "attention_backend" "batch" "block_size" "cache_dtype" "class" "cluster" "data_parallel_size" "dimension" "draft_model" "draft_model_revision" "engine" "expert_parallel" "finished_reason" "handler" "host" "instance" "job" "k" "k_schedule" "kv_cache_dtype" "kv_cache_max_concurrency" "kv_cache_size_tokens" "le" "method" "model_name" "model_revision" "model_runner" "namespace" "num_gpu_blocks" "pipeline_parallel_size" "position" "quantization" "reason" "rejection" "scale_to_zero" "source" "spec_method" "spec_verification" "status" "tensor_parallel_size" "variant" "vllm_version" "namespace" "pod" "container" "endpoint" "service" "instance" }}
  {{- $labels := concat $known (keys $scrape.targetLabels) (keys $scrape.podLabels) $scrape.keepLabels | uniq | sortAlpha }}
  - regex: __name__|{{ join "|" $labels }}
    action: labelkeep
  {{- else }}
  - {"sourceLabels": ["__name__"], "regex": ".*_created|ALERTS.*|up|scrape_.*|target:.*|engine:.*|model:.*|service:.*|host:.*|monitor:.*|scope:.*|fleet:.*", "action": "drop"}
  - {"sourceLabels": ["adaptive", "attention_backend", "batch", "block_size", "cache_dtype", "class", "data_parallel_size", "dimension", "draft_model", "draft_model_revision", "engine", "expert_parallel", "finished_reason", "handler", "k", "k_schedule", "kv_cache_dtype", "kv_cache_max_concurrency", "kv_cache_size_tokens", "le", "method", "model_revision", "model_runner", "num_gpu_blocks", "pipeline_parallel_size", "position", "quantization", "reason", "rejection", "source", "status", "tensor_parallel_size", "vllm_version"], "regex": "(?s).*(?:\\{\\{|[<>[:cntrl:]\\x{80}-\\x{9f}\\p{Cf}\\p{Zl}\\p{Zp}]).*", "action": "drop"}
  - {"sourceLabels": ["model_name"], "targetLabel": "__tmp_number", "modulus": 1000, "action": "hashmod"}
  - {"sourceLabels": ["__tmp_number", "model_name"], "separator": ":", "regex": "(\\d+):(?s).*(?:\\{\\{|[<>[:cntrl:]\\x{80}-\\x{9f}\\p{Cf}\\p{Zl}\\p{Zp}]).*", "targetLabel": "model_name", "replacement": "unsafe-name-$1", "action": "replace"}
  - {"regex": "__tmp_number|_block_size_resolved|cache_hit_alignment_tokens|effective_attention_block_size|enable_mamba_shared_prefix_checkpoint|enable_prefix_caching|gpu_memory_utilization|hash_block_size|is_attention_free|kv_cache_dtype_skip_layers|kv_cache_layout|kv_cache_memory_bytes|kv_offloading_backend|kv_offloading_size|kv_sharing_fast_prefill|mamba_block_size|mamba_cache_dtype|mamba_cache_mode|mamba_page_size_padded|mamba_ssm_cache_dtype|num_cpu_blocks|num_gpu_blocks_override|prefix_cache_retention_interval|prefix_caching_hash_algo|prefix_match_unit|replayssm_buffer_len|skip_page_size_padded|sliding_window|swa_bounded_replay|use_kda_recoverssm|use_replayssm|user_specified_block_size", "action": "labeldrop"}
  {{- end }}
{{- end }}
