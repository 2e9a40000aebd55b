"""Tokenizers that `AutoTokenizer` of `transformers` builds from a SentencePiece `.model`, by class and major version.

Both versions convert the model to components of Hugging Face's `tokenizers`, so the result is a tokenizer as in a
`tokenizer.json`. Its model is BPE with merges, or Unigram in 64 bits, and added tokens split the text. `model_folder`
decides when this module is used instead of SentencePiece's own pipeline.

| | 4 | 5 |
|---|---|---|
| default of ``legacy`` | true | false; only Llama has this option |
| ``legacy: false`` (no prefix after an added token) | Llama, T5 | Llama; always for CodeLlama; never for T5 |
| ``add_prefix_space: false`` | Llama, T5 | Llama, CodeLlama, XLM-R, CamemBERT |
| character map | all but Llama, CodeLlama, Gemma | all but Llama, CodeLlama, Gemma, mBART |
| ranks of merges follow | scores | ids |
| default of ``add_bos_token`` | true for Llama, CodeLlama, Gemma | true for CodeLlama |

Source: huggingface/transformers 4.57.6 (convert_slow_tokenizer.py, tokenization_utils_fast.py, the classes) and 5.24.0
(tokenization_utils_tokenizers.py, the classes); only facts were taken. ALBERT, BARThez and Pegasus are supported as in
version 5 only. Not supported: NLLB and XGLM in version 5, which numbers their pieces anew and adds no language tokens;
word and character models, which neither version converts; CodeLlama's infilling.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from .. import _core
from ..definition import Bpe, Component, Definition, Unigram, template_of
from ..errors import FormatError, UnsupportedFeatureError, keyword
from ..tokenizer import Tokenizer
from ..tokens.added import AddedToken, token_of_json, with_added_tokens
from . import layout as layouts
from .config import added_tokens, check_added, enclosed, option
from .error_context import error_context

__all__ = ["Version", "is_asked", "read"]

Version = Literal[4, 5]

_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")  # in the order in which their tokens are added
_BPE = ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer")
_LLAMAS = ("LlamaTokenizer", "CodeLlamaTokenizer")
_FAIRSEQ = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "sep": "</s>", "pad": "<pad>", "cls": "<s>", "mask": "<mask>"}
_ONLY_5 = ("AlbertTokenizer", "BarthezTokenizer", "PegasusTokenizer")
_CLASSES = tuple(name for name in layouts.CLASSES if name not in ("XGLMTokenizer", *_ONLY_5))
_UNK_IDS = {"T5Tokenizer": 2, "AlbertTokenizer": 1, "BarthezTokenizer": 3}  # default ids of version 5
# class -> role -> default token
_DEFAULTS: Mapping[str, Mapping[str, str]] = {
    **{name: {"bos": "<s>", "eos": "</s>", "unk": "<unk>"} for name in _LLAMAS},
    "GemmaTokenizer": {"bos": "<bos>", "eos": "<eos>", "unk": "<unk>", "pad": "<pad>"},
    "T5Tokenizer": {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"},
    **dict.fromkeys((*_CLASSES, "BarthezTokenizer"), _FAIRSEQ),
    "AlbertTokenizer": {
        "bos": "[CLS]",
        "eos": "[SEP]",
        "unk": "<unk>",
        "sep": "[SEP]",
        "pad": "<pad>",
        "cls": "[CLS]",
        "mask": "[MASK]",
    },
    "PegasusTokenizer": {"eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask_2>"},
    "MBart50Tokenizer": {role: token for role, token in _FAIRSEQ.items() if role != "bos"},
}
# (class, version) -> flags of the class's mask token; version 5 sets no flags for XLM-R
_MASKS: Mapping[tuple[str, int], Mapping[str, bool]] = {
    ("XLMRobertaTokenizer", 4): {"lstrip": True},
    **{(name, version): {"lstrip": True} for name in ("CamembertTokenizer", "MBartTokenizer") for version in (4, 5)},
    ("MBart50Tokenizer", 4): {"lstrip": True, "normalized": True},
    ("MBart50Tokenizer", 5): {"lstrip": True},
    ("NllbTokenizer", 4): {"lstrip": True, "normalized": True},
    ("BarthezTokenizer", 5): {"lstrip": True},
}
# If a configuration has one of these keys, version 5 puts other tokens before Pegasus's pieces, or puts the same tokens
# in another order.
_PEGASUS_KEYS = ("mask_token", "mask_token_sent")
_TURNS = ("<start_of_turn>", "<end_of_turn>")  # user-defined pieces of Gemma that version 4 makes special
# CodeLlama's tokens of infilling: key -> default. Version 4 has no fill token.
_INFILLING = {"prefix": "▁<PRE>", "middle": "▁<MID>", "suffix": "▁<SUF>", "eot": "▁<EOT>", "fill": "<FILL_ME>"}


def is_asked(config: Mapping[str, Any]) -> bool:
    """Tests whether a configuration uses a feature of transformers 4 that SentencePiece's own pipeline lacks.

    These features are ``legacy: false``, ``add_prefix_space: false``, an added token that is not special, and
    CodeLlama's tokens.

    Examples:
        >>> is_asked({"tokenizer_class": "LlamaTokenizer", "legacy": False})
        True
        >>> is_asked({"tokenizer_class": "XLMRobertaTokenizer", "add_prefix_space": False})  # version 5 only
        False
    """
    name = layouts.class_name(config)
    if name not in _DEFAULTS:
        return False
    if name == "CodeLlamaTokenizer" or _prefix(config, 4) != "always":
        return True
    return any(not token.special for token in added_tokens(config).values())


def read(data: bytes, config: Mapping[str, Any], *, source: str, version: Version) -> Tokenizer:
    """Builds the tokenizer from a model and a configuration, without chat template.

    Raises:
        UnsupportedFeatureError: the class, the kind of the model or a token is not supported.
    """
    name = layouts.class_name(config)
    if name not in _DEFAULTS or (name in _ONLY_5 and version == 4):
        given = f"the class {name}" if name else "a folder without a tokenizer_class"
        raise _unsupported(f"transformers={version} is not supported for {given}", "tokenizer_class")
    layout = _layout(config)
    if name == "PegasusTokenizer" and (keys := [key for key in _PEGASUS_KEYS if config.get(key) is not None]):
        raise _unsupported(
            f"version 5 gives PegasusTokenizer with {keys[0]} other ids, which is not supported", keys[0]
        )
    if (name, version) == ("NllbTokenizer", 5):
        message = "version 5 numbers the pieces of NllbTokenizer anew and adds no languages, which is not supported"
        raise _unsupported(message, "tokenizer_class")
    roles = _roles(config, name, version)
    with error_context(source, "sentencepiece"):
        text, pieces = _core.Vocabulary.from_sentencepiece(data)
        facts = json.loads(text)
        turns = _TURNS if (name, version) == ("GemmaTokenizer", 4) else ()
        own = [AddedToken(token, special or token in turns) for _, token, special in pieces.added()]
        own = [token for token in own if token.content != facts["unk"]]
        if layout is not None:
            numbering = {"languages": (), "mask": None} if name == "NllbTokenizer" else {}
            pieces = _core.Vocabulary.from_sentencepiece(data, layouts.to_core({**layout, **numbering}))[1]
        pieces = _renamed(pieces, config, name, version, roles, facts["unk"])
        model, vocabulary = _model(pieces, facts, name, version, roles)
        definition = Definition(model, **_stages(config, facts, name, version))
        base = Tokenizer(definition, vocabulary)
        extra = _extra(config, name, version, own)
        added = _numbered(base, _in_order(config, version, roles, own, extra))
        _check_ids(config, added)
        tokens = sorted(added.items())
        listed = base.vocab_size if any(token.special and id >= base.vocab_size for id, token in tokens) else None
        entries = {id for id, token in tokens if not token.special and id < base.vocab_size}
        spelled = {token.content: id for id, token in tokens}
        template = _template(config, name, version, roles, lambda token: spelled.get(token, _find(base, token)))
        decoder = definition.decoder or ()
        if version == 4 and any(token.normalized for token in added.values()):
            # tokenizers 0.22 decodes an added token to its spelling, later versions to its normalized content
            decoder = ({"type": "Respell", "contents": ()}, *decoder)
        definition = replace(
            definition,
            decoder=decoder,
            template=template,
            roles={role: token.content for role, token in roles.items()},
            hf_vocab_size=listed,
        )
        return check_added(Tokenizer(definition, with_added_tokens(vocabulary, tokens, entries)), config)


def _layout(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the id layout of a class; None for a class that keeps the ids of the model."""
    is_numbered = layouts.class_name(config) in (*_CLASSES, "PegasusTokenizer")
    return layouts.for_class(config) if is_numbered else None


