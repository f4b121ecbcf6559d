"""Answers for assistants: tools of the Model Context Protocol, on what the commands of a terminal answer."""

from draftboard.assistant.serving import protocol_server
from draftboard.assistant.tools import Tools
