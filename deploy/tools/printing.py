"""What the scripts print on standard error: words of containers, registries and mirrors are among it.

Python's standard library is enough: they run before the package is installed. A test compares each text with what
`draftboard.output.escape` makes of it.
"""

import re
import sys

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
OBEYED = re.compile(r"#(?=#(vso|teamcity)?\[)")


def warn(script: str, text: str) -> None:
    """Print one line, in which nothing moves a cursor, hides or commands a CI system."""
    seen = DRAWN_AS_NOTHING.sub(UNPRINTABLE, " ".join(text.split()))
    line = "".join(one if one.isprintable() else UNPRINTABLE for one in seen)
    print(f"{script}: {OBEYED.sub(UNPRINTABLE, line)}", file=sys.stderr, flush=True)
