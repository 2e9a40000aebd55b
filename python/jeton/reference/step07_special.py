r"""Step 7. Special tokens: ids that plain text never gets.

    python step07_special.py                 also without Jeton
    python -m jeton.reference.step07_special

A model needs a few signs that are not text: the end of a document, the start of a user's turn, padding. These are
*special tokens*. Each has its own id, here above all other ids (SentencePiece and BERT put special tokens first), and a
spelling that people can read and write:

    <|endoftext|>   the document ends: what follows has nothing to do with it; the model writes it to stop
    <|im_start|>    a turn of a conversation begins, with the name of the speaker
    <|im_end|>      the turn ends: the program may show the answer now
    <|padding|>     fills the short texts of a batch up to the length of the longest; never learned from
    <unk>           replaces characters that the vocabulary cannot spell (step 9); a byte-level tokenizer needs none

Special tokens take no part in BPE. The text is first split at their spellings, the text between them is encoded as
usual, and each special token becomes its id:

>>> special = add_special({}, ["<|im_start|>", "<|im_end|>"], next_id=256)
>>> special
{'<|im_start|>': 256, '<|im_end|>': 257}
>>> turn = "<|im_start|>user\nhi<|im_end|>"
>>> cut(turn, special, permit="all")
[256, 'user\nhi', 257]
>>> encode_text(turn, {}, special, permit="all")
[256, 117, 115, 101, 114, 10, 104, 105, 257]

**Permission.** Imagine that a visitor types `<|im_end|><|im_start|>system` into a chat. If those letters became control
ids, the visitor could write messages in the name of the system. So the spelling of a special token is plain text unless
the *caller* permits the token, and a program permits special tokens only in text that it wrote itself.

>>> cut("<|im_end|>", special)
['<|im_end|>']
>>> encode_text("<|im_end|>", {}, special)
[60, 124, 105, 109, 95, 101, 110, 100, 124, 62]

**The longest wins.** If `<a>` and `<a>b` are both special, a naive search finds whichever was listed first. We search
for the leftmost position with a special token, and there take the longest spelling.

>>> cut("x<a>b<a>", {"<a>": 300, "<a>b": 301}, permit="all")
['x', 301, 300]

**No special tokens.** A regular expression without alternatives matches the empty string, which occurs between any two
letters; splitting there would give single characters. Without special tokens the text must stay whole.

>>> cut("abab", {}, permit="all")
['abab']

**Before or after training.** Special tokens that are added after training take the next free ids, and no older id
moves. They can also be chosen before training, but must not take the ids of the bytes: in these lessons the id 0 always
means the byte 0. Training must not learn from their spellings: the corpus is cut at them, and they are removed.

>>> corpus = "abab<|im_end|>abab"
>>> train_bytes([part for part in cut(corpus, special, permit="all") if isinstance(part, str)], 259, next_id=258)
[Merge(left=97, right=98, new=258, count=4)]

See it (needs `pip install "jeton[play]"`): while `jeton play --port 7777` runs, this address shows the encoding of a
user's `<|endoftext|>`.

    http://127.0.0.1:7777/#view=classics&classic=endoftext

Left out: cutting the text between special tokens before BPE. Next: step08_split.py.

**With Jeton.** Without `special=` the spelling is plain text, as here. `add_tokens` makes a new tokenizer:

    tok = jeton.train(["-"], 256, level="byte", pattern="none", progress=False)
    chat = tok.add_tokens(["<|im_start|>", "<|im_end|>"])
    chat.encode(turn, special="all")

    $ jeton encode -t chat.json --special none '<|im_end|>'
    60 124 105 109 95 101 110 100 124 62
    $ jeton encode -t chat.json --special all '<|im_end|>'
    257
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import chdir
from tempfile import TemporaryDirectory

if not __package__:  # run as a file: `python step07_special.py`
    __import__("running")

from .running import jeton_command, with_jeton
from .step01_levels import BYTES
from .step03_merge import Merge, vocabulary
from .step04_train import train_bytes
from .step05_encode import Ranks, encode, ranks
from .step06_decode import decode


def add_special(special: Mapping[str, int], names: Iterable[str], next_id: int) -> dict[str, int]:
    """Give each new name the next free id; a name that already has an id keeps it.

    Raises:
        ValueError: If a name is empty.

    Examples:
        >>> add_special({"<|endoftext|>": 300}, ["<|im_start|>", "<|endoftext|>", "<|im_end|>"], next_id=301)
        {'<|endoftext|>': 300, '<|im_start|>': 301, '<|im_end|>': 302}
    """
    result = dict(special)
    for name in names:
        if not name:
            raise ValueError("a special token needs a spelling: the empty string stands between any two letters")
        if name not in result:
            result[name] = next_id
            next_id += 1
    return result


def cut(text: str, special: Mapping[str, int], permit: str | Collection[str] = "none") -> list[str | int]:
    """Cut `text` at the special tokens that are permitted.

    Args:
        text: The text to cut.
        special: Spelling -> id.
        permit: "none", "all", a set of spellings, or "raise", which permits none and raises an error if the text
            contains one.

    Returns:
        Pieces of plain text, none of them empty, and the ids of special tokens, in order.

    Raises:
        ValueError: If a spelling in `permit` is not a special token, or `permit` is "raise" and the text contains one.

    Examples:
        >>> cut("<a> or <b>", {"<a>": 1, "<b>": 2}, permit={"<b>"})
        ['<a> or ', 2]
        >>> cut("so: <a>", {"<a>": 1}, permit="raise")
        Traceback (most recent call last):
            ...
        ValueError: special token '<a>' in the text at index 4: permit it, or pass permit="none" to read it as text
    """
    if isinstance(permit, str):
        if permit not in ("none", "all", "raise"):
            raise ValueError(f'permit is {permit!r}, expected "none", "all", "raise" or a set of special tokens')
        wanted = [] if permit == "none" else list(special)
    else:
        wanted = list(permit)
        for name in wanted:
            if name not in special:
                raise ValueError(f"{name!r} is permitted but is not a special token of this tokenizer")
    if not wanted:
        return [text] if text else []
    # `re` tries alternatives from left to right and takes the first that matches, so the longest must come first
    pattern = re.compile("|".join(re.escape(name) for name in sorted(wanted, key=len, reverse=True)))
    pieces: list[str | int] = []
    end = 0
    for match in pattern.finditer(text):
        if permit == "raise":
            where = f"special token {match[0]!r} in the text at index {match.start()}"
            raise ValueError(f'{where}: permit it, or pass permit="none" to read it as text')
        pieces += [text[end : match.start()], special[match[0]]]
        end = match.end()
    pieces.append(text[end:])
    return [piece for piece in pieces if piece != ""]


def encode_text(
    text: str, ranks: Ranks, special: Mapping[str, int], permit: str | Collection[str] = "none"
) -> list[int]:
    """Encode a text at byte level, including its permitted special tokens.

    Examples:
        >>> encode_text("abab<s>ab", {(97, 98): (0, 256)}, {"<s>": 300}, permit="all")
        [256, 256, 300, 256]
    """
    ids: list[int] = []
    for piece in cut(text, special, permit):
        ids += [piece] if isinstance(piece, int) else encode(list(piece.encode("utf-8")), ranks)
    return ids


def with_special(spelling: Mapping[int, bytes], special: Mapping[str, int]) -> dict[int, bytes]:
    """Add the special tokens to a vocabulary, so that decoding spells them out.

    Examples:
        >>> decode([104, 105, 300], with_special(BYTES, {"<|endoftext|>": 300}))
        'hi<|endoftext|>'
    """
    return {**spelling, **{id: name.encode("utf-8") for name, id in special.items()}}


CONVERSATION = (
    "<|im_start|>system\nyou are a helper assistant\n<|im_end|>\n<|im_start|>user\n今天的天气\n<|im_end|>"
    "<|im_start|>assistant\n"
)
# Some merges of a trained vocabulary of 300 tokens: those that apply to the conversation
SOME_MERGES = [
    Merge(0xE7, 0x9A, 260, 1),
    Merge(260, 0x84, 261, 1),  # 的
    Merge(0xE4, 0xBB, 265, 1),
    Merge(0xE5, 0xA4, 266, 1),
    Merge(ord("e"), ord(" "), 276, 1),
    Merge(ord("r"), ord(" "), 293, 1),
]
CHAT = add_special({}, ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|padding|>"], next_id=300)


def main() -> None:
    """Encode a turn of a conversation with and without permission for special tokens, then a whole conversation."""
    merges = train_bytes("the user used the weather: 天气", 259)
    special = add_special({}, ["<|im_start|>", "<|im_end|>"], next_id=259)
    turn = "<|im_start|>user\n天气?<|im_end|>"
    for permit in ("all", "none"):
        ids = encode_text(turn, ranks(merges), special, permit)
        back = decode(ids, with_special(vocabulary(BYTES, merges), special))
        print(f"permit={permit!r}: {len(ids)} ids {ids}, which decode to {back!r}")
    print(f"a conversation: {encode_text(CONVERSATION, ranks(SOME_MERGES), CHAT, 'all')}")
    plain = encode_text(CONVERSATION, ranks(SOME_MERGES), CHAT, "none")
    print(f"the same without permission: {len(plain)} ids, the highest is {max(plain)}")


def beside_jeton() -> None:
    """Encode a turn of a conversation with Jeton: with permission for special tokens, and without."""
    import jeton

    turn = "<|im_start|>user\nhi<|im_end|>"
    special = add_special({}, ["<|im_start|>", "<|im_end|>"], next_id=256)
    tok = jeton.train(["-"], 256, level="byte", pattern="none", progress=False)
    chat = tok.add_tokens(["<|im_start|>", "<|im_end|>"])
    assert chat.special_tokens == special
    assert chat.encode(turn, special="all") == encode_text(turn, {}, special, permit="all")
    assert chat.encode(turn, special="none") == encode_text(turn, {}, special, permit="none")
    print("jeton:", chat.encode(turn, special="all"))
    with TemporaryDirectory() as folder, chdir(folder):
        chat.save("chat.json")
        plain = jeton_command("jeton encode -t chat.json --special none '<|im_end|>'")
        permitted = jeton_command("jeton encode -t chat.json --special all '<|im_end|>'")
    assert list(map(int, plain.split())) == encode_text("<|im_end|>", {}, special, permit="none")
    assert list(map(int, permitted.split())) == encode_text("<|im_end|>", {}, special, permit="all")


if __name__ == "__main__":
    main()
    with_jeton(beside_jeton)
