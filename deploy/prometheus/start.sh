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

servers() { # name, further relabeling; what all jobs of servers have in common follows from the settings
    job "$1"
    sed 's/^/    /' "$SCRAPE_OPTIONS"
    echo "    relabel_configs:"
    echo "      - {source_labels: [instance, __address__], regex: ';(.+)', target_label: instance, replacement: \$1}"
    echo "      - {source_labels: [instance], regex: '$CUT', target_label: __address__, replacement: '$NOWHERE'}"
    [ $# = 1 ] || echo "      - $2"
}

jobs() {
    echo "scrape_configs:"
    # The user's own servers: one file, or as many as they like. They are read again when they change.
    servers vllm
    echo "    file_sd_configs:"
    echo "      - files: [../targets/*.yaml, ../targets/*.json]"
    if runs demo; then
        servers simulator '{target_label: job, replacement: vllm}'
        echo "    http_sd_configs:"
        echo "      - url: http://simulator:8000/targets"
        echo "        refresh_interval: 15s"
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

write() { # Prometheus reads *.yaml, and must not read half of it
    jobs >"$SCRAPE_FOLDER/stack" && mv "$SCRAPE_FOLDER/stack" "$SCRAPE_FOLDER/stack.yaml"
}

# Prometheus has no budget of series for a target: within all limits of a scrape a server can add other ones with each, and
# they stay in memory for up to three hours. Where there are more than one for BYTES_PER_SERIES of memory, about three times
# what a series and its share of the rules take, the server behind most of them is cut off: scraped no more for three hours.
# Only one that churns is: it is behind ten times as many series as its page ever had at once, and more than two scrapes of
# the last half hour added some, this start's alone, as a restart gives all a new chance. A fleet that starts, a crash loop
# and a failing page do not: their series are the same.
NOWHERE=new-series-beyond-the-budget.invalid:80
CUT=
AWAY=10800
STARTED=$(date +%s)
answers() { # PromQL: one value or none
    promtool query instant http://127.0.0.1:9090 "$1" | grep -q '=>'
}

in_memory() { # The number of series, then servers with theirs, most first. Quotes within labels are escaped there.
    wget -q -O - 'http://127.0.0.1:9090/api/v1/status/tsdb?limit=1000' | tr '{' '\n' |
        sed -n -e 's/^"numSeries":\([0-9]*\),.*/\1/p' -e '/"seriesCountByLabelValuePair":\[$/,$ {
            s/^"name":"instance=\([][A-Za-z0-9._:/-]*\)","value":\([0-9]*\)}[],}]*$/\1 \2/p
        }'
}

churning() { # standard input: in_memory
    read -r all || return 0
    answers "go_gc_gomemlimit_bytes{job='prometheus'} < $all * $BYTES_PER_SERIES" || return 0
    lately=$(($(date +%s) - STARTED + 1))
    [ "$lately" -lt 1800 ] || lately=1800
    while read -r server series && [ $((series * 20)) -gt "$all" ]; do
        ! printf '%s\n' "$server" | grep -Eqx "${CUT:-}" || continue
        of="{instance='$server'}"
        answers "vector($series) > 10 * max(max_over_time(scrape_samples_post_metric_relabeling${of}[3h]))
            and on () max(sum_over_time(scrape_series_added${of}[${lately}s]) - 2 * max_over_time(scrape_series_added${of}[${lately}s])) > 0" ||
            continue
        echo "$server"
        return 0
    done
}

budget() { # process id of Prometheus
    while sleep 10 && kill -0 "$1"; do
        if [ -n "$CUT" ] && [ "$(date +%s)" -ge "$again" ]; then
            CUT=
            event="servers that were cut off are scraped again"
        else
            found=$(in_memory | churning)
            [ -n "$found" ] || continue
            CUT="${CUT:+$CUT|}$(printf %s "$found" | sed 's/[].[]/[&]/g')"
            again=$(($(date +%s) + AWAY))
            event="$found fills the memory with new series: it is not scraped for three hours, or until Prometheus is started again"
        fi
        write
        kill -HUP "$1"
        echo "start.sh: $event" >>"/proc/$1/fd/2" || :
    done
}

runs gpu || runs demo || runs monitoring ||
    fail "COMPOSE_PROFILES=$PROFILES in deploy/.env needs one of gpu, demo, monitoring"
write
(
    exec </dev/null >/dev/null 2>&1
    budget $$
) &
exec "$@"
