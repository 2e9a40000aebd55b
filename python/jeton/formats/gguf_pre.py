"""Meaning of each value of `tokenizer.ggml.pre`: how text is split before byte-level BPE, and llama.cpp's defaults.

The expressions are llama.cpp's, translated into tiktoken's dialect with the meaning that llama.cpp gives them. This
meaning can differ from that in the model's own tokenizer:

- llama.cpp supports only top-level categories: ``\\p{Lu}`` matches any letter. So upper-case letters are expressed as
``[\\p{L}&&[^a-z]]``.
- ``(?i:'s)`` does not match ``'ſ`` (U+017F).
- A range of characters never matches white space beyond ASCII: ``[ࠀ-一]`` excludes U+3000.
- Where llama.cpp has code instead of an expression, the expression here matches what the code matches.

Source: ggml-org/llama.cpp src/llama-vocab.cpp (names, expressions, flags), src/unicode.cpp (meaning), of 2026-10.
"""

from __future__ import annotations

from ..util.record import record

__all__ = ["DEFAULT", "GEMMA4", "PRE", "Pre", "has_case"]


@record(frozen=True)
class Pre:
    """How llama.cpp splits text before BPE.

    Attributes:
        patterns: expressions; each splits the pretokens of the expression before it.
        whole_first: a pretoken that is an entry is encoded as that entry, without merging.
        add_bos: default of `add_bos_token` in the metadata.
        escapes_spaces: if True, spaces are spelled ``▁`` and entries are text; else entries are spelled in the byte
            alphabet.
    """

    patterns: tuple[str, ...]
    whole_first: bool = False
    add_bos: bool = False
    escapes_spaces: bool = False


def has_case(pre: Pre) -> bool:
    """Tests whether the split depends on upper and lower case."""
    return any("[^A-Z]" in pattern for pattern in pre.patterns)


_SHORT = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_QWEN2 = rf"{_SHORT}|{_WORD}|\p{{N}}|{_SIGNS}|\s*[\r\n]+|{_SPACES}"
_LLAMA3 = rf"{_SHORT}|{_WORD}|\p{{N}}{{1,3}}|{_SIGNS}|\s*[\r\n]+|{_SPACES}"
_QWEN35 = (
    rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|"
    rf"{_SPACES}"
)
_UPPER, _LOWER = r"[\p{L}&&[^a-z]]", r"[\p{L}&&[^A-Z]]"
_SIGNS_OR_SLASHES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_DIGITS = r"\p{N}{1,3}"
# Splits each number into groups of three digits, counted from the right end of the number. Text before a number is
# part of the first group of that number.
_GROUPS = r"\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
# In addition to Chinese, this matches Hangul and everything from U+0800 up to the ideographs, except white space.
_DEEPSEEK_CHINESE = r"[[\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]&&\S]+"
_DEEPSEEK_SIGNS = r"\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3001}\x{3002}]+"
# ranges of cased letters, for the Unicode version on which llama.cpp's expression is based
_DEEPSEEK_LETTERS = (
    r"A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}"
    r"\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}"
    r"\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}"
    r"\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}"
    r"\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}"
    r"\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}"
    r"\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}"
    r"\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}"
    r"\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}"
    r"\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}"
    r"\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}"
    r"\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}"
    r"\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}"
)
_CHINESE = r"[\x{4E00}-\x{9FA5}\x{3040}-\x{30FF}]+"
_ASCII_SIGN = r"[!-/:-@\[-`{-~]"
_DEEPSEEK3_WORD = rf"{_ASCII_SIGN}[A-Za-z]+|[^\r\n\p{{L}}\p{{P}}\p{{S}}]?[\p{{L}}\p{{M}}]+"
_DEEPSEEK3 = rf"{_DEEPSEEK3_WORD}| ?[\p{{P}}\p{{S}}]+[\r\n]*|\s*[\r\n]+|{_SPACES}"
_BLOOM = r" ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+"
_LETTERS_OR_MARKS = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+"
_HAN = r"\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2EBEF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}"
_AFMOE_SCRIPTS = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{8C48}-\x{FAFF}\x{3040}-\x{30FF}\x{FF65}-\x{FF9F}\x{2F00}-\x{2FDF}"
    r"\x{E40}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F}\x{A9E0}-\x{A9FF}"
    r"\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+"
)
_YOUTU_SCRIPTS = (
    r"[\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+"
    r"|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}"
    r"\x{FE30}-\x{FE4F}]+"
    rf"|[\x{{3105}}-\x{{312F}}]+|{_CHINESE}"
)


def _cased(upper: str, lower: str, after: str, digits: str) -> str:
    """Returns a pattern in which a word is upper-case letters, then lower-case letters.

    Each letter beyond ASCII counts both as an upper-case letter and as a lower-case letter.
    """
    start = r"[^\r\n\p{L}\p{N}]?"
    words = f"{start}{upper}*{lower}+{after}|{start}{upper}+{lower}*{after}"
    return rf"{words}|{digits}|{_SIGNS_OR_SLASHES}|\s*[\r\n]+|{_SPACES}"


