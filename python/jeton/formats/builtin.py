"""The default tokenizer, which ships with Jeton and needs no other file and no network.

Its file is a rank file, compressed by gzip; pattern, special tokens, roles and chat template are constants of this
module. No model uses it. ``tools/train_default.py`` trains it, and docs/default.md describes it.
"""

from __future__ import annotations

import os
import zlib

from ..tokenizer import Tokenizer
from . import tiktoken

__all__ = ["CHAT_TEMPLATE", "FILE", "NAME", "PATTERN", "ROLES", "SPECIAL_TOKENS", "VOCAB_SIZE", "default"]

NAME = "default"
FILE = os.path.join(os.path.dirname(__file__), "default.tiktoken.gz")
VOCAB_SIZE = 65_536
# o200k keeps combining marks in words, as Indic scripts and Thai require. It separates the words of camel case, and
# puts at most three digits into a token.
PATTERN = "o200k"

_NAMED = (
    "<|endoftext|>",
    "<|pad|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
)
_NUM_SPECIAL = 64
# Special tokens; they have the last ids of the vocabulary, in this order.
SPECIAL_TOKENS = _NAMED + tuple(f"<|reserved_{index}|>" for index in range(_NUM_SPECIAL - len(_NAMED)))
# ChatML, a copy of the preset in `jeton.chat.PRESETS`; importing `jeton.chat` would double the loading time.
CHAT_TEMPLATE = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
ROLES = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "pad": "<|pad|>"}

_GZIP = 31  # zlib's wbits for data with gzip's header


_loaded: Tokenizer | None = None


def default() -> Tokenizer:
    """Returns the tokenizer that ships with Jeton; it needs no other file and no network.

    Byte-level BPE with 65,536 ids, trained on about 100 languages, and 14 languages of code and markup. The last 64 ids
    are special tokens: ``<|endoftext|>``, ``<|pad|>``, the tokens of ChatML (``<|im_start|>``, ``<|im_end|>``) and of
    fill-in-the-middle (``<|fim_prefix|>``, ``<|fim_middle|>``, ``<|fim_suffix|>``), and ``<|reserved_0|>`` to
    ``<|reserved_56|>``. No model uses it: to count the tokens of a model, load that model's tokenizer.

    Returns:
        The tokenizer, loaded once in each process. Its ids never change within a major version of Jeton.

    Examples:
        >>> import jeton
        >>> tok = jeton.default()
        >>> tok.vocab_size, tok.decode(tok.encode("Hello, world!"))
        (65536, 'Hello, world!')
        >>> tok is jeton.default() and tok == jeton.load("default")
        True
    """
    global _loaded
    if _loaded is not None:
        return _loaded
    with open(FILE, "rb") as file:
        ranks = zlib.decompress(file.read(), _GZIP)
    special_tokens = {token: VOCAB_SIZE - _NUM_SPECIAL + index for index, token in enumerate(SPECIAL_TOKENS)}
    tok = tiktoken.read(ranks, source=os.path.basename(FILE), pattern=PATTERN, special_tokens=special_tokens)
    # Lookup tables are built later, when encoding without them has taken as long as building them would. Building them
    # here would triple the loading time.
    _loaded = tok._with_facts(roles=ROLES, chat_template=CHAT_TEMPLATE)
    return _loaded
