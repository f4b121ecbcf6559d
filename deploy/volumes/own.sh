#!/bin/sh
# Hand new volumes, which are root's, to OWNER; leave alone what is anybody else's, and say so.
set -eu

for folder in "${VOLUMES:-/volumes}"/*; do
    uid=$(stat -c %u "$folder")
    if [ "$uid" = 0 ]; then
        chown "$OWNER" "$folder"
    elif [ "$uid" != "${OWNER%:*}" ]; then
        echo "own.sh: the volume of ${folder##*/} belongs to user $uid, and STACK_UID in deploy/.env is ${OWNER%:*}." \
            "Set it back, or remove the volume with what it holds: docker volume ls" >&2
        exit 2
    fi
done
