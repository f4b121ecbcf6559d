"""`serve`: answers for assistants."""

from pathlib import Path

import click

from draftboard.cli import shared


@click.command("serve")
@click.option("--mcp", is_flag=True, help="Speak the Model Context Protocol on standard input and output.")
@click.option("--prometheus", metavar="URL", required=True, help="Prometheus to read.")
@shared.access_options()
@shared.config_option
def serve_command(
    *, mcp: bool, prometheus: str, token_file: Path | None, ca_file: Path | None, config: Path | None
) -> None:
    """Answer an assistant that starts this command: verdicts, explanations, what-if, alerts, runbooks, changes.

    It reads one Prometheus, changes nothing and listens on no port.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.assistant import Tools, protocol_server

    shared.require(mcp, "name the protocol: --mcp")
    protocol_server(Tools(prometheus, load(config), Access.from_files(token_file, ca_file))).run()
