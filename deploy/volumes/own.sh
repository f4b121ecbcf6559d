#!/bin/sh
# Give new volumes, and what root wrote into them, to OWNER; fail if something in them belongs to another user.
# A backup restored by root leaves files that Prometheus cannot write: it would restart again and again.
set -eu

uid=${OWNER%:*}
for folder in "${VOLUMES:-/volumes}"/*; do
    # What is in a folder that only OWNER may read stays unread: the only capability is CHOWN.
    find "$folder" -user 0 -exec chown -h "$OWNER" {} + 2>/dev/null || true
    strange=$(find "$folder" ! -user "$uid" 2>/dev/null | head -n 1)
    if [ -n "$strange" ]; then
        echo "own.sh: in the volume of ${folder##*/}, $strange belongs to user $(stat -c %u "$strange"), and STACK_UID in" \
            "deploy/.env is $uid. Restore STACK_UID, or remove the volume and its data: docker volume ls" >&2
        exit 2
    fi
done
