"""`Tokenizer`: encoding, decoding, and properties of a tokenizer.

A `Tokenizer` holds one core tokenizer and one `Definition`. It is immutable, so threads, forks and caches can share it.
This module checks permissions, applies defaults and raises errors. The core runs every loop over text.

The modules for drawing and explaining are imported on first use: importing them takes as long as loading a vocabulary.

Left out: spellings of tokens (`spelling`), validation of sampling options (`sampling`), contents of explanations
(`explanation`), and files (`formats`). `formats` is a higher layer; as an exception to the layer rules, methods of
`Tokenizer` import it when they are called.
"""

from __future__ import annotations

from . import _core
from .definition import Definition, Pattern
from .errors import ConfigError, UnknownTokenError, keyword, shown
from .tokens.added import FLAGS
from .tokens.special import permission
from .util.arguments import (
    KEEP,
    MAX_INT64,
    flag,
    instance,
    integer,
    string,
    strings,
)
from .util.lazy import cached_property
from .util.numpy_arrays import array_constructor
from .util.record import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Literal, Never, NoReturn, Self, TypeVar, Unpack, overload

    import numpy as np
    from numpy.typing import NDArray

    from ._core import GrowingText, TextStream
    from .calls.batch import TokenBatch
    from .calls.columns import TokenColumns
    from .calls.cutting import Chunk, Side, SplitUnit, TextUnit
    from .calls.text_errors import InvalidUtf8, SurrogateErrors
    from .calls.truncation import Strategy
    from .chat import Chat, ChatOptions, Conversation, Messages
    from .chat.canonical import CanonicalIds
    from .chat.drift import Drift
    from .definition import TrainingFacts
    from .drawing import Tree
    from .encoding import Encoding
    from .explanation import Explanation
    from .tokens.added import AddedToken
    from .tokens.matcher import AddedTokenMatcher
    from .tokens.special import Special
    from .tokens.spelling import Spelling
    from .tokens.vocab_bytes import VocabBytes
    from .util.arguments import Keep

    _T = TypeVar("_T")

__all__ = ["Tokenizer"]


@record(frozen=True)
class _Defaults:
    special: Special = "none"
    add_special_tokens: bool = False


_NO_OPTIONS = _Defaults()
# Attributes of other libraries' tokenizers; `util.hints` has Jeton's names for them.
_FOREIGN = frozenset(
    """
    Decode DecodeIds DecodePieces Detokenize Encode EncodeAsIds EncodeAsPieces GetPieceSize IdToPiece Load
    LoadFromFile NBestEncodeAsIds PieceToId SampleEncodeAsIds Tokenize add_special_tokens added_tokens_decoder
    added_tokens_encoder additional_special_tokens all_special_ids all_special_tokens apply_chat_template
    backend_tokenizer batch_decode batch_encode_plus bos_token bos_token_id chat_template cls_token cls_token_id
    convert_ids_to_tokens convert_tokens_to_ids convert_tokens_to_string decode_ids decode_pieces
    decode_single_token_bytes decoder detokenize enable_padding enable_truncation encode_as_ids encode_as_pieces
    encode_batch_fast encode_ordinary encode_ordinary_batch encode_plus encode_single_token encode_to_numpy
    encode_with_unstable eos_token eos_token_id eot_token from_buffer from_file from_pretrained from_str
    get_added_tokens_decoder get_added_vocab get_piece_size get_vocab_size id_to_piece is_special_token load
    load_from_file mask_token mask_token_id max_token_value model model_max_length n_vocab nbest_encode_as_ids
    no_padding no_truncation normalizer num_special_tokens_to_add pad pad_token pad_token_id padding_side
    piece_size piece_to_id post_processor pre_tokenizer sample_encode_as_ids save_pretrained sep_token
    sep_token_id special_tokens_map special_tokens_set to_str token_byte_values train train_from_iterator
    train_new_from_iterator truncation_side unk_id unk_token unk_token_id
    """.split()  # noqa: SIM905  (98 lines as a list)
)
# Texts with fewer characters are encoded on one thread; for longer ones the core decides.
_LONG_TEXT = 1 << 18


