"""Models that Ollama has pulled. They are read from its folder of manifests and blobs; nothing is written there.

A manifest is a file ``manifests/HOST/NAMESPACE/MODEL/TAG``. It lists layers. One layer has the media type of models;
this layer names a GGUF file in ``blobs``. Left out: downloads, and Ollama's own templates, which are not Jinja.

Source: ollama/ollama types/model/name.go, manifest/ and envconfig/config.go (names, folders; facts).
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from ...errors import FormatError

__all__ = ["PREFIX", "find_ollama", "ollama_models"]

PREFIX = "ollama:"
_DEFAULTS = ("registry.ollama.ai", "library")  # host and namespace of a name that omits them
_TAG = "latest"
_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
MAX_MANIFEST_BYTES = 1 << 20
_MOST_LISTED = 20


def find_ollama(name: str) -> Path:
    """Returns the GGUF file of ``ollama:[HOST/][NAMESPACE/]MODEL[:TAG]``.

    Names are compared without regard to case, as in Ollama.

    Raises:
        FileNotFoundError: the model or its file does not exist; the message lists the existing models.
        FormatError: the manifest is damaged, or has no GGUF file.
    """
    models = ollama_models()
    wanted = _full_name(name.removeprefix(PREFIX))
    for known, manifest in models.items():
        if _full_name(known.removeprefix(PREFIX)) == wanted:
            return _blob(manifest)
    folders = " and ".join(map(str, _folders()))
    if not models:
        raise FileNotFoundError(
            f"there is no model {name!r}: no models of Ollama in {folders}; set OLLAMA_MODELS to their folder"
        )
    listed = ", ".join([*models][:_MOST_LISTED]) + (", …" if len(models) > _MOST_LISTED else "")
    raise FileNotFoundError(f"there is no model {name!r} in {folders}; models: {listed}")


def ollama_models() -> dict[str, Path]:
    """Returns the models in Ollama's folder: shortest name with the prefix ``ollama:`` -> manifest.

    Examples:
        >>> import tempfile
        >>> from unittest import mock
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("registry.ollama.ai/library/llama3.2/latest", "hf.co/owner/name-GGUF/Q4_K_M"):
        ...     path = folder / "manifests" / name
        ...     path.parent.mkdir(parents=True)
        ...     _ = path.write_text("{}")
        >>> with mock.patch.dict(os.environ, OLLAMA_MODELS=str(folder)):
        ...     [*ollama_models()]
        ['ollama:hf.co/owner/name-GGUF:Q4_K_M', 'ollama:llama3.2']
    """
    found: dict[str, Path] = {}
    for folder in _folders():
        for manifest in sorted((folder / "manifests").glob("*/*/*/*")):
            parts = manifest.parts[-4:]
            if not any(part.startswith(".") for part in parts) and manifest.is_file():
                found.setdefault(PREFIX + _short_name(*parts), manifest)
    return found


def _folders() -> list[Path]:
    """Returns the folders to search: the folder in OLLAMA_MODELS, else the user's and the Linux service's folder."""
    if own := os.environ.get("OLLAMA_MODELS"):
        return [Path(os.path.expanduser(own))]
    folders = [Path(os.path.expanduser("~"), ".ollama", "models")]  # unlike `Path.home`, never fails
    if sys.platform == "linux":
        folders.append(Path("/usr/share/ollama/.ollama/models"))
    return folders


def _full_name(name: str) -> tuple[str, ...]:
    """Returns host, namespace, model and tag, in lower case.

    Examples:
        >>> _full_name("Llama3.2"), _full_name("localhost:5000/me/my-model:7b")
        (('registry.ollama.ai', 'library', 'llama3.2', 'latest'), ('localhost:5000', 'me', 'my-model', '7b'))
    """
    path, slash, last = name.lower().rpartition("/")
    model, _, tag = last.partition(":")
    before = path.split("/", 1) if slash else []
    return (*_DEFAULTS[: 2 - len(before)], *before, model, tag or _TAG)


def _short_name(host: str, namespace: str, model: str, tag: str) -> str:
    host = "" if host.lower() == _DEFAULTS[0] else f"{host}/"
    namespace = "" if not host and namespace.lower() == _DEFAULTS[1] else f"{namespace}/"
    return f"{host}{namespace}{model}" + ("" if tag.lower() == _TAG else f":{tag}")


def _blob(manifest: Path) -> Path:
    """Returns the GGUF file that a manifest names."""
    with manifest.open("rb") as file:
        data = file.read(MAX_MANIFEST_BYTES + 1)
    try:
        layers = json.loads(data)["layers"]
        digests = [layer["digest"] for layer in layers if layer["mediaType"] == _MODEL]
        found = [_DIGEST.fullmatch(digest) for digest in digests]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{manifest}: not a manifest of Ollama", format="ollama", place="$.layers") from None
    if not found or found[0] is None:
        raise FormatError(f"{manifest}: it does not name a GGUF file", format="ollama", place="$.layers")
    blobs = manifest.parents[4] / "blobs"
    paths = [blobs / f"sha256{separator}{found[0][1]}" for separator in "-:"]  # ":" in old versions
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{paths[0]} is missing, although {manifest} names it; pull the model again")
    return path
