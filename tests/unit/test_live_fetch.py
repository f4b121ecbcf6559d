"""Asking servers for their page: whatever they answer, size, time and words are bounded, and no secret is told."""

import asyncio
import ssl
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from draftboard.access import Access
from draftboard.errors import DraftboardError
from draftboard.reading import Limits, load
from draftboard.reading.fetch import metrics_url, scrape
from draftboard.reading.page import VLLM
from support import tls
from support.loopback import Answer, answering, page

DATA = Path(__file__).parent.parent / "data"
LOAD = (DATA / "v0.32.0-ngram-load.prom").read_text()
HIDDEN = "s3cr3t-t0k3n"
LIMITS = Limits(bytes=100_000, seconds=60)
BRIEF = Limits(bytes=100_000, seconds=0.4)  # For what never ends: others may be late on a busy machine.


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(HIDDEN + "\n")
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    return tls.certificate(tmp_path_factory.mktemp("tls"))


def refused(answer: Answer, limits: Limits = LIMITS, access: Access = Access(), scheme: str = "http://") -> str:  # noqa: B008
    """The one line that a server's answer gets."""
    with answering(answer) as place:
        with pytest.raises(DraftboardError) as error:
            scrape([f"{scheme}user:{HIDDEN}@{place}/?key={HIDDEN}"], access, limits)
        line = str(error.value)
        assert line.startswith(f"{scheme}***@{place}/metrics?***: ")
    assert "\n" not in line
    assert HIDDEN not in line
    return line


def drip(request: BaseHTTPRequestHandler) -> None:
    """An answer that never ends, a byte at a time."""
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"#")
        time.sleep(0.01)


def drip_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        request.wfile.write(b"x")
        time.sleep(0.01)


def flood(request: BaseHTTPRequestHandler) -> None:
    """Fifty megabytes, or as much as is taken."""
    request.send_response(200)
    request.end_headers()
    for _ in range(500):
        request.wfile.write(b'vllm:a{engine="0"} 1\n' * 5_000)


def cut_off(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(LOAD)))
    request.end_headers()
    request.wfile.write(LOAD[:5_000].encode())


@pytest.mark.parametrize("name", ["{}", "http://{}", "http://{}/", "http://{}/metrics", "http://{}/metrics/"])
def test_a_server_is_named_by_host_and_port_or_by_its_address(name: str) -> None:
    with answering(page(LOAD)) as place:
        (read,) = scrape([name.format(place)])
    assert read.values == load(DATA / "v0.32.0-ngram-load.prom").values
    assert read.source == f"http://{place}/metrics"
    assert read.at is not None


def test_a_server_behind_a_path_is_asked_there() -> None:
    assert metrics_url("https://gateway/vllm/").path == "/vllm/metrics"
    assert metrics_url("[::1]:8000").host == "::1"


def test_several_servers_are_asked_in_their_order() -> None:
    with answering(page("vllm:a 1\n")) as one, answering(page("vllm:a 2\n")) as two:
        pages = scrape([two, one])
    assert [next(iter(read.values.values())) for read in pages] == [2, 1]


