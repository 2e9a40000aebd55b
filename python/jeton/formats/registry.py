"""Registry of known rank files, by name and by the SHA-256 of their content. Data only.

A rank file has neither pattern nor special tokens; the registry adds both. Some names share a file and differ in their
special tokens; a file that is loaded without a name gets the first of these names.

Sources: openai/tiktoken tiktoken_ext/openai_public.py; meta-llama/llama3 llama/tokenizer.py and
meta-llama/llama-models models/llama3 and models/llama4 tokenizer.py; QwenLM/Qwen tokenization_qwen.py;
moonshotai/Kimi-K2-Instruct tokenization_kimi.py and tokenizer_config.json (facts: hashes, patterns, tokens, ids).

Sources of the roles:

- OpenAI models: tiktoken names only one token with a role, `Encoding.eot_token`. gpt2: config of
  openai-community/gpt2, without its `unk_token`, because no text is unknown to a byte-level model. o200k_harmony:
  config of openai/gpt-oss-20b.
- Llama models: `bos_id`, `eos_id`, `pad_id` of the tokenizer.py above; the file of Llama 3 has no padding token. In
  contrast, tokenizer_config.json of the instruction models sets eos to the end of a turn. `prefix`: tokenizer.json of
  the same models.
- qwen: none. QwenLM/Qwen tokenization_note.md says that bos, eos, unk and pad do not apply to these models.
- kimi_k2: tokenizer_config.json of moonshotai/Kimi-K2-Instruct, without its `unk_token`, as for gpt2.
"""

from __future__ import annotations

from ..util.record import field, record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..definition import Component

__all__ = ["REGISTRY", "KnownRankFile", "by_content"]


@record(frozen=True)
class KnownRankFile:
    """Rank file with its pattern, special tokens and normalizer.

    Attributes:
        name: name for `jeton.load`.
        url: URL of the publisher.
        sha256: hash of the content.
        pattern: name or regex of the pre-tokenization pattern.
        special_tokens: spelling -> id.
        normalizer: the publisher's normalizer.
        num_bytes: size of the file; None if the registry does not record it.
        roles: role -> special token.
        prefix: the special token that ``add_special_tokens=True`` puts before a text; None: no token is added.
        chat: name of the preset of `jeton.chat` that equals the model's chat template; None: the publisher has no
            template, or none that could be compared with a preset.
    """

    name: str
    url: str
    sha256: str
    pattern: str
    special_tokens: Mapping[str, int]
    normalizer: tuple[Component, ...] = ()
    num_bytes: int | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    prefix: str | None = None
    chat: str | None = None


_OPENAI = "https://openaipublic.blob.core.windows.net/encodings/"
_META = "https://raw.githubusercontent.com/meta-llama/llama-models/main/models/"