def _prefix(config: Mapping[str, Any], version: Version) -> Literal["always", "first", "never"]:
    """Returns the ``prepend_scheme`` of the class.

    Added tokens cut a text into parts. The scheme determines which of these parts get a `▁` in front.
    """
    name = layouts.class_name(config)
    if version == 4:
        if name not in ("LlamaTokenizer", "T5Tokenizer"):
            return "always"
        if not option(config, "add_prefix_space", "add_prefix_space" not in config):  # null has the effect of false
            return "never"
        return "always" if option(config, "legacy", True) else "first"
    # If ``add_prefix_space`` is null, version 5 uses the default (true) for Llama and CodeLlama, and false for all
    # other classes.
    default = name in _LLAMAS or "add_prefix_space" not in config
    heeds = name in (*_LLAMAS, "XLMRobertaTokenizer", "CamembertTokenizer", "AlbertTokenizer", "BarthezTokenizer")
    if heeds and not option(config, "add_prefix_space", default):
        return "never"
    if name == "CodeLlamaTokenizer":
        return "first"
    return "first" if name == "LlamaTokenizer" and not option(config, "legacy", False) else "always"


def _roles(config: Mapping[str, Any], name: str, version: Version) -> dict[str, AddedToken]:
    """Returns role -> token, in the order in which the tokens are added."""
    defaults = dict(_DEFAULTS[name])
    if (name, version) == ("GemmaTokenizer", 5):
        defaults["mask"] = "<mask>"
    roles = {}
    for role in _ROLES:
        given = config.get(f"{role}_token", defaults.get(role))
        flags = _MASKS.get((name, version), {}) if role == "mask" else {}
        if given is not None:
            roles[role] = _token(given, f"{role}_token", flags)
    known = {f"{role}_token" for role in (*_ROLES, *_INFILLING)} | {"add_bos_token", "add_eos_token"}
    for key, value in config.items():
        if key.endswith("_token") and key not in known and value is not None:
            raise _unsupported(f"the token {key} is not supported with {keyword('transformers', version)}", key)
    return roles


