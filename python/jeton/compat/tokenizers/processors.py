"""The post-processors of Hugging Face's `tokenizers`.

A tokenizer applies its post-processor in the core. `process` in this module applies one to existing encodings.

Source: huggingface/tokenizers 0.23.3, bindings/python/src/processors.rs and tokenizers/src/processors (behavior).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..._core import trim_offsets
from .parts import Option, Part, SequencePart
from .values import Named, Word, flag, items, pair, size_32, text, wrong

if TYPE_CHECKING:
    from .encoding import Encoding

    Encodings = list[Encoding]

__all__ = [
    "BertProcessing",
    "ByteLevel",
    "PostProcessor",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
]


class PostProcessor(Part):
    """Base class of post-processors."""

    kind = "post_processor"

    def num_special_tokens_to_add(self, is_pair: Any) -> int:
        """Returns the number of tokens that are added to a text, or to a pair.

        Examples:
            >>> BertProcessing(("[SEP]", 1), ("[CLS]", 0)).num_special_tokens_to_add(True)
            3
        """
        return self._num_added(flag(is_pair))

    def _num_added(self, is_pair: bool) -> int:
        return 0

    def process(self, encoding: Any, pair: Any = None, add_special_tokens: Any = True) -> Encoding:
        """Returns the encoding of a text or pair after this processor has changed offsets and added special tokens.

        Args:
            encoding: encoding of the text.
            pair: encoding of the second text.
            add_special_tokens: whether special tokens are added.
        """
        from .encoding import Encoding

        for given in (encoding, pair):
            if not isinstance(given, Encoding) and not (given is pair and pair is None):
                raise wrong(given, "Encoding")
        given = [each._copy() for each in (encoding, pair) if each is not None]
        for number, each in enumerate(given):
            for one in (each, *each.columns()["overflowing"]):
                one.set_sequence_id(number)
            each.columns()["type_ids"][:] = [number] * len(each)
        return Encoding.merge(self._processed(given, flag(add_special_tokens)), False)

    def _processed(self, encodings: Encodings, add_special_tokens: bool) -> Encodings:
        """Returns the processed encodings, with special tokens if requested; `process` joins the returned encodings.

        This method can change the given encodings.
        """
        raise NotImplementedError


def _trim(encodings: Encodings, add_prefix_space: bool) -> None:
    """Shortens the offsets of each token so that they leave out white space at the start and end of the token."""
    for encoding in encodings:
        for one in (encoding, *encoding.columns()["overflowing"]):
            columns = one.columns()
            columns["offsets"][:] = [
                trim_offsets(token.encode(), False, add_prefix_space, index, span)
                for index, (token, span) in enumerate(zip(columns["tokens"], columns["offsets"], strict=True))
            ]


Token = tuple[str, int]


def _enclosed(encoding: Encoding, before: list[Token], after: list[Token], sequence: int, type_id: int) -> Encoding:
    """Puts an encoding, and each of its overflowing pieces, between special tokens."""
    from .encoding import Encoding

    columns = encoding.columns()
    length = len(columns["ids"])

    def column(name: str, first: list[Any], last: list[Any]) -> list[Any]:
        return [*first, *columns[name], *last]

    num_before, num_after = len(before), len(after)
    return Encoding.from_columns(
        ids=column("ids", [id for _, id in before], [id for _, id in after]),
        type_ids=column("type_ids", [type_id] * num_before, [type_id] * num_after),
        tokens=column("tokens", [token for token, _ in before], [token for token, _ in after]),
        words=column("words", [None] * num_before, [None] * num_after),
        offsets=column("offsets", [(0, 0)] * num_before, [(0, 0)] * num_after),
        special_tokens_mask=[1] * num_before + [0] * length + [1] * num_after,
        attention_mask=[1] * (num_before + length + num_after),
        overflowing=[_enclosed(each, before, after, sequence, type_id) for each in columns["overflowing"]],
        ranges={sequence: (num_before, num_before + length)},
    )


class BertProcessing(PostProcessor):
    """Adds BERT's special tokens: ``[CLS] A [SEP] B [SEP]``.

    Args:
        sep: token and id of the separator.
        cls_token: token and id at the start; the attribute is ``cls``.
    """

    sep = Option(pair(text, size_32), load=tuple)
    cls = Option(pair(text, size_32), argument="cls_token", load=tuple)
    _new_arguments = (("", 0), ("", 0))

    def _num_added(self, is_pair: bool) -> int:
        return 3 if is_pair else 2

    def _processed(self, encodings: Encodings, add_special_tokens: bool) -> Encodings:
        if not add_special_tokens:
            return encodings
        first = _enclosed(encodings[0], [self.cls], [self.sep], 0, 0)
        return [first, *(_enclosed(each, [], [self.sep], 1, 1) for each in encodings[1:])]


class RobertaProcessing(PostProcessor):
    """Adds RoBERTa's special tokens: ``<s> A </s></s> B </s>``, all with type id 0.

    Args:
        sep: token and id of the separator.
        cls_token: token and id at the start; the attribute is ``cls``.
        trim_offsets: whether offsets leave out white space.
        add_prefix_space: whether the pre-tokenizer adds a space before the text; this space is not trimmed.
    """

    sep = Option(pair(text, size_32), load=tuple)
    cls = Option(pair(text, size_32), argument="cls_token", load=tuple)
    trim_offsets = Option(flag, True)
    add_prefix_space = Option(flag, True)
    _new_arguments = (("", 0), ("", 0))

    def _num_added(self, is_pair: bool) -> int:
        return 4 if is_pair else 2

    def _processed(self, encodings: Encodings, add_special_tokens: bool) -> Encodings:
        if self.trim_offsets:
            _trim(encodings, self.add_prefix_space)
        for each in encodings:
            each.columns()["type_ids"][:] = [0] * len(each)
        if not add_special_tokens:
            return encodings
        first = _enclosed(encodings[0], [self.cls], [self.sep], 0, 0)
        return [first, *(_enclosed(each, [self.sep], [self.sep], 1, 0) for each in encodings[1:])]


class _TrueByDefault(Option):
    """Option that is a flag; in the constructor, None means True."""

    def __init__(self) -> None:
        super().__init__(lambda value: value is None or flag(value), None)

    def __set__(self, part: Part, value: Any) -> None:
        super().__set__(part, flag(value))


class ByteLevel(PostProcessor):
    """Trims offsets of byte-level tokens.

    Args:
        add_prefix_space: whether the pre-tokenizer adds a space before the text; this space is not trimmed.
        trim_offsets: whether offsets leave out white space.
        use_regex: not used.
    """

    add_prefix_space = _TrueByDefault()
    trim_offsets = _TrueByDefault()
    use_regex = _TrueByDefault()
    _ignores_others = True

    def _processed(self, encodings: Encodings, add_special_tokens: bool) -> Encodings:
        if self.trim_offsets:
            _trim(encodings, self.add_prefix_space)
        for number, each in enumerate(encodings):
            each.set_sequence_id(number)
        return encodings


# ── templates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _piece(spelled: str) -> dict[str, Any]:
    """Parses a piece of a template, such as ``$A:1`` or ``[CLS]``."""
    name, *given = spelled.split(":")
    wrong_piece = ValueError(f'Cannot build Piece from string "{spelled}"')
    if len(given) > 1:
        raise wrong_piece
    type_id = 0
    kind, id = "SpecialToken", name
    if name.startswith("$"):
        kind, rest = "Sequence", name[1:]
        id = Word({"": "A", "A": "A", "a": "A", "B": "B", "b": "B"}.get(rest, "A"))
        if rest not in ("", "A", "a", "B", "b"):
            type_id = _type_id(rest, wrong_piece)
    if given:
        type_id = _type_id(given[0], wrong_piece)
    return Named(kind, {kind: {"id": id, "type_id": type_id}})


def _type_id(digits: str, error: ValueError) -> int:
    number = digits.removeprefix("+")
    if not number.isascii() or not number.isdigit() or int(number) >> 32:
        raise error
    return int(number)


def _template(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [_piece(spelled) for spelled in text(value).split(" ")]
    try:
        spelled = items(text)(value)
    except TypeError:
        raise TypeError("Expected Union[str, List[str]]") from None
    return [_piece(each) for each in spelled]


def _special_token(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        for name in ("id", "ids", "tokens"):
            if name not in value:
                raise ValueError(f"`{name}` must be specified")
        name, ids, tokens = text(value["id"]), items(size_32)(value["ids"]), items(text)(value["tokens"])
        if len(ids) != len(tokens):
            raise Exception("SpecialToken: ids and tokens must be of the same length")
        return Named("SpecialToken", {"id": name, "ids": ids, "tokens": tokens})
    for order in (pair(text, size_32), pair(lambda id: id, text)):
        try:
            found = order(value)
            token, id = found if isinstance(found[0], str) else (found[1], size_32(found[0]))
        except (TypeError, ValueError, OverflowError):
            continue
        return Named("SpecialToken", {"id": token, "ids": [id], "tokens": [token]})
    raise TypeError("Expected Union[Tuple[str, int], Tuple[int, str], dict]")


def _special_tokens(value: Any) -> dict[str, Any]:
    by_id = {token["id"]: token for token in items(_special_token)(value)}
    return dict(sorted(by_id.items()))


def _load_template(pieces: Any) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = []
    for piece in pieces:
        [(kind, facts)] = piece.items()
        id = Word(facts["id"]) if kind == "Sequence" else facts["id"]
        loaded.append(Named(kind, {kind: {"id": id, "type_id": facts["type_id"]}}))
    return loaded


def _load_tokens(tokens: Any) -> dict[str, Any]:
    return {id: Named("SpecialToken", dict(facts)) for id, facts in sorted(tokens.items())}


class TemplateProcessing(PostProcessor):
    """Adds special tokens by a template.

    Args:
        single: the template of a text: a list of pieces, or a string of pieces separated by spaces. A piece is ``$A``,
            ``$B``, ``$0`` (text A with type id 0) or a special token; ``:`` and a type id can follow it.
        pair: the template of a pair.
        special_tokens: the special tokens, as pairs of token and id, or as dictionaries with ``"id"`` (the name in the
            template), ``"ids"`` and ``"tokens"``.

    Examples:
        >>> template = TemplateProcessing(single="[CLS] $0", special_tokens=[("[CLS]", 1)])
        >>> template.num_special_tokens_to_add(False)
        1
    """

    single = Option(
        _template,
        "$0",
        load=_load_template,
        get=lambda pieces: f"Template([{', '.join(map(_debug, pieces))}])",
    )
    pair = Option(_template, "$A:0 $B:1", load=_load_template, is_hidden=True)
    special_tokens = Option(_special_tokens, (), load=_load_tokens, is_hidden=True)

    def __init__(self, single: Any = None, pair: Any = None, special_tokens: Any = None) -> None:
        given = {"single": single, "pair": pair, "special_tokens": special_tokens}
        super().__init__(**{name: value for name, value in given.items() if value is not None})
        state = self.cell.state
        if {id for kind, id in map(_kind_and_id, state["pair"]) if kind == "Sequence"} != {"A", "B"}:
            raise ValueError("Template for `pair` must use both sequences")
        used = (id for name in ("single", "pair") for kind, id in map(_kind_and_id, state[name]) if kind != "Sequence")
        missing = [id for id in dict.fromkeys(used) if id not in state["special_tokens"]]
        if missing:
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")

    def _num_added(self, is_pair: bool) -> int:
        state = self.cell.state
        tokens = state["special_tokens"]
        pieces = map(_kind_and_id, state["pair" if is_pair else "single"])
        return sum(len(tokens[id]["ids"]) for kind, id in pieces if kind != "Sequence" and id in tokens)

    def _processed(self, encodings: Encodings, add_special_tokens: bool) -> Encodings:
        from .encoding import Encoding

        state = self.cell.state
        made: list[Encoding] = []
        for piece in state["pair" if len(encodings) == 2 else "single"]:
            [(kind, facts)] = piece.items()
            type_id = facts["type_id"]
            if kind == "Sequence":
                number = int(facts["id"] == "B")
                encoding = encodings[number]
                encoding.columns()["type_ids"][:] = [type_id] * len(encoding)
                encoding.set_sequence_id(number)
                made.append(encoding._copy())
            elif add_special_tokens:
                token = state["special_tokens"][facts["id"]]
                pairs = list(zip(token["tokens"], token["ids"], strict=True))
                special = _enclosed(Encoding(), pairs, [], 0, type_id)
                special.columns()["ranges"].clear()
                made.append(special)
        return made


def _kind_and_id(piece: Mapping[str, Any]) -> tuple[str, str]:
    [(kind, facts)] = piece.items()
    return kind, facts["id"]


def _debug(piece: Mapping[str, Any]) -> str:
    """Formats a piece as Rust's debugging output."""
    [(kind, facts)] = piece.items()
    id = facts["id"] if kind == "Sequence" else '"' + facts["id"].replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{kind} {{ id: {id}, type_id: {facts['type_id']} }}"


class Sequence(SequencePart, PostProcessor):
    """Several post-processors that are applied one after the other."""

    _key, _role = "processors", "processor"
    processors = Option(list, argument="processors_py", is_hidden=True)

    def _parts(self) -> list[PostProcessor]:
        return [self._of_cell(item) for item in self.cell.items or ()]

    def _num_added(self, is_pair: bool) -> int:
        return sum(part._num_added(is_pair) for part in self._parts())

    def _processed(self, encodings: Encodings, add_special_tokens: bool) -> Encodings:
        for part in self._parts():
            encodings = part._processed(encodings, add_special_tokens)
        return encodings