def test_a_notebook_whose_loop_runs_already_may_ask_too() -> None:
    async def cell(place: str) -> bool:
        return any(name.startswith(VLLM) for name in scrape([place])[0].by_name)

    with answering(page(LOAD)) as place:
        assert asyncio.run(cell(place))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (drip, "no complete response within 0.4 s"),
        (drip_headers, "no complete response within 0.4 s"),
        (flood, "response exceeds 0.1 MB"),
        (cut_off, "connection closed"),
        (lambda request: request.wfile.write(b"220 mail.example ESMTP\r\n"), "not HTTP"),
        (page("", 302, Location=f"https://other:{HIDDEN}@example.org/x?{HIDDEN}"), "https://***@example.org/x?***: "),
        (page("", 308, Location="/login"), "redirects to http://***@127.0.0.1"),
        (page("", 307), "redirects: use the final address"),
        (page("", 400), "is it https:// rather than http://?"),
        (page("{}", 400, Content_Type="application/json; charset=utf-8"), "/metrics?model=NAME"),
        (page("", 401), "(HTTP 401): use --token-file"),
        (page("", 403), "(HTTP 403): use --token-file"),
        (page("", 404), "no page of metrics (HTTP 404): give the address that Prometheus scrapes"),
        (page("", 500), "no response (HTTP 500): see the log of the server"),
        (
            page('prometheus_build_info{version="3.5.0"} 1\n'),
            "Prometheus' own metrics: to read the servers that it scrapes",
        ),
        (page(b"\x1f\x8b\x08", Content_Encoding="gzip"), "compressed"),
        (page(b"\xff\xfe\x00"), "binary"),
        (page("<html></html>"), "HTML"),
        (page("", Content_Type="text/plain"), "empty"),
        (page("vllm:a 1\n", Content_Type="application/openmetrics-text; version=1.0.0"), "EOF"),
    ],
)
def test_a_hostile_server_gets_one_clear_line(answer: Answer, reason: str) -> None:
    assert reason in refused(answer, BRIEF if answer in {drip, drip_headers} else LIMITS)


def test_a_server_that_is_not_there_gets_one_clear_line() -> None:
    with answering(page("")) as place:
        pass
    with pytest.raises(DraftboardError, match=f"^http://{place}/metrics: cannot connect"):
        scrape([place])


def test_tls_where_there_is_none_is_named() -> None:
    assert "TLS handshake failed" in refused(page(LOAD), scheme="https://")


def test_a_certificate_that_nobody_signed_needs_the_file_that_says_so(certificate: tuple[Path, ssl.SSLContext]) -> None:
    trusted, server = certificate
    with answering(page(LOAD), server) as place:
        with pytest.raises(DraftboardError, match=r"certificate is not trusted: give the CA with --ca-file$"):
            scrape([f"https://{place}"])
        (read,) = scrape([f"https://{place}"], Access.from_files(ca_file=trusted))
    assert any(name.startswith(VLLM) for name in read.by_name)


def test_a_certificate_of_another_name_is_named_as_that(certificate: tuple[Path, ssl.SSLContext]) -> None:
    trusted, server = certificate
    with (
        answering(page(LOAD), server) as place,
        pytest.raises(DraftboardError, match="its certificate is not for localhost: use the name that it is for"),
    ):
        scrape([f"https://{place.replace('127.0.0.1', 'localhost')}"], Access.from_files(ca_file=trusted))


def test_a_token_is_sent_and_never_shown(token: Path) -> None:
    seen = []

    def guarded(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers["Authorization"])
        page(LOAD)(request)

    access = Access.from_files(token_file=token)
    with answering(guarded) as place:
        scrape([place], access)
    assert seen == [f"Bearer {HIDDEN}"]
    assert HIDDEN not in repr(access)
    assert HIDDEN not in refused(page("", 401), access=access)


@pytest.mark.parametrize("text", [b"", b"two words", b"two\nlines", b"\xff", b"x" * 70_000])
def test_a_file_without_a_token_is_named_and_not_quoted(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(text)
    with pytest.raises(DraftboardError, match=r"token: not a token: must be one line") as error:
        Access.from_files(token_file=tmp_path / "token")
    assert "words" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DraftboardError, match="absent: cannot read the token"):
        Access.from_files(token_file=tmp_path / "absent")
    with pytest.raises(DraftboardError, match=r"absent: no certificates \(PEM\)"):
        scrape(["https://127.0.0.1:1"], Access(ca_file=tmp_path / "absent"))


@pytest.mark.parametrize("given", ["ftp://host", "http://", "http://host:port", "http://a b", "http://[::1", "", "\n"])
def test_what_is_no_address_is_refused_without_being_quoted(given: str) -> None:
    with pytest.raises(DraftboardError, match="write host:port") as error:
        scrape([given])
    assert "\n" not in str(error.value)
