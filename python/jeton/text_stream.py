"""`TextStream`: ids that arrive one by one → text, as soon as it is final.

Left out: decoding itself, in the core (`decode/stream/`), which also says what each decoder holds back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TextStream"]


class TextStream:
    """Decoder of ids that arrive one by one. `Tokenizer.stream` makes one.

    The texts that `push` and `finish` return, joined, equal `decode` of all ids. Text is returned once, as soon as no
    later id can change it. An id takes constant time (amortized, apart from the length of its text). Memory is the
    length of `text`, and of text that is held back.

    An incomplete character is held back, and the beginning of a stop string. Some decoder components hold back more:

    - ``ByteFallback``: a run of byte pieces (``<0xE4>``), to its end. Hugging Face replaces every byte of a run that
      is not UTF-8 as a whole, so no character of the run is final before.
    - ``Strip`` at the end, ``BPEDecoder``, and end-of-word tokens: spaces or characters that are removed at the end.
    - ``Replace``, and the cleanup of ``WordPiece``: the beginning of a string that they replace.
    - ``BPEDecoder``, ``CTC`` and ``ByteLevel`` after a component that joins all strings (``Fuse``, ``ByteLevel``): up
      to the whole text. No known tokenizer has this order.

    Threads may share a stream: each call is atomic. Their order is the caller's responsibility.

    Examples:
        >>> from jeton import Tokenizer
        >>> tok = Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [])
        >>> stream = tok.stream()
        >>> [stream.push(id) for id in "né".encode()]
        ['n', '', 'é']
        >>> stream.push([0xE5, 0xB0]), stream.finish(), stream.text
        ('', '\ufffd', 'né\ufffd')
    """

    __slots__ = ("_checked", "_core")

    def __init__(self, core: _core.TextStream, checked: Callable[[Callable[[list[int]], str], Any], str]) -> None:
        """Wraps the core's stream. `checked(decode, ids)` converts the ids and reports those beyond the vocabulary."""
        self._core = core
        self._checked = checked

    def push(self, ids: int | Iterable[int] | NDArray[Any]) -> str:
        """Reads ids and returns the text that is now final.

        Args:
            ids: one id, or any sequence or array of ids.

        Returns:
            Text that follows the text of earlier calls; often "". After a stop string, always "": the ids are checked
            and ignored.

        Raises:
            UnknownTokenError: an id outside the vocabulary or in a gap; with its position in `ids`. The stream is
                unchanged: none of `ids` was read.
            DecodeError: ``errors="strict"`` and the bytes are not UTF-8; with the byte's position in the whole text.
                Text before it in the same call is in `text`. Every later call raises `ConfigError`.
            ConfigError: the stream is finished or failed, or the text is over the decoder's limit (a hundred times the
                contents of the tokens).

        Examples:
            >>> from jeton import Tokenizer
            >>> Tokenizer.from_merges({104: b"h", 105: b"i"}, []).stream().push([104, 105])
            'hi'
        """
        if type(ids) is int:
            try:
                return self._core.push_one(ids)
            except OverflowError:  # an integer that is no u32
                return self._checked(self._core.push, [ids])
        if getattr(ids, "dtype", None) is not None:
            ids = ids.tolist()  # type: ignore[union-attr]
        return self._checked(self._core.push, ids if isinstance(ids, Iterable) else [ids])

    def finish(self) -> str:
        """Ends the text and returns the rest of it, with U+FFFD for an incomplete character as in `decode`.

        Later calls of `push` raise `ConfigError`; later calls of `finish` return "".

        Raises:
            DecodeError: ``errors="strict"`` and the text ends within a character.
            ConfigError: the stream failed.

        Examples:
            >>> from jeton import Tokenizer
            >>> stream = Tokenizer.from_merges({195: b"\\xc3"}, []).stream()
            >>> stream.push(195), stream.finish(), stream.finish()
            ('', '\ufffd', '')
        """
        return self._core.finish()

    def copy(self) -> TextStream:
        """A second stream in the same state, as for a branch of a beam search. Takes time proportional to `text`.

        Examples:
            >>> from jeton import Tokenizer
            >>> stream = Tokenizer.from_merges({104: b"h", 105: b"i"}, []).stream()
            >>> stream.push(104)
            'h'
            >>> branch = stream.copy()
            >>> branch.push(105), branch.text, stream.text
            ('i', 'hi', 'h')
        """
        return TextStream(self._core.copy(), self._checked)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> TextStream:
        return self.copy()

    @property
    def text(self) -> str:
        """All text that `push` and `finish` returned, without the prompt. Each access copies it."""
        return self._core.text

    @property
    def stopped(self) -> str | None:
        """The stop string that ended the text; None if none was found so far."""
        return self._core.stopped

    def __repr__(self) -> str:
        text, stopped = self.text, self.stopped
        shown = repr(text if len(text) <= 40 else "…" + text[-40:])
        return f"TextStream({shown}{'' if stopped is None else f', stopped={stopped!r}'})"
