"""Images are pinned by the digests of their registries: all of them or none."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import ROOT
from support.hostile import assert_words
from support.loopback import answering

SCRIPT = ROOT / "deploy/tools/pin.py"
DIGEST = "sha256:" + "ab" * 32
TOKEN = "let-me"  # noqa: S105  (a test's)


class Registry(BaseHTTPRequestHandler):
    """A public registry: a challenge first, then the digest of a known tag."""

    def do_HEAD(self) -> None:
        host = self.headers["Host"]
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            challenge = f'Bearer realm="http://{host}/token",service="here",scope="repository:a/b:pull"'
            return self.answer(401, {"WWW-Authenticate": challenge})
        if "image.index" not in self.headers["Accept"] or not self.path.endswith("/manifests/v1.2"):
            return self.answer(404, {})
        digest = "nonsense" if "broken" in self.path else DIGEST
        return self.answer(200, {"Docker-Content-Digest": digest})

    def do_GET(self) -> None:
        self.answer(200, {}, b'{"token": "%s"}' % TOKEN.encode())

    def answer(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, text in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def registry() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def pin(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def written(folder: Path, *images: str) -> Path:
    file = folder / "docker-compose.yml"
    lines = "".join(f"  i{index}: &i{index}-image {image}\n" for index, image in enumerate(images))
    file.write_text(f"x-images:\n{lines}\nservices:\n  a: {{image: *i0-image}}\n")
    return file


def test_every_tag_gets_the_digest_of_its_registry(tmp_path: Path) -> None:
    with registry() as host:
        file = written(tmp_path, f"{host}/a/b:v1.2", f'"${{IMAGE:-{host}/c:v1.2}}"')
        done = pin(file, "--write")
        assert done.returncode == 0, done.stderr
        assert f"  i0: &i0-image {host}/a/b:v1.2@{DIGEST}\n" in file.read_text()
        assert f'  i1: &i1-image "${{IMAGE:-{host}/c:v1.2@{DIGEST}}}"\n' in file.read_text()
        pinned = file.read_text()
        assert pin(file, "--write").returncode == 0
        assert file.read_text() == pinned


def test_without_write_the_file_is_unchanged(tmp_path: Path) -> None:
    with registry() as host:
        file = written(tmp_path, f"{host}/a/b:v1.2")
        before = file.read_text()
        assert pin(file).stdout == f"{host}/a/b:v1.2@{DIGEST}\n"
        assert file.read_text() == before


@pytest.mark.parametrize(
    ("image", "error"), [("a/b:v9", "unknown tag"), ("broken:v1.2", "the answer has no sha256 digest")]
)
def test_one_unavailable_digest_leaves_the_file_unchanged(tmp_path: Path, image: str, error: str) -> None:
    with registry() as host:
        file = written(tmp_path, f"{host}/a/b:v1.2", f"{host}/{image}")
        before = file.read_text()
        done = pin(file, "--write")
        assert done.returncode == 2
        assert done.stderr == f"pin.py: {host}/{image}: {error}\n"
        assert file.read_text() == before
        assert list(tmp_path.iterdir()) == [file]


def test_an_unreachable_registry_is_one_line(tmp_path: Path) -> None:
    with registry() as host:
        pass
    done = pin(written(tmp_path, f"{host}/a/b:v1.2"), "--write")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is not reachable" in done.stderr


@pytest.mark.parametrize(
    "answer",
    [
        b"\x1b[2J\x1b]0;owned\x07 ##[error]x",
        b"HTTP/1.1 9999 \x1b[2J",
        b'HTTP/1.1 401 x\r\nWWW-Authenticate: Bearer realm="http://["',
        b'HTTP/1.1 401 x\r\nWWW-Authenticate: Bearer realm="http://a\x1b[2Jb/"',
        b"HTTP/1.1 302 x\r\nLocation: http://\xc2\x85b/",
    ],
)
def test_whatever_a_registry_answers_is_one_line(tmp_path: Path, answer: bytes) -> None:
    def answered(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(answer + b"\r\n\r\n")

    with answering(answered) as place:
        done = pin(written(tmp_path, f"{place.removeprefix('http://')}/a/b:v1.2"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "is not reachable" in done.stderr
    assert_words(done.stderr)


def test_a_line_without_a_tag_is_an_error(tmp_path: Path) -> None:
    assert "not an image with a tag" in pin(written(tmp_path, "no-tag")).stderr


def test_the_compose_file_has_the_expected_form() -> None:
    text = (ROOT / "deploy/docker-compose.yml").read_text()
    lines = re.search(r"^x-images:\n((?:  .*\n)+)", text, re.MULTILINE)
    assert lines
    assert all(re.search(r": &[\w-]+-image .*:v?\d", line) for line in lines[1].splitlines())
