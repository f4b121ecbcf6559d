#!/bin/sh
# Prints rules, scrape configuration and dashboards for a cluster with the Prometheus operator and Grafana's sidecar, for
# whoever has no Helm. The argument is the label `release` by which your Prometheus selects objects. Run in the clone:
#   sh deploy/kubernetes/without-helm.sh kube-prometheus-stack | kubectl apply --server-side --namespace llm --filename -
set -eu
release=${1:?give the label release that your Prometheus selects objects by, such as kube-prometheus-stack}
cd "$(dirname "$0")/../.."

begin() { # KIND NAME LABEL VALUE
    case $1 in ConfigMap) api=v1 ;; *) api=monitoring.coreos.com/v1 ;; esac
    printf -- '---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels: {app.kubernetes.io/name: draftboard, %s: "%s"}\n' \
        "$api" "$1" "$2" "$3" "$4"
}

for kind in recording alerting; do
    begin PrometheusRule "draftboard-$kind" release "$release"
    printf 'spec:\n'
    sed 's/^/  /' "deploy/kubernetes/chart/files/$kind.yaml"
done

begin PodMonitor draftboard-vllm release "$release"
cat <<'YAML'
spec:
  selector:
    matchExpressions:
      - {key: spec_method, operator: Exists}
  podMetricsEndpoints:
    - portNumber: 8000
      path: /metrics
      interval: 15s
      followRedirects: false
      relabelings:
        - {targetLabel: job, replacement: vllm}
        - {sourceLabels: [__meta_kubernetes_pod_node_name], regex: (.+), targetLabel: host}
        - {sourceLabels: [__meta_kubernetes_pod_label_spec_method], regex: (.+), targetLabel: spec_method}
        - {sourceLabels: [__meta_kubernetes_pod_label_variant], regex: (.+), targetLabel: variant}
        - {sourceLabels: [__meta_kubernetes_pod_label_spec_verification], regex: (.+), targetLabel: spec_verification}
        - {sourceLabels: [__meta_kubernetes_pod_label_scale_to_zero], regex: (.+), targetLabel: scale_to_zero}
      metricRelabelings:
YAML
# Those of the stack, and the labels that the operator gives a target.
sed -n 's/"source_labels"/"sourceLabels"/; s/"target_label"/"targetLabel"/; s/"__name__|/&container|endpoint|pod|service|/
    s/^  - {/        - {/p' deploy/prometheus/scrape-options.yml

for path in dashboards/*.json; do
    name=$(basename "$path" .json)
    begin ConfigMap "$name" grafana_dashboard 1
    printf 'data:\n  %s.json: |-\n' "$name"
    sed 's/^/    /' "$path"
done
