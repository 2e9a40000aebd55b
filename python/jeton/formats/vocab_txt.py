"""BERT's vocab.txt: WordPiece entries, one per line.

The other stages are BERT's: its pre-tokenizer, and a template of ``[CLS]`` and ``[SEP]``. The ``do_lower_case`` of a
`tokenizer_config.json` in the same folder decides on lowercasing. If this configuration does not set it, or if a whole
folder without a configuration is loaded, texts are lowercased, as in transformers. If only the vocab.txt is loaded, and
there is no configuration beside it, texts are lowercased if and only if no entry outside ``[…]`` has an upper-case
letter. Classes that tokenize differently from `BertTokenizer` are rejected.

Missing special tokens are not added, whereas transformers appends them. Without ``[CLS]`` or ``[SEP]`` there is no
template.

Source: google-research/bert tokenization.py; huggingface/transformers tokenization_bert.py (facts).
"""

from __future__ import annotations

from .. import _core
from ..definition import Definition, WordPiece, template_of
from ..errors import ConfigError, FormatError, UnsupportedFeatureError
from ..tokenizer import Tokenizer
from ..tokens.added import AddedToken
from .config import added_tokens, option, with_tokens
from .error_context import error_context, refuse_losses

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping
    from typing import Any

    from ..definition import Component

__all__ = ["read", "write"]

FORMAT = "vocab.txt"
_SPECIAL = {"unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "mask": "[MASK]"}
# classes that tokenize in the same way as BertTokenizer
_CLASSES = """
    BertTokenizer ConvBertTokenizer DPRContextEncoderTokenizer DPRQuestionEncoderTokenizer DPRReaderTokenizer
    DistilBertTokenizer ElectraTokenizer LayoutLMTokenizer LxmertTokenizer MobileBertTokenizer PreTrainedTokenizer
    SqueezeBertTokenizer
""".split()  # noqa: SIM905


def read(data: bytes, *, source: str, config: Mapping[str, Any] | None = None, is_folder: bool = False) -> Tokenizer:
    """Reads a tokenizer from the content of a file.

    Args:
        data: content of the file.
        source: name of the file, for messages.
        config: content of `tokenizer_config.json`; empty or None if there is no such file.
        is_folder: whether the file is read as part of a folder. This matters if ``do_lower_case`` is not set: with a
            folder or a nonempty `config`, the tokenizer lowercases texts, as transformers does by default.

    Raises:
        FormatError: an entry is repeated, a line is blank, or there is no unknown token; the error has the line.
        UnsupportedFeatureError: an option of `config` is not supported.
    """
    lowercases = bool(config) or is_folder  # as transformers does by default, even if entries have upper-case letters
    config = config or {}
    with error_context(source, FORMAT):
        vocabulary, has_upper_case = _core.Vocabulary.from_vocab_txt(data)
        special = {role: _name(config, role, token) for role, token in _SPECIAL.items()}
        ids = {role: vocabulary.find(token.encode()) for role, token in special.items()}
        if ids["unk"] is None:
            raise FormatError(f"there is no unknown token {special['unk']!r}", place="the whole file")
        kind = str(config.get("tokenizer_class") or "BertTokenizer").removesuffix("Fast")
        if kind not in _CLASSES:
            raise UnsupportedFeatureError(
                f"the tokenizer class {kind!r:.60}, which may differ from BERT's, is not supported; without the "
                "configuration the file loads as BERT's",
                place="tokenizer_config.json: tokenizer_class",
                feature="tokenizer_class",
            )
        if config.get("do_basic_tokenize") is False:
            raise UnsupportedFeatureError(
                "do_basic_tokenize=false (pre-split text) is not supported",
                place="tokenizer_config.json: do_basic_tokenize",
                feature="do_basic_tokenize",
            )
        found = {role: id for role, id in ids.items() if id is not None}
        roles = {id: AddedToken(special[role]) for role, id in found.items()}
        num_entries = vocabulary.next_id()
        vocabulary = with_tokens(vocabulary, roles | added_tokens(config))
        definition = Definition(
            WordPiece(special["unk"]),
            normalizer=(_normalizer(config, lowercase=lowercases or not has_upper_case),),
            pretokenizer=({"type": "BertPreTokenizer"},),
            decoder=({"type": "WordPiece", "prefix": "##", "cleanup": True},),
            template=_template(found["cls"], found["sep"]) if {"cls", "sep"} <= set(found) else None,
            roles={role: special[role] for role in found},
            hf_vocab_size=num_entries if vocabulary.next_id() > num_entries else None,
        )
        return Tokenizer(definition, vocabulary)


def _name(config: Mapping[str, Any], role: str, default: str) -> str:
    given = config.get(f"{role}_token", default)
    given = given.get("content") if isinstance(given, dict) else given
    if not isinstance(given, str) or not given:
        raise FormatError(f"{role}_token is not a string", place=f"tokenizer_config.json: {role}_token")
    return given


def _normalizer(config: Mapping[str, Any], *, lowercase: bool) -> Component:
    return {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": option(config, "tokenize_chinese_chars", True),
        "strip_accents": option(config, "strip_accents", None),
        "lowercase": option(config, "do_lower_case", lowercase),
    }


def _template(cls: int, sep: int) -> Component:
    return template_of([cls, "A", sep], [cls, "A", sep, ("B", 1), (sep, 1)])


def write(tok: Tokenizer, path: str | os.PathLike[str], accept_loss: Collection[str]) -> None:
    """Writes the entries atomically. The file has nothing else, so the rest of `tok` must be what `read` would assume.

    Raises:
        UnsupportedFeatureError: the model is not supported, or a loss was not accepted.
    """
    from ..util.atomic import write_atomically

    data = render(tok, accept_loss)
    with write_atomically(path, streams=True) as file:
        file.write(data)


def render(tok: Tokenizer, accept_loss: Collection[str]) -> bytes:
    """Returns the content of the file that `write` writes."""
    if not isinstance(tok.definition.model, WordPiece):
        raise UnsupportedFeatureError(
            f"vocab.txt holds the entries of WordPiece, not of {tok.definition.model.type}",
            format=FORMAT,
            feature="model",
        )
    try:
        data = tok._core.vocab_txt().encode()
    except ConfigError as error:
        raise UnsupportedFeatureError(
            f"vocab.txt cannot hold this vocabulary: {error}", format=FORMAT, feature="vocabulary"
        ) from None
    assumed = _assumed(data)
    losses = {}
    for name in ("model", "normalizer", "pretokenizer", "decoder", "template", "roles"):
        if assumed is None or getattr(assumed.definition, name) != getattr(tok.definition, name):
            losses[name] = f"the {name}, which differs from BERT's"
    if assumed is None or assumed._core.added_tokens() != tok._core.added_tokens():
        losses["special_tokens"] = "which tokens are special"
    if tok.definition.chat_template is not None:
        losses["chat_template"] = "a chat template"
    refuse_losses(losses, accept_loss, FORMAT)
    return data


def _assumed(data: bytes) -> Tokenizer | None:
    try:
        return read(data, source="what was written")
    except FormatError:
        return None