_R50K = (f"{_OPENAI}r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930")
_P50K = (f"{_OPENAI}p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
_CL100K = (f"{_OPENAI}cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7")
_O200K = (f"{_OPENAI}o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
_LLAMA3 = (f"{_META}llama3/tokenizer.model", "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55")
_LLAMA4_FILE = (f"{_META}llama4/tokenizer.model", "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed")
_QWEN = (
    "https://huggingface.co/Qwen/Qwen-7B/resolve/main/qwen.tiktoken",
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
)
_KIMI = (
    "https://huggingface.co/moonshotai/Kimi-K2-Instruct/resolve/main/tiktoken.model",
    "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
)

# Han characters are an alternative of their own. The alternatives for words are those of o200k without Han characters,
# and the rest is as in cl100k.
_KIMI_PATTERN = "|".join(
    [
        r"[\p{Han}]+",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def _from(first: int, tokens: Iterable[str]) -> dict[str, int]:
    """Assigns consecutive ids."""
    return {token: id for id, token in enumerate(tokens, first)}


def _reserved(start: int, stop: int, family: str = "") -> list[str]:
    return [f"<|{family}reserved_special_token_{i}|>" for i in range(start, stop)]


_ENDOFTEXT = "<|endoftext|>"
_EOT = {"eos": _ENDOFTEXT}
_FIM = ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]

_HARMONY = {
    "<|startoftext|>": 199998,
    _ENDOFTEXT: 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    "<|endofprompt|>": 200018,
}
_HARMONY |= {f"<|reserved_{id}|>": id for id in range(200000, 201088) if id not in _HARMONY.values()}
# <|reserved_200018|> is left out: it is published as a second spelling of <|endofprompt|>, but an id has one spelling

_LLAMA = {"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>"}
_LLAMA3_FIRST = [*_LLAMA.values()]
_LLAMA3_HEADER = ["<|start_header_id|>", "<|end_header_id|>"]

_LLAMA4 = [
    *["<|begin_of_text|>", "<|end_of_text|>", *_FIM],
    *["<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"],
    *_reserved(0, 6, "text_post_train_"),
    *["<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"],
    *_reserved(8, 69, "text_post_train_"),
    *["<|image_start|>", "<|image_end|>", *_reserved(0, 2, "vision_"), "<|tile_x_separator|>", "<|tile_y_separator|>"],
    *[*_reserved(2, 6, "vision_"), "<|image|>", *_reserved(6, 7, "vision_"), "<|patch|>"],
    *_reserved(7, 1048, "vision_"),
    *[*_reserved(0, 8, "reasoning_"), "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"],
]

_KIMI_NAMED = {
    163584: "[BOS]",
    163585: "[EOS]",
    163586: "<|im_end|>",
    163587: "<|im_user|>",
    163588: "<|im_assistant|>",
    163590: "<|start_header_id|>",
    163591: "<|end_header_id|>",
    163593: "[EOT]",
    163594: "<|im_system|>",
    163595: "<|tool_calls_section_begin|>",
    163596: "<|tool_calls_section_end|>",
    163597: "<|tool_call_begin|>",
    163598: "<|tool_call_argument_begin|>",
    163599: "<|tool_call_end|>",
    163601: "<|im_middle|>",
    163838: "[UNK]",
    163839: "[PAD]",
}

_KNOWN = (
    KnownRankFile("r50k_base", *_R50K, "gpt2", {_ENDOFTEXT: 50256}, roles=_EOT),
    KnownRankFile("gpt2", *_R50K, "gpt2", {_ENDOFTEXT: 50256}, roles={"bos": _ENDOFTEXT, **_EOT}),
    KnownRankFile("p50k_base", *_P50K, "gpt2", {_ENDOFTEXT: 50256}, roles=_EOT),
    KnownRankFile("p50k_edit", *_P50K, "gpt2", {_ENDOFTEXT: 50256, **_from(50281, _FIM)}, roles=_EOT),
    KnownRankFile(
        "cl100k_base",
        *_CL100K,
        "cl100k",
        {_ENDOFTEXT: 100257, **_from(100258, _FIM), "<|endofprompt|>": 100276},
        roles=_EOT,
    ),
    KnownRankFile("o200k_base", *_O200K, "o200k", {_ENDOFTEXT: 199999, "<|endofprompt|>": 200018}, roles=_EOT),
    KnownRankFile(
        "o200k_harmony",
        *_O200K,
        "o200k",
        _HARMONY,
        roles={"bos": "<|startoftext|>", "eos": "<|return|>", "pad": _ENDOFTEXT},
        chat="harmony",
    ),
    KnownRankFile(
        "llama3",
        *_LLAMA3,
        "llama3",
        _from(
            128000,
            [*_LLAMA3_FIRST, *_reserved(0, 4), *_LLAMA3_HEADER, *_reserved(4, 5), "<|eot_id|>", *_reserved(5, 251)],
        ),
        roles=_LLAMA,
        prefix=_LLAMA["bos"],
        chat="llama3",
    ),
    KnownRankFile(
        "llama3.1",
        *_LLAMA3,
        "llama3",
        _from(
            128000,
            [
                *[*_LLAMA3_FIRST, *_reserved(0, 2), "<|finetune_right_pad_id|>", "<|step_id|>", *_LLAMA3_HEADER],
                *["<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>", *_reserved(2, 246)],
            ],
        ),
        roles={**_LLAMA, "pad": "<|finetune_right_pad_id|>"},
        prefix=_LLAMA["bos"],
        chat="llama3.1",
    ),
    KnownRankFile(
        "llama4",
        *_LLAMA4_FILE,
        "o200k",
        _from(200000, _LLAMA4 + _reserved(0, 2048 - len(_LLAMA4))),
        roles={**_LLAMA, "pad": "<|finetune_right_pad|>"},
        prefix=_LLAMA["bos"],
    ),
    KnownRankFile(
        "qwen",
        *_QWEN,
        "qwen2",
        _from(151643, [_ENDOFTEXT, "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205))]),
        ({"type": "NFC"},),
    ),
    KnownRankFile(
        "kimi_k2",
        *_KIMI,
        _KIMI_PATTERN,
        {_KIMI_NAMED.get(id, f"<|reserved_token_{id}|>"): id for id in range(163584, 163840)},
        roles={"bos": "[BOS]", "eos": "[EOS]", "pad": "[PAD]"},
        chat="kimi-k2",
    ),
)

# sha256 -> number of bytes, for the files in the test data
_SIZES = {_R50K[1]: 835_554, _CL100K[1]: 1_681_126, _O200K[1]: 3_613_922, _LLAMA3[1]: 2_183_982}

REGISTRY: dict[str, KnownRankFile] = {
    known.name: replace(known, num_bytes=_SIZES.get(known.sha256)) for known in _KNOWN
}


def by_content(sha256: str) -> KnownRankFile | None:
    """Returns the first entry with this hash.

    Examples:
        >>> by_content("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930").name
        'r50k_base'
    """
    return next((known for known in _KNOWN if known.sha256 == sha256), None)
