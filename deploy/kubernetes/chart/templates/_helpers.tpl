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
{{- $_ := set . "runbook_url" (.runbook_url | replace "https://github.com/draftboard/draftboard/blob/v0.1.0/alerts/runbooks/" (print $rules.runbooks "/")) }}
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
  name: {{ include "draftboard.name" $root }}-{{ index . 1 }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "draftboard.labels" (list $root $rules.labels) | nindent 4 }}
spec:
  groups:
    {{- toYaml $groups | nindent 4 }}
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
      - key: spec_method
        operator: Exists
    {{- end }}
{{- end }}

{{- /* What the endpoints of both kinds of monitor have in common. */ -}}
{{- define "draftboard.endpoint" -}}
{{- $scrape := .Values.scrape -}}
{{- include "draftboard.require_times" $scrape -}}
path: {{ $scrape.path | toJson }}
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
metricRelabelings:
  # When a counter was made is of no use here, and a tenth of a page.
  - sourceLabels: [__name__]
    regex: .*_created
    action: drop
  {{- with $scrape.dropLabels }}
  - regex: {{ join "|" . }}
    action: labeldrop
  {{- end }}
{{- end }}
