"""The one exception that a user's mistake raises."""


class DraftboardError(Exception):
    """A mistake that the user can mend: its text is one line that says what, where and what to do.

    The command line prints it and exits with 2; it never becomes a traceback.
    """
