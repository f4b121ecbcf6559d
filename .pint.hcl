# Configuration of pint (https://cloudflare.github.io/pint/): the policy of tests/unit/test_rules.py. To check the series
# too, add a `prometheus` block.
# pint lint --fail-on=warning alerts/*.rules.yaml

rule {
  match {
    kind = "alerting"
  }
  annotation "summary" {
    required = true
    severity = "bug"
  }
  annotation "runbook_url" {
    required = true
    severity = "bug"
  }
  label "severity" {
    required = true
    value    = "critical|warning|info|none"
    severity = "bug"
  }
  for {
    min      = "1m"
    max      = "1h"
    severity = "bug"
  }
}

rule {
  match {
    kind = "recording"
  }
  name "(engine|model|service|target):vllm_[a-z0-9_]+:[a-z0-9_]+|monitor:node_[a-z_]+:ratio|fleet:draftboard_heartbeat:bool" {
    severity = "bug"
  }
}
