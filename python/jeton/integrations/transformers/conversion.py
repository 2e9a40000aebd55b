"""`to_transformers`: converts a tokenizer of Jeton to a tokenizer of transformers."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...formats.config import kept, render_config, template_files
from ...formats.tokenizer_json import render
from ...tokenizer import Tokenizer
from .library import fast_class

__all__ = ["to_transformers"]

GENERAL = ("PreTrainedTokenizerFast", "TokenizersBackend")


def to_transformers(tok: Tokenizer, *, accept_loss: Collection[str] = ()) -> Any:
    """Converts a tokenizer to a `PreTrainedTokenizerFast`, with its roles, chat template and configuration.

    Args:
        tok: the tokenizer. Its `definition.config` (lengths, padding side) becomes the configuration.
        accept_loss: as for `Tokenizer.save`.

    Raises:
        MissingDependencyError: transformers is not installed.
        UnsupportedFeatureError: with Hugging Face's library, ids or decoded texts would differ, and `accept_loss` does
            not name the feature that causes the difference.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", special_tokens=["<|end|>"], progress=False)
        >>> fast = to_transformers(tok.with_roles(eos="<|end|>"))
        >>> fast("lower")["input_ids"] == tok.encode("lower"), fast.eos_token
        (True, '<|end|>')
    """
    made = fast_class()
    config = kept(tok.definition.config, tok.roles, keeps_class=False)
    # `kept` drops the class name of the configuration. The name of a general class is set again. Without a name,
    # `render_config` would add settings that differ from the defaults of the class.
    if tok.definition.config.get("tokenizer_class") in GENERAL:
        config["tokenizer_class"] = GENERAL[0]
    definition = replace(tok.definition, roles=tok.roles, config=config)
    template = definition.chat_template
    files = {"tokenizer.json": render(tok, accept_loss), "tokenizer_config.json": render_config(definition)}
    with tempfile.TemporaryDirectory() as path:
        for name, content in (files | template_files(template)).items():
            file = Path(path) / name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
        found = made.from_pretrained(path)
    found.name_or_path = found.init_kwargs["name_or_path"] = ""
    found.init_kwargs.pop("tokenizer_file", None)
    return found
