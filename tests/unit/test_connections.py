"""Redirects, http for https and proxies: every command that asks a server says in one line what to do."""

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from draftboard.cli import main
from draftboard.reading.fetch import scrape
from support.loopback import Answer, answering, page
from support.tls import certificate

ELSEWHERE = "10.255.255.1:8000"  # Asked through a proxy only: nothing here has a route to it.
COMMANDS = {
    "report": ["report", "{}"],
    "report of Prometheus": ["report", "--prometheus", "{}"],
    "doctor": ["doctor", "{}"],
    "doctor of Prometheus": ["doctor", "--prometheus", "{}"],
    "compare": ["compare", "{}", "{}/other"],
    "compare of Prometheus": ["compare", "--prometheus", "{}", "variant=a", "variant=b"],
    "sweep": ["sweep", "{}"],
    "calibrate": ["calibrate", "{}", "{}/other"],
    "calibrate of Prometheus": ["calibrate", "--prometheus", "{}"],
    "history": ["history", "--prometheus", "{}"],
}
every_command = pytest.mark.parametrize("command", COMMANDS)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxies of who runs the tests are not theirs."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return certificate(tmp_path_factory.mktemp("tls"))[1]


def said(command: str, address: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    with pytest.raises(SystemExit) as ended:
        main([word.format(address) for word in COMMANDS[command]])
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1), err
    return err


@every_command
def test_a_redirect_names_where_it_leads(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(page("", 302, Location="https://login.example/?to=s3cr3t")) as place:
        line = said(command, f"http://{place}", capsys)
    assert "redirects to https://login.example?***: use the final address; behind a login, the server's own" in line
    assert "s3cr3t" not in line


@every_command
def test_http_where_the_server_speaks_tls_is_named(
    command: str, tls: ssl.SSLContext, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(page("")) as plain:
        assert "is it http:// rather than https://?" in said(command, f"https://{plain}", capsys)
    with answering(page(""), tls) as place:
        assert "is it https:// rather than http://" in said(command, f"http://{place}", capsys)


@every_command
@pytest.mark.parametrize(
    ("answer", "reason"),
    [(page("", 407), "proxy authentication required (HTTP 407)"), (page("", 502), "no response (HTTP 502)")],
)
def test_a_proxy_that_does_not_pass_on_is_named_with_the_way_around_it(
    command: str, answer: Answer, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:s3cr3t@{proxy}")
        line = said(command, f"http://{ELSEWHERE}", capsys)
    way = f"through http://***@{proxy} of HTTP_PROXY: to bypass the proxy, add 10.255.255.1 to NO_PROXY"
    assert f"{reason}; {way}" in line
    assert "s3cr3t" not in line


@every_command
def test_a_proxy_that_is_not_there_is_named(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(page("")) as proxy:
        pass
    monkeypatch.setenv("ALL_PROXY", f"http://{proxy}")
    line = said(command, f"http://{ELSEWHERE}", capsys)
    assert f"through http://{proxy} of ALL_PROXY" in line


@every_command
@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "nonsense://x"])
def test_a_proxy_that_cannot_be_used_is_named(
    command: str, proxy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    assert "HTTP_PROXY of the environment names a proxy that cannot be used" in said(command, ELSEWHERE, capsys)


@every_command
@pytest.mark.parametrize("address", ["127.0.0.1:99999", "http://host:65536", "https://user:s3cr3t@host:70000/metrics"])
def test_a_port_that_no_server_has_is_named(command: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = said(command, address, capsys)
    assert "is above 65535" in line
    assert "s3cr3t" not in line


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a proxy of the environment was asked for."""
    asked = []

    def passing(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        page("vllm:a 1\n")(request)

    with answering(passing) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy}")
        yield asked


def test_a_server_elsewhere_is_asked_through_the_proxy(proxied: list[str]) -> None:
    scrape([ELSEWHERE])
    assert proxied == [f"http://{ELSEWHERE}/metrics"]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_this_machine_is_asked_directly(proxied: list[str], name: str) -> None:
    """Private servers of `replay` and `drill` listen here, and no proxy reaches them."""
    with answering(page("vllm:a 1\n")) as place:
        scrape([place.replace("127.0.0.1", name)])
    assert proxied == []
