"""Command lines of vLLM servers in YAML: services of Compose, containers of Kubernetes, values of Helm charts."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from draftboard.doctor.command import examine_command
from draftboard.doctor.finding import Examination
from draftboard.doctor.releases import UNKNOWN, Release
from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes
from draftboard.settings import Settings

SUFFIXES = (".yaml", ".yml")
_WORDS = ("entrypoint", "command", "args", "extraArgs")
"""Keys that hold words of a command line, in the order in which a container runs them."""
_SERVES = ("vllm serve", "vllm.entrypoints.openai.api_server")
_SERVER = "vllm serve MODEL "


def is_manifest(name: str) -> bool:
    """Whether a SOURCE names a YAML file."""
    return name.endswith(SUFFIXES) and Path(name).is_file()


def examine_manifest(path: Path, settings: Settings, release: Release = UNKNOWN) -> tuple[Examination, ...]:
    """Examine every command line of vLLM in a file; one examination without findings where it has none.

    A file that is no YAML, such as a template of Helm, is a DraftboardError.
    """
    try:
        documents = list(yaml.safe_load_all(saved_bytes(path, "manifest")))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" in line {line + 1}"
        raise DraftboardError(f"{path}: not YAML{where}; render templates first, as with `helm template`") from None
    found = tuple(
        replace(examine_command(text, settings, release), looked_at=f"{path}: {place or 'document'}")
        for number, document in enumerate(documents, 1)
        for place, text in _commands(document, f"document {number}" if len(documents) > 1 else "")
    )
    return found or (Examination(f"{path}: no command line of vLLM", ()),)


def _commands(node: Any, place: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401  (YAML)
    """Each command line of vLLM at or below a node, with its place."""
    if isinstance(node, dict):
        if text := _command(node):
            yield place, text
        for key, inner in node.items():
            yield from _commands(inner, f"{place}.{key}".lstrip("."))
    elif isinstance(node, list):
        for number, inner in enumerate(node):
            name = inner.get("name", number) if isinstance(inner, dict) else number
            yield from _commands(inner, f"{place}[{name}]")


def _command(node: dict[Any, Any]) -> str:
    """The command line of a container, as a shell would read it; empty where it starts no vLLM."""
    words = [word for key in _WORDS for word in _listed(node.get(key))]
    for word in words:  # bash -c "vllm serve ..."
        if any(serves in word for serves in _SERVES):
            return word
    text = shlex.join(words)
    if any(serves in text for serves in _SERVES):
        return text
    runs_vllm = "vllm" in str(node.get("image", "")) or "extraArgs" in node
    flags = [word for word in words if word.startswith("--")]
    return _SERVER + text if runs_vllm and flags else ""


def _listed(value: Any) -> list[str]:  # noqa: ANN401  (YAML)
    """The words of a list, or of a text as Compose splits it; `$$` is Compose's dollar sign."""
    if isinstance(value, str):
        try:
            return shlex.split(value.replace("$$", "$"))
        except ValueError:
            return []
    return [str(word).replace("$$", "$") for word in value] if isinstance(value, list) else []
