"""The one exception that a user's mistake raises."""


class DraftboardError(Exception):
    """A mistake that the user can mend, as one line: what, where and what to do. Exit code 2."""
