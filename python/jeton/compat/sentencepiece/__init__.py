"""Drop-in for SentencePiece: ``import jeton.compat.sentencepiece as sentencepiece``.

It has the public interface of sentencepiece 0.2.3 (except for `convert_to_flatbuffer`), and gives the same ids,
pieces, offsets, types and exceptions. `docs/migrating.md` lists the differences.

Examples:
    >>> import io
    >>> import jeton.compat.sentencepiece as spm
    >>> model = io.BytesIO()
    >>> spm.SentencePieceTrainer.train(
    ...     sentence_iterator=iter(["low lower lowest"]), model_writer=model, vocab_size=13, model_type="bpe"
    ... )
    >>> sp = spm.SentencePieceProcessor(model_proto=model.getvalue())
    >>> sp.encode("lower", out_type=str), sp.decode(sp.encode("low lowest"))
    (['▁', 'low', 'e', 'r'], 'low lowest')
"""

from __future__ import annotations

from .. import report
from .core import SentencePieceProcessor
from .flatbuffer import convert_to_flatbuffer
from .normalizer import SentencePieceNormalizer
from .runtime import ThreadPool, set_data_dir, set_min_log_level, set_nbest_timeout, set_random_generator_seed
from .trainer import SentencePieceTrainer

__all__ = [
    "ConvertToFlatbuffer",
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetDataDir",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "convert_to_flatbuffer",
    "set_data_dir",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]

__version__ = "0.2.3"  # version of sentencepiece with this interface

ConvertToFlatbuffer = convert_to_flatbuffer
SetDataDir = set_data_dir
SetMinLogLevel = set_min_log_level
SetNBestTimeout = set_nbest_timeout
SetRandomGeneratorSeed = set_random_generator_seed


def __getattr__(name: str) -> object:
    if not report.is_private(name) and not report.is_module(__name__, name):
        report.missing(f"sentencepiece.{name}")
    raise AttributeError(f"module 'sentencepiece' has no attribute {name!r}")
