"""Loads Hugging Face's own package beside the drop-in.

It is needed for components that are Python objects, and for calls on which Jeton might give another result.

The package is searched for on `sys.path`, except in the folder of shims, and loaded under a private name on first use,
so that `import tokenizers` still imports the drop-in. If it is not installed, calls that need it raise an error.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import UnsupportedFeatureError
from ...util.locks import ForkLock
from .. import PEERS, report

__all__ = ["extension", "extension_or_none", "module", "package", "part"]

NAME = "_jeton_original_tokenizers"
_lock = ForkLock()


def _folder() -> Path | None:
    """Returns the folder of the installed package; None if it is not installed."""
    shims = str(Path(__file__).parent.parent / "shims")
    spec = PathFinder.find_spec("tokenizers", [folder for folder in sys.path if not folder.startswith(shims)])
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        return Path(folder)
    return None


def extension_or_none() -> Any:
    """Returns the package's extension module; None if it is not installed."""
    loaded = sys.modules.get("tokenizers.tokenizers")
    if loaded is not None and getattr(loaded, "__file__", None):
        return loaded
    found = sys.modules.get(f"{NAME}.tokenizers")
    if found is not None:
        return found
    folder = _folder()
    path = next(iter([*folder.glob("tokenizers*.so"), *folder.glob("tokenizers*.pyd")]), None) if folder else None
    if path is None:
        return None
    with _lock:
        spec = importlib.util.spec_from_file_location(f"{NAME}.tokenizers", path)
        if spec is None or spec.loader is None:
            return None
        made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        return made


def extension(feature: str, why: str = "") -> Any:
    """Returns the package's extension module.

    Args:
        feature: the feature that needs it, for the error and the record of `jeton.compat.run`.
        why: if Jeton implements the call in general, the reason why this call needs the package.

    Raises:
        UnsupportedFeatureError: the package is not installed.
    """
    found = extension_or_none()
    if found is None:
        reason = f" ({why})" if why else ""
        raise UnsupportedFeatureError(
            f"{feature} needs the original package here{reason}; install it (pip install tokenizers)", feature=feature
        )
    report.fell_back("tokenizers", feature, why or "by the original")
    return found


def module(name: str = "") -> Any:
    """Returns the package's extension module, or one of its submodules, such as ``normalizers``.

    Raises:
        UnsupportedFeatureError: the package is not installed.
    """
    found = extension(name or "tokenizers")
    return getattr(found, name) if name else found


def package(name: str) -> ModuleType:
    """Returns a Python module of the package: ``implementations`` or ``tools``, whose code uses `tokenizers`.

    While the module is imported, the drop-in takes the place of `tokenizers`, so the module uses Jeton's classes.

    Raises:
        UnsupportedFeatureError: the package is not installed.
    """
    folder = _folder()
    if folder is None:
        raise UnsupportedFeatureError(
            f"tokenizers.{name} is taken from the original package, which is not installed (pip install tokenizers)",
            feature=name,
        )
    own = f"{__package__}._{name}"
    with _lock:
        found = sys.modules.get(own)
        if found is not None:
            return found
        spec = importlib.util.spec_from_file_location(own, folder / name / "__init__.py")
        if spec is None or spec.loader is None:
            raise UnsupportedFeatureError(f"the original package has no module {name}", feature=name)
        made = importlib.util.module_from_spec(spec)
        before = {each: sys.modules.get(each) for each in PEERS["tokenizers"]}
        try:
            sys.modules.update({each: importlib.import_module(ours) for each, ours in PEERS["tokenizers"].items()})
            sys.modules[own] = made
            spec.loader.exec_module(made)
        except BaseException:
            del sys.modules[own]
            raise
        finally:
            for each, module in before.items():
                if module is None:
                    del sys.modules[each]
                else:
                    sys.modules[each] = module
        return made


def part(kind: str, state: Any) -> Any:
    """Creates a component of the original package from its JSON.

    Args:
        kind: ``"normalizer"``, ``"pre_tokenizer"``, ``"post_processor"``, ``"decoder"`` or ``"model"``.
        state: JSON of the component.
    """
    model = state if kind == "model" else {"type": "BPE", "vocab": {}, "merges": []}
    top: dict[str, Any] = {"version": "1.0", "added_tokens": [], "model": model}
    if kind != "model":
        top[kind] = state
    made = extension(f"{kind} {state.get('type')}").Tokenizer.from_str(json.dumps(top))
    return getattr(made, kind)
