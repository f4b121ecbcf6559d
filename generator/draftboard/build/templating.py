"""The environment of the templates of generated files."""

import json
import math
from collections.abc import Sequence

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

# Square brackets instead of braces, which belong to the templates of Alertmanager and Helm.
environment = Environment(
    *("[%", "%]", "[[", "]]", "[#", "#]"),  # of blocks, variables, comments
    loader=PackageLoader("draftboard.build"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (YAML and Jsonnet, not HTML: their texts are quoted where they are filled in)
)


def _in_yaml(value: str | Sequence[str]) -> str:
    """A text or a list of texts on one line, quoted where YAML requires it."""
    plain = value if isinstance(value, str) else list(value)
    return yaml.safe_dump(plain, default_flow_style=True, width=math.inf).removesuffix("...\n").strip()


environment.filters["yaml"] = _in_yaml
environment.filters["json"] = json.dumps
