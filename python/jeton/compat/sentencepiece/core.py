"""`SentencePieceProcessor`, the class that encodes and decodes.

Each method has two names, such as ``encode_as_ids`` and ``EncodeAsIds``. All loops over texts, ids and pieces are in
the core.

Source: google/sentencepiece 0.2.3, python/src/sentencepiece (behavior).
"""

from __future__ import annotations

from typing import Any, Self

from ... import _core
from .. import report
from . import forms
from .binding import Binding
from .loading import UNLOADED, read_file
from .runtime import num_workers

__all__ = ["SentencePieceProcessor", "report_missing_attributes"]


class SentencePieceProcessor:
    """A SentencePiece model: text ↔ ids and pieces.

    Args:
        model_file: path of a ``.model``.
        model_proto: content of a ``.model``, as bytes or as a ``ModelProto``.
        out_type: form of encoded texts: ``int``, ``str``, ``bytes``, ``"proto"``, ``"serialized_proto"``, ``"numpy"``
            or ``"offset_mapping"``. It is the older name of `return_type`.
        add_bos: adds the id of ``<s>`` before the text.
        add_eos: adds the id of ``</s>`` after the text.
        reverse: reverses the ids, before `add_bos` and `add_eos` add theirs.
        emit_unk_piece: if true, unknown pieces are returned as ``<unk>``; if false, as they are spelled in the text.
        enable_sampling: draws a random segmentation.
        nbest_size: Unigram: number of best segmentations to draw from; -1 is all.
        alpha: Unigram: factor of scores; BPE: probability that a merge is skipped.
        num_threads: number of threads for lists of texts; -1 means one thread for each CPU.
        return_type: form of encoded texts.

    Raises:
        ValueError: the form is unknown.
        RuntimeError: the model cannot be read.

    Examples:
        >>> import io
        >>> from jeton.compat.sentencepiece import SentencePieceTrainer
        >>> model = io.BytesIO()
        >>> SentencePieceTrainer.train(
        ...     sentence_iterator=iter(["low lower lowest"]), model_writer=model, vocab_size=13, model_type="bpe"
        ... )
        >>> sp = SentencePieceProcessor(model_proto=model.getvalue(), add_eos=True)
        >>> sp.encode("lower"), sp.encode(["low", "low!"], out_type=str)
        ([8, 4, 9, 10, 2], [['▁', 'low', '</s>'], ['▁', 'low', '!', '</s>']])
    """

    def __init__(
        self,
        model_file: Any = None,
        model_proto: Any = None,
        out_type: Any = None,
        add_bos: bool = False,
        add_eos: bool = False,
        reverse: bool = False,
        emit_unk_piece: bool = False,
        enable_sampling: bool = False,
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: Any = None,
    ) -> None:
        self._model: Any = UNLOADED
        self._proto = b""
        self._return_type = forms.resolve(return_type, out_type, int)
        self._add_bos = add_bos
        self._add_eos = add_eos
        self._reverse = reverse
        self._emit_unk_piece = emit_unk_piece
        self._enable_sampling = enable_sampling
        self._nbest_size = nbest_size
        self._alpha = alpha
        self._num_threads = num_threads
        if model_file or model_proto:
            self.load(model_file=model_file, model_proto=model_proto)

    @property
    def _processor(self) -> Binding:
        """Stands in for the extension object `_processor` of sentencepiece; only sentencepiece's own tests need it."""
        return Binding(self._model)

    # ── loading ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def from_file(cls, model_file: Any, **kwargs: Any) -> Self:
        """Creates a processor from a model file, with options of the constructor."""
        processor = cls(**_without_model(kwargs))
        processor.load_from_file(model_file)
        return processor

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> Self:
        """Creates a processor from the content of a model file, with options of the constructor."""
        processor = cls(**_without_model(kwargs))
        processor.load_from_serialized_proto(model_proto)
        return processor

    def load(self, model_file: Any = None, model_proto: Any = None) -> bool:
        """Loads a model; returns True."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto cannot be combined")
        if model_proto:
            return self.load_from_serialized_proto(model_proto)
        if model_file:
            return self.load_from_file(model_file)
        raise ValueError("pass model_file or model_proto")

    def load_from_file(self, filename: Any) -> bool:
        """Loads a model file; returns True."""
        return self.load_from_serialized_proto(read_file(filename))

    def load_from_serialized_proto(self, serialized: Any) -> bool:
        """Loads the content of a model file; returns True."""
        if hasattr(serialized, "SerializeToString"):
            serialized = serialized.SerializeToString()
        if not isinstance(serialized, bytes):
            raise TypeError(f"a serialized model must be bytes, not {type(serialized).__name__}")
        self._model = UNLOADED
        self._model, self._proto = _core.PieceModel(serialized), serialized
        return True

    # ── text → ids ────────────────────────────────────────────────────────────────────────────────────────────────────

    def encode(
        self,
        input: Any,
        add_bos: Any = None,
        add_eos: Any = None,
        reverse: Any = None,
        emit_unk_piece: Any = None,
        enable_sampling: Any = None,
        nbest_size: Any = None,
        alpha: Any = None,
        num_threads: Any = None,
        thread_pool: Any = None,
        return_type: Any = None,
        out_type: Any = None,
        return_bytes: Any = None,
    ) -> Any:
        """Encodes a text, or each text of a list. An option that is None takes the constructor's value.

        Raises:
            ValueError: options contradict each other, or the model lacks a role, such as ``<s>``.
            TypeError: an argument has the wrong type.
        """
        form = self._return_type
        if return_type is not None or out_type is not None:
            form = forms.resolve(return_type, out_type, form)
        if return_bytes is not None and form != "offset_mapping":
            raise ValueError("return_bytes is an option of return_type='offset_mapping'")
        sampling = None
        if (
            enable_sampling
            or (enable_sampling is None and self._enable_sampling)
            or nbest_size is not None
            or alpha is not None
        ):
            sampling = self._sampling(enable_sampling, nbest_size, alpha)
        if num_threads is None:
            num_threads = self._num_threads
        if not isinstance(num_threads, int):
            raise TypeError("num_threads must be int")
        is_batch = isinstance(input, list)
        result = self._model.encode(
            input,
            is_batch,
            forms.encoded(form, input, return_bytes),
            sampling,
            self._add_bos if add_bos is None else add_bos,
            self._add_eos if add_eos is None else add_eos,
            self._reverse if reverse is None else reverse,
            form in forms.SPELLED and (self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece),
            num_workers(num_threads, thread_pool) if is_batch else 1,
        )
        return result if form in forms.READY else forms.finished(form, result, is_batch)

    def _sampling(self, enable_sampling: Any, nbest_size: Any, alpha: Any) -> tuple[Any, Any, Any]:
        enabled = self._enable_sampling if enable_sampling is None else enable_sampling
        nbest_size = self._nbest_size if nbest_size is None else nbest_size
        alpha = self._alpha if alpha is None else alpha
        if enabled is True and (nbest_size is None or nbest_size == 0 or nbest_size == 1 or alpha is None):
            raise ValueError("enable_sampling needs nbest_size > 1, or -1 for all segmentations, and alpha")
        return enabled, nbest_size, alpha

    def encode_as_pieces(self, input: Any, **kwargs: Any) -> Any:
        """Calls `encode`; returns pieces."""
        return self.encode(input, return_type=str, **kwargs)

    def encode_as_ids(self, input: Any, **kwargs: Any) -> Any:
        """Calls `encode`; returns ids."""
        return self.encode(input, return_type=int, **kwargs)

    def encode_as_numpy(self, input: Any, **kwargs: Any) -> Any:
        """Calls `encode`; returns arrays."""
        return self.encode(input, return_type="numpy", **kwargs)

    def encode_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Calls `encode`; returns messages."""
        return self.encode(input, return_type="proto", **kwargs)

    def encode_as_offset_mapping(self, input: Any, **kwargs: Any) -> Any:
        """Calls `encode`; returns dicts with ``ids``, ``pieces`` and ``offsets``."""
        return self.encode(input, return_type="offset_mapping", **kwargs)

    def sample_encode_as_pieces(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Returns a random segmentation as pieces."""
        return self._sampled(str, input, nbest_size, alpha, kwargs)

    def sample_encode_as_ids(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Returns a random segmentation as ids."""
        return self._sampled(int, input, nbest_size, alpha, kwargs)

    def sample_encode_as_numpy(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Returns a random segmentation as arrays."""
        return self._sampled("numpy", input, nbest_size, alpha, kwargs)

    def sample_encode_as_proto(self, input: Any, nbest_size: Any = None, alpha: Any = None, **kwargs: Any) -> Any:
        """Returns a random segmentation as messages."""
        return self._sampled("proto", input, nbest_size, alpha, kwargs)

    def _sampled(self, form: Any, input: Any, nbest_size: Any, alpha: Any, kwargs: dict[str, Any]) -> Any:
        return self.encode(input, nbest_size=nbest_size, alpha=alpha, return_type=form, enable_sampling=True, **kwargs)

    def nbest_encode(
        self,
        input: Any,
        add_bos: Any = None,
        add_eos: Any = None,
        reverse: Any = None,
        emit_unk_piece: Any = None,
        nbest_size: Any = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Returns the n best segmentations of a text, or of each text of a list, best first; Unigram models only."""
        form = forms.resolve(return_type, out_type, self._return_type)
        if nbest_size is None:
            nbest_size = self._nbest_size
        if nbest_size <= 0:
            nbest_size = 1
        if isinstance(input, list) and not input:
            return []
        if form == "offset_mapping":
            raise ValueError("return_type='offset_mapping' is not supported for n-best results")
        result = self._model.nbest(
            input,
            nbest_size,
            forms.encoded(form, input, None),
            self._add_bos if add_bos is None else add_bos,
            self._add_eos if add_eos is None else add_eos,
            self._reverse if reverse is None else reverse,
            form in forms.SPELLED and (self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece),
        )
        return forms.finished_nbest(form, result, isinstance(input, list))

    def nbest_encode_as_pieces(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """Calls `nbest_encode`; returns pieces."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=str, **kwargs)

    def nbest_encode_as_ids(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """Calls `nbest_encode`; returns ids."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type=int, **kwargs)

    def nbest_encode_as_numpy(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """Calls `nbest_encode`; returns arrays."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type="numpy", **kwargs)

    def nbest_encode_as_proto(self, input: Any, nbest_size: Any = None, **kwargs: Any) -> Any:
        """Calls `nbest_encode`; returns messages."""
        return self.nbest_encode(input, nbest_size=nbest_size, return_type="proto", **kwargs)

    def parallel_encode(
        self,
        input: Any,
        add_bos: Any = None,
        add_eos: Any = None,
        reverse: Any = None,
        emit_unk_piece: Any = None,
        chunk_len: Any = None,
        num_threads: Any = None,
        thread_pool: Any = None,
        return_type: Any = None,
        out_type: Any = None,
    ) -> Any:
        """Encodes whole texts, like `encode`; SentencePiece would split them into chunks of `chunk_len` characters."""
        form = forms.resolve(return_type, out_type, self._return_type)
        if num_threads is None:
            num_threads = self._num_threads
        if not isinstance(num_threads, int):
            raise TypeError("num_threads must be int")
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise ValueError("chunk_len must be a positive integer")
        threads = num_workers(num_threads, thread_pool)
        is_batch = isinstance(input, list)
        if is_batch and not input:
            return []
        if form == "offset_mapping":
            raise ValueError("parallel_encode does not support return_type='offset_mapping'")
        try:
            result = self._model.encode(
                input,
                is_batch,
                forms.encoded(form, input, None),
                None,
                self._add_bos if add_bos is None else add_bos,
                self._add_eos if add_eos is None else add_eos,
                self._reverse if reverse is None else reverse,
                form in forms.SPELLED and (self._emit_unk_piece if emit_unk_piece is None else emit_unk_piece),
                threads,
            )
        except TypeError as error:
            if "surrogate" in str(error):  # for a batch, SentencePiece raises the same error as for a single text
                raise RuntimeError(str(error)) from None
            raise
        return forms.finished(form, result, is_batch)

    def parallel_encode_as_pieces(self, input: Any, **kwargs: Any) -> Any:
        """Calls `parallel_encode`; returns pieces."""
        return self.parallel_encode(input, return_type=str, **kwargs)

    def parallel_encode_as_ids(self, input: Any, **kwargs: Any) -> Any:
        """Calls `parallel_encode`; returns ids."""
        return self.parallel_encode(input, return_type=int, **kwargs)

    def parallel_encode_as_numpy(self, input: Any, **kwargs: Any) -> Any:
        """Calls `parallel_encode`; returns arrays."""
        return self.parallel_encode(input, return_type="numpy", **kwargs)

    def parallel_encode_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Calls `parallel_encode`; returns messages."""
        return self.parallel_encode(input, return_type="proto", **kwargs)

    # ── ids and pieces → text ─────────────────────────────────────────────────────────────────────────────────────────

    def decode(
        self,
        input: Any,
        return_type: Any = None,
        out_type: Any = None,
        num_threads: Any = None,
        thread_pool: Any = None,
        return_bytes: Any = None,
    ) -> Any:
        """Decodes an id, a list of ids, a piece, a list of pieces, or several such lists.

        Raises:
            IndexError: an id is not in the vocabulary.
            ValueError: the form is unknown.
            TypeError: an argument has the wrong type.
        """
        is_plain = return_type is out_type is return_bytes is num_threads is None and type(self._num_threads) is int
        if is_plain and type(input) is list and input and type(input[0]) is int:  # fast path for the most frequent call
            return self._model.decode_ids(input, forms.TEXT)
        form: Any = str
        if return_type is not None or out_type is not None:
            form = forms.resolve(return_type, out_type, form)
        if return_bytes is not None and form != "offset_mapping":
            raise ValueError("return_bytes is an option of return_type='offset_mapping'")
        if num_threads is None:
            num_threads = self._num_threads
        if not isinstance(num_threads, int):
            raise TypeError("num_threads must be int")
        shape = forms.shape_of(input)
        output = forms.decoded(form, return_bytes)
        method = getattr(self._model, shape.method)
        if shape.is_batch:
            result = method(shape.input, output, num_workers(num_threads, thread_pool))
        else:
            result = method(shape.input, output)
        return result if form in forms.READY else forms.finished(form, result, shape.is_batch)

    def decode_pieces(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:
        """Calls `decode` with pieces."""
        return self.decode(input, return_type=return_type, **kwargs)

    def decode_ids(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:
        """Calls `decode` with ids."""
        return self.decode(input, return_type=return_type, **kwargs)

    def decode_pieces_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Calls `decode` with pieces; returns messages."""
        return self.decode(input, return_type="proto", **kwargs)

    def decode_ids_as_proto(self, input: Any, **kwargs: Any) -> Any:
        """Calls `decode` with ids; returns messages."""
        return self.decode(input, return_type="proto", **kwargs)

    def normalize(self, input: Any, with_offsets: Any = None) -> Any:
        """Normalizes a text, or each text of a list.

        With offsets, each result is (text, starts). For each character of the normalized text, and for its end,
        `starts` has a position in the input.
        """
        return self._model.normalize(input, bool(with_offsets))

    # ── the vocabulary ────────────────────────────────────────────────────────────────────────────────────────────────

    def get_piece_size(self) -> int:
        """Returns the number of pieces."""
        return self._model.piece_size()  # type: ignore[no-any-return]

    def piece_to_id(self, piece: Any) -> Any:
        """Returns the id of a piece, or the ids of a sequence of pieces; unknown pieces get the id of ``<unk>``."""
        return self._model.piece_to_id(piece)

    def id_to_piece(self, id: Any) -> Any:
        """Returns the piece of an id, or the pieces of a sequence of ids."""
        return self._model.id_to_piece(id)

    def get_score(self, id: Any) -> Any:
        """Returns the score of an id, or the scores of a sequence of ids."""
        return self._model.score(id)

    def is_unknown(self, id: Any) -> Any:
        """Tests whether an id is that of the unknown piece."""
        return self._model.is_unknown(id)

    def is_control(self, id: Any) -> Any:
        """Tests whether an id belongs to a control piece: a piece that never results from encoding a text."""
        return self._model.is_control(id)

    def is_unused(self, id: Any) -> Any:
        """Tests whether an id is that of an unused piece."""
        return self._model.is_unused(id)

    def is_byte(self, id: Any) -> Any:
        """Tests whether an id is that of a byte piece; byte pieces encode characters that are not pieces."""
        return self._model.is_byte(id)

    def unk_id(self) -> int:
        """Returns the id of ``<unk>``; -1 if there is none."""
        return self._model.roles()[0]  # type: ignore[no-any-return]

    def bos_id(self) -> int:
        """Returns the id of ``<s>``; -1 if there is none."""
        return self._model.roles()[1]  # type: ignore[no-any-return]

    def eos_id(self) -> int:
        """Returns the id of ``</s>``; -1 if there is none."""
        return self._model.roles()[2]  # type: ignore[no-any-return]

    def pad_id(self) -> int:
        """Returns the id of ``<pad>``; -1 if there is none."""
        return self._model.roles()[3]  # type: ignore[no-any-return]

    def serialized_model_proto(self) -> bytes:
        """Returns the content of the model file."""
        return self._proto

    piece_size = get_piece_size
    vocab_size = get_piece_size
    tokenize = encode
    detokenize = decode

    # The other names of the methods, written out because type checkers do not see names that code adds.
    Load = load
    LoadFromFile = load_from_file
    LoadFromSerializedProto = load_from_serialized_proto
    Encode = encode
    EncodeAsPieces = encode_as_pieces
    EncodeAsIds = encode_as_ids
    EncodeAsNumpy = encode_as_numpy
    EncodeAsProto = encode_as_proto
    EncodeAsOffsetMapping = encode_as_offset_mapping
    SampleEncodeAsPieces = sample_encode_as_pieces
    SampleEncodeAsIds = sample_encode_as_ids
    SampleEncodeAsNumpy = sample_encode_as_numpy
    SampleEncodeAsProto = sample_encode_as_proto
    NBestEncode = nbest_encode
    NBestEncodeAsPieces = nbest_encode_as_pieces
    NBestEncodeAsIds = nbest_encode_as_ids
    NBestEncodeAsNumpy = nbest_encode_as_numpy
    NBestEncodeAsProto = nbest_encode_as_proto
    ParallelEncode = parallel_encode
    ParallelEncodeAsPieces = parallel_encode_as_pieces
    ParallelEncodeAsIds = parallel_encode_as_ids
    ParallelEncodeAsNumpy = parallel_encode_as_numpy
    ParallelEncodeAsProto = parallel_encode_as_proto
    Decode = decode
    DecodePieces = decode_pieces
    DecodeIds = decode_ids
    DecodePiecesAsProto = decode_pieces_as_proto
    DecodeIdsAsProto = decode_ids_as_proto
    Normalize = normalize
    GetPieceSize = get_piece_size
    PieceToId = piece_to_id
    IdToPiece = id_to_piece
    GetScore = get_score
    IsUnknown = is_unknown
    IsControl = is_control
    IsUnused = is_unused
    IsByte = is_byte
    Tokenize = tokenize
    Detokenize = detokenize

    def __len__(self) -> int:
        return self.get_piece_size()

    def __getitem__(self, piece: Any) -> Any:
        return self.piece_to_id(piece)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_model", "_proto"):
            state.pop(name, None)
        state["model_proto"] = self._proto
        return state

    def __setstate__(self, state: Any) -> None:
        state = dict(state) if isinstance(state, dict) else {"model_proto": state}
        SentencePieceProcessor.__init__(self)
        self.load_from_serialized_proto(state.pop("model_proto"))
        self.__dict__.update(state)


def _without_model(kwargs: dict[str, Any]) -> dict[str, Any]:
    if "model_file" in kwargs or "model_proto" in kwargs:
        raise ValueError("the model is given twice")
    return kwargs


def report_missing_attributes() -> None:
    """Begins to record the attributes that a program requests but processors lack, for `jeton.compat.run`."""
    report.missing_attributes(SentencePieceProcessor, "sentencepiece.SentencePieceProcessor")
