"""Make the secrets of the stack: random ones where they are ours, empty files for those that others give you.

Usage: python3 deploy/tools/make_secrets.py
Afterwards deploy/secrets/ holds them, readable by their owner alone, and deploy/.env says who that is. What is there
already is never written to, and no secret is ever printed: a second run mends modes and owners, and adds what is new.

Exit status: 0 all are there, 2 they could not be made (one line on stderr).
"""

import os
import secrets
import sys
from pathlib import Path

DEPLOY = Path(__file__).parent.parent
OURS = {
    "grafana_admin_password": "the password of Grafana's user admin",
    "vllm_api_key": "the key that clients of vLLM send",
}
YOURS = {
    "hf_token": "a Hugging Face token, for gated models",
    "alert_webhook_url": "where alerts are posted",
    "slack_webhook_url": "Slack's incoming webhook",
    "smtp_password": "of the account that sends mail",
    "pagerduty_routing_key": "of PagerDuty's Events API v2",
    "heartbeat_url": "a dead man's switch",
    "remote_write_token": "the bearer token of a remote store",
}
ENTROPY_BYTES = 32
# Containers must not run as root, so root hands the files to a user whom no machine has by itself.
UID_FOR_ROOT = 10001


class SecretsError(Exception):
    """A file stands in the way; the message says which."""


def owner() -> tuple[int, int]:
    """Who the containers run as: the one who runs this, behind sudo too; never root."""
    uid = int(os.environ.get("SUDO_UID", os.getuid()))
    gid = int(os.environ.get("SUDO_GID", os.getgid()))
    return (uid, gid) if uid else (UID_FOR_ROOT, UID_FOR_ROOT)


def claim(path: Path, uid: int, gid: int, mode: int) -> None:
    """Set mode and owner. Only root can give files away, so others must own them already."""
    path.chmod(mode)
    if os.getuid() == 0:
        os.chown(path, uid, gid)


def make(path: Path, text: str) -> bool:
    """Write a file that nobody else could read for a moment; False where there is one already."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        if path.is_symlink() or not path.is_file():
            raise SecretsError(f"{path} is no regular file: remove it and run this again") from None
        return False
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return True


def make_all(folder: Path, uid: int, gid: int) -> None:
    """Make what is missing, and say what each file is for."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, meaning in {**OURS, **YOURS}.items():
        path = folder / name
        made = make(path, secrets.token_urlsafe(ENTROPY_BYTES) if name in OURS else "")
        claim(path, uid, gid, 0o600)
        if made:
            print(f"made {path}: {meaning}" + ("" if name in OURS else "; empty until you write it there"))
    claim(folder, uid, gid, 0o700)


def tell_compose(env: Path, example: Path, uid: int, gid: int) -> None:
    """Put the owner into .env, which begins as a copy of the example. What a user wrote there stays."""
    if make(env, example.read_text()):
        claim(env, int(os.environ.get("SUDO_UID", os.getuid())), int(os.environ.get("SUDO_GID", os.getgid())), 0o644)
        print(f"made {env} from {example.name}: name your model there")
    text = env.read_text()
    pairs = (line.partition("=") for line in text.splitlines())
    known = {name.strip(): value.strip() for name, _, value in pairs}
    wanted = {"STACK_UID": str(uid), "STACK_GID": str(gid)}
    for name, number in wanted.items():
        if known.get(name, number) != number:
            raise SecretsError(f"{env} says {name}={known[name]}, and the secrets are for {number}: correct that line")
    missing = [f"{name}={number}\n" for name, number in wanted.items() if name not in known]
    if missing:
        with env.open("a") as file:
            file.write("\n\n# Owner of deploy/secrets/*, and so the user of all containers.\n" + "".join(missing))


def main() -> int:
    """Turn every foreseeable failure into one line."""
    uid, gid = owner()
    try:
        make_all(DEPLOY / "secrets", uid, gid)
        tell_compose(DEPLOY / ".env", DEPLOY / ".env.example", uid, gid)
    except (SecretsError, OSError) as error:
        print(f"make_secrets.py: {error}", file=sys.stderr)
        return 2
    print(f"deploy/secrets/ is complete. Containers run as user {uid}, whose files they are.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
