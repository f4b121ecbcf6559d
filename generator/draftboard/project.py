"""The project's files beside the package: a wheel carries them, a checkout has them where Git does."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_CARRIED = _PACKAGE / "project"
CHECKOUT = None if _CARRIED.is_dir() else _PACKAGE.parents[1]
"""The checkout that the package runs from, if it does."""
ROOT = CHECKOUT or _CARRIED
"""The folder of `deploy/` and `docs/`."""