_GPT4O = _cased(_UPPER, _LOWER, f"{_SHORT}?", _DIGITS)
_LETTER_OR_MARK = r"[\p{L}\p{M}&&[^%s]]"
_NEWLINES = r"[^\n]+|[\n]+"

DEFAULT = Pre((r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))
GEMMA4 = Pre((_NEWLINES,), add_bos=True, escapes_spaces=True)

_PRES: dict[Pre, str] = {
    DEFAULT: "default",
    Pre((_LLAMA3,), whole_first=True, add_bos=True): (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano"
    ),
    Pre((_LLAMA3,), whole_first=True): "glm4 glm5",
    Pre((_LLAMA3,)): "dbrx smaug-bpe chatglm-bpe",
    Pre((_QWEN2,)): ("qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2"),
    Pre((_QWEN35,)): "qwen35",
    Pre((_GPT2,)): (
        "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en jina-v2-code "
        "roberta-bpe exaone4 mpt olmo jais trillion granite-docling"
    ),
    Pre((r"\p{N}", _GPT2)): "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    Pre((r"[\r\n]", rf"\s?[{_DEEPSEEK_LETTERS}]+", _DEEPSEEK_SIGNS, r"\s+\z", _DEEPSEEK_CHINESE, r"\p{N}+")): (
        "deepseek-llm"
    ),
    Pre((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_CHINESE, r"\p{N}")): "deepseek-coder",
    Pre((_DIGITS, _CHINESE, _DEEPSEEK3)): "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
    Pre((_DIGITS, _CHINESE, rf"{_DEEPSEEK3_WORD}| ?[\p{{P}}\p{{S}}]+|[\r\n]|{_SPACES}", r"\p{N}")): "spark2_5",
    Pre(
        (
            _YOUTU_SCRIPTS,
            rf"{_LETTERS_OR_MARKS}{_SHORT}?|\p{{N}}|{_SIGNS_OR_SLASHES}|\s*[\r\n]+|{_SPACES}",
        ),
        whole_first=True,
    ): "youtu",
    Pre((r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]")): "falcon",
    Pre(
        (
            rf"{_SHORT}|{_WORD}|{_DIGITS}|{_SIGNS}|\s*[\r\n]+|\s{{512}}(?!\S)|\s{{256}}(?!\S)|\s{{128}}(?!\S)|"
            r"\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s",
        )
    ): "jais-2",
    Pre((_BLOOM,)): "poro-chat bloom gpt3-finnish",
    Pre((_BLOOM, r"\p{N}")): "viking",
    Pre((_cased(_UPPER, _LOWER, "", r"\p{N}"),), whole_first=True, add_bos=True): "tekken",
    Pre((_GPT4O,)): "gpt-4o llama4 kanana2 talkie minimax-m2",
    Pre(
        (_cased(_LETTER_OR_MARK % "a-z", _LETTER_OR_MARK % "A-Z", f"{_SHORT}?", _DIGITS),), whole_first=True
    ): "granite-embed-multi-97m",
    Pre(
        (
            _GROUPS,
            rf"{_LETTERS_OR_MARKS}{_SHORT}?|{_DIGITS}|{_SIGNS_OR_SLASHES}|\s*[\r\n]+|{_SPACES}",
        )
    ): "tiny_aya cohere2moe",
    Pre(
        (
            "<sentinel:[0-9]+>",
            "IMGIMG[A-I]{1,4}Z",
            r"[\t\n]|    |  ",
            r"\p{N}",
            r"[\p{P}!-/:-@\[-`{-~]",
            _GPT2,
        ),
        add_bos=True,
    ): "chameleon",
    Pre(
        (rf"[{_HAN}]+|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}&&[^{_HAN}]]+{_SHORT}?|{_DIGITS}|{_SIGNS}|\s*[\r\n]+|{_SPACES}",)
    ): "kimi-k2",
    Pre((r"\p{N}+", r"(?s:.+?)(?=(?:[0-9]{3})+(?![0-9])|\z)")): "superbpe",
    Pre((rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{_WORD}|\p{{N}}|{_SIGNS}|\s*[\r\n]|{_SPACES}",)): (
        "bailingmoe bailingmoe2 llada-moe"
    ),
    Pre((rf"{_SHORT}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|\s*[\r\n]+|{_SPACES}",)): "seed-coder",
    Pre((rf"{_WORD}|\p{{N}}|{_SIGNS}|\s*[\r\n]+|{_SPACES}",)): "ufakzeka",
    Pre((_GROUPS, _AFMOE_SCRIPTS, _DEEPSEEK3)): "afmoe",
    Pre((_NEWLINES, _QWEN2)): "laguna",
    Pre(
        (
            rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}|"
            rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|{_SPACES}",
        )
    ): "exaone-moe",
    Pre((_DIGITS, rf"{_SHORT}|{_WORD}|\p{{N}}+|{_SIGNS}|\s*[\r\n]+|{_SPACES}"), whole_first=True): "minicpm5",
    GEMMA4: "gemma4 granite-embed-multi-311m",
    Pre((_NEWLINES,), escapes_spaces=True): "sarvam-moe",
}
PRE = {name: pre for pre, names in _PRES.items() for name in names.split()}