def _token(given: Any, key: str, flags: Mapping[str, bool]) -> AddedToken:
    """Reads a token: a string, which gets the given flags, or an object that has its own flags."""
    content = given.get("content") if isinstance(given, dict) else given
    if not isinstance(content, str) or not content:
        raise FormatError(f"{key} is not a token", place=f"tokenizer_config.json: {key}")
    return token_of_json(content, True, given if isinstance(given, dict) else flags)


def _renamed(
    pieces: _core.Vocabulary,
    config: Mapping[str, Any],
    name: str,
    version: Version,
    roles: Mapping[str, AddedToken],
    unk: str,
) -> _core.Vocabulary:
    """Renames some pieces of the model and adds others, as the class does before it builds the vocabulary."""
    names: dict[int, str] = {}
    if name in _CLASSES and version == 5:  # version 4 renames no pieces; it appends the role tokens (bos, eos, ...)
        layout = _layout(config) or {}
        by_default = {"<s>": "cls" if name == "MBart50Tokenizer" else "bos", "<pad>": "pad", "</s>": "eos"}
        by_default |= {"<unk>": "unk", "<mask>": "mask"}
        ids = {**layout["specials"], "<mask>": pieces.next_id() - 1}
        names = {id: roles[by_default[token]].content for token, id in ids.items() if by_default.get(token) in roles}
    if name == "T5Tokenizer":
        names |= {id: token.content for id, token in layouts.sentinels(config, pieces.next_id()).items()}
    if (name, version) == ("GemmaTokenizer", 4):
        if [id for id, content, special in pieces.added() if special and content != unk][:3] != [0, 1, 2]:
            message = "GemmaTokenizer of version 4 replaces the first three pieces, which are not control pieces here"
            raise _unsupported(message, "tokenizer_class")
        names |= {id: roles[role].content for id, role in enumerate(("pad", "eos", "bos")) if role in roles}
        tab = pieces.find_any(b"<0x09>")
        if tab is not None and pieces.find_any(b"\t") is None:
            names[tab] = "\t"
    return with_added_tokens(pieces, [(id, AddedToken(content)) for id, content in names.items()]) if names else pieces


