"""Implements `SentencePieceTrainer`: trains a model on a corpus, and writes the model file.

BPE, word and character models have the same pieces and scores as SentencePiece's; those of Unigram models are nearly
equal (docs/training.md).

Source: google/sentencepiece 0.2.3, src/sentencepiece_trainer.cc, src/trainer_interface.cc (behavior).
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from ... import _core
from ...corpus import Corpus
from ...errors import ConfigError, TrainingError
from ...formats import sentencepiece as model_files
from ...training import train
from ...training.presets import SentencePiece, SentencePieceUnigram
from ...util.atomic import write_atomically
from . import specs
from .normalizer import FLAGS, component, populated
from .sentences import lines_of, of_iterator, pretokenized
from .trainer_options import MODEL_TYPES, Options, of_keywords, refuse_unsupported
from .trainer_presets import BOUNDARY, Adapted, WordModel

__all__ = ["run"]

_DEFAULTS = {field.name: field.default for field in specs.TRAINER}
_NAMES = {number: name.lower() for name, number in MODEL_TYPES.items()}
_NORMALIZER_KEYS = (
    "normalization_rule_name", "normalization_rule_tsv", "add_dummy_prefix", "escape_whitespaces",
    "remove_extra_whitespaces", "name", "precompiled_charsmap",
)  # fmt: skip
_RANGES = {"num_threads": (1, 1024), "num_sub_iterations": (1, 10), "shrinking_factor": (0.5, 0.95)}


def run(kwargs: dict[str, Any]) -> None:
    """Implements `SentencePieceTrainer.train`."""
    iterator = kwargs.pop("sentence_reader", None)
    iterator = kwargs.pop("sentence_iterator", iterator)
    writer = kwargs.pop("model_writer", None)
    normalizer = kwargs.pop("normalizer", None)
    split = kwargs.pop("pretokenizer", None)
    may_differ = bool(kwargs.pop("allow_inconsistent_pretokenization", False))
    if normalizer and (clash := next((name for name in _NORMALIZER_KEYS if name in kwargs), None)):
        raise ValueError(f"normalizer and {clash} cannot be combined")
    options = of_keywords(kwargs)
    if normalizer:
        options.normalizer.update(specs.parse(specs.NORMALIZER, normalizer.serialized_normalizer_spec()))
    made = _Run(options, iterator, split, may_differ, has_writer=writer is not None)
    data = made.model()
    if writer is not None:
        writer.write(data)
    else:
        made.save(data)


class _Run:
    """One training run."""

    def __init__(self, options: Options, iterator: Any, split: Any, may_differ: bool, *, has_writer: bool) -> None:
        self._given = options.trainer
        self._all: dict[str, Any] = _DEFAULTS | {"model_type": MODEL_TYPES["UNIGRAM"]} | options.trainer
        self._iterator, self._split, self._may_differ = iterator, split, may_differ
        self._type = _NAMES[self._all["model_type"]]
        self._check(has_writer)
        refuse_unsupported(options.trainer)
        self._normalizer = populated(options.normalizer)
        flags = dict.fromkeys(FLAGS, False)  # the denormalizer uses only the character map, not the white-space options
        self._denormalizer = populated(options.denormalizer | flags) if options.denormalizer else {}
        if not self._normalizer.get("escape_whitespaces", True):
            raise RuntimeError("escape_whitespaces=False: normalized texts must not contain spaces")
        suffix = self._all["treat_whitespace_as_suffix"]
        self._component = component(self._normalizer, treat_whitespace_as_suffix=suffix)

    def _check(self, has_writer: bool) -> None:
        values, prefix = self._all, self._all["model_prefix"]
        if (self._iterator is not None) == bool(values["input"]):
            raise RuntimeError("pass either input or sentence_iterator")
        if has_writer == bool(prefix):
            raise RuntimeError("pass either model_prefix or model_writer")
        if values["vocab_size"] <= 0:
            raise RuntimeError("vocab_size must be positive")
        for name, (low, high) in _RANGES.items():
            if not low <= values[name] <= high:
                raise RuntimeError(f"{name}={values[name]} is not between {low} and {high}")
        is_subword = self._type in ("unigram", "bpe")
        if is_subword and values["use_all_vocab"]:
            raise RuntimeError("use_all_vocab is an option of word and char models")
        if self._split is not None or values["pretokenization_delimiter"]:
            if not is_subword:
                raise RuntimeError("only unigram and bpe models are trained with a pretokenizer")
            if self._split is not None and values["pretokenization_delimiter"]:
                raise RuntimeError("pretokenizer and pretokenization_delimiter cannot be combined")
        if 0 < values["input_sentence_size"] <= 100:
            raise RuntimeError("input_sentence_size must be over 100")
        if (values["input_format"] or "text") not in ("text", "tsv"):
            raise RuntimeError(f"input_format={values['input_format']!r}: expected text or tsv")

    def model(self) -> bytes:
        """Returns the content of the model file."""
        try:
            preset = self._preset()
            sentences = self._sentences(preset)
            tok = train(
                Corpus(sentences, errors="replace"),
                self._all["vocab_size"],
                preset=Adapted(
                    preset,
                    self._component,
                    boundaries=self._boundaries(),
                    is_normalized=self._split is not None,
                ),
                progress=False,
                threads=self._all["num_threads"],
            )
        except (ConfigError, TrainingError) as error:
            raise RuntimeError(str(error).removesuffix(" to the preset")) from error
        except OSError as error:
            raise RuntimeError(f"{error.filename}: {error.strerror}") from error
        written = model_files.render(tok, ())
        trainer = dict(self._given)
        if not self._all["hard_vocab_limit"] or self._type == "char" or self._all["use_all_vocab"]:
            trainer["vocab_size"] = tok.vocab_size
        return _core.with_sentencepiece_specs(
            written,
            specs.serialize(_NUMBERED, trainer),
            specs.serialize(specs.NORMALIZER, self._normalizer),
            specs.serialize(specs.NORMALIZER, self._denormalizer),
        )

    def _boundaries(self) -> tuple[str, ...]:
        if self._split is not None:
            return (BOUNDARY,)
        delimiter = self._all["pretokenization_delimiter"]
        return (delimiter,) if delimiter else ()

    def _preset(self) -> SentencePiece:
        kinds: dict[str, type[SentencePiece]] = {"bpe": SentencePiece, "unigram": SentencePieceUnigram}
        kind = kinds.get(self._type, WordModel)
        values = {each.name: self._all[each.name] for each in fields(kind) if each.name in self._all}
        values |= {name: self._normalizer.get(name, True) for name in ("add_dummy_prefix", "remove_extra_whitespaces")}
        values |= {name: tuple(values[name] or ()) for name in ("control_symbols", "user_defined_symbols")}
        values |= {"required_chars": values["required_chars"] or "", "normalization_rule_name": "identity"}
        if kind is WordModel:
            values["model_type"] = self._type
        if self._type == "word":  # a word includes the white space before it
            marked = (
                (symbol, f"▁{symbol}") if symbol[:1] != "▁" else (symbol,) for symbol in values["user_defined_symbols"]
            )
            values["user_defined_symbols"] = tuple(symbol for pair in marked for symbol in pair)
        return kind(**values)

    def _sentences(self, preset: SentencePiece) -> Any:
        count = self._all["input_sentence_size"]
        if self._iterator is not None:
            sentences: Any = of_iterator(self._iterator)
        elif count or self._split is not None:
            sentences = lines_of(self._all["input"], count)
        else:
            for path in self._all["input"]:
                with open(path, "rb"):
                    pass
            return [Path(path) for path in self._all["input"]]
        if self._split is None:
            return sentences
        reserved = preset._reserved(self._all["vocab_size"])
        return pretokenized(
            sentences,
            _core.PieceNormalizer(json.dumps(self._component), []),
            self._split,
            symbols=[content for _, _, content in reserved],
            max_bytes=self._all["max_sentence_length"],
            may_differ=self._may_differ,
        )

    def save(self, data: bytes) -> None:
        """Writes the model file and the list of pieces.

        Raises:
            RuntimeError: a file cannot be written.
        """
        prefix = self._all["model_prefix"]
        model = _core.PieceModel(data)
        ids = list(range(model.piece_size()))
        if self._all["vocabulary_output_piece_score"]:
            lines = map("{}\t{:g}\n".format, model.id_to_piece(ids), model.score(ids))
        else:
            lines = map("{}\n".format, model.id_to_piece(ids))
        try:
            for suffix, content in ((".model", data), (".vocab", "".join(lines).encode())):
                with write_atomically(f"{prefix}{suffix}") as file:
                    file.write(content)
        except OSError as error:
            raise RuntimeError(f"{prefix}: {error.strerror}") from error


_NUMBERED = tuple(field._replace(kind="int32") if field.name == "model_type" else field for field in specs.TRAINER)
