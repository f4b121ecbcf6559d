"""Systems that evaluate rules."""

from typing import Literal, get_args

Ruler = Literal["prometheus", "mimir", "thanos", "vmalert", "gmp"]
RULERS: tuple[Ruler, ...] = get_args(Ruler)
