"""Stand-in for a server that no package registry has: answers every path with 200, on the port that it is told."""

import http.server
import signal
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    """Healthy."""

    def do_GET(self) -> None:
        """An empty page, which is a valid one of metrics."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