class Tokenizer:
    """Immutable tokenizer. `jeton.train`, `jeton.load` and `Tokenizer.from_merges` build one.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], vocab_size=260, pattern="gpt2", progress=False)
        >>> tok.encode("low lower")
        [257, 259, 114]
        >>> tok.decode([257, 259, 114])
        'low lower'
    """

    def __init__(self, definition: Definition, vocabulary: _core.Vocabulary) -> None:
        """Builds the core tokenizer. Only readers and training call this; users call `jeton.load` or `jeton.train`.

        Args:
            definition: all options.
            vocabulary: entries and merges, including added tokens.
        """
        self._build(definition, vocabulary, _NO_OPTIONS)

    @classmethod
    def from_merges(
        cls,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[int, int, int]],
        *,
        pattern: str | None = "none",
        special_tokens: Mapping[str, int] | None = None,
    ) -> Self:
        """Builds a byte-level tokenizer from its entries and merges. Ids need not be consecutive.

        Args:
            vocab: id -> bytes; the single-byte entries are the alphabet.
            merges: (left id, right id, new id), in order of rank; the new id's bytes must be the left id's bytes
                followed by the right id's.
            pattern: a name or a regex.
            special_tokens: spelling -> id.

        Raises:
            ConfigError: entries or merges contradict each other.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> tok.encode("abba")
            [256, 98, 97]
        """
        from collections.abc import Mapping

        from .tokens.added import special_pairs, with_added_tokens
        from .tokens.merge_list import vocabulary_of_merges

        given = {} if special_tokens is None else special_tokens
        special = dict(instance(given, "special_tokens", Mapping, "a mapping from spelling to id"))
        vocabulary = vocabulary_of_merges(vocab, merges, special)
        part = Pattern.of(pattern).part()
        definition = Definition(pretokenizer=(part,) if part else ())
        return cls(definition, with_added_tokens(vocabulary, special_pairs(special)))

    # ── text → ids ───────────────────────────────────────────────────────────────────────────────────────────────────

    def encode(
        self,
        text: str | bytes,
        pair: str | bytes | None = None,
        *,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        dropout: float = 0.0,
        alpha: float | None = None,
        nbest: int | None = None,
        seed: int | None = None,
        threads: int | None = None,
        errors: SurrogateErrors = "strict",
        **unknown: Never,
    ) -> list[int]:
        """Returns the ids of a text.

        Args:
            text: any `str`, or `bytes`: any bytes at byte level, else UTF-8.
            pair: a second text. The tokenizer's pair template joins the two texts; without a template, their ids are
                concatenated.
            special: permitted special tokens: ``"none"`` (the default: their spellings are encoded as ordinary text),
                ``"all"``, ``"raise"`` (an error if the text contains a special token), or the set of permitted special
                tokens. Added tokens that are not special are always matched.
            add_special_tokens: applies the tokenizer's template, `definition.template`. Many tokenizers have no
                template: no token is then added; `with_template` sets one.
            dropout: BPE-dropout: probability of skipping each merge (BPE).
            alpha: subword regularization: samples a segmentation with probability ∝ P(segmentation)^alpha (Unigram).
                0 samples uniformly; large values approach the best segmentation.
            nbest: samples among the n best segmentations only; None: among all segmentations.
            seed: makes sampling reproducible on any machine; None: a new seed for each call.
            threads: maximum number of threads for a long text; None: RAYON_NUM_THREADS, or all cores. Sampling uses one
                thread.
            errors: ``"replace"``: in a `str`, a lone surrogate becomes U+FFFD, and a surrogate pair becomes its
                character.
            unknown: always empty; a keyword of another library raises a `TypeError` that names Jeton's keyword.

        Returns:
            n ≥ 0 ids below `vocab_size`. The same text has the same ids on every machine.

        Raises:
            InvalidTextError: the text has a lone surrogate, bytes that are not UTF-8 where the tokenizer needs text, or
                a character that is not in the vocabulary of a tokenizer without unknown token; the error has its
                position.
            SpecialTokenError: ``special="raise"`` and the text contains a special token; or the set contains a token
                that the tokenizer does not have.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens={"<|end|>": 300})
            >>> tok.encode("hi")
            [104, 105]
            >>> tok.encode("hi<|end|>", special="all")
            [104, 105, 300]

        Source:
            Sennrich et al. 2016, arXiv 1508.07909, section 3.2. Plain version: reference/step05_encode.py.
        """
        # Fast path for a short text without options: it avoids the calls of helpers below, which take half as long as
        # the encoding itself.
        if (
            special is None
            and add_special_tokens is None
            and pair is None
            and threads is None
            and dropout == 0.0
            and alpha is None
            and nbest is None
            and seed is None
            and errors == "strict"
            and self._defaults is _NO_OPTIONS
            and not unknown
        ):
            ids = self._core.encode_short(text)
            if ids is not None:
                return ids
        if unknown:
            _refuse(self.encode, unknown)
        if errors != "strict":
            from .calls.text_errors import encode_replaced

            sampling = {"dropout": dropout, "alpha": alpha, "nbest": nbest, "seed": seed}
            options = {"special": special, "add_special_tokens": add_special_tokens, "threads": threads, **sampling}
            return encode_replaced(errors, self.encode, text, pair, **options)
        drawn = None
        if dropout != 0.0 or alpha is not None or nbest is not None or seed is not None:
            from .calls.sampling import sampling_options

            drawn = sampling_options(self._definition.model.type, dropout, alpha, nbest, seed)
        num_threads = _threads(text, threads)
        if pair is not None:
            num_threads = max(num_threads, _threads(pair, threads))
        adds = self._uses_template(add_special_tokens)
        return self._core.encode(text, self._permission(special), num_threads, adds, pair, drawn)

    def nbest(self, text: str | bytes, n: int, *, special: Special | None = None) -> list[tuple[list[int], float]]:
        """Returns the n best segmentations of a text with their scores, best first (Unigram).

        Args:
            text: as `encode`.
            n: maximum number of segmentations.
            special: as `encode`.

        Returns:
            Up to n pairs of ids and score. A score is a log-probability (natural log). A text with very many
            segmentations of equal score takes up to a millisecond per character.

        Raises:
            ConfigError: the model is not Unigram; other models have one segmentation per text.

        Examples:
            >>> pieces = '[["<unk>", 0], ["a", -1.0], ["b", -1.5], ["ab", -2.0]]'
            >>> file = '{"model": {"type": "Unigram", "unk_id": 0, "vocab": ' + pieces + "}}"
            >>> Tokenizer.from_bytes(file.encode()).nbest("ab", 2)
            [([3], -2.0), ([1, 2], -2.5)]

        Source:
            Kudo 2018, arXiv 1804.10959.
        """
        return self._core.nbest(text, integer(n, "n", 1, MAX_INT64), self._permission(special))

    def encode_array(
        self,
        text: str | bytes,
        *,
        threads: int | None = None,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        errors: SurrogateErrors = "strict",
    ) -> NDArray[np.uint32]:
        """Returns the ids of a text as an array, which is faster than a list for all but short texts.

        Args:
            text: as `encode`.
            threads: as `encode`.
            special: as `encode`.
            add_special_tokens: as `encode`.
            errors: as `encode`.

        Returns:
            uint32[n]

        Examples:
            >>> Tokenizer.from_merges({104: b"h", 105: b"i"}, []).encode_array("hi").tolist()
            [104, 105]
        """
        if (  # fast path, as in `encode`
            special is None
            and add_special_tokens is None
            and threads is None
            and errors == "strict"
            and self._defaults is _NO_OPTIONS
            and type(text) is str
            and len(text) < _LONG_TEXT
        ):
            ids = self._core.encode_array(text)
            return self._array(ids) if type(ids) is memoryview else ids
        if errors != "strict":
            from .calls.text_errors import encode_replaced

            options = {"threads": threads, "special": special, "add_special_tokens": add_special_tokens}
            return encode_replaced(errors, self.encode_array, text, **options)
        threads = _threads(text, threads)
        adds = self._uses_template(add_special_tokens)
        ids = self._core.encode_array(text, self._permission(special), threads, adds)
        return self._array(ids) if type(ids) is memoryview else ids

    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        pairs: Iterable[str | bytes] | None = None,
        *,
        max_length: int | None = None,
        truncation: Strategy = "longest_first",
        stride: int = 0,
        side: Literal["right", "left"] = "right",
        overflow: bool = False,
        offsets: bool = False,
        threads: int | None = None,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        errors: SurrogateErrors = "strict",
        **unknown: Never,
    ) -> TokenBatch:
        """Encodes many texts or pairs, with transformers' rules for truncation. `TokenBatch.padded` pads the ids.

        Args:
            texts: each as in `encode`.
            pairs: the second texts, one for each of `texts`.
            max_length: maximum number of ids of a row, including ids of the template; None: no truncation.
            truncation: the text that is shortened: ``"longest_first"`` (the longer text of a pair, then both once they
                are equally long), ``"only_first"`` or ``"only_second"``.
            stride: number of ids that each piece of a truncated text repeats from the piece before it. It must be less
                than the number of ids that a truncated text keeps, and at most `max_length` minus the number of ids
                that the template adds to one text.
            side: the side of the text from which ids are removed, ``"right"`` or ``"left"`` (transformers'
                ``truncation_side``).
            overflow: True: the ids that truncation removes form further rows, each with the template, and the batch has
                `overflow_to_sample_mapping`. If both texts of a pair are truncated, each combination of their pieces is
                a row.
            offsets: True: the batch has `hf_offsets`, the range of characters of each id.
            threads: as `encode_array`.
            special: as `encode`.
            add_special_tokens: as `encode`.
            errors: as `encode`. Offsets refer to the text after replacement.
            unknown: as `encode`.

        Returns:
            All ids in one array, with the offset of each row.

        Raises:
            ConfigError: the template alone has more than `max_length` ids, the text that `truncation` names cannot be
                shortened enough, or `stride` is too large.
            InvalidTextError, SpecialTokenError: as `encode`; the error has the index of the text.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> [ids.tolist() for ids in tok.encode_batch(["hi", "h"])]
            [[104, 105], [104]]
            >>> batch = tok.encode_batch(["hihi", "h"], max_length=3, stride=1, overflow=True)
            >>> [ids.tolist() for ids in batch], batch.overflow_to_sample_mapping.tolist()
            ([[104, 105, 104], [104, 105], [104]], [0, 0, 1])

        Source:
            huggingface/tokenizers, utils/truncation.rs. `tests/parity/` compares every option with transformers.
        """
        if unknown:
            _refuse(self.encode_batch, unknown)
        first, second = _texts(texts, pairs, "encode_batch")
        from .calls.batch_encoding import BatchEncoder
        from .calls.text_errors import encode_replaced
        from .calls.truncation import Truncation
        from .util.threads import num_threads

        encoder = BatchEncoder(
            self._core,
            self._definition.template,
            self._permission(special),
            num_threads(threads),
            self._uses_template(add_special_tokens),
            self.pad_id,
            flag(offsets, "offsets"),
        )
        options = Truncation(max_length, truncation, stride, side, overflow)
        return encode_replaced(errors, encoder.encode, first, second, truncation=options)

    def tokenize_batch(
        self,
        texts: Iterable[str | bytes],
        pairs: Iterable[str | bytes] | None = None,
        *,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
    ) -> list[Encoding]:
        """Returns the tokens and spans of many texts or pairs, an `Encoding` for each, as `tokenize` returns it.

        Args:
            texts: each as in `encode`.
            pairs: the second texts, one for each of `texts`.
            special: as `encode`.
            add_special_tokens: as `encode`.

        Raises:
            InvalidTextError, SpecialTokenError: as `encode`; the error has the index of the text.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> [encoding.tokens for encoding in tok.tokenize_batch(["hi", "h"])]
            [[b'h', b'i'], [b'h']]
        """
        first, second = _texts(texts, pairs, "tokenize_batch")
        permitted = self._permission(special)
        adds = self._uses_template(add_special_tokens)
        columns = [self._ids_of(texts, permitted) for texts in (first, second) if texts is not None]
        sources = [first] if second is None else [first, second]
        return [
            self._encoding(texts, ids, permitted, adds=adds)
            for texts, ids in zip(zip(*sources, strict=True), zip(*columns, strict=True), strict=True)
        ]

    def _ids_of(
        self, texts: list[str | bytes], permitted: Literal["all", "raise"] | list[int] | None
    ) -> list[memoryview]:
        """Returns the ids of each text, little-endian u32."""
        from itertools import pairwise

        from .util.threads import num_threads

        ids, offsets = self._core.encode_batch(texts, permitted, num_threads(None), False)
        ends = offsets.cast("q").tolist()
        return [ids[4 * start : 4 * end] for start, end in pairwise(ends)]

    def tokenize(
        self,
        text: str | bytes,
        pair: str | bytes | None = None,
        *,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        **unknown: Never,
    ) -> Encoding:
        """Returns the tokens of a text with their spans.

        Args:
            text: as `encode`.
            pair: as `encode`.
            special: as `encode`.
            add_special_tokens: as `encode`.
            unknown: as `encode`.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> tok.tokenize("né")[1:]
            [Token(id=195, bytes=b'\\xc3', byte_span=(1, 2), char_span=(1, 2)), \
Token(id=169, bytes=b'\\xa9', byte_span=(2, 3), char_span=(1, 2))]
        """
        if unknown:
            _refuse(self.tokenize, unknown)
        permitted = self._permission(special)
        adds = self._uses_template(add_special_tokens)
        ids = self._core.encode_array(text, permitted, 1)
        own = ids if type(ids) is memoryview else memoryview(ids.tobytes())
        if pair is None:
            return self._encoding((text,), (own,), permitted, adds=adds)
        ids = self._core.encode_array(pair, permitted, 1)
        other = ids if type(ids) is memoryview else memoryview(ids.tobytes())
        return self._encoding((text, pair), (own, other), permitted, adds=adds)

    def _encoding(
        self,
        texts: tuple[str | bytes, ...],
        ids: tuple[memoryview, ...],
        permitted: Literal["all", "raise"] | list[int] | None,
        *,
        adds: bool,
    ) -> Encoding:
        """Builds the `Encoding` of a text or a pair from its ids; the other attributes are computed on access."""
        items = self._items[2 * adds + len(texts) - 1]
        of_columns, columns = _columns or _import_columns()
        return of_columns(columns(self._core, texts, ids, permitted, items, self._special_spelling))

    @cached_property
    def _items(self) -> list[Sequence[Mapping[str, Any]]]:
        """Returns four lists of template items: text, pair, text with special tokens, pair with special tokens."""
        from .calls.columns import items_of

        template = self._definition.template
        return [items_of(template, is_pair=is_pair, adds=adds) for adds in (False, True) for is_pair in (False, True)]

    def _tokenize_head(self, text: str | bytes, special: Special | None, most: int) -> Encoding:
        """Like `tokenize`, template included, but stops after the pretoken in which the text reaches `most` tokens."""
        from .encoding import Encoding

        template = self._uses_template(None)
        result = self._core.tokenize(text, self._permission(special), template=template, most=most)
        return Encoding.from_core(result, _bytes(text), self._special_spelling, most, self._definition.template)

    def _tokenize_in_chunks(
        self,
        text: str | bytes,
        each: Callable[[list[int], list[bytes], list[tuple[int, int]], bool], object],
        *,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
    ) -> None:
        """Calls `each` with the tokens of a text, in order, some thousands at a time. Memory is bounded.

        Args:
            text: as `encode`.
            each: called with n ids, the bytes of each token, n byte spans, and a boolean: True if the tokens are from
                the text, False if they are from the template. The span of a template's token is an empty range at the
                start or end of the text.
            special: as `encode`.
            add_special_tokens: as `encode`.

        Raises:
            InvalidTextError, SpecialTokenError: as `encode`, after `each` was called for the tokens before the error.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> tok._tokenize_in_chunks("hi", print)
            [104, 105] [b'h', b'i'] [(0, 1), (1, 2)] True
        """
        template = self._uses_template(add_special_tokens)
        self._core.tokenize_in_chunks(text, each, self._permission(special), template=template)

    def _byte_spans(self, text: str | bytes, special: Special | None) -> memoryview:
        """Returns `tokenize`'s `byte_spans`, little-endian int64[n, 2]; the spans of a template's tokens are empty."""
        return self._core.byte_spans(text, self._permission(special), template=self._uses_template(None))

    def count(
        self,
        text: str | bytes,
        *,
        threads: int | None = None,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        errors: SurrogateErrors = "strict",
    ) -> int:
        """Returns the number of ids that `encode` returns, without building them. The arguments are those of `encode`.

        Examples:
            >>> Tokenizer.from_merges({104: b"h", 105: b"i"}, []).count("hi")
            2
        """
        if (  # fast path, as in `encode`
            special is None
            and add_special_tokens is None
            and threads is None
            and errors == "strict"
            and self._defaults is _NO_OPTIONS
            and type(text) is str
            and len(text) < _LONG_TEXT
        ):
            return self._core.count(text)
        if errors != "strict":
            from .calls.text_errors import encode_replaced

            options = {"threads": threads, "special": special, "add_special_tokens": add_special_tokens}
            return encode_replaced(errors, self.count, text, **options)
        threads = _threads(text, threads)
        return self._core.count(text, self._permission(special), threads) + self._num_added(add_special_tokens)

    def count_batch(
        self,
        texts: Iterable[str | bytes],
        *,
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        threads: int | None = None,
    ) -> list[int]:
        """Returns the number of ids of each text, counted on several threads without building the ids.

        Raises:
            InvalidTextError, SpecialTokenError: as `encode`, with the `index` of the text.

        Examples:
            >>> Tokenizer.from_merges({104: b"h", 105: b"i"}, []).count_batch(["hi", "", "h"])
            [2, 0, 1]
        """
        from .calls.cutting import count_batch
        from .util.threads import num_threads

        items, _ = _texts(texts, None, "count_batch")
        return count_batch(
            self._core, items, self._permission(special), self._num_added(add_special_tokens), num_threads(threads)
        )

    def count_up_to(
        self, text: str, limit: int, *, special: Special | None = None, add_special_tokens: bool | None = None
    ) -> int | None:
        """Returns the number of ids of a text, or None if it exceeds `limit`; encoding stops at the limit.

        Args:
            text: the text.
            limit: maximum number of ids, ≥ 0, including ids of the template if it is applied.
            special: as `encode`.
            add_special_tokens: as `encode`.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> tok.count_up_to("hi", 2), tok.count_up_to("hi" * 10**6, 2)
            (2, None)
        """
        from .calls.cutting import count_up_to

        return count_up_to(self._core, text, limit, self._permission(special), self._num_added(add_special_tokens))

    def truncate(
        self,
        text: str,
        max_tokens: int,
        *,
        side: Side = "right",
        marker: str = "…",
        at: TextUnit = "character",
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        **unknown: Never,
    ) -> str:
        """Returns the longest part of a text that has at most `max_tokens` tokens.

        Tokens are counted by encoding the result by itself. A longer part can have fewer tokens; the result is still
        the longest part that fits. (Exception: a text such as base64 can have more than 1 KiB in a row that cannot be
        divided at any position without changing ids. For such a text, the result fits, but a longer part may fit, too.)

        Args:
            text: the text.
            max_tokens: n ≥ 0. Tokens of a template count only if it is applied.
            side: the end that is removed. ``"right"`` returns the longest prefix, ``"left"`` the longest suffix.
                ``"middle"`` returns a prefix, the marker and a suffix. The suffix gets at most half of the tokens that
                remain after the marker; the prefix is the longest with which the whole result fits.
            marker: replaces the removed middle; its tokens count toward `max_tokens`.
            at: the unit at whose boundaries the text is cut: ``"character"``, ``"grapheme"``, ``"word"`` or
                ``"sentence"`` (Unicode Standard Annex #29). If not even one unit fits, the next smaller unit is used.
            special: as `encode`.
            add_special_tokens: as `encode`.
            unknown: as `encode`.

        Returns:
            A part of the text, possibly empty; the text itself if it fits.

        Raises:
            InvalidTextError, SpecialTokenError: as `encode`, if the error is in the part of the text that was encoded.
            ConfigError: the template or the marker exceeds `max_tokens`.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> tok.truncate("one two three", 9), tok.truncate("one two three", 9, at="word")
            ('one two t', 'one two ')
            >>> tok.truncate("naïve", 3), tok.truncate("one two three", 8, side="middle", marker="~")
            ('na', 'one ~ree')
        """
        from .calls.cutting import truncate

        if unknown:
            _refuse(self.truncate, unknown)
        return truncate(
            self._core,
            text,
            max_tokens,
            side,
            marker,
            at,
            self._permission(special),
            self._num_added(add_special_tokens),
        )

    def split(
        self,
        text: str,
        max_tokens: int,
        *,
        overlap: int = 0,
        at: SplitUnit = "character",
        special: Special | None = None,
        add_special_tokens: bool | None = None,
        **unknown: Never,
    ) -> list[Chunk]:
        """Splits a text into chunks of at most `max_tokens` tokens each, as long as possible, in order.

        A chunk's tokens are counted by encoding it by itself. Without `overlap`, the chunks concatenate to the text.

        ``at="paragraph"``, ``"markdown"`` and ``"code"`` follow the structure of the text. A chunk can reach several
        boundaries of different levels; it ends at the last one of the highest level, so a short section is a chunk of
        its own. If a chunk reaches no such boundary, it ends at a line end; if it reaches no line end, at a sentence
        end (in code, a word end) or at a smaller unit.

        Args:
            text: the text.
            max_tokens: n ≥ 1. Tokens of a template count only if it is applied.
            overlap: each chunk begins with the longest suffix of the previous chunk that has at most this many tokens.
                If this suffix would leave no tokens for new text, a shorter suffix is used.
            at: chunks end at the boundaries of a unit or of a structure. The units are those of `truncate`
                (``"word"``, …); unit boundaries are found as if the text began with the chunk. The structures are:

                - ``"paragraph"``: blank lines;
                - ``"markdown"``: headings, ranked by their level, then blocks (paragraphs, fences, tables, lists, …),
                  ranked by their nesting. The boundary between a heading and the block below it counts only if this
                  block fits into one chunk;
                - ``"code"``: lines of source code of any language, ranked by indentation, then by the number of open
                  brackets, then by whether a blank line precedes them.
            special: as `encode`.
            add_special_tokens: as `encode`.
            unknown: as `encode`.

        Raises:
            InvalidTextError, SpecialTokenError: as `encode`.
            ConfigError: a single character exceeds `max_tokens`; `position` is its offset.
            MissingDependencyError: ``at="markdown"``, and markdown-it-py (extra ``markdown``) is not installed.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> [chunk.text for chunk in tok.split("one two three", 9, at="word")]
            ['one two ', 'three']
            >>> tok.split("one two three", 9, overlap=4, at="word")[1]
            Chunk(text='two three', char_span=(4, 13), byte_span=(4, 13), num_tokens=9)
            >>> [chunk.text for chunk in tok.split("# A\\n\\none\\n\\n# B\\n\\ntwo", 16, at="markdown")]
            ['# A\\n\\none\\n\\n', '# B\\n\\ntwo']
        """
        from .calls.cutting import split

        if unknown:
            _refuse(self.split, unknown)
        return split(
            self._core,
            text,
            max_tokens,
            overlap,
            at,
            self._permission(special),
            self._num_added(add_special_tokens),
        )

    def growing(self, *, special: Special | None = None) -> GrowingText:
        """Returns an object that updates the ids of a text when text is appended, without encoding all of it again.

        Args:
            special: as `encode`. A template is not applied.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> growing = tok.growing()
            >>> growing.append("a"), growing.append("b"), growing.num_tokens
            ((0, [97]), (0, [256]), 1)
        """
        return self._core.growing_text(self._permission(special))

    def explain(self, text: str | bytes, *, special: Special | None = None) -> Explanation:
        """Explains an encoding, step by step. Print the result, or take its `to_json()` or `.html`.

        BPE: every merge, its rank, and the competing pairs. SentencePiece's BPE: the priority queue with scores,
        positions and stale entries. Unigram: the lattice of each pretoken with scores, the best path and the second
        best. WordPiece: each longest match and the candidates tried before it. If one pattern splits the text, each
        pretoken names the regex alternative that matched it.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> print(tok.explain("ab"))
            "ab" · 2 bytes · 1 pretoken · 1 merge · 1 token
            <BLANKLINE>
            pretoken 1: "ab", bytes 0 to 2
              a b
              -- (97, 98) a+b -> ab  rank 0, id 256
              ab
              no mergeable pair left: stop
              ids [256]
        """
        from .explanation import explain

        return explain(self, text, special)

    def tree(self, id: int) -> Tree:
        """Returns the merges that build a token from its bytes, as a tree that you can walk, draw or convert to JSON.

        If merging the bytes of an entry gives other tokens instead, the tree's `note` says so and the tree shows these
        tokens. An added token, or an entry of a model without merges, is a single node.

        Raises:
            UnknownTokenError: the id is not in the vocabulary.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> [node.id for node in tok.tree(256).nodes]
            [97, 98, 256]
        """
        from .explanation import entry_tree

        self.id_to_bytes(id)  # raises an error if the id is not in the vocabulary
        return entry_tree(self, id)

    if TYPE_CHECKING:

        @overload
        def chat(
            self, messages: Messages, *, tokenize: Literal[True] = True, **options: Unpack[ChatOptions]
        ) -> Chat: ...
        @overload
        def chat(self, messages: Messages, *, tokenize: Literal[False], **options: Unpack[ChatOptions]) -> str: ...
        @overload
        def chat(
            self, messages: Sequence[Messages], *, tokenize: Literal[True] = True, **options: Unpack[ChatOptions]
        ) -> list[Chat]: ...
        @overload
        def chat(
            self, messages: Sequence[Messages], *, tokenize: Literal[False], **options: Unpack[ChatOptions]
        ) -> list[str]: ...

    def chat(
        self,
        messages: Any,
        *,
        tokenize: bool = True,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        special: Special | None = None,
        variables: Mapping[str, Any] | None = None,
        **unknown: Any,
    ) -> Any:
        """Renders messages with the tokenizer's chat template and encodes the text.

        Special tokens in text that the template writes are matched. Spellings of special tokens in messages, tools or
        variables are ordinary text, as in `encode`.

        Args:
            messages: JSON objects with ``role``, ``content`` and any other field that the template reads; or a list of
                such lists, a batch.
            tokenize: False: return the rendered text.
            add_generation_prompt: end the text with the start of an assistant turn.
            continue_final_message: end the text with the last message's content, for the model to continue it. A string
                names another field of that message to end with, such as ``"reasoning_content"``.
            tools: JSON schemas of functions that the model may call.
            template: a name, if the tokenizer has several templates; one of `jeton.chat.PRESETS` (``"chatml"`` …); or a
                Jinja template. None: the tokenizer's own.
            special: special tokens that the messages may contain, as in `encode`.
            variables: other variables of the template, by name: ``{"enable_thinking": False, "date_string": "…"}``.
            unknown: always empty; any other keyword raises an error that names the right argument.

        Returns:
            A `Chat`, the text if ``tokenize=False``, or a list of these for a batch. Most of the time is spent on
            encoding the text; the spans of a `Chat` are computed on access.

        Raises:
            TypeError: a keyword is unknown.
            ChatTemplateError: the template is missing or broken, refuses the messages, exceeds a limit of time or size,
                or changes a text that is to be continued; or it is ambiguous whether a special token comes from the
                template or a message.
            SpecialTokenError: ``special="raise"`` and a message spells a special token.
            MissingDependencyError: Jinja is not installed (extra ``chat``).

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens={"<|user|>": 300})
            >>> tok.chat([{"role": "user", "content": "hi"}], template="{{ '<|user|>' + messages[0].content }}").ids
            [300, 104, 105]

        Source:
            The conventions of transformers, ``apply_chat_template``.
        """
        from .chat import chat, refuse_keywords

        refuse_keywords(unknown)
        return chat(
            self,
            messages,
            special=self._defaults.special if special is None else special,
            tokenize=tokenize,
            add_generation_prompt=add_generation_prompt,
            continue_final_message=continue_final_message,
            tools=tools,
            template=template,
            variables={} if variables is None else variables,
        )

    def conversation(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template: str | None = None,
        special: Special | None = None,
        variables: Mapping[str, Any] | None = None,
        keep_sampled: bool = False,
    ) -> Conversation:
        """Returns a chat as a growing list of ids, in which the ids that a model samples never change.

        Args:
            messages: the first messages, as for `chat`.
            tools: as for `chat`.
            template: as for `chat`.
            special: as for `chat`.
            variables: as for `chat`.
            keep_sampled: keep sampled turns that the template would rewrite, for example by dropping the reasoning of
                earlier turns. The template renders a placeholder in place of each such turn. The text that it renders
                before, between and after these turns must still be unchanged.

        Returns:
            A `jeton.chat.Conversation`, which has the ids of the first prompt.

        Raises:
            ConfigError, ChatTemplateError, SpecialTokenError, MissingDependencyError: as `chat`.

        Examples:
            >>> special = {"<|user|>": 300, "<|assistant|>": 301}
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens=special)
            >>> turns = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}"
            >>> template = turns + "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
            >>> conv = tok.conversation([{"role": "user", "content": "hi"}], template=template)
            >>> conv.prompt_ids
            [300, 104, 105, 301]
            >>> conv.add_sampled([105, 105])
            >>> conv.add([{"role": "user", "content": "hi"}])
            [300, 104, 105, 301]
            >>> conv.ids
            [300, 104, 105, 301, 105, 105, 300, 104, 105, 301]
        """
        from .chat.conversation import conversation

        return conversation(
            self,
            messages,
            special=self._defaults.special if special is None else special,
            tools=tools,
            template=template,
            variables={} if variables is None else variables,
            keep_sampled=keep_sampled,
        )

    # ── ids → text → ids ─────────────────────────────────────────────────────────────────────────────────────────────

    def is_canonical(self, ids: Iterable[int] | NDArray[Any], *, special: Special | None = None) -> bool:
        """Tests whether encoding the text of ids returns the same ids, that is, whether `drift` is None.

        Args:
            ids: as `decode`.
            special: as `drift`.

        Raises:
            UnknownTokenError: as `decode`.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> tok.is_canonical([256]), tok.is_canonical([97, 98])
            (True, False)
        """
        from .chat.canonical import is_canonical

        return is_canonical(self, ids, self._defaults.special if special is None else special)

    def drift(self, ids: Iterable[int] | NDArray[Any], *, special: Special | None = None) -> Drift | None:
        """Decodes ids and encodes the text again; returns the first difference from `ids` and its cause, or None.

        The text of ids is the result of `decode`, with the positions of special ids recorded. (The unknown token does
        not count as special here.) Encoding applies no template. By default, it matches special tokens only at these
        positions, so ordinary ids that spell a special token stay ordinary text. Text after a special token is encoded
        as the continuation of a text, not as the start of one. Bytes that are not UTF-8 become U+FFFD in the text. If
        the tokenizer puts a space before each text and decoding does not remove it, this space is not part of the text.

        Args:
            ids: as `decode`.
            special: special tokens that are also matched in the text of ordinary ids: ordinary ids that spell one of
                these tokens are a difference. ``"none"`` (the default), ``"all"`` or another value as in `encode`.

        Raises:
            UnknownTokenError: as `decode`.
            SpecialTokenError: ``special="raise"`` and ids that are not special spell a special token.
            InvalidTextError: the text cannot be encoded, and the tokenizer has no unknown token.

        Examples:
            >>> vocab = {97: b"a", 98: b"b", 256: b"ab"}
            >>> tok = Tokenizer.from_merges(vocab, [(97, 98, 256)], special_tokens={"b": 300})
            >>> tok.drift([97, 300]), tok.drift([256, 97, 98]).cause
            (None, 'merge')
            >>> print(tok.drift([98], special="all"))
            position 0: ids [98], encoding 'b' gives [300]: the text spells an added token
        """
        from .chat.canonical import drift

        return drift(self, ids, self._defaults.special if special is None else special)

    def canonicalize(self, ids: Iterable[int] | NDArray[Any], *, special: Special | None = None) -> CanonicalIds:
        """Encodes the text of ids again; returns the new ids and the token boundaries that they share with the old ids.

        The text and its encoding are as in `drift`. Ids that the text cannot represent are kept: special ids, the
        unknown token, and ids whose bytes are not UTF-8.

        Args:
            ids: as `decode`.
            special: as `drift`.

        Raises:
            UnknownTokenError, SpecialTokenError: as `drift`.

        Examples:
            >>> tok = Tokenizer.from_merges({97: b"a", 98: b"b", 256: b"ab"}, [(97, 98, 256)])
            >>> canonical = tok.canonicalize([97, 98, 98])
            >>> canonical.ids, canonical.to_new(2)
            ([256, 98], 1)
        """
        from .chat.canonical import canonicalize

        return canonicalize(self, ids, self._defaults.special if special is None else special)

    # ── ids → text ───────────────────────────────────────────────────────────────────────────────────────────────────

    def decode(
        self,
        ids: Iterable[int] | NDArray[Any],
        *,
        invalid_utf8: InvalidUtf8 = "replace",
        skip_special_tokens: bool = False,
    ) -> str:
        """Returns the text of ids.

        Args:
            ids: any sequence or array of ids.
            invalid_utf8: policy for bytes that are not UTF-8, such as half a character: ``"replace"`` (by U+FFFD),
                ``"strict"`` (raise an error), or ``"ignore"`` (omit them).
            skip_special_tokens: omit special tokens.

        Raises:
            UnknownTokenError: an id is outside the vocabulary or in a gap; the error has its position.
            DecodeError: ``invalid_utf8="strict"`` and the bytes are not UTF-8; the error has the position of the first
                invalid byte.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> tok.decode([0xE5, 0xB0, 0x8F]), tok.decode([0xE5, 0xB0])
            ('小', '\ufffd')
        """
        if invalid_utf8 == "replace":
            if type(ids) is list:  # no call of `_checked`, which takes as long as decoding a few ids
                try:
                    return self._core.decode_text(ids, skip_special_tokens)
                except OverflowError:
                    pass
            if type(ids) is list or self._definition.decoder is not None:
                return self._checked(self._core.decode_text, ids, skip_special=skip_special_tokens)
        elif invalid_utf8 not in ("strict", "ignore"):
            raise ConfigError(f'{keyword("invalid_utf8", invalid_utf8)} is not one of "replace", "strict", "ignore"')
        data = self.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
        try:
            return data.decode("utf-8", invalid_utf8)
        except UnicodeDecodeError as error:
            from .calls.text_errors import not_utf8

            raise not_utf8(error) from None

    def decode_bytes(self, ids: Iterable[int] | NDArray[Any], *, skip_special_tokens: bool = False) -> bytes:
        """Returns the bytes that ids decode to; with a lossless tokenizer, they equal the bytes of the encoded text.

        Examples:
            >>> Tokenizer.from_merges({255: b"\\xff"}, []).decode_bytes([255])
            b'\\xff'
        """
        if type(ids) is list:  # fast path: skips `_checked`, as in `decode`
            try:
                return self._core.decode(ids, skip_special_tokens)
            except OverflowError:
                pass
        elif getattr(ids, "dtype", None) is not None:
            import numpy as np

            array = np.asarray(ids)
            if array.dtype == np.uint32 and array.ndim == 1:
                data = np.ascontiguousarray(array, "<u4").view(np.uint8)
                return self._core.decode_array(data, skip_special=skip_special_tokens)
            ids = array.tolist()
        return self._checked(self._core.decode, ids, skip_special=skip_special_tokens)

    def _checked(self, decode: Callable[..., _T], ids: Iterable[int], **options: Any) -> _T:
        """Calls `decode` with a list of ids. An id that does not fit in 32 bits is reported as an unknown id."""
        if getattr(ids, "dtype", None) is not None:
            ids = ids.tolist()  # type: ignore[attr-defined]
        if not isinstance(ids, list):
            ids = _list(ids, "ids", "integers")
        try:
            return decode(ids, **options)
        except OverflowError:  # an integer that is not a u32
            from operator import index

            from .tokens.kinds import MAX_ID

            position, id = next((at, id) for at, id in enumerate(map(index, ids)) if not 0 <= id <= MAX_ID)
            raise self._unknown_id(id, position) from None

    def stream(
        self,
        prompt_ids: Iterable[int] | NDArray[Any] = (),
        *,
        invalid_utf8: InvalidUtf8 = "replace",
        skip_special_tokens: bool = False,
        stop: str | Iterable[str] = (),
        **unknown: Never,
    ) -> TextStream:
        """Decodes ids that arrive one by one, such as those that a language model generates.

        Args:
            prompt_ids: ids that precede those of the stream. The stream returns only the text that its own ids add:
                `decode` of all ids, minus the prefix in common with `decode` of the prompt. Without a prompt, many
                decoders remove a space at the start. If the prompt ends within a character, the stream returns this
                character as soon as the first ids of the stream complete the character.
            invalid_utf8: as `decode`.
            skip_special_tokens: omit special tokens.
            stop: strings that end the text and can span tokens. The text ends before the match that starts first; if
                several matches start there, the shortest one is used. Only text after the prompt is searched. With
                `skip_special_tokens`, the text contains no special tokens, so a special token cannot be a stop string:
                compare its id instead.
            unknown: as `encode`.

        Returns:
            A stream whose `push` returns text as soon as it is final.

        Raises:
            UnknownTokenError, DecodeError: as `decode`, for the prompt.
            ConfigError: a stop string is empty, or the stop strings have over 1 MiB in total.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> stream = tok.stream(stop=["END"])
            >>> [stream.push(id) for id in b"hi ENEND."]
            ['h', 'i', ' ', '', '', 'EN', '', '', '']
            >>> stream.text, stream.stopped
            ('hi EN', 'END')
        """
        if unknown:
            _refuse(self.stream, unknown)
        if invalid_utf8 not in ("replace", "strict", "ignore"):
            raise ConfigError(f'{keyword("invalid_utf8", invalid_utf8)} is not one of "replace", "strict", "ignore"')
        stops = [
            string(item, f"stop[{at}]")
            for at, item in enumerate([stop] if isinstance(stop, str) else strings(stop, "stop"))
        ]

        def start(ids: list[int]) -> TextStream:
            return self._core.text_stream(ids, stops, errors=invalid_utf8, skip_special=skip_special_tokens)

        return self._checked(start, prompt_ids)

    def decode_batch(
        self,
        batch: TokenBatch | Iterable[Iterable[int]],
        *,
        invalid_utf8: InvalidUtf8 = "replace",
        skip_special_tokens: bool = False,
        threads: int | None = None,
        **unknown: Never,
    ) -> list[str]:
        """Returns the texts of many sequences of ids.

        Args:
            batch: a `TokenBatch`, or sequences or arrays of ids.
            invalid_utf8: as `decode`.
            skip_special_tokens: as `decode`.
            threads: as `encode_array`.
            unknown: as `encode`.

        Raises:
            UnknownTokenError, DecodeError: as `decode`; the error has the index of the sequence.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [])
            >>> tok.decode_batch(tok.encode_batch(["hi", "h"])), tok.decode_batch([[105], []])
            (['hi', 'h'], ['i', ''])
        """
        from .calls.batch_decoding import BatchDecoder
        from .util.threads import num_threads

        if unknown:
            _refuse(self.decode_batch, unknown)
        return BatchDecoder(self._core, num_threads(threads), skip_special_tokens).texts(batch, invalid_utf8)

    def decode_bytes_batch(
        self,
        batch: TokenBatch | Iterable[Iterable[int]],
        *,
        skip_special_tokens: bool = False,
        threads: int | None = None,
    ) -> list[bytes]:
        """Returns the bytes of many sequences of ids, as `decode_bytes` would. Takes the arguments of `decode_batch`.

        Examples:
            >>> Tokenizer.from_merges({195: b"\\xc3"}, []).decode_bytes_batch([[195], [195, 195]])
            [b'\\xc3', b'\\xc3\\xc3']
        """
        from .calls.batch_decoding import BatchDecoder
        from .util.threads import num_threads

        return BatchDecoder(self._core, num_threads(threads), skip_special_tokens).bytes(batch)

    def decode_tokens_bytes(self, ids: Iterable[int] | NDArray[Any]) -> list[bytes]:
        """Returns the bytes of each id, as from `id_to_bytes`.

        Raises:
            UnknownTokenError: as `decode`.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> tok.decode_tokens_bytes([195, 169, 33])
            [b'\\xc3', b'\\xa9', b'!']
        """
        return self._checked(self._core.decode_tokens, ids)

    def decode_with_offsets(
        self,
        ids: Iterable[int] | NDArray[Any],
        *,
        invalid_utf8: InvalidUtf8 = "replace",
        skip_special_tokens: bool = False,
    ) -> tuple[str, list[int]]:
        """Returns the text of ids, and the character offset at which each id begins.

        The offset of an id is the number of characters in the decoded text of all ids before it. An incomplete
        character at the end of that text is not counted, so an id that begins inside a character has the offset of that
        character. If a decoder puts a space between two ids, the space belongs to the second id.

        Args:
            ids: as `decode`.
            invalid_utf8: as `decode`.
            skip_special_tokens: as `decode`. Omitted ids have an offset, too.

        Raises:
            UnknownTokenError, DecodeError: as `decode`.

        Examples:
            >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
            >>> tok.decode_with_offsets("né!".encode())
            ('né!', [0, 1, 1, 2])

        Source:
            openai/tiktoken, core.py (`decode_with_offsets`).
        """
        if invalid_utf8 not in ("replace", "strict", "ignore"):
            raise ConfigError(f'{keyword("invalid_utf8", invalid_utf8)} is not one of "replace", "strict", "ignore"')
        if type(ids) is list:  # fast path: skips `_checked`, as in `decode`
            try:
                return self._core.decode_with_starts(ids, invalid_utf8, skip_special_tokens)
            except OverflowError:
                pass
        from functools import partial

        decode = partial(self._core.decode_with_starts, errors=invalid_utf8, skip_special=skip_special_tokens)
        return self._checked(decode, ids)

    # ── properties ────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def vocab_size(self) -> int:
        """Highest id plus one: the number of rows of an embedding. Unlike in transformers, it includes special tokens.

        Examples:
            >>> Tokenizer.from_merges({97: b"a"}, [], special_tokens={"<|end|>": 98}).vocab_size
            99
        """
        return self._core.vocab_size

    @property
    def vocab(self) -> Mapping[int, bytes]:
        """Id -> decoded bytes, including special tokens, in order of id."""
        from .tokens.vocab_view import VocabView

        return VocabView(self)

    @cached_property
    def merges(self) -> tuple[tuple[int, int, int], ...]:
        """Merges as (left id, right id, new id), ordered by rank.

        A rank file stores no merges. Its tokenizer has one merge for each token: the last merge that builds the token
        from its bytes. A token that cannot be built by merging has no merge.
        """
        return tuple(self._core.merges())

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Spelling -> id. Read-only."""
        from types import MappingProxyType

        return MappingProxyType(self._special_tokens)

    @cached_property
    def added_tokens(self) -> Mapping[int, AddedToken]:
        """Id -> added token, special or not, with the flags that control its matching; in order of id. Read-only."""
        from types import MappingProxyType

        from .tokens.added import added_tokens

        return MappingProxyType(dict(sorted(added_tokens(self._core).items())))

    @property
    def roles(self) -> Mapping[str, str]:
        """Role -> special token, for the roles that the tokenizer has: ``{"bos": "<s>", "unk": "<unk>"}``. Read-only.

        Raises:
            UnknownTokenError: raised by a lookup such as ``roles["eos"]`` if the tokenizer lacks the role. The error is
                a `KeyError`, too.
        """
        from .tokens.roles import Roles

        unk = self._definition.model.unk_token
        return Roles({**({"unk": unk} if unk else {}), **self._definition.roles})

    @property
    def bos_id(self) -> int | None:
        """Id of the token with the role `bos`, which begins a text; None without the role."""
        return self._role_id("bos")

    @property
    def eos_id(self) -> int | None:
        """Id of the token with the role `eos`, which ends a text; None without the role."""
        return self._role_id("eos")

    @property
    def pad_id(self) -> int | None:
        """Id of the token with the role `pad`, which fills the rows of a batch; None without the role."""
        return self._role_id("pad")

    @property
    def definition(self) -> Definition:
        """All options other than the vocabulary."""
        return self._definition

    @property
    def training(self) -> TrainingFacts | None:
        """Facts of the training run, if known."""
        return self._definition.training

    @cached_property
    def fingerprint(self) -> str:
        """``"j1:"`` + SHA-256 of all options and entries that can change ids or decoded bytes, and of nothing else."""
        import hashlib  # imported here because it loads OpenSSL, which takes 3 ms

        digest = hashlib.sha256(self._definition.canonical())
        digest.update(self._core.canonical())
        return "j1:" + digest.hexdigest()

    def id_to_bytes(self, id: int) -> bytes:
        """Returns the bytes that an id adds to decoded text.

        Raises:
            UnknownTokenError: the id is not in the vocabulary.

        Examples:
            >>> Tokenizer.from_merges({7: b" the"}, []).id_to_bytes(7)
            b' the'
        """
        if type(id) is not int:
            id = _index(id)
        decoded = self._core.decoded(id) if 0 <= id < self.vocab_size else None
        if decoded is None:
            raise self._unknown_id(id)
        return decoded

    def vocab_bytes(self, size: int | None = None) -> VocabBytes:
        """Returns the bytes of all ids, the ids of special tokens, and the end-of-text id, for constrained decoding.

        Args:
            size: number of rows of the model's output, if it exceeds `vocab_size`; the additional ids have the bytes
                ``b""``.

        Raises:
            ConfigError: `size` is less than `vocab_size`, or over the maximum, 2^24.

        Examples:
            >>> tok = Tokenizer.from_merges({0: b"a", 2: b" b"}, [], special_tokens={"<|end|>": 3})
            >>> found = tok.vocab_bytes(5)
            >>> found.tokens, found.special_ids
            ([b'a', b'', b' b', b'<|end|>', b''], [3])
        """
        from .tokens.vocab_bytes import vocab_bytes

        return vocab_bytes(self, size)

    def id_to_token(self, id: int) -> str:
        """Returns the spelling that a `tokenizer.json` has for an id.

        Ordinary tokens of a byte-level tokenizer are spelled in GPT-2's byte alphabet: ``b" the"`` becomes ``"Ġthe"``.

        Raises:
            UnknownTokenError: the id is not in the vocabulary.

        Examples:
            >>> Tokenizer.from_merges({7: b" the"}, []).id_to_token(7)
            'Ġthe'
        """
        self.id_to_bytes(id)
        return self._spelling.token(id)

    def get_vocab(self) -> dict[str, int]:
        """Returns a new dict, spelling -> id, of all tokens, including added ones, in order of id.

        The spellings are those of `id_to_token`. `vocab` maps ids to bytes, without a copy.

        Raises:
            ConfigError: two entries have the same spelling, which a `tokenizer.json` cannot represent either.

        Examples:
            >>> Tokenizer.from_merges({7: b" the"}, [], special_tokens={"<|end|>": 9}).get_vocab()
            {'Ġthe': 7, '<|end|>': 9}
        """
        return self._spelling.all()

    def token_to_id(self, token: bytes | str) -> int:
        """Returns the id of a token, given its bytes or its spelling (`id_to_token`).

        Raises:
            UnknownTokenError: there is no such token.

        Examples:
            >>> tok = Tokenizer.from_merges({7: b" the"}, [])
            >>> tok.token_to_id(b" the"), tok.token_to_id("Ġthe")
            (7, 7)
        """
        return self._spelling.id(token)

    @cached_property
    def _added(self) -> dict[bytes, int]:
        """Content -> id of the added tokens."""
        return {content.encode(): id for id, content, _, _ in self._core.added_tokens()}

    @cached_property
    def _special_matcher(self) -> AddedTokenMatcher:
        from .tokens.matcher import AddedTokenMatcher

        return AddedTokenMatcher(self._core, self._definition)

    def warm_up(self) -> Self:
        """Builds everything that later calls would build on first use, so that no request to a server waits for it.

        It builds the lookup tables (otherwise built during the first megabytes of text), the rules for positions at
        which texts can be split, and the chat template. It also imports the modules of all calls. It changes no ids.

        Returns:
            This tokenizer.

        Examples:
            >>> import jeton
            >>> tok = jeton.load("default").warm_up()
        """
        from .calls.warming import warm_up

        warm_up(self)
        return self

    # ── derived tokenizers ───────────────────────────────────────────────────────────────────────────────────────

    def add_tokens(self, tokens: Iterable[str | AddedToken], *, special: bool = True) -> Self:
        """Returns a tokenizer with added tokens at the next free ids. Existing ids do not change.

        A token that is already an entry keeps its id. With ``special=True``, that entry becomes a special token.
        With ``special=False``, or if the entry is special already, the token is ignored.

        Args:
            tokens: spellings or `AddedToken`s, in the order of their new ids.
            special: True: tokens given as spellings are special: `encode` matches them only if its argument `special`
                permits them. False: they are always matched.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, []).add_tokens(["<|end|>"])
            >>> tok.special_tokens["<|end|>"], tok.vocab_size
            (106, 107)
            >>> tok.add_tokens(["h"]).special_tokens["h"]
            104
        """
        from .tokens.adding import add_tokens

        vocabulary = add_tokens(self, tokens, special=special)
        if vocabulary is None:
            return self
        return self._derived(vocabulary=vocabulary)

    def with_options(self, *, special: Special | None = None, add_special_tokens: bool | None = None) -> Self:
        """Returns a view with other defaults for `special` and `add_special_tokens`; the fingerprint stays the same.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h"}, [], special_tokens={"<|end|>": 300})
            >>> tok.with_options(special="all").encode("h<|end|>")
            [104, 300]
        """
        if special is not None:
            permission(special, self._special_tokens)
            special = special if isinstance(special, str) else frozenset(special)
        old = self._defaults
        return self._derived(
            defaults=_Defaults(
                old.special if special is None else special,
                old.add_special_tokens if add_special_tokens is None else add_special_tokens,
            )
        )

    def with_roles(
        self,
        *,
        bos: str | Keep | None = KEEP,
        eos: str | Keep | None = KEEP,
        unk: str | Keep | None = KEEP,
        sep: str | Keep | None = KEEP,
        pad: str | Keep | None = KEEP,
        cls: str | Keep | None = KEEP,
        mask: str | Keep | None = KEEP,
        additional: Iterable[str] | Keep | None = KEEP,
    ) -> Self:
        """Returns a tokenizer with other roles of special tokens, for transformers and chat templates; no id changes.

        Args:
            bos, eos, unk, sep, pad, cls, mask: the special token of the role; None removes the role. Roles that are not
                given are kept. If the model has an unknown token, `unk` cannot change.
            additional: special tokens without a role (transformers' ``additional_special_tokens``); None removes the
                list.

        Raises:
            SpecialTokenError: a token is not a special token of the vocabulary; `add_tokens` makes it one.
            ConfigError: `unk` differs from the model's unknown token.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h"}, [], special_tokens={"<|end|>": 300}).with_roles(eos="<|end|>")
            >>> tok.roles, tok.eos_id, tok.pad_id
            ({'eos': '<|end|>'}, 300, None)
        """
        from .tokens.roles import with_roles

        given = {"bos": bos, "eos": eos, "unk": unk, "sep": sep, "pad": pad, "cls": cls, "mask": mask}
        return self._with_facts(**with_roles(self, given, additional))

    def with_template(self, single: str | None, pair: str | None = None) -> Self:
        """Returns a tokenizer with another template, applied by ``add_special_tokens=True``. The fingerprint changes.

        Args:
            single: template for one text: ``$A`` (the text) and special tokens, separated by spaces, such as
                ``"<s> $A </s>"``. None removes the template.
            pair: template for a pair, whose texts are ``$A`` and ``$B``. ``:1`` after an item sets its type id:
                ``"[CLS] $A [SEP] $B:1 [SEP]:1"``. None: ``"$A $B:1"``.

        Raises:
            ConfigError: a token is not an added token of the tokenizer, or ``$A`` or ``$B`` is missing or repeated.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h", 105: b"i"}, [], special_tokens={"<s>": 300})
            >>> tok.encode("hi", add_special_tokens=True)  # no template: no token is added
            [104, 105]
            >>> tok.with_template("<s> $A").encode("hi", add_special_tokens=True)
            [300, 104, 105]

        Source:
            The notation of huggingface/tokenizers, ``processors.TemplateProcessing``.
        """
        from .tokens.template import with_template

        changed = replace(self._definition, **with_template(self, single, pair))
        return self._derived(definition=changed, vocabulary=self._core.vocabulary())

    def with_chat_template(self, template: str | Mapping[str, str] | None) -> Self:
        """Returns a tokenizer with another chat template; no id changes.

        Args:
            template: Jinja source, a name of `jeton.chat.PRESETS` (``"chatml"`` …), or several templates by name;
                None removes the template.

        Raises:
            ChatTemplateError: the template is broken, or a preset needs special tokens that the tokenizer lacks.
            MissingDependencyError: Jinja is not installed (extra ``chat``).

        Examples:
            >>> tok = Tokenizer.from_merges({}, []).add_tokens(["<|im_start|>", "<|im_end|>"])
            >>> tok = tok.with_chat_template("chatml")
            >>> tok.chat([{"role": "user", "content": ""}], tokenize=False)
            '<|im_start|>user\\n<|im_end|>\\n'
        """
        from .chat import checked_templates

        return self._with_facts(chat_template=checked_templates(self, template))

    def _with_facts(self, **facts: Any) -> Self:
        """Returns a copy with new values of fields that do not affect ids: training, roles, chat template."""
        return self._derived(definition=replace(self._definition, **facts))

    def _derived(
        self,
        *,
        definition: Definition | None = None,
        vocabulary: _core.Vocabulary | None = None,
        defaults: _Defaults | None = None,
    ) -> Self:
        """Returns a tokenizer derived from this one. Deriving methods call `_derived`, so attributes stay consistent.

        Args:
            definition: new options; None: unchanged. If `vocabulary` is None, the new options must give the same ids as
                the present options, because the core is not built again.
            vocabulary: new entries, for which a new core is built; None: the new tokenizer shares the core of this
                tokenizer, and all data computed from the core.
            defaults: new defaults of `with_options`; None: unchanged.
        """
        made = object.__new__(type(self))
        defaults = self._defaults if defaults is None else defaults
        if defaults == _NO_OPTIONS:
            defaults = _NO_OPTIONS  # one object, which `encode` and others compare by identity
        definition = self._definition if definition is None else definition
        if vocabulary is None:
            made.__dict__.update(self.__dict__)
            made._definition = definition
            made._defaults = defaults
        else:
            made._build(definition, vocabulary, defaults)
        return made

    def _build(self, definition: Definition, vocabulary: _core.Vocabulary, defaults: _Defaults) -> None:
        self._core = definition.build(vocabulary)
        added = self._core.added_tokens()
        self._definition = definition.with_byte_level(
            (content, bool(bits & FLAGS["normalized"])) for _, content, _, bits in added
        )
        if self._definition is not definition:  # rare: the decoder has changed, so the core is built again
            self._core = self._definition.build(vocabulary)
        self._special_tokens = {content: id for id, content, special, _ in added if special}
        self._defaults = defaults

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        accept_loss: Collection[str] = (),
        like: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes the tokenizer atomically: the path always holds either the old file or the complete new one.

        Args:
            path: its suffix chooses the format: ``….json``: a tokenizer.json; a folder: a tokenizer.json and a
                tokenizer_config.json, which transformers loads; ``….tiktoken``: a rank file; ``….model``:
                SentencePiece's file; ``tekken.json``: Mistral's; ``vocab.txt``: BERT's; ``….gguf``: llama.cpp's;
                ``….vocab``: a human-readable dump.
            format: one of these by name, whatever the suffix: ``"tokenizer.json"``, ``"folder"``, ``"tiktoken"``,
                ``"sentencepiece"``, ``"tekken"``, ``"vocab.txt"``, ``"merges.txt"`` (a folder with vocab.json and
                merges.txt), ``"gguf"``, ``"vocab"``.
            accept_loss: names of features that may be lost. If another feature would be lost, `save` raises an
                `UnsupportedFeatureError` with the name of that feature.
            like: for GGUF, a file to copy: its tensors and its other metadata stay as they are, byte for byte. None: a
                file without tensors.

        Raises:
            UnsupportedFeatureError: the format cannot represent this tokenizer; the error names the unsupported
                features.
            OSError: the path cannot be written; an existing file is unchanged.

        Examples:
            >>> import jeton, tempfile
            >>> path = tempfile.mkdtemp() + "/h.json"
            >>> Tokenizer.from_merges({104: b"h"}, []).save(path)
            >>> jeton.load(path).encode("h")
            [104]
        """
        from .formats import save

        save(self, path, format, accept_loss, like)

    def to_bytes(self) -> bytes:
        """Returns a `tokenizer.json` as bytes, for `from_bytes`. Defaults set by `with_options` are not included.

        Examples:
            >>> tok = Tokenizer.from_merges({104: b"h"}, [])
            >>> Tokenizer.from_bytes(tok.to_bytes()).fingerprint == tok.fingerprint
            True
        """
        from .formats import to_bytes

        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Tokenizer:
        """Builds a tokenizer from the output of `to_bytes`.

        Examples:
            >>> Tokenizer.from_bytes(Tokenizer.from_merges({104: b"h"}, []).to_bytes()).encode("h")
            [104]
        """
        from .formats import from_bytes

        return from_bytes(instance(data, "data", bytes, "bytes; jeton.load reads a path"))

    def __reduce__(self) -> tuple[Any, ...]:
        from .formats import to_pickle

        return _restore, (to_pickle(self), self._defaults)

    def __len__(self) -> int:
        """Number of entries; below `vocab_size` if the ids have gaps."""
        return self._core.num_tokens

    def __bool__(self) -> bool:
        return True  # without this method, a tokenizer with an empty vocabulary would be false

    def __contains__(self, token: object) -> bool:
        """Tests whether `token_to_id` finds a token, by its spelling (`str`) or its bytes."""
        if not isinstance(token, str | bytes):
            kind = type(token).__name__
            raise TypeError(f"a token must be bytes or str, not {kind}; use `id in tok.vocab` to look up an id")
        try:
            self._spelling.id(token)
        except UnknownTokenError:
            return False
        return True

    if not TYPE_CHECKING:  # otherwise a type checker would permit any assignment

        def __setattr__(self, name: str, value: object) -> None:
            self._refuse_change(name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            self._refuse_change(name)
            super().__delattr__(name)

    def _refuse_change(self, name: str) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"a Tokenizer is immutable: {name} cannot be set or deleted; methods such as add_tokens(…) and "
                "with_roles(…) return a changed tokenizer, and options of encoding are arguments of the call",
                name=name,
                obj=self,
            )

    def __copy__(self) -> Self:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint and self._defaults == other._defaults
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        level = "byte-level " if self._definition.is_byte_level else ""
        pattern = self._definition.pattern
        split = f", pattern {pattern.text[:40]!r}" if pattern else ""
        kind = self._definition.model.type
        return f"Tokenizer({level}{kind}, {len(self)} tokens{split}, {self.fingerprint[:15]}…)"

    def _repr_html_(self) -> str:
        from .explanation import tokenizer_card

        return tokenizer_card(self)

    if not TYPE_CHECKING:  # a type checker must not see `__call__`, so that it rejects the call `tok(text)`

        def __call__(self, *args: object, **options: object) -> None:  # noqa: D102
            from .util.hints import called

            called()

        def __dir__(self) -> list[str]:
            return [name for name in super().__dir__() if name not in _FOREIGN]

    # ── helpers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _spelling(self) -> Spelling:
        from .tokens.spelling import Spelling

        return Spelling(self)

    def _role_id(self, role: str) -> int | None:
        from .tokens.roles import role_id

        return role_id(self, role)

    @staticmethod
    def _array(ids: memoryview) -> NDArray[np.uint32]:
        from_buffer, dtype = array_constructor()
        return from_buffer(ids, dtype)

    @cached_property
    def _special_spelling(self) -> dict[int, bytes]:
        return {id: content.encode() for content, id in self._special_tokens.items()}

    def _permission(self, special: Special | None) -> Literal["all", "raise"] | list[int] | None:
        if special is None:
            special = self._defaults.special
        return None if special == "none" else permission(special, self._special_tokens)

    def _uses_template(self, add_special_tokens: bool | None) -> bool:
        return self._defaults.add_special_tokens if add_special_tokens is None else add_special_tokens

    def _num_added(self, add_special_tokens: bool | None) -> int:
        return self._core.num_template_ids() if self._uses_template(add_special_tokens) else 0

    def _unknown_id(self, id: int, position: int | None = None) -> UnknownTokenError:
        place = "" if position is None else f" at position {position}"
        highest = self.vocab_size - 1
        return UnknownTokenError(
            f"id {shown(id)}{place} is not in the vocabulary ({len(self)} tokens, highest id {highest})",
            id=id,
            position=position,
        )


class _ForeignName:
    """Attribute name of another library. Reading it raises an `AttributeError` with Jeton's name; `hasattr` is False.

    A `__getattr__` of the class would do the same, but would slow down a call of any method by 70 ns.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        from .util.hints import attribute_hint

        raise AttributeError(attribute_hint(self._name))


for _name in _FOREIGN:
    setattr(Tokenizer, _name, _ForeignName(_name))
del _name


def _bytes(text: str | bytes) -> bytes:
    # `str.encode`, because a subclass of `str` can override the method.
    return str.encode(text, "utf-8", "surrogatepass") if isinstance(text, str) else text


def _texts(
    texts: Iterable[str | bytes], pairs: Iterable[str | bytes] | None, function: str
) -> tuple[list[str | bytes], list[str | bytes] | None]:
    """Returns two lists: the texts of a batch, and the second texts of its pairs (None without pairs)."""
    if isinstance(texts, str | bytes):
        one = function.removesuffix("_batch")
        raise ConfigError(f"{function} takes a list of texts; for one text, call {one} or pass [text]", option="texts")
    if isinstance(pairs, str | bytes):
        raise ConfigError(f"{function} takes a list of pairs; for one pair, pass [text], [pair]", option="pairs")
    first = _list(texts, "texts", "str or bytes")
    second = None if pairs is None else _list(pairs, "pairs", "str or bytes")
    if second is not None and len(second) != len(first):
        raise ConfigError(f"pairs has {len(second)} texts, but texts has {len(first)}", option="pairs")
    return first, second


def _list(items: Iterable[_T], name: str, of: str) -> list[_T]:
    try:
        return list(items)
    except TypeError:
        from collections.abc import Iterable

        if isinstance(items, Iterable):  # then the TypeError was raised during the iteration
            raise
        raise TypeError(f"{name} must be a sequence of {of}, not {type(items).__name__}") from None


# Raises the error for keywords of other libraries. `encode` and slower methods collect such keywords in `**unknown`.
# `count`, `encode_array` and `decode` have no `**unknown`: even an empty dict would slow the decoding of a few ids by
# up to 10%.
def _refuse(method: Callable[..., Any], unknown: Mapping[str, Any]) -> NoReturn:
    from .util.hints import refuse_keywords

    refuse_keywords(method, unknown)


def _threads(text: str | bytes, threads: int | None) -> int:
    """Returns the number of threads for one text."""
    # Calling `num_threads` takes longer than encoding a short text. The type must be exact, because a subclass can
    # override `len`.
    if threads is None and (type(text) is str or type(text) is bytes) and len(text) < _LONG_TEXT:
        return 1
    from .util.threads import num_threads

    return num_threads(threads)


def _index(id: Any) -> int:
    """Converts an id that is not an `int`, such as an integer of NumPy."""
    from operator import index

    try:
        return index(id)
    except TypeError:
        raise TypeError(f"an id must be an integer, not {type(id).__name__}") from None


# `Encoding.of_columns` and `TokenColumns`, imported on first use: loading a tokenizer does not need their modules.
_columns: tuple[Callable[[TokenColumns], Encoding], type[TokenColumns]] | None = None


def _import_columns() -> tuple[Callable[[TokenColumns], Encoding], type[TokenColumns]]:
    from .calls.columns import TokenColumns
    from .encoding import Encoding

    global _columns
    _columns = Encoding.of_columns, TokenColumns
    return _columns


def _restore(data: bytes, defaults: _Defaults) -> Tokenizer:
    return Tokenizer.from_bytes(data)._derived(defaults=defaults)
