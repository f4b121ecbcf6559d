"""A mail server on loopback: it takes every message, without TLS."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer

_ANSWERS = {"QUIT": b"221 bye\r\n", "DATA": b"354 go on\r\n"}


@contextmanager
def receiving_mail(take: Callable[[EmailMessage], None]) -> Iterator[str]:
    """Listen on a free port for the time of a `with`; yields its address, and gives every message to `take`."""

    class Session(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 mail\r\n")
            while line := self.rfile.readline():
                verb = line[:4].decode().upper()
                self.wfile.write(_ANSWERS.get(verb, b"250 ok\r\n"))
                if verb == "DATA":
                    take(self._message())
                    self.wfile.write(b"250 ok\r\n")

        def _message(self) -> EmailMessage:
            lines = iter(self.rfile.readline, b".\r\n")
            content = b"".join(line.removeprefix(b".") if line.startswith(b"..") else line for line in lines)
            return message_from_bytes(content, EmailMessage, policy=policy.SMTP)

    class Mail(ThreadingTCPServer):
        daemon_threads = True

    with Mail(("127.0.0.1", 0), Session) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