def _model(
    pieces: _core.Vocabulary, facts: Mapping[str, Any], name: str, version: Version, roles: Mapping[str, AddedToken]
) -> tuple[Bpe | Unigram, _core.Vocabulary]:
    kind = facts["model_type"]
    if kind not in ("bpe", "unigram"):
        raise _unsupported(f"transformers does not convert a SentencePiece model of the type {kind}", "model")
    if version == 5 and kind != ("bpe" if name in _BPE else "unigram"):
        raise _unsupported(f"for {name}, version 5 builds a model other than {kind}, which is not supported", "model")
    unk = roles["unk"].content if "unk" in roles else "<unk>"
    if kind == "bpe":
        token = (None if name == "LlamaTokenizer" else unk) if version == 5 else facts["unk"]
        model = Bpe("char", unk_token=token, fuse_unk=True, byte_fallback=name in _BPE)
        return model, pieces.converted_pieces("ids" if version == 5 else "scores")
    pieces = pieces.converted_pieces()
    if name == "CamembertTokenizer" and (unused := pieces.find_any(b"<unk>NOTUSED")) is not None:
        pieces = pieces.with_score(unused, -100.0)
    if name == "PegasusTokenizer":
        for token, id in layouts.LAYOUTS["pegasus"]["specials"].items():
            if token.startswith("<unk_"):
                pieces = pieces.with_score(id, -100.0)
    if name in layouts.CLASSES:
        unk = unk if version == 5 else "<unk>"
    elif version == 4:
        unk = facts["unk"]
    elif pieces.find_any(unk.encode()) != (id := _UNK_IDS[name]):
        message = (
            f"{name} of version 5 uses the piece with id {id} as the unknown token, but the unknown token is "
            f"{unk!r:.60}"
        )
        raise _unsupported(message, "unk_token")
    return Unigram(unk, byte_fallback=name in _BPE), pieces


