"""GGUF, the files of llama.cpp: the tokenizer in their metadata. The tensors are not read.

The ids are those that llama.cpp gives for the file. They can differ from the ids of the model's own tokenizer: a GGUF
file has no normalizer, and it only names its pre-tokenizer, whose definition is in llama.cpp (`gguf_pre`).

``add_bos_token`` and ``add_eos_token`` become the template. Control and unknown tokens are special tokens; user-defined
tokens are always matched. As in llama.cpp, some spellings override the type of a token.

Known differences from llama.cpp:

- llama.cpp drops bytes that the vocabulary lacks; Jeton raises an error.
- llama.cpp matches the longest added token first, in the whole text; Jeton matches from the left, the longest at each
position.
- With `t5`, Jeton normalizes the text as a whole. llama.cpp splits it at user-defined tokens first, so that
  normalization adds a space after each of them.
- If several tokens are candidates for the same fill-in-the-middle role, llama.cpp takes the first in its hash table;
  Jeton takes the first in `_FILLS`.

Source: ggml-org/llama.cpp of 2026-10, src/llama-vocab.cpp (metadata), src/llama-arch.cpp (keys).
"""

from __future__ import annotations

import array

from .. import _core
from ..definition import Bpe, Definition, Pieces, Unigram, WordPiece, template_of
from ..errors import FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import AddedToken, with_added_tokens
from ..tokens.kinds import BYTE, TOKEN, UNUSED
from .error_context import error_context
from .gguf_file import read_header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..definition import Component
    from .gguf_pre import Pre

__all__ = ["Metadata", "is_tokenizer_key", "read", "replace", "splits_of", "tokenizer_of"]

FORMAT = "gguf"
KEYS = "tokenizer.ggml."
NORMAL_TYPE, UNKNOWN_TYPE, CONTROL_TYPE, USER_DEFINED_TYPE, UNUSED_TYPE, BYTE_TYPE = 1, 2, 3, 4, 5, 6
SPACE = "▁"

# role -> its metadata key, without the prefix `KEYS`
ROLE_KEYS = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "unk": "unknown_token_id",
    "sep": "seperator_token_id",  # spelled this way in the format
    "pad": "padding_token_id",
    "cls": "cls_token_id",
    "mask": "mask_token_id",
}
# model -> default ids of roles, used if the file does not give them
_DEFAULT_IDS = {
    "llama": {"bos": 1, "eos": 2, "unk": 0},
    "bert": {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103},
    "gpt2": {"bos": 11, "eos": 11},
    "t5": {"eos": 1, "unk": 2, "pad": 0},
}

# Spellings of tokens that are treated as control tokens, whatever type the file gives them. `_ENDS` lists tokens that
# end a text. `_FILLS` maps the metadata keys of each fill-in-the-middle role to the candidate tokens for this role; the
# candidates are ignored if the file has one of these keys.
_ENDS = (
    *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>"),
    *("<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>"),
    *("<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["),
)
_FILLS = {
    "fim_pre_token_id prefix_token_id": "<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> "
    "<|code_prefix|> <|prefix|>",
    "fim_suf_token_id suffix_token_id": "<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> "
    "<|code_suffix|> <|suffix|>",
    "fim_mid_token_id middle_token_id": "<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> "
    "<|code_middle|> <|middle|>",
    "fim_pad_token_id": "<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD]",
    "fim_rep_token_id": "<|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame>",
    "fim_sep_token_id": "<|file_sep|>",
}
# tokens of gpt-oss that are always matched
_HARMONY = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


def read(path: str) -> Tokenizer:
    """Reads a tokenizer from the metadata of a file.

    Raises:
        FormatError: the metadata is damaged or contradictory, or has no tokenizer; the error names the key or byte.
        UnsupportedFeatureError: the model or pre-tokenizer is not supported; the error names it.
    """
    with error_context(path, FORMAT):
        return tokenizer_of(read_header(path, is_tokenizer_key).values)


def tokenizer_of(values: Mapping[str, Any]) -> Tokenizer:
    """Builds the tokenizer of a file's metadata. Raises the errors of `read`."""
    metadata = Metadata(values)
    reader = _READERS.get(metadata.model)
    if reader is None:
        raise UnsupportedFeatureError(
            f"the tokenizer {metadata.model!r:.60} of llama.cpp is not supported; supported: {', '.join(_READERS)}",
            place=f"{KEYS}model",
            feature=metadata.model,
        )
    return reader(metadata)


