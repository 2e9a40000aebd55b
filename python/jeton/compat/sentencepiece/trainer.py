"""`SentencePieceTrainer`, the class that trains models.

The implementation, `training_run`, is imported on use, because programs that only encode do not need it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SentencePieceTrainer"]


class SentencePieceTrainer:
    """Trains models. Options are those of ``spm_train``.

    Examples:
        >>> import io
        >>> model = io.BytesIO()
        >>> SentencePieceTrainer.train(
        ...     sentence_iterator=iter(["low lower lowest"]), model_writer=model, vocab_size=13, model_type="bpe"
        ... )
        >>> len(model.getvalue()) > 100
        True
    """

    @staticmethod
    def train(arg: Any = None, logstream: Any = None, **kwargs: Any) -> None:
        """Trains a model, and writes it to ``model_prefix + ".model"`` and ``".vocab"``, or to `model_writer`.

        Args:
            arg: options in the form of a command line.
            logstream: accepted without effect; no messages are logged.
            **kwargs: options; and ``sentence_iterator``, an iterator of texts; ``model_writer``, whose ``write`` is
                called with the model; ``normalizer``, a `SentencePieceNormalizer`; ``pretokenizer``, a function that
                splits a normalized text; ``allow_inconsistent_pretokenization``.

        Raises:
            ValueError: a value has the wrong type, or an option is not supported.
            RuntimeError: an option is unknown, options contradict each other, or the corpus cannot be read.
        """
        from .trainer_options import of_line
        from .training_run import run

        run(dict(of_line(arg)) if isinstance(arg, str) else kwargs)

    Train = train
