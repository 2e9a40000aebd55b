"""Step 19. From text to ids and back: what surrounds SentencePiece's model, and what XLM-R adds to SentencePiece.

    python step19_xlmr.py                    also without Jeton
    python -m jeton.reference.step19_xlmr

Pass the path of a published model of this family (`sentencepiece.bpe.model` of XLM-R or mBART) to print its first ids;
without a path, the lesson prints those of its small model, whose first pieces are XLM-R's.

**Characters of UTF-8.** SentencePiece works on bytes. It finds the next character by the first byte of the current one:
the upper four bits of this byte say how long the character is. A continuation byte counts as a character of one byte,
so damaged text is read byte by byte.

>>> [one_char_len(character.encode()[0]) for character in "aé小😀"], one_char_len("小".encode()[1])
([1, 2, 3, 4], 1)

**The normalizer** runs before the model. By default it applies NFKC (full-width letters and circled digits become
ordinary letters and digits), removes white space at both ends, and replaces several spaces by one. Then each space is
written as `▁`, and a `▁` is added in front, so that `the` is the same piece at the start of a text as inside. Decoding
cannot tell two spaces from one, because the normalizer, not the model, loses the second space.

>>> normalize("  Ｈｅllo　 ①  ")
'▁Hello▁1'

**Byte fallback.** A character that is not a piece becomes `<unk>`, and the character is lost. Several unknown
characters in a row become a single `<unk>`. A model with byte fallback (Llama, Mistral) has 256 more pieces, `<0x00>`
to `<0xFF>`, and writes the bytes of the character instead. Byte pieces are not merged: 小 always has three pieces.

>>> to_ids(["▁", "小", "冬"], SMALL)
[5, 0]
>>> byte_pieces("小")
['<0xE5>', '<0xB0>', '<0x8F>']
>>> to_text(["▁de", "▁", *byte_pieces("小")])
'de 小'

**Two orders of ids.** A SentencePiece model begins with `<unk>`, `<s>`, `</s>`. The models of fairseq (XLM-R, mBART)
begin with `<s>`, `<pad>`, `</s>`, `<unk>`, which is one token more. So each piece has its id in SentencePiece plus 1,
except `<unk>`, which has the id 0 in SentencePiece and 3 in fairseq. After the last piece comes `<mask>` (in mBART
after the language codes), which is in no SentencePiece file. CamemBERT has four more tokens in front.

>>> print(first_ids(SMALL, 10))
id  SentencePiece  fairseq
 0  <unk>          <s>
 1  <s>            <pad>
 2  </s>           </s>
 3  ,              <unk>
 4  .              ,
 5  ▁              .
 6  s              ▁
 7  ▁de            s
 8  -              ▁de
 9  ▁a             -

XLM-R's file has 250,000 entries, so `<mask>` has the id 250,001, and there are 250,002 ids: 250,000, plus one for the
shift, plus `<mask>`. (Some tutorials add the four named tokens again and get 250,005.)

>>> 250_000 + XlmrTokenizer.fairseq_offset, 250_000 + XlmrTokenizer.fairseq_offset + 1
(250001, 250002)

The class below has the methods of `XLMRobertaTokenizer` in transformers, with a dict, piece -> id, instead of
SentencePiece. The order of the lookups matters: first the special tokens, then the id in the dict plus 1; if the id in
the dict is 0, the piece is `<unk>`.

>>> tok = XlmrTokenizer(SMALL)
>>> tok._tokenize("de la  mesa.")
['▁de', '▁la', '▁mesa', '.']
>>> [tok._convert_token_to_id(token) for token in ("▁de", "<s>", "<mask>", "小")]
[8, 0, 26, 3]
>>> tok.encode("de la mesa.")
[0, 8, 17, 15, 5, 2]

Left out: the model. XLM-R's is Unigram (step 20) although its file is called `sentencepiece.bpe.model`; here the merges
of step 18 segment the text; ids are assigned in the same way for both. The real normalizer has its own table,
`nmt_nfkc`, which differs from NFKC in some fifty characters: it drops control characters and replaces zero-width
characters by spaces. Damaged UTF-8 cannot occur in a Python string.

**With Jeton.** If the `tokenizer_config.json` of a folder names the class, Jeton uses the ids of fairseq; for a
`.model` file, the ids of SentencePiece, unless `layout` says otherwise.

    tok = jeton.load("xlmr/sentencepiece.bpe.model", layout="xlm-roberta")
    ids = tok.encode("de la mesa.", add_special_tokens=True)

    $ jeton encode --tokenizer xlmr --add-special-tokens --format ids "de la mesa."

Source: google/sentencepiece, src/util.h (`OneCharLen`), src/normalizer.cc, src/sentencepiece_processor.cc;
transformers 4.57, models/xlm_roberta/tokenization_xlm_roberta.py. Next: step20_unigram.py.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step19_xlmr.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .sentencepiece_file import model_type, read_model, write_model
from .step18_sentencepiece import Piece, encode

__all__ = ["XlmrTokenizer", "byte_pieces", "first_ids", "normalize", "one_char_len", "to_ids", "to_text"]

SMALL: dict[str, Piece] = {"<unk>": Piece(0.0, "unknown"), "<s>": Piece(0.0, "control"), "</s>": Piece(0.0, "control")}
_NAMES = ", . ▁ s ▁de - ▁a de sa me ▁me ▁mesa la ▁la a d e l m n o r"  # the first seven as in XLM-R
SMALL |= {name: Piece(-float(rank)) for rank, name in enumerate(_NAMES.split())}


def one_char_len(first: int) -> int:
    """Return the number of bytes of the character that begins with this byte; 1 for a continuation byte.

    Examples:
        >>> [one_char_len(byte) for byte in (0x61, 0xC3, 0xE5, 0xF0, 0x80, 0xBF)]
        [1, 2, 3, 4, 1, 1]
    """
    return (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4)[first >> 4]


def normalize(text: str) -> str:
    """Apply NFKC, collapse spaces, write spaces as `▁`, and add a `▁` in front.

    Examples:
        >>> normalize("a  b"), normalize("   ")
        ('▁a▁b', '')
    """
    words = unicodedata.normalize("NFKC", text).split()
    return "".join("▁" + word for word in words)


def byte_pieces(text: str) -> list[str]:
    """Return the bytes of a text as byte pieces.

    Examples:
        >>> byte_pieces("é")
        ['<0xC3>', '<0xA9>']
    """
    return [f"<0x{byte:02X}>" for byte in text.encode()]


def to_ids(symbols: Iterable[str], pieces: Mapping[str, Piece]) -> list[int]:
    """Return the ids of symbols. A character that is not a piece becomes byte pieces, or `<unk>`.

    Byte pieces are used if the vocabulary has all those that the character needs. Successive unknown characters share
    one `<unk>`.

    Examples:
        >>> to_ids(["s", "x", "y", "s"], SMALL)
        [6, 0, 6]
        >>> to_ids(["é"], {"<unk>": Piece(0, "unknown"), "<0xC3>": Piece(0, "byte"), "<0xA9>": Piece(0, "byte")})
        [1, 2]
    """
    id_of = {name: id for id, name in enumerate(pieces)}
    unk = next(id_of[name] for name, piece in pieces.items() if piece.kind == "unknown")
    ids: list[int] = []
    for symbol in symbols:
        if symbol in pieces and pieces[symbol].kind in ("normal", "user_defined"):
            ids.append(id_of[symbol])
        elif all(name in pieces for name in byte_pieces(symbol)):
            ids += [id_of[name] for name in byte_pieces(symbol)]
        elif ids[-1:] != [unk]:
            ids.append(unk)
    return ids


def to_text(symbols: Iterable[str]) -> str:
    """Join pieces into text: byte pieces become characters, each `▁` becomes a space, and the first space is removed.

    Examples:
        >>> to_text(["▁a", "▁", "<0xC3>", "<0xA9>"]), to_text(["<0xC3>"])
        ('a é', '�')
    """
    data = b""
    for symbol in symbols:
        is_byte = len(symbol) == 6 and symbol.startswith("<0x")
        data += bytes([int(symbol[3:5], 16)]) if is_byte else symbol.encode()
    return data.decode("utf-8", "replace").replace("▁", " ").removeprefix(" ")


class XlmrTokenizer:
    """XLM-R's tokenizer, with a dict of pieces instead of SentencePiece.

    Examples:
        >>> XlmrTokenizer(SMALL).vocab_size
        27
    """

    fairseq_offset = 1

    def __init__(self, pieces: Mapping[str, Piece]) -> None:
        self.pieces = pieces
        self.spm = {name: id for id, name in enumerate(pieces)}  # SentencePiece's ids
        self.fairseq_tokens_to_ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
        self.fairseq_tokens_to_ids["<mask>"] = len(self.spm) + self.fairseq_offset

    @property
    def vocab_size(self) -> int:
        """Number of ids: the pieces, plus one for the shift, plus `<mask>`."""
        return len(self.spm) + self.fairseq_offset + 1

    def _tokenize(self, text: str) -> list[str]:
        return encode(normalize(text), self.pieces)

    def _convert_token_to_id(self, token: str) -> int:
        if token in self.fairseq_tokens_to_ids:
            return self.fairseq_tokens_to_ids[token]
        id = self.spm.get(token, 0)
        return id + self.fairseq_offset if id else self.fairseq_tokens_to_ids["<unk>"]

    def _convert_id_to_token(self, id: int) -> str:
        specials = {special: token for token, special in self.fairseq_tokens_to_ids.items()}
        return specials[id] if id in specials else list(self.spm)[id - self.fairseq_offset]

    def encode(self, text: str) -> list[int]:
        """Encode a text, between `<s>` and `</s>`."""
        return [self._convert_token_to_id(token) for token in ("<s>", *self._tokenize(text), "</s>")]


def first_ids(pieces: Mapping[str, Piece], number: int) -> str:
    """Return a table of the first entries, in the order of SentencePiece and in that of fairseq.

    Examples:
        >>> print(first_ids(SMALL, 1))
        id  SentencePiece  fairseq
         0  <unk>          <s>
    """
    tok, names = XlmrTokenizer(pieces), list(pieces)
    lines = ["id  SentencePiece  fairseq"]
    lines += [f"{id:>2}  {names[id]:<13}  {tok._convert_id_to_token(id)}" for id in range(number)]
    return "\n".join(lines)


def beside_jeton() -> None:
    """Write a tokenizer folder that Jeton loads as XLM-R's, and encode with it, in Python and on the command line."""
    import jeton

    expected = XlmrTokenizer(SMALL).encode("de la mesa.")
    with TemporaryDirectory() as folder, chdir(folder):
        Path("xlmr").mkdir()
        Path("xlmr/sentencepiece.bpe.model").write_bytes(write_model(SMALL, "bpe", normalize=True))
        Path("xlmr/tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "XLMRobertaTokenizer"}))
        tok = jeton.load("xlmr/sentencepiece.bpe.model", layout="xlm-roberta")
        ids = tok.encode("de la mesa.", add_special_tokens=True)
        print("jeton:", ids, [tok.id_to_token(id) for id in range(10)])
        assert ids == expected
        assert " ".join(tok.id_to_token(id) for id in range(10)) == "<s> <pad> </s> <unk> , . ▁ s ▁de -"
        assert tok.vocab_size == XlmrTokenizer(SMALL).vocab_size
        printed = jeton_command('jeton encode --tokenizer xlmr --add-special-tokens --format ids "de la mesa."')
        assert [int(id) for id in printed.split()] == expected
        plain = jeton.load("xlmr/sentencepiece.bpe.model")  # SentencePiece's ids
        for text in ("de la  mesa.", "a 小冬 de", "-"):
            assert plain.encode(text) == to_ids(encode(normalize(text), SMALL), SMALL)


def main(path: str | None = None) -> None:
    """Print the first ids in SentencePiece's and in fairseq's order, and the steps from a text to ids."""
    pieces = SMALL
    if path is None:
        print("No path of a .model was given: the small one of this lesson is used.")
    else:
        data = Path(path).read_bytes()
        pieces = {name: Piece(*fields) for name, fields in read_model(data).items()}
        print(f"{Path(path).name} is a {model_type(data)} model")
    tok = XlmrTokenizer(pieces)
    print(first_ids(pieces, 10))
    mask = tok.fairseq_tokens_to_ids["<mask>"]
    print(f"{len(pieces):,} pieces; laid out as XLM-R's: {tok.vocab_size:,} ids, <mask> is {mask:,}")
    text = "  de  la ｍesa."
    tok = XlmrTokenizer(SMALL)
    print(repr(text), "->", normalize(text), "->", tok._tokenize(text), "->", tok.encode(text))
    print("小 with byte fallback:", *byte_pieces("小"), "without:", to_ids(["小"], SMALL))


if __name__ == "__main__":
    main(*sys.argv[1:2])
    with_jeton(beside_jeton)
