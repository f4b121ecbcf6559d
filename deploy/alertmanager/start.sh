#!/bin/sh
# Set aside what is damaged in Alertmanager's volume, then start the given program: Alertmanager.
#
# It ends at once where a crash or a full disk damaged its notification log or its silences, at each restart again, and no
# alert reaches anybody. Without the files it starts.
set -eu

storage=${STORAGE:-/alertmanager}
copy=${TMPDIR:-/tmp}/check

# What it prints about a copy of its files, with an address on which it cannot listen, so that it ends.
checked() {
    rm -rf "$copy"
    mkdir "$copy"
    for name in nflog silences; do
        [ ! -f "$storage/$name" ] || cp "$storage/$name" "$copy"
    done
    timeout 30 "$@" --storage.path="$copy" --web.listen-address=192.0.2.1:9 2>&1 || true
}

set_aside() { # file, what follows from it
    mv "$storage/$1" "$storage/$1.damaged-$(date -u +%Y%m%dT%H%M%SZ)"
    echo "start.sh: $storage/$1 was damaged and is now $1.damaged-...: $2" >&2
}

case $(checked "$@") in
    *"error creating notification log"*) set_aside nflog "alerts that fire are sent once more" ;;
esac
case $(checked "$@") in
    *"error creating silence"*) set_aside silences "all silences are gone, create them again" ;;
esac
rm -rf "$copy"
exec "$@" --storage.path="$storage"
