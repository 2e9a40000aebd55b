"""Id layouts for SentencePiece models: named special tokens first, pieces shifted, languages and mask last.

fairseq assigns ids in this way, and so do the multilingual models of `transformers`. A layout is an object:

- ``specials``: special token -> id; includes the model's unknown piece;
- ``shift``: offset added to the index of a piece;
- ``languages``: language codes, which follow the pieces;
- ``mask``: the mask token, which has the last id;
- ``template``: the template in spellings, ``{"single": ["<s>", "A", "</s>"], "pair": [...]}``;
- ``roles``: role -> special token.

Only ``specials`` is required. The core renumbers the ids when it reads the model.

Sources: facebookresearch/fairseq; huggingface/transformers, the tokenizers of XLM-RoBERTa, mBART, mBART-50, NLLB and
CamemBERT, XGLM, BARThez and Pegasus (facts: ids, templates, language codes). Left out: ALBERT, whose slow class splits
a piece such as ``▁9,`` after the model has produced it, and keeps combining marks that its fast class removes (``กำ``);
Pegasus if its configuration changes tokens or ``offset``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..definition import Component, template_of
from ..errors import ConfigError, FormatError, UnsupportedFeatureError, keyword
from ..tokens.added import AddedToken
from .config import added_tokens, enclosed
from .languages import MBART, MBART50, NLLB

__all__ = [
    "CLASSES",
    "FILES",
    "LAYOUTS",
    "PLAIN",
    "around",
    "class_name",
    "for_class",
    "of_folder",
    "resolve",
    "sentinels",
    "template",
    "to_core",
]

Layout = Mapping[str, Any]

_SPECIALS = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
_ROLES = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>"}
_AROUND = {"single": ["<s>", "A", "</s>"], "pair": ["<s>", "A", "</s>", "</s>", "B", "</s>"]}
_FAIRSEQ: Layout = {"specials": _SPECIALS, "shift": 1, "mask": "<mask>", "roles": {**_ROLES, "mask": "<mask>"}}

_PEGASUS = {"<pad>": 0, "</s>": 1, "<mask_1>": 2, "<mask_2>": 3}

LAYOUTS: Mapping[str, Layout] = {
    "fairseq": _FAIRSEQ,
    "xlm-roberta": {**_FAIRSEQ, "template": _AROUND},
    "camembert": {
        **_FAIRSEQ,
        "specials": {"<s>NOTUSED": 0, "<pad>": 1, "</s>NOTUSED": 2, "<unk>": 3, "<unk>NOTUSED": 4},
        "shift": 4,
        "template": _AROUND,
    },
    "mbart": {**_FAIRSEQ, "languages": MBART},
    "mbart50": {**_FAIRSEQ, "languages": MBART50},
    "nllb": {**_FAIRSEQ, "languages": NLLB},
    "xglm": {
        "specials": _SPECIALS,
        "shift": 1,
        "languages": tuple(f"<madeupword{i}>" for i in range(7)),
        "template": {"single": ["</s>", "A"], "pair": ["</s>", "A", "</s>", "</s>", "B"]},
        "roles": _ROLES,
    },
    "barthez": {"specials": _SPECIALS, "template": _AROUND, "roles": {**_ROLES, "mask": "<mask>"}},
    "pegasus": {
        "specials": {**_PEGASUS, **{f"<unk_{i}>": i + 2 for i in range(2, 103)}, "<unk>": 105},
        "shift": 103,
        "template": {"single": ["A", "</s>"], "pair": ["A", "B", "</s>"]},
        "roles": {"eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask_2>"},
    },
}

# tokenizer_class -> (layout, language in the template if the configuration names none)
CLASSES: Mapping[str, tuple[str, str | None]] = {
    "XLMRobertaTokenizer": ("xlm-roberta", None),
    "CamembertTokenizer": ("camembert", None),
    "MBartTokenizer": ("mbart", "en_XX"),
    "MBart50Tokenizer": ("mbart50", "en_XX"),
    "NllbTokenizer": ("nllb", "eng_Latn"),
    "XGLMTokenizer": ("xglm", None),
    "BarthezTokenizer": ("barthez", None),
    "PegasusTokenizer": ("pegasus", None),
}

# Class that keeps SentencePiece's own ids -> defaults of (add_bos_token, add_eos_token). The values are from
# transformers 4.57, for which such configurations were written. In contrast, transformers 5.23 adds no bos for a
# LlamaTokenizer or GemmaTokenizer without add_bos_token.
PLAIN: Mapping[str, tuple[bool, bool]] = {
    "LlamaTokenizer": (True, False),
    "CodeLlamaTokenizer": (True, False),
    "GemmaTokenizer": (True, False),
    "T5Tokenizer": (False, True),
}

# class -> name of its model file
FILES: Mapping[str, str] = {
    **dict.fromkeys(CLASSES, "sentencepiece.bpe.model"),
    **dict.fromkeys(PLAIN, "tokenizer.model"),
    **dict.fromkeys(("T5Tokenizer", "PegasusTokenizer"), "spiece.model"),
}

_FIELDS = {"specials", "shift", "languages", "mask", "template", "roles"}


def resolve(layout: str | Layout) -> Layout:
    """Returns the layout of a name, or checks a layout given as a dict.

    Raises:
        ConfigError: the name or a field is unknown.

    Examples:
        >>> resolve("fairseq")["shift"]
        1
    """
    if isinstance(layout, str):
        if layout not in LAYOUTS:
            raise ConfigError(f"there is no layout {layout!r}; layouts: {', '.join(LAYOUTS)}", option="layout")
        return LAYOUTS[layout]
    if not isinstance(layout, Mapping) or "specials" not in layout or not set(layout) <= _FIELDS:
        raise ConfigError(
            f"a layout must be one of {', '.join(LAYOUTS)} or a dict with specials and optionally "
            f"{', '.join(sorted(_FIELDS - {'specials'}))}; got {layout!r}",
            option="layout",
        )
    return layout


def class_name(config: Mapping[str, Any]) -> str:
    """Returns the ``tokenizer_class`` of a configuration, without the suffix of its fast variant; empty if missing.

    Examples:
        >>> class_name({"tokenizer_class": "T5TokenizerFast"})
        'T5Tokenizer'
    """
    return str(config.get("tokenizer_class") or "").removesuffix("Fast")


def for_class(config: Mapping[str, Any]) -> Layout | None:
    """Returns the layout for the ``tokenizer_class`` of a `tokenizer_config.json`, or None.

    Raises:
        UnsupportedFeatureError: the class is not supported, or lacks the language that the configuration names.

    Examples:
        >>> for_class({"tokenizer_class": "MBartTokenizer", "src_lang": "de_DE"})["template"]["single"]
        ['A', '</s>', 'de_DE']
        >>> for_class({"tokenizer_class": "LlamaTokenizer"}) is None
        True
    """
    name = class_name(config)
    if name == "AlbertTokenizer":
        raise UnsupportedFeatureError(
            "the class AlbertTokenizer with a .model is not supported: it tokenizes pieces that end in a digit and a "
            "comma a second time, and its slow and its fast variant give different ids for marks of Thai, Hindi and "
            f"other scripts; pass {keyword('transformers', 5)} for the ids of that version, or load the tokenizer.json "
            "of the fast variant",
            place="tokenizer_config.json: tokenizer_class",
            feature="tokenizer_class",
        )
    if name not in CLASSES and name and name not in PLAIN and not name.startswith("PreTrainedTokenizer"):
        raise UnsupportedFeatureError(
            f"the class {name}, which may renumber the ids of a SentencePiece model, is not supported; load the .model "
            "file itself for SentencePiece's own ids",
            place="tokenizer_config.json: tokenizer_class",
            feature="tokenizer_class",
        )
    if name not in CLASSES:
        return None
    if name == "PegasusTokenizer":
        for option, expected in (("offset", 103), ("mask_token", "<mask_2>"), ("mask_token_sent", "<mask_1>")):
            given = config.get(option, expected)
            if (given.get("content") if isinstance(given, Mapping) else given) != expected:
                raise UnsupportedFeatureError(
                    f"PegasusTokenizer with {option} other than {expected!r} is not supported",
                    place=f"tokenizer_config.json: {option}",
                    feature=option,
                )
    key, default = CLASSES[name]
    layout = LAYOUTS[key]
    if default is None:
        return layout
    language = config.get("src_lang") or default
    if language not in layout["languages"]:
        raise UnsupportedFeatureError(
            f"{name} has no language {language!r}", place="tokenizer_config.json: src_lang", feature="src_lang"
        )
    first: list[str] = []
    last = ["</s>", language]
    if key == "mbart50" or (key == "nllb" and not config.get("legacy_behaviour")):
        first, last = [language], ["</s>"]
    return {**layout, "template": {"single": [*first, "A", *last], "pair": [*first, "A", "B", *last]}}


def of_folder(config: Mapping[str, Any]) -> Layout | None:
    """Returns the layout of `for_class`. For NLLB, the id of the mask can also precede those of the languages.

    The mask comes first if the configuration gives it the lower id, or lists no language; in the latter case,
    transformers does the same. Published configurations list the languages, and the mask has the id after them.
    """
    layout = for_class(config)
    if layout is None or class_name(config) != "NllbTokenizer":
        return layout
    ids = {token.content: id for id, token in added_tokens(config).items()}
    first = min((ids[code] for code in layout["languages"] if code in ids), default=None)
    if first is not None and ids.get(layout["mask"], first) >= first:
        return layout
    return {**layout, "languages": (layout["mask"], *layout["languages"]), "mask": None}


def around(config: Mapping[str, Any], bos: int | None, eos: int | None) -> Component | None:
    """Returns the template of a tokenizer class in `PLAIN`; None for other classes, or if no token is added.

    Examples:
        >>> around({"tokenizer_class": "T5Tokenizer"}, None, 1)["single"]
        [{'sequence': 'A', 'type_id': 0}, {'ids': [1], 'type_id': 0}]
    """
    defaults = PLAIN.get(class_name(config))
    if defaults is None:
        return None
    second = 0 if defaults == (False, True) else 1  # T5 gives both texts of a pair the type id 0
    return enclosed(config, bos, eos, defaults, second)


def sentinels(config: Mapping[str, Any], first: int) -> dict[int, AddedToken]:
    """Returns id -> sentinel token of T5, with the same flags as in T5's slow class.

    The ids begin at `first`, after those of the pieces; ``<extra_id_0>`` has the last id.

    Examples:
        >>> sentinels({"tokenizer_class": "T5Tokenizer", "extra_ids": 2}, 100)[101].content
        '<extra_id_0>'
    """
    if class_name(config) != "T5Tokenizer":
        return {}
    number = config.get("extra_ids", 100)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 16:
        raise FormatError(
            f"extra_ids is {number!r:.60}, not an integer from 0 to 65535", place="tokenizer_config.json: extra_ids"
        )
    names = (f"<extra_id_{i}>" for i in reversed(range(number)))
    return {first + i: AddedToken(name, lstrip=True, rstrip=True) for i, name in enumerate(names)}


def to_core(layout: Layout) -> str:
    """Serializes those fields of a layout that the core uses.

    Raises:
        ConfigError: a value has no JSON form.
    """
    core = {"specials", "shift", "languages", "mask"}
    try:
        return json.dumps({name: value for name, value in layout.items() if name in core})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"a layout must be plain data: {error}", option="layout") from None


def template(spelled: Mapping[str, Any] | None, vocabulary: _core.Vocabulary) -> Component | None:
    """Converts a template from spellings to ids.

    Raises:
        ConfigError: a special token is not in the vocabulary.
    """
    if spelled is None:
        return None

    def item(name: str) -> int | str:
        id = name if name in ("A", "B") else vocabulary.find_any(name.encode())
        if id is None:
            raise ConfigError(f"the template names {name!r}, which is not in the vocabulary", option="layout")
        return id

    return template_of([*map(item, spelled["single"])], [*map(item, spelled["pair"])] if spelled.get("pair") else None)
