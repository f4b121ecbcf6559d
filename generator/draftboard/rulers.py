"""Systems that evaluate rules."""

from typing import Literal, get_args

Ruler = Literal["prometheus", "mimir", "thanos", "vmalert", "gmp"]
RULERS: tuple[Ruler, ...] = get_args(Ruler)
IN_ORDER: frozenset[Ruler] = frozenset(RULERS) - {"vmalert"}
"""Those whose rules see what the rules before them in their group have just recorded."""
