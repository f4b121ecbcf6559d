#!/bin/sh
# Write down which servers of the compose file are scraped, then become the program that is named: Prometheus.
#
# Prometheus expands no environment variable in a target's labels, so the labels that .env gives are written here. The
# targets are fixed names, not what DNS answers: a container that has stopped has no name any more, and a target that
# nobody lists is not down but forgotten. They follow PROFILES, for a target that never ran would wake somebody.
set -euf

fail() {
    echo "start.sh: $1" >&2
    exit 2
}

# These become part of a YAML file.
for text in "$SPEC_METHOD" "$HOST_LABEL"; do
    case $text in
        *[!A-Za-z0-9._:-]*) fail "'$text' may use only letters, digits and . _ : -: correct deploy/.env" ;;
    esac
done

# Compose takes blanks between profiles for nothing, and a profile that it does not know for one that nobody needs.
PROFILES=$(printf %s "$PROFILES" | tr -d ' \t\r\n')
for profile in $(printf %s "$PROFILES" | tr , ' '); do
    case $profile in
        gpu | demo | monitoring | baseline | load | exporters) ;;
        *) fail "COMPOSE_PROFILES in deploy/.env names '$profile', which is no profile: see deploy/.env.example" ;;
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

# Both labels of a GPU host are those of `labels.host` and `labels.spec_method` in the settings.
target() { # job, address, further labels
    echo "      - targets: ['$2']"
    echo "        labels: {job: $1, host: '$HOST_LABEL'${3:+, $3}}"
}

jobs() {
    echo "scrape_configs:"
    if runs demo; then
        echo "  - job_name: simulator"
        echo "    http_sd_configs:"
        echo "      - url: http://simulator:8000/targets"
        echo "        refresh_interval: 15s"
        echo "    relabel_configs:"
        echo "      - {target_label: job, replacement: vllm}"
    fi
    if runs gpu || runs baseline || runs monitoring || runs exporters; then
        echo "  - job_name: stack"
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
        target dcgm-exporter dcgm-exporter:9400
        target node-exporter node-exporter:9100
    fi
}

runs gpu || runs demo || runs monitoring ||
    fail "COMPOSE_PROFILES=$PROFILES in deploy/.env names none of gpu, demo and monitoring: nothing would be watched"
jobs >"$SCRAPE_FOLDER/stack.yaml"
exec "$@"
