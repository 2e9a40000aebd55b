"""NumPy, imported only when the first array is needed: the import is slow (as slow as loading a vocabulary)."""

from __future__ import annotations

from .. import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["array_constructor"]

_constructor: tuple[Callable[..., NDArray[np.uint32]], np.dtype[np.uint32]] | None = None


def array_constructor() -> tuple[Callable[..., NDArray[np.uint32]], np.dtype[np.uint32]]:
    """Returns a function that creates an array from a buffer, and the dtype of ids.

    After the first call of `array_constructor`, the core itself can build short NumPy arrays.
    """
    return _constructor or _import_numpy()


def _import_numpy() -> tuple[Callable[..., NDArray[np.uint32]], np.dtype[np.uint32]]:
    from importlib import import_module

    import numpy as np

    global _constructor
    multiarray = import_module(
        "numpy._core._multiarray_umath" if hasattr(np, "_core") else "numpy.core._multiarray_umath"
    )
    _core.use_numpy(multiarray._ARRAY_API)
    _constructor = np.frombuffer, np.dtype("<u4")
    return _constructor
