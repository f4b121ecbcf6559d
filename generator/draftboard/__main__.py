"""`python -m draftboard`."""

from draftboard.cli import main

main()