def is_tokenizer_key(key: str) -> bool:
    """Tests whether the value of a key can change ids, decoded text, roles or the chat template.

    Examples:
        >>> is_tokenizer_key("tokenizer.ggml.pre"), is_tokenizer_key("llama.context_length")
        (True, False)
    """
    return key.startswith("tokenizer.") or key in ("general.name", "general.architecture", "split.no")


class Metadata:
    """The metadata of a file, validated, with llama.cpp's defaults."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        if f"{KEYS}model" not in values:
            part = values.get("split.no")
            hint = f"; it is part {part + 1} of several: load the first" if isinstance(part, int) and part else ""
            raise FormatError(f"the file has no tokenizer{hint}", place=f"{KEYS}model")
        self.model = self.text(f"{KEYS}model") or ""
        self.pre = self.text(f"{KEYS}pre")
        self.tokens = [token or f"[EMPTY_{i}]" for i, token in enumerate(self.strings("tokens"))]
        self.ids = {token: id for id, token in enumerate(self.tokens)}
        if len(self.ids) < len(self.tokens):
            double = next(token for id, token in enumerate(self.tokens) if self.ids[token] != id)
            raise FormatError(f"the token {double!r:.60} is given twice", place=f"{KEYS}tokens")
        count = len(self.tokens)
        self.scores = self._column("scores", "fd", 0.0)
        self.types = self._column("token_type", "bBhHiIqQ", NORMAL_TYPE)
        self.special_ids = {role: id for role, id in _DEFAULT_IDS.get(self.model, {}).items() if id < count}
        for role, key in ROLE_KEYS.items():
            id = self.number(key)
            if id is not None and 0 <= id < count:
                self.special_ids[role] = id

    def _utf8(self, data: bytes, place: str) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise FormatError(f"{data!r:.60} is not UTF-8", place=place) from None

    def _column(self, name: str, letters: str, default: Any) -> list[Any]:
        """Returns a value for each token, from an `array.array` whose typecode is one of `letters`."""
        values = self._values.get(KEYS + name)
        if values is None:
            return [default] * len(self.tokens)
        if not isinstance(values, array.array) or values.typecode not in letters:
            raise FormatError("not an array of the expected type", place=KEYS + name)
        if len(values) < len(self.tokens):
            raise FormatError(f"{len(values)} values for {len(self.tokens)} tokens", place=KEYS + name)
        return values.tolist()[: len(self.tokens)]

    def text(self, key: str) -> str | None:
        """Returns a string; None if the key is missing."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, bytes):
            raise FormatError("not a string", place=key)
        return self._utf8(value, key)

    def number(self, name: str) -> int | None:
        """Returns an integer of ``tokenizer.ggml``; None if it is missing."""
        value = self._values.get(KEYS + name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise FormatError("not an integer", place=KEYS + name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Returns a boolean of ``tokenizer.ggml``."""
        value = self._values.get(KEYS + name, default)
        if not isinstance(value, bool):
            raise FormatError("neither true nor false", place=KEYS + name)
        return value

    def strings(self, name: str) -> list[str]:
        """Returns an array of strings of ``tokenizer.ggml``; raises an error if it is missing."""
        values = self._values.get(KEYS + name)
        if not isinstance(values, list):
            raise FormatError("missing, or not an array of strings", place=KEYS + name)
        try:
            return [value.decode() for value in values]
        except UnicodeDecodeError:
            # decode again with `_utf8`, which raises a `FormatError` with the index of the invalid string
            return [self._utf8(value, f"{KEYS}{name}[{i}]") for i, value in enumerate(values)]

    def bytes(self, name: str) -> bytes:
        """Returns the bytes of an array of ``tokenizer.ggml``; empty if it is missing."""
        values = self._values.get(KEYS + name)
        if values is None:
            return b""
        if not isinstance(values, array.array) or values.typecode not in "bB":
            raise FormatError("not an array of bytes", place=KEYS + name)
        return values.tobytes()

    def added(self) -> dict[int, AddedToken]:
        """Returns the added tokens, which are matched in the text before it is split."""
        special = {id for id, kind in enumerate(self.types) if kind in (CONTROL_TYPE, UNKNOWN_TYPE)}
        always = {id for id, kind in enumerate(self.types) if kind == USER_DEFINED_TYPE}
        ends = {token for token in _ENDS if token in self.ids}
        special |= {self.ids[token] for token in ends}
        for keys, names in _FILLS.items():
            if all(self.number(key) is None for key in keys.split()):
                found = [self.ids[name] for name in names.split() if name in self.ids]
                special.update(found[:1])
        often = {self.ids[token] for token in _HARMONY if token in self.ids}
        if {"<|call|>", "<|return|>", "<|end|>"} <= ends or (
            {"<|flush|>", "<|end|>"} <= ends and ends & {"<|call|>", "<|calls|>"}
        ):
            often.add(self.ids["<|end|>"])
        always, special = always - special | often, special - often
        if "</s>" in ends and "<|tool_response>" in ends:
            always.discard(self.ids["</s>"])
            special.discard(self.ids["</s>"])
        left, right = self._stripping(special | always)
        return {
            id: AddedToken(
                self.tokens[id],
                id in special,
                lstrip=id in left,
                rstrip=id in right,
                ascii_space=id in left or id in right,  # `isspace` of each byte
            )
            for id in sorted(special | always)
        }

    def _stripping(self, added: set[int]) -> tuple[set[int], set[int]]:
        """Returns the tokens that strip white space on their left, and those that strip it on their right.

        As in llama.cpp, these sets depend on the name of the model.
        """
        pre, kind = self.pre or "", self.text("general.architecture") or ""
        name = (self.text("general.name") or "").lower()
        if any(one in pre for one in ("jina-v2-de", "jina-v2-es", "jina-v2-code")) or any(
            one in kind for one in ("nomic-bert-moe", "jina-bert-v3")
        ):
            return {self.ids[token] for token in ("<mask>",) if token in self.ids}, set()
        if "phi-3" in name or "phi3" in name:
            others = {self.ids.get(token) for token in ("<unk>", "<s>", "<|endoftext|>")}
            return set(), {id for id in added if id not in others}
        if "modern-bert" in name:
            return {self.ids[token] for token in ("[MASK]",) if token in self.ids}, set()
        return set(), set()

    def template(self, *, bos: bool, eos: bool, always: bool = False) -> Component | None:
        """Returns llama.cpp's template. `bos` and `eos` are the defaults of the flags; `always` adds bos anyway."""
        first = [self.id("bos")] if self.flag("add_bos_token", bos) or always else []
        last = [self.id("eos")] if self.flag("add_eos_token", eos) else []
        pair = [*first, "A", *last, *first, "B", *last]  # llama.cpp has no pairs; Llama and T5 join two texts this way
        return template_of([*first, "A", *last], pair) if first or last else None

    def id(self, role: str) -> int:
        """Returns the id of the role's token, for the template."""
        if role not in self.special_ids:
            raise FormatError(f"texts get a {role} token, but the file defines none", place=KEYS + ROLE_KEYS[role])
        return self.special_ids[role]

    def name(self, role: str) -> str | None:
        """Returns the token of a role; None if the file has no token for it."""
        id = self.special_ids.get(role)
        return None if id is None else self.tokens[id]

    def tokenizer(self, vocabulary: _core.Vocabulary, added: dict[int, AddedToken], **stages: Any) -> Tokenizer:
        """Builds a tokenizer with these stages, and with the file's roles and chat template."""
        roles = {
            role: self.tokens[id]
            for role, id in self.special_ids.items()
            if id in added and added[id].special and self.number(ROLE_KEYS[role]) is not None
        }
        if self.model == "bert" and roles.get("bos") == roles.get("cls"):  # `bos` is llama.cpp's name of `cls`
            roles.pop("bos", None)
        return Tokenizer(Definition(roles=roles, chat_template=self._chat_template(), **stages), vocabulary)

    def _chat_template(self) -> Any:
        prefix = "tokenizer.chat_template"
        named = {key.removeprefix(f"{prefix}."): key for key in self._values if key.startswith(f"{prefix}.")}
        default = self.text(prefix)
        if not named:
            return default
        first = {} if default is None else {"default": prefix}
        return [{"name": name, "template": self.text(key)} for name, key in (first | named).items()]


def _vocabulary(
    metadata: Metadata,
    kinds: Sequence[int],
    contents: Sequence[bytes],
    added: dict[int, AddedToken],
    *,
    entries: set[int],
    scores: Sequence[float] | None = None,
) -> _core.Vocabulary:
    """Builds the vocabulary. Added tokens are entries of the model only if `entries` has their id.

    All tokens that are not added tokens are entries.
    """
    kept = [id for id in range(len(metadata.tokens)) if id not in added or id in entries]
    vocabulary = _core.Vocabulary(kept, [kinds[id] for id in kept], [contents[id] for id in kept], (), scores)
    return with_added_tokens(vocabulary, added.items(), entries)


def _vocabulary_with_merges(
    metadata: Metadata, added: dict[int, AddedToken], *, byte_alphabet: bool
) -> _core.Vocabulary:
    """Builds the vocabulary of BPE, with merges.

    The entries and merges are passed to the core as a tokenizer.json. For half a million merges, this takes half as
    long as resolving the merges in Python.
    """
    import json

    merges = list(dict.fromkeys(metadata.strings("merges")))  # keep the first of equal merges
    model = {"type": "BPE", "vocab": metadata.ids, "merges": merges}
    spelled = json.dumps({"model": model}, ensure_ascii=False).encode()
    try:
        _, entries_and_merges = _core.SpelledVocabulary.from_tokenizer_json(spelled)
        vocabulary = entries_and_merges.read(
            byte_alphabet=byte_alphabet, end_of_word="", added={id: token.content for id, token in added.items()}
        )
    except FormatError:
        _check_merges(metadata)
        raise
    alike = (id for id, token in added.items() if _core.read_bytes(token.content) == token.content.encode())
    return with_added_tokens(vocabulary, added.items(), set(alike if byte_alphabet else added))


def _check_merges(metadata: Metadata) -> None:
    for rank, merge in enumerate(metadata.strings("merges")):
        left, _, right = merge.partition(" ")
        if " " in right or not {left, right, left + right} <= metadata.ids.keys():
            raise FormatError(
                f"the merge {merge!r:.60} must be two tokens with one space between them, whose concatenation "
                "is a token",
                place=f"{KEYS}merges[{rank}]",
            )


def _read_bpe(metadata: Metadata) -> Tokenizer:
    from .gguf_pre import PRE

    name = metadata.pre or "default"
    if metadata.model == "gemma4":
        name = "gemma4"
    pre = PRE.get(name)
    if pre is None:
        raise UnsupportedFeatureError(
            f"the pre-tokenizer {name!r:.60} is not supported", place=f"{KEYS}pre", feature=name
        )
    if pre.escapes_spaces:
        return _read_escaped_bpe(metadata, pre)
    added = metadata.added()
    return metadata.tokenizer(
        _vocabulary_with_merges(metadata, added, byte_alphabet=True),
        added,
        model=Bpe(whole_first=pre.whole_first),
        pretokenizer=splits_of(pre),
        template=metadata.template(bos=pre.add_bos, eos=False),
    )


def splits_of(pre: Pre) -> tuple[Component, ...]:
    """Returns the components that split as a pre-tokenizer of llama.cpp does."""
    return tuple({"type": "Pattern", "regex": pattern} for pattern in pre.patterns)


def _read_escaped_bpe(metadata: Metadata, pre: Pre) -> Tokenizer:
    added = metadata.added()
    return metadata.tokenizer(
        _vocabulary_with_merges(metadata, added, byte_alphabet=False),
        added,
        model=Bpe("char", unk_token=metadata.name("unk"), fuse_unk=True, byte_fallback=True),
        normalizer=(replace(" ", SPACE),),
        pretokenizer=splits_of(pre),
        decoder=(replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}),
        template=metadata.template(bos=pre.add_bos, eos=False, always=pre.add_bos),
    )


def replace(old: str, new: str) -> Component:
    """Returns a component that replaces one string by another."""
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def _read_pieces(metadata: Metadata) -> Tokenizer:
    added = metadata.added()
    contents = [token.encode() for token in metadata.tokens]
    bytes_of = {f"<0x{byte:02X}>" for byte in range(256)}
    if missing := sorted(bytes_of - metadata.ids.keys()):
        raise UnsupportedFeatureError(
            f"the vocabulary lacks the byte token {missing[0]}, without which llama.cpp fails on some texts",
            place=f"{KEYS}tokens",
            feature="byte tokens",
        )
    kinds = [BYTE if token in bytes_of else TOKEN for token in metadata.tokens]
    prefixes = metadata.flag("add_space_prefix", True)
    unk = metadata.name("unk")
    model: Bpe | Pieces
    if prefixes and not all(token.special for token in added.values()):
        # llama.cpp splits the text at user-defined tokens, and adds a space after each of them, as at the start of the
        # text. The model `Pieces` does not split the text at these tokens, so it is converted to `Bpe`.
        pieces = _core.Vocabulary(range(len(kinds)), kinds, contents, (), metadata.scores)
        vocabulary = with_added_tokens(pieces.converted_pieces("scores"), added.items(), set(added))
        model = Bpe("char", unk_token=unk, fuse_unk=True, byte_fallback=True)
    else:
        vocabulary = _vocabulary(metadata, kinds, contents, added, entries=set(added), scores=metadata.scores)
        model = Pieces(unk, byte_fallback=True)
    decoder = [replace(SPACE, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]
    if prefixes:
        decoder.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return metadata.tokenizer(
        vocabulary,
        added,
        model=model,
        normalizer=(*([{"type": "Prepend", "prepend": SPACE}] if prefixes else []), replace(" ", SPACE)),
        decoder=tuple(decoder),
        template=metadata.template(bos=True, eos=False),
    )


def _read_word_pieces(metadata: Metadata) -> Tokenizer:
    added = metadata.added()
    contents = []
    for id, token in enumerate(metadata.tokens):
        begins = token.startswith(SPACE) or id in added
        contents.append((token.removeprefix(SPACE) if begins else f"##{token}").encode())
    vocabulary = _vocabulary(metadata, [TOKEN] * len(contents), contents, added, entries=set())
    cls, sep = metadata.id("bos"), metadata.id("sep")
    return metadata.tokenizer(
        vocabulary,
        added,
        model=WordPiece(metadata.name("unk") or "", max_chars_per_word=(1 << 32) - 1),
        normalizer=_bert_normalizer(metadata),
        # the pattern adds newer punctuation: BertPreTokenizer has the punctuation of an older version of Unicode
        pretokenizer=({"type": "Pattern", "regex": r"\p{P}"}, {"type": "BertPreTokenizer"}),
        decoder=({"type": "WordPiece", "prefix": "##", "cleanup": True},),
        template=template_of([cls, "A", sep], [cls, "A", sep, ("B", 1), (sep, 1)]),
    )


def _bert_normalizer(metadata: Metadata) -> tuple[Component, ...]:
    """Returns BERT's normalizer, with further components for the behavior in which llama.cpp differs.

    In llama.cpp, a vertical tab, a form feed and U+0085 count as spaces and are not removed. All marks count as
    accents; for BERT's normalizer, only the marks with the category Mn in an older version of Unicode do. Only the
    first character of a decomposition remains; for a Korean syllable, this is its initial consonant.
    """
    lowercase = metadata.flag("normalizer.lowercase", True)
    strips = metadata.flag("normalizer.strip_accents", lowercase)
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": strips,
        "lowercase": lowercase,
    }
    parts = [_substitute(r"[\x{B}\x{C}\x{85}]", " "), normalizer]
    if strips:
        syllables = range(0xAC00, 0xD7A4, 588)  # the first syllable for each initial consonant
        korean = [
            _substitute(f"[{chr(first)}-{chr(first + 587)}]", chr(0x1100 + i)) for i, first in enumerate(syllables)
        ]
        parts = [*korean, *parts, _substitute(r"\p{M}", "")]
    return tuple(parts)


def _substitute(regex: str, content: str) -> Component:
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": content}


def _read_unigram(metadata: Metadata) -> Tokenizer:
    import base64

    added = metadata.added()
    contents = [token.encode() for token in metadata.tokens]
    entries = {id for id, kind in enumerate(metadata.types) if kind == USER_DEFINED_TYPE}
    scores = [0.0 if id in entries else score for id, score in enumerate(metadata.scores)]
    kinds = [TOKEN if kind in (NORMAL_TYPE, USER_DEFINED_TYPE, UNUSED_TYPE) else UNUSED for kind in metadata.types]
    vocabulary = _vocabulary(metadata, kinds, contents, added, entries=entries, scores=scores)
    prefixes = metadata.flag("add_space_prefix", False)
    charsmap = metadata.bytes("precompiled_charsmap")
    normalizer = {
        "type": "SentencePiece",
        "precompiled_charsmap": base64.b64encode(charsmap).decode() if charsmap else None,
        "add_dummy_prefix": prefixes,
        "remove_extra_whitespaces": metadata.flag("remove_extra_whitespaces", False),
        "escape_whitespaces": True,
        "treat_whitespace_as_suffix": False,
    }
    return metadata.tokenizer(
        vocabulary,
        added,
        model=Unigram(metadata.name("unk")),
        normalizer=(normalizer,),
        decoder=({"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True},),
        template=metadata.template(bos=False, eos=True),
    )


_READERS = {
    "llama": _read_pieces,
    "gpt2": _read_bpe,
    "bert": _read_word_pieces,
    "t5": _read_unigram,
    "gemma4": _read_bpe,
}
