"""Create the secrets of the stack: random ones, and empty files for those that other services issue.

Usage: python3 deploy/tools/make_secrets.py
The files go to deploy/secrets/, readable by their owner only; deploy/.env gets the owner. Existing files are never
overwritten and no secret is printed. A second run repairs modes and owners and adds missing files; another
user's changes nothing.

Exit status: 0 success, 2 failure (one line on stderr).
"""

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from printing import warn

DEPLOY = Path(__file__).parent.parent
OURS = {"grafana_admin_password": "password of the Grafana user admin", "vllm_api_key": "API key for clients of vLLM"}
YOURS = {
    "hf_token": "Hugging Face token, for gated models",
    "alert_webhook_url": "URL of the webhook receiver",
    "slack_webhook_url": "URL of the incoming Slack webhook",
    "smtp_password": "password of the mail account",
    "pagerduty_routing_key": "integration key, PagerDuty Events API v2",
    "heartbeat_url": "URL of the dead man's switch",
    "remote_write_token": "bearer token of the remote store",
}
ENTROPY_BYTES = 32
# Containers must not run as root, so files of root go to an unused user id.
UID_FOR_ROOT = 10001


class SecretsError(Exception):
    """A file prevents the creation of a secret."""


def owner() -> tuple[int, int]:
    """Return user and group id of the containers: those of the caller, also under sudo; never root."""
    uid = int(os.environ.get("SUDO_UID", os.getuid()))
    gid = int(os.environ.get("SUDO_GID", os.getgid()))
    return (uid, gid) if uid else (UID_FOR_ROOT, UID_FOR_ROOT)


def claim(path: Path, uid: int, gid: int, mode: int) -> None:
    """Set mode and, as root, owner."""
    path.chmod(mode)
    if os.getuid() == 0:
        os.chown(path, uid, gid)


def make(path: Path, text: str) -> bool:
    """Create a file with its whole content or not at all; return False if it exists."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise SecretsError(f"{path} is not a regular file: remove it and run this again")
    if path.exists():
        return False
    with written_beside(path, text) as new:
        os.link(new, path)
    return True


@contextmanager
def written_beside(path: Path, text: str) -> Iterator[Path]:
    """A new file with the content, which is removed again: a full disk leaves nothing half written."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield new
    finally:
        new.unlink(missing_ok=True)


def make_all(folder: Path, uid: int, gid: int) -> None:
    """Make what is missing and print the purpose of each file."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, meaning in {**OURS, **YOURS}.items():
        path = folder / name
        made = make(path, secrets.token_urlsafe(ENTROPY_BYTES) if name in OURS else "")
        if name in OURS and not path.stat().st_size:
            raise SecretsError(f"{path} is empty: remove it and run this again")
        claim(path, uid, gid, 0o600)
        if made:
            print(f"created {path}: {meaning}" + ("" if name in OURS else " (empty, fill it in if used)"))
    claim(folder, uid, gid, 0o700)


def owner_lines(env: Path, uid: int, gid: int) -> list[str]:
    """The lines of the owner that .env lacks; an error if it names another one."""
    text = env.read_text() if env.is_file() else ""
    pairs = (line.partition("=") for line in text.splitlines())
    known = {name.strip(): value.strip() for name, _, value in pairs}
    wanted = {"STACK_UID": str(uid), "STACK_GID": str(gid)}
    for name, number in wanted.items():
        if known.get(name, number) != number:
            raise SecretsError(
                f"{env} has {name}={known[name]}, but this user's is {number}. Run this as the user who ran it first, "
                "or correct that line"
            )
    return [f"{name}={number}\n" for name, number in wanted.items() if name not in known]


def write_owner(env: Path, example: Path, lines: list[str]) -> None:
    """Write the owner to .env, initially a copy of the example; other lines are kept."""
    if make(env, example.read_text()):
        claim(env, int(os.environ.get("SUDO_UID", os.getuid())), int(os.environ.get("SUDO_GID", os.getgid())), 0o644)
        print(f"created {env} from {example.name}: set your model there")
    if lines:
        before = env.stat()
        text = env.read_text() + "\n\n# Owner of deploy/secrets/* and user of all containers.\n" + "".join(lines)
        with written_beside(env, text) as new:
            claim(new, before.st_uid, before.st_gid, stat.S_IMODE(before.st_mode))
            new.replace(env)


def main() -> int:
    """Report every failure in one line."""
    uid, gid = owner()
    try:
        # First: another user must not take the files away from the containers that read them.
        lines = owner_lines(DEPLOY / ".env", uid, gid)
        make_all(DEPLOY / "secrets", uid, gid)
        write_owner(DEPLOY / ".env", DEPLOY / ".env.example", lines)
    except (SecretsError, OSError) as error:
        warn("make_secrets.py", str(error))
        return 2
    print(f"deploy/secrets/ is complete. Containers run as user {uid}, the owner of the secrets.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
