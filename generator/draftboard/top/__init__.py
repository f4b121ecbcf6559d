"""A live page in the terminal: every model, worst first, from servers or a Prometheus (extra `draftboard[top]`)."""

from draftboard.top.looking import Look, look
