#!/bin/sh
# Write the scrape targets of the compose file, then start the given program: Prometheus.
#
# Prometheus does not expand environment variables in target labels, so the labels of .env are written here. Targets are
# static: a stopped container has no DNS name, and a target without a name would disappear instead of being down. They
# depend on PROFILES, because a target that was never started would raise an alert.
set -euf

fail() {
    echo "start.sh: $1" >&2
    exit 2
}

# These become part of a YAML file.
for text in "$SPEC_METHOD" "$HOST_LABEL"; do
    case $text in
        *[!A-Za-z0-9._:-]*) fail "'$text' in deploy/.env may contain only letters, digits and . _ : -" ;;
    esac
done

# Compose ignores blanks between profiles, and profiles that it does not know.
PROFILES=$(printf %s "$PROFILES" | tr -d ' \t\r\n')
for profile in $(printf %s "$PROFILES" | tr , ' '); do
    case $profile in
        gpu | demo | monitoring | baseline | load | exporters | scale) ;;
        *) fail "COMPOSE_PROFILES in deploy/.env: unknown profile '$profile', see deploy/.env.example" ;;
    esac
done

runs() {
    case ",$PROFILES," in
        *",$1,"*) return 0 ;;
        *) return 1 ;;
    esac
}

address() { # host:port, or an IPv6 address in brackets
    case $1 in
        *[!][A-Za-z0-9._:-]*) return 1 ;;
    esac
    printf '%s\n' "$1" | grep -Eqx '([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}'
}

# The label names are those of `labels.host` and `labels.spec_method` in the settings.
target() { # job, address, further labels
    echo "      - targets: ['$2']"
    echo "        labels: {job: $1, host: '$HOST_LABEL'${3:+, $3}}"
}

job() { # name
    echo "  - job_name: $1"
}

servers() { # name; what all jobs of servers have in common follows from the settings
    job "$1"
    sed 's/^/    /' "$SCRAPE_OPTIONS"
}

jobs() {
    echo "scrape_configs:"
    if runs demo; then
        servers simulator
        echo "    http_sd_configs:"
        echo "      - url: http://simulator:8000/targets"
        echo "        refresh_interval: 15s"
        echo "    relabel_configs:"
        echo "      - {target_label: job, replacement: vllm}"
    fi
    if runs gpu || runs baseline || runs monitoring; then
        servers stack
        echo "    static_configs:"
    fi
    if runs gpu; then
        target vllm vllm:8000 "spec_method: '$SPEC_METHOD'"
    fi
    if runs baseline; then
        target vllm vllm-baseline:8000 "spec_method: none"
    fi
    if runs monitoring; then
        address "$VLLM_TARGET" ||
            fail "the profile monitoring needs VLLM_TARGET=host:port in deploy/.env, or [address]:port for IPv6; it is '$VLLM_TARGET'"
        target vllm "$VLLM_TARGET" "spec_method: '$SPEC_METHOD'"
    fi
    if runs gpu || runs exporters; then
        job exporters
        echo "    static_configs:"
        target dcgm-exporter dcgm-exporter:9400
        target node-exporter node-exporter:9100
    fi
}

runs gpu || runs demo || runs monitoring ||
    fail "COMPOSE_PROFILES=$PROFILES in deploy/.env needs one of gpu, demo, monitoring"
jobs >"$SCRAPE_FOLDER/stack.yaml"
exec "$@"
