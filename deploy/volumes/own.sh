#!/bin/sh
# Change the owner of new volumes from root to OWNER; fail if a volume belongs to another user.
set -eu

for folder in "${VOLUMES:-/volumes}"/*; do
    uid=$(stat -c %u "$folder")
    if [ "$uid" = 0 ]; then
        chown "$OWNER" "$folder"
    elif [ "$uid" != "${OWNER%:*}" ]; then
        echo "own.sh: the volume of ${folder##*/} belongs to user $uid, and STACK_UID in deploy/.env is ${OWNER%:*}." \
            "Restore STACK_UID, or remove the volume and its data: docker volume ls" >&2
        exit 2
    fi
done
