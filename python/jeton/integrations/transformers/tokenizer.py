"""`JetonTokenizer`: a fast tokenizer of transformers whose files are loaded by Jeton."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any

from .deferred import DeferredBackend
from .library import base_class, fast_class, major

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast as Base
else:
    Base = base_class()

__all__ = ["JetonTokenizer", "register"]

# Modules that get the deferred backend when they read the tokenizer; other modules get a `tokenizers.Tokenizer`.
INTERNAL = (
    "transformers.tokenization_utils_base",
    "transformers.tokenization_utils_fast",
    "transformers.tokenization_utils_tokenizers",
)


class JetonTokenizer(Base):
    """`PreTrainedTokenizerFast` that runs on Jeton from the start.

    It reads `tokenizer.json` with Jeton, and builds the `tokenizers.Tokenizer` only when code needs it. It saves an
    ordinary `PreTrainedTokenizerFast`, which loads without Jeton.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False).save(folder)
        >>> tok = JetonTokenizer.from_pretrained(folder)
        >>> tok("low lower")["input_ids"]
        [257, 259, 114]
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        file = options.get("tokenizer_file")
        # with these options, transformers 5 builds a template, which needs a `tokenizers.Tokenizer` from the start
        changes = major() == 5 and ("add_bos_token" in options or "add_eos_token" in options)
        if (
            file is not None
            and options.get("tokenizer_object") is None
            and not options.get("from_slow")
            and not changes
        ):
            deferred = DeferredBackend.of_file(file)
            if deferred is not None:
                options["tokenizer_object"] = deferred
        super().__init__(*args, **options)

    @classmethod
    def convert_to_native_format(cls, *args: Any, **options: Any) -> Any:
        """Calls the method on `PreTrainedTokenizerFast`, so that the constructor gets the path of `tokenizer.json`.

        For a class with its own ``__init__``, such as this one, transformers 5 would pass parts of the file's content
        instead of the path.
        """
        return fast_class().convert_to_native_format(*args, **options)

    @property
    def _tokenizer(self) -> Any:
        return self._found(sys._getframe(1).f_globals.get("__name__", ""))

    @_tokenizer.setter
    def _tokenizer(self, value: Any) -> None:
        self.__dict__["_tokenizer"] = value

    @property
    def backend_tokenizer(self) -> Any:
        """The `tokenizers.Tokenizer`."""
        return self._found(sys._getframe(1).f_globals.get("__name__", ""))

    @property
    def decoder(self) -> Any:
        """The decoder of the `tokenizers.Tokenizer`."""
        return self._found("").decoder

    def _found(self, caller: str) -> Any:
        """Returns the `tokenizers.Tokenizer`, and builds it if necessary.

        Exception: if the tokenizer is not built yet, modules in `INTERNAL` or in this package get the deferred backend.

        Args:
            caller: name of the module that asks for the tokenizer.
        """
        found = self.__dict__.get("_tokenizer")
        if type(found) is DeferredBackend:
            is_internal = caller in INTERNAL or caller.startswith("jeton.integrations.transformers.")
            if found.is_real or not is_internal:
                found = self.__dict__["_tokenizer"] = found.real()
        return found

    def save_pretrained(self, *args: Any, **options: Any) -> Any:
        """Saves an ordinary `PreTrainedTokenizerFast`."""
        plain = copy.copy(self)
        plain.__dict__["_tokenizer"] = self._found("")
        plain.__class__ = fast_class()
        return plain.save_pretrained(*args, **options)


def register() -> None:
    """Lets `AutoTokenizer` load folders whose ``tokenizer_class`` is ``"JetonTokenizer"``, without remote code.

    Examples:
        >>> import json, jeton, pathlib, tempfile
        >>> from transformers import AutoTokenizer
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False).save(folder)
        >>> _ = (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "JetonTokenizer"}))
        >>> register()
        >>> type(AutoTokenizer.from_pretrained(folder)).__name__
        'JetonTokenizer'
    """
    from transformers import AutoTokenizer, PretrainedConfig

    class JetonConfig(PretrainedConfig):
        model_type = "jeton"

    if major() == 5:
        AutoTokenizer.register(JetonConfig, tokenizer_class=JetonTokenizer, exist_ok=True)
    else:
        AutoTokenizer.register(JetonConfig, fast_tokenizer_class=JetonTokenizer, exist_ok=True)
