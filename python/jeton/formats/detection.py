"""Detection of the format of a tokenizer file, by its content; names of files that belong together.

`jeton.load` tests the formats in this order: GGUF, a rank file, JSON, a SentencePiece model, the two files of GPT-2,
vocab.txt. The functions use no regular expressions, because importing `re` takes longer than reading a small
vocabulary.
"""

from __future__ import annotations

__all__ = [
    "ADDED_FILE",
    "CONFIG_FILES",
    "MORE_TEMPLATES",
    "PAIR_NAMES",
    "TEMPLATE",
    "is_gguf",
    "is_gpt2_pair",
    "is_json",
    "is_rank_file",
    "is_sentencepiece",
    "is_tekken",
    "is_vocab_txt",
]

ADDED_FILE = "added_tokens.json"
TEMPLATE = "chat_template.jinja"
MORE_TEMPLATES = "additional_chat_templates"  # name of a folder with chat templates
# Together with `MORE_TEMPLATES`, these are all files from which the configuration of a folder is read.
CONFIG_FILES = ("tokenizer_config.json", "special_tokens_map.json", ADDED_FILE, TEMPLATE)
# Endings of the names of two files that belong together: a file of entries and a file of merges.
PAIR_NAMES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = b"0123456789"


def is_gguf(data: bytes) -> bool:
    """Detects llama.cpp's GGUF by its first four bytes.

    Examples:
        >>> is_gguf(b"GGUF\\x03\\0\\0\\0"), is_gguf(b"{}")
        (True, False)
    """
    return data[:4] == b"GGUF"


def is_rank_file(data: bytes) -> bool:
    """Detects tiktoken's rank file by its first line: base64, a space and a number.

    Examples:
        >>> is_rank_file(b"aGk= 0\\nYQ== 1\\n"), is_rank_file(b"hi there\\n")
        (True, False)
    """
    if data[:1].strip(_BASE64):  # shortcut: avoids the search for a line end, which is slow in a large file
        return False
    end = data.find(b"\n")
    line = (data if end < 0 else data[:end]).rstrip(b"\r")
    token, space, rank = line.partition(b" ")
    padding = len(token) - len(token.rstrip(b"="))
    return (
        bool(space and rank and token.rstrip(b"="))
        and padding <= 2
        and not rank.strip(_DIGITS)
        and not token.rstrip(b"=").strip(_BASE64)
    )


def is_json(data: bytes) -> bool:
    """Detects a JSON object by its first two characters other than white space.

    A SentencePiece model can also begin with a line feed and a brace, so the next character must be a quote or a brace.

    Examples:
        >>> is_json(b' {"version": "1.0"}'), is_json(b"\\n{\\n\\x05<unk>")
        (True, False)
    """
    start = _begin(data)
    inside = start[1:].lstrip() or data.lstrip()[1:].lstrip()
    return start[:1] == b"{" and inside[:1] in (b'"', b"}")


def _begin(data: bytes) -> bytes:
    """Returns the first 4 KiB of the data without leading white space.

    If the first 4 KiB are blank, all of the data is returned, also without leading white space.
    """
    return data[:4096].lstrip() or data.lstrip()


def is_sentencepiece(data: bytes) -> bool:
    """Detects a SentencePiece model by its first bytes, which are the start of a piece (a nested protobuf message).

    Examples:
        >>> is_sentencepiece(b"\\n\\x0e\\n\\x05<unk>\\x15"), is_sentencepiece(b'{"version": 1}')
        (True, False)
    """
    if len(data) < 4 or data[0] != 0x0A:  # tag of field 1 (a piece), which is a nested message
        return False
    at = 1
    while at < min(len(data), 5) and data[at] & 0x80:
        at += 1
    return data[at + 1 : at + 2] in (b"\x0a", b"\x15", b"\x18")  # tags of the fields `piece`, `score` and `type`


def is_gpt2_pair(data: bytes) -> bool:
    """Detects either of GPT-2's two files: lines of two tokens, or a flat JSON object of ids.

    Examples:
        >>> files = b"#version: 0.2\\nh e\\n", b'{"!": 0, "a": 1}', b'{"version": "1.0"}'
        >>> [is_gpt2_pair(data) for data in files]
        [True, True, False]
    """
    return _is_merges(data) or _is_vocab(data)


def _is_merges(data: bytes) -> bool:
    if data.startswith(b"#version"):
        return True
    if _begin(data)[:1] == b"{":
        return False
    lines = data[:4096].split(b"\n")[:3]
    parts = [line.rstrip(b"\r").split(b" ") for line in lines if line]
    return bool(parts) and all(len(part) == 2 and all(part) and not part[1].isdigit() for part in parts)


def _is_vocab(data: bytes) -> bool:
    start = _begin(data)[:256]
    if not start.startswith(b"{"):
        return False
    key, _, rest = start[1:].partition(b'":')
    return key.lstrip().startswith(b'"') and rest.lstrip()[:1].isdigit()


def is_vocab_txt(data: bytes) -> bool:
    """Detects BERT's vocab.txt by a line ``[UNK]`` in the first 64 KiB.

    Examples:
        >>> is_vocab_txt(b"[PAD]\\n[UNK]\\nthe\\n"), is_vocab_txt(b"aGk= 0\\n")
        (True, False)
    """
    start = b"\n" + data[: 1 << 16] + b"\n"
    return b"\0" not in start and (b"\n[UNK]\n" in start or b"\n[UNK]\r\n" in start)


def is_tekken(data: bytes) -> bool:
    """Detects tekken.json: a JSON object whose first or last 64 KiB contain a key that only this format has.

    Examples:
        >>> is_tekken(b'{"config": {"pattern": "x", "default_num_special_tokens": 2}}'), is_tekken(b"{}")
        (True, False)
    """
    if _begin(data)[:1] != b"{":
        return False
    return b'"default_num_special_tokens"' in data[:65536] or b'"default_num_special_tokens"' in data[-65536:]
