"""``jeton vocab``: lists or searches the vocabulary, one entry per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..drawing import visible
from ..drawing.display_width import padded
from .options import Command, CommonOptions, common_options, tokenizer_option
from .streams import write, write_json

if TYPE_CHECKING:
    import jeton

# Widths of the columns of tokens and bytes. Most tokens of real vocabularies fit, and a line has at most 100 columns.
TOKEN_CELLS, BYTES_CELLS = 24, 36


class Entry(NamedTuple):
    """Vocabulary entry.

    Attributes:
        id: id of the entry.
        data: bytes that the entry decodes to.
        shown: bytes to display: `data`, or the spelling of an entry that decodes to other text (control, unknown).
        special: whether the entry is a special token.
        merge: left id, right id and rank of the merge that creates the entry.
    """

    id: int
    data: bytes
    shown: bytes
    special: bool
    merge: tuple[int, int, int] | None


@click.command(cls=Command, short_help="List or search the vocabulary.")
@click.option("--grep", metavar="RE", help="List only tokens whose text matches this regular expression.")
@tokenizer_option
@common_options
def vocab(common: CommonOptions, tok: jeton.Tokenizer, grep: str | None) -> None:
    """Lists the vocabulary by id: id, token, its bytes, and the merge that creates it. Spaces are displayed as ·, line
    ends as ↵, and bytes that are not a whole character as ⟨e4 bb⟩; --grep matches the text itself, not its display.

    \b
    Examples:
      jeton vocab -t my.json | less
      jeton vocab -t my.json --grep "^ the"
      jeton vocab -t my.json --json --grep "[一-龥]" | jq .token
    """
    try:
        wanted = re.compile(grep or "")
    except re.error as error:
        raise click.UsageError(f"--grep {grep!r} is not a regular expression: {error}") from None
    for entry in _entries(tok):
        if wanted.search(entry.shown.decode("utf-8", "replace")):
            if common.as_json:
                write_json(_facts(entry))
            else:
                write(_line(tok, entry))


def _entries(tok: jeton.Tokenizer) -> Iterator[Entry]:
    """Yields the entries in order of ids. If several merges create a token, its merge is the one of lowest rank."""
    made: dict[int, tuple[int, int, int]] = {}
    for rank, (left, right, id) in enumerate(tok.merges):
        made.setdefault(id, (left, right, rank))
    special = {id: token.encode() for token, id in tok.special_tokens.items()}
    for id, data in sorted(tok.vocab.items()):
        shown = special.get(id, data) or tok.id_to_token(id).encode()
        yield Entry(id, data, shown, id in special, made.get(id))


def _facts(entry: Entry) -> dict[str, Any]:
    merge = dict(zip(("left", "right", "rank"), entry.merge, strict=True)) if entry.merge else None
    text = entry.shown.decode("utf-8", "replace")
    return {"id": entry.id, "token": text, "bytes_hex": entry.data.hex(), "special": entry.special, "merge": merge}


def _line(tok: jeton.Tokenizer, entry: Entry) -> str:
    token = visible(entry.shown)
    if entry.merge:
        left, right, rank = entry.merge
        pair = f"{visible(tok.id_to_bytes(left))}+{visible(tok.id_to_bytes(right))}"
        origin = f"({left}, {right}) {pair}  rank {rank}"
    else:
        origin = "special" if entry.special else ""
    columns = f"{entry.id:>7}  {padded(token, TOKEN_CELLS)}  {padded(entry.data.hex(' '), BYTES_CELLS)}  {origin}"
    return columns.rstrip()