def _stages(config: Mapping[str, Any], facts: Mapping[str, Any], name: str, version: Version) -> dict[str, Any]:
    """Returns normalizer, pre-tokenizer and decoder."""
    scheme = _prefix(config, version)
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": name not in _LLAMAS}
    escape = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    map: list[Component] = []
    if facts["precompiled_charsmap"]:
        map = [{"type": "Precompiled", "precompiled_charsmap": facts["precompiled_charsmap"]}]
    normalizer: list[Component] = []
    pretokenizer: list[Component] = [metaspace]
    if name == "GemmaTokenizer":
        normalizer = [escape]
        pattern = {"String": " "}
        pretokenizer = [{"type": "Split", "pattern": pattern, "behavior": "MergedWithPrevious", "invert": False}]
    elif name in _LLAMAS:
        if version == 4 and option(config if name == "LlamaTokenizer" else {}, "legacy", True):
            prefix: list[Component] = [{"type": "Prepend", "prepend": "▁"}] if scheme == "always" else []
            normalizer, pretokenizer = [*prefix, escape], []
    elif version == 4:
        strip = {"type": "Strip", "strip_left": False, "strip_right": True}
        normalizer = [*map, strip, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]
    elif name == "AlbertTokenizer":
        normalizer = [*_albert_normalizer(config), *map]
        pretokenizer = [{"type": "Pattern", "name": "whitespace"}, metaspace]
    elif name == "BarthezTokenizer":
        strip = {"type": "Strip", "strip_left": False, "strip_right": True}
        normalizer = [_replace({"Regex": r"\s{2,}|[\n\r\t]"}, " "), {"type": "NFC"}, strip]
    elif name == "PegasusTokenizer":
        normalizer = [*(map or [_replace({"Regex": r"\n"}, " ")]), _replace({"Regex": " {2,}"}, " ")]
    elif name == "MBart50Tokenizer":
        normalizer = [*map, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
    else:
        normalizer = [] if name == "MBartTokenizer" else map
        pretokenizer = [{"type": "Pattern", "name": "whitespace"}, metaspace]
    decoder = class_decoder(name, prefixed=scheme != "never" or (name, version) == ("CodeLlamaTokenizer", 5))
    if decoder[-1]["type"] == "Metaspace":
        decoder = ({**metaspace, "split": True},)
    return {"normalizer": tuple(normalizer), "pretokenizer": tuple(pretokenizer), "decoder": decoder}


def _replace(pattern: Component, content: str) -> Component:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _albert_normalizer(config: Mapping[str, Any]) -> Iterable[Component]:
    for quotes in ("``", "''"):
        yield _replace({"String": quotes}, '"')
    if not option(config, "keep_accents", False):
        yield from ({"type": "NFKD"}, {"type": "StripAccents"})
    if option(config, "do_lower_case", True):
        yield {"type": "Lowercase"}


def class_decoder(name: str, *, prefixed: bool = True) -> tuple[Component, ...]:
    """Returns the decoder of a class, for both versions. `prefixed`: whether `▁` was added before the text."""
    if name not in _BPE:
        scheme = "always" if prefixed else "never"
        return ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": True},)
    parts: list[Component] = [
        {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if prefixed and name != "GemmaTokenizer":
        parts.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return tuple(parts)


def _extra(config: Mapping[str, Any], name: str, version: Version, own: list[AddedToken]) -> list[AddedToken]:
    """Returns special tokens without a role. They come from the configuration, the class or (version 5) the model."""
    for key in ("extra_special_tokens", "model_specific_special_tokens"):
        if config.get(key):
            raise _unsupported(f"{key} is not supported with {keyword('transformers', version)}", key)
    listed = config.get("additional_special_tokens")
    if not isinstance(listed, list | None):
        place = "tokenizer_config.json: additional_special_tokens"
        raise FormatError("additional_special_tokens is not a list", place=place)
    given = [_token(token, "additional_special_tokens", {}) for token in listed or ()]
    languages = [AddedToken(code) for code in (_layout(config) or {}).get("languages", ())]
    sentinels = [AddedToken(one.content) for _, one in sorted(layouts.sentinels(config, 0).items(), reverse=True)]
    infilling = [
        _token(token, f"{role}_token", {})
        for role, default in _INFILLING.items()
        if name == "CodeLlamaTokenizer" and (role != "fill" or version == 5)
        for token in [config.get(f"{role}_token", default)]
        if token is not None
    ]
    if version == 5:
        # tokens of the configuration replace those of the model and the class
        of_class = [*languages, *own] if name == "MBartTokenizer" else [*own, *languages, *sentinels]
        if name == "PegasusTokenizer":
            names = layouts.LAYOUTS["pegasus"]["specials"]
            of_class = [AddedToken(token) for token in names if token.startswith(("<mask_1", "<unk_"))]
        return [*infilling, *(given if listed is not None else of_class)]
    if any("<extra_id_" in token.content for token in given):
        sentinels = []
    if name == "CamembertTokenizer" and listed is None:
        given = [AddedToken(f"{token}NOTUSED") for token in ("<s>", "</s>", "<unk>")]
    if name == "NllbTokenizer":
        return given if listed is not None else languages
    ordered = [*languages, *given] if name == "MBartTokenizer" else [*given, *languages]
    return [*ordered, *sentinels, *infilling]


def _in_order(
    config: Mapping[str, Any],
    version: Version,
    roles: Mapping[str, AddedToken],
    own: list[AddedToken],
    extra: list[AddedToken],
) -> Iterable[AddedToken]:
    """Yields the added tokens in the order of their ids. Of tokens with equal spelling, the last sets the flags.

    Version 4 begins with the added tokens of the model. tokenizers 0.22 keeps matching these tokens in the raw text,
    even if the configuration gives them other flags. Version 5 ends with the model's added tokens.
    """
    named = {token.content for token in (*roles.values(), *extra)}
    listed = [token for _, token in sorted(added_tokens(config).items())]
    listed = [replace(token, special=token.special or token.content in named) for token in listed]
    in_list = {token.content for token in listed}
    if version == 5:
        yield from listed
        yield from (token for token in (*roles.values(), *extra) if token.content not in in_list)
        return
    of_model = {token.content for token in own}
    more = config.get("additional_special_tokens") or ()
    objects = {one["content"] for one in (*more, *config.values()) if isinstance(one, dict) and "content" in one}
    yield from own
    for token in (*listed, *(token for token in (*roles.values(), *extra) if token.content not in in_list)):
        if token.content in of_model:
            if token.content in in_list or token.content in objects:
                yield replace(token, normalized=False)
        else:
            yield token


def _numbered(base: Tokenizer, tokens: Iterable[AddedToken]) -> dict[int, AddedToken]:
    """Assigns ids to tokens: the id of the entry with this spelling, else the next free id."""
    ids: dict[str, int] = {}
    added: dict[int, AddedToken] = {}
    next_id = base.vocab_size
    for token in tokens:
        id = ids.get(token.content, _find(base, token.content))
        if id is None:
            id, next_id = next_id, next_id + 1
        ids[token.content] = id
        added[id] = token
    return added


def _find(base: Tokenizer, content: str) -> int | None:
    return base._core.find(content.encode(), False)


def _check_ids(config: Mapping[str, Any], added: Mapping[int, AddedToken]) -> None:
    for id, token in added_tokens(config).items():
        if id not in added or added[id].content != token.content:
            raise UnsupportedFeatureError(
                f"the added token {token.content!r:.60} has the id {id} in the configuration, but "
                "transformers would assign it another one",
                place="tokenizer_config.json: added_tokens_decoder",
                feature="added_tokens",
            )


def _template(
    config: Mapping[str, Any], name: str, version: Version, roles: Mapping[str, AddedToken], find: Any
) -> Component | None:
    def id_of(role: str) -> int | None:
        return find(roles[role].content) if role in roles else None

    if name == "BarthezTokenizer":
        return None
    if name == "AlbertTokenizer":
        cls, sep = id_of("cls"), id_of("sep")
        return template_of([cls, "A", sep], [cls, "A", sep, ("B", 1), (sep, 1)])
    if name in _BPE:
        adds_bos = version == 4 or name == "CodeLlamaTokenizer"
        return enclosed(config, id_of("bos"), id_of("eos"), (adds_bos, False))
    if version == 4 and name in ("T5Tokenizer", "XLMRobertaTokenizer", "CamembertTokenizer"):
        bos, eos = find("<s>"), find("</s>")  # even if other tokens have the roles bos and eos
    else:
        bos, eos = id_of("bos"), id_of("eos")
    language = None
    spelled = {"single": ["A", "</s>"], "pair": ["A", "</s>", "B", "</s>"]}
    if name != "T5Tokenizer":
        spelled = (_layout(config) or {})["template"]
        language = next((item for item in spelled["single"] if item not in ("A", "<s>", "</s>")), None)
    ids: dict[str | None, Any] = {"A": "A", "B": "B", "<s>": bos, "</s>": eos}
    ids[language] = None if language is None else find(language)

    def item(token: str) -> Any:
        if ids[token] is None:
            raise _unsupported(f"the template of {name} has {token!r:.60}, which the tokenizer lacks", "template")
        return ids[token]

    return template_of([*map(item, spelled["single"])], [*map(item, spelled["pair"])])


def _unsupported(message: str, feature: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(message, place=f"tokenizer_config.json: {feature}", feature=feature)
