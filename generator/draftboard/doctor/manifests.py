"""Command lines of vLLM servers in YAML: services of Compose, containers of Kubernetes, values of Helm charts."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from draftboard.doctor.command import examine_command
from draftboard.doctor.finding import Examination
from draftboard.doctor.releases import UNKNOWN, Release, release_of_image
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
        _examined(f"{path}: {place or 'document'}", text, settings, release if release.version else of_image)
        for number, document in enumerate(documents, 1)
        for place, text, of_image in _commands(document, f"document {number}" if len(documents) > 1 else "")
    )
    scrapes = any(isinstance(document, dict) and "scrape_configs" in document for document in documents)
    instead = "a configuration of Prometheus: examine what it scrapes with --prometheus URL"
    nothing = f"{path}: {instead if scrapes else 'no command line of vLLM'}"
    return found or (Examination(nothing, (), examined=False),)


def _examined(where: str, text: str, settings: Settings, release: Release) -> Examination:
    of = f" for vLLM {release.version}" if release.version else ""
    return replace(examine_command(text, settings, release), looked_at=f"{where}{of}")


def _commands(
    node: Any,  # noqa: ANN401  (YAML)
    place: str,
    image: str = "",
) -> Iterator[tuple[str, str, Release]]:
    """Each command line of vLLM at or below a node, with its place and the release of the image that runs it."""
    if isinstance(node, dict):
        image = _image(node) or image
        if text := _command(node):
            yield place, text, release_of_image(image)
        for key, inner in node.items():
            yield from _commands(inner, f"{place}.{key}".lstrip("."), image)
    elif isinstance(node, list):
        for number, inner in enumerate(node):
            name = inner.get("name", number) if isinstance(inner, dict) else number
            yield from _commands(inner, f"{place}[{name}]", image)


def _image(node: dict[Any, Any]) -> str:
    """The image of a container, in one text or as charts part it; empty where a node names none."""
    image = node.get("image", node)
    if isinstance(image, dict):
        return f"{image['repository']}:{image['tag']}" if {"repository", "tag"} <= image.keys() else ""
    return str(image)


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
