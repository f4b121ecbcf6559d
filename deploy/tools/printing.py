"""What the scripts print on standard error: words of containers, registries and mirrors are among it.

Python's standard library is enough.
"""

import re
import sys

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"  # as in draftboard.output.escape, which the scripts cannot import
OBEYED = re.compile(r"#(?=#(vso|teamcity)?\[)")


def warn(script: str, text: str) -> None:
    """Print one line, in which nothing moves a cursor or commands a CI system."""
    line = "".join(one if one.isprintable() else UNPRINTABLE for one in " ".join(text.split()))
    print(f"{script}: {OBEYED.sub(UNPRINTABLE, line)}", file=sys.stderr, flush=True)
