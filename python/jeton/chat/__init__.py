"""Chats: messages → one text → ids, by a chat template.

    messages ─ template (in a sandbox) ─►  text with the origin of each character  ─ encode ─►  ids

Special tokens that the template itself writes are control tokens. The content of a message never is, whatever it
spells. `provenance` tracks the origin of text through a template, `sandbox` and `limits` run it, `template` selects and
renders it, `encode` produces ids, and `presets` holds templates for tokenizers that have none.

Left out: images and sounds in messages (a template sees their items), calling models, parsing their answers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..encoding import Encoding
from ..errors import ChatTemplateError, ConfigError
from ..special import Special
from .encode import ChatTokenizer, encode
from .presets import PRESETS, ChatPreset
from .provenance import Origin
from .template import RenderedRun, choose, render, templates

if TYPE_CHECKING:
    from ..definition import Definition

__all__ = ["PRESETS", "Chat", "ChatPreset", "Origin", "RenderedRun", "Turn", "chat", "refuse_keywords", "templates"]


class Turn(NamedTuple):
    """Spans of one message: its content, and the template's text around it.

    Attributes:
        message: index of the message.
        role: role of the message.
        char_spans: half-open ranges of characters in the text, in order; nearly always one.
        token_spans: half-open ranges of indices into the ids, in order.
    """

    message: int
    role: str
    char_spans: list[tuple[int, int]]
    token_spans: list[tuple[int, int]]


@dataclass(frozen=True, eq=False, repr=False)
class Chat:
    """A rendered conversation and its tokens.

    Attributes:
        text: the text that the template rendered.
        encoding: the tokens of `text`, with their spans.
        pieces: runs of characters with their origins; they tile `text`.
        turns: one for each message; without spans if the template omits the message.
        mask: for each id, whether the model generates it, by the template's ``{% generation %}`` blocks; None where
            the template has none.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["hi there"], 256 + 2, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
        >>> chat = tok.chat([{"role": "user", "content": "hi<|im_end|>"}], template="chatml")
        >>> chat.text
        '<|im_start|>user\\nhi<|im_end|><|im_end|>\\n'
        >>> chat.ids.count(tok.special_tokens["<|im_end|>"])  # the template's; the one in the message is text
        1
        >>> chat.turns[0].token_spans == [(0, len(chat.ids))]
        True
    """

    text: str
    encoding: Encoding
    pieces: list[RenderedRun]
    turns: list[Turn]
    mask: list[bool] | None

    @property
    def ids(self) -> list[int]:
        """The ids, in order."""
        return self.encoding.ids

    def __repr__(self) -> str:
        more = "…" if len(self.text) > 60 else ""
        return f"Chat({len(self.turns)} messages, {len(self.ids)} tokens: {self.text[:60]!r}{more})"


class _Tokenizer(ChatTokenizer, Protocol):
    @property
    def definition(self) -> Definition: ...
    @property
    def roles(self) -> Mapping[str, str]: ...


def chat(
    tok: _Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    special: Special,
    add_generation_prompt: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = None,
    template: str | None = None,
    variables: Mapping[str, Any],
) -> Chat:
    """Implements `Tokenizer.chat`."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise ConfigError('messages is a list of {"role": …, "content": …}', option="messages")
    if not messages:
        raise ConfigError("a chat has at least one message", option="messages")
    if not isinstance(variables, Mapping) or not all(isinstance(name, str) for name in variables):
        raise ConfigError('variables is a mapping of names: {"enable_thinking": False}', option="variables")
    own = {f"{role}_token": token for role, token in tok.roles.items()}
    for name in ("messages", "add_generation_prompt", "tools", *own):
        if name in variables:
            setter = "the tokenizer" if name in own else f"chat({name}=…)"
            raise ConfigError(f"variables cannot contain {name}: {setter} sets it", option="variables")
    if tools is not None and (isinstance(tools, str | bytes) or not all(isinstance(tool, Mapping) for tool in tools)):
        raise ConfigError("tools is a list of objects: JSON schemas", option="tools")
    source = choose(tok.definition.chat_template, template, tools=bool(tools))
    if template in PRESETS and source == PRESETS[template].source:
        _check_tokens(tok, template)
    given = {"documents": None, **variables, "tools": tools}
    text, pieces = render(
        source, messages, given, {**own, "add_generation_prompt": add_generation_prompt}, list(tok.special_tokens)
    )
    encoding = encode(tok, text, pieces, special)
    return Chat(text, encoding, pieces, _turns(messages, pieces, encoding), _mask(pieces, encoding))


_KEYWORDS = ("add_generation_prompt", "tools", "template", "special", "variables")


def refuse_keywords(unknown: Mapping[str, Any]) -> None:
    """Rejects unknown keywords of `Tokenizer.chat`, with a hint at `variables`.

    Raises:
        TypeError: there is an unknown keyword.

    Examples:
        >>> refuse_keywords({"enable_thinking": False})
        Traceback (most recent call last):
            ...
        TypeError: chat() has no keyword 'enable_thinking'; a variable of the template: variables={'enable_thinking': …}
    """
    for name in unknown:
        close = get_close_matches(name, _KEYWORDS, 1)
        hint = f"did you mean {close[0]}=…? Or " if close else ""
        raise TypeError(f"chat() has no keyword {name!r}; {hint}a variable of the template: variables={{{name!r}: …}}")


def _check_tokens(tok: _Tokenizer, name: str) -> None:
    missing = [token for token in PRESETS[name].tokens if token not in tok.special_tokens]
    if missing:
        raise ChatTemplateError(
            f"the template {name!r} needs special tokens that the tokenizer lacks: {', '.join(map(repr, missing))}; "
            f"tok.add_tokens({missing!r}) has them"
        )


def _turns(messages: Sequence[Mapping[str, Any]], pieces: Sequence[RenderedRun], encoding: Encoding) -> list[Turn]:
    turns = [Turn(index, message["role"], [], []) for index, message in enumerate(messages)]
    token = 0
    starts = [start for start, _ in encoding.char_spans]
    for piece, end in zip(pieces, accumulate(piece.length for piece in pieces), strict=True):
        first, token = token, bisect_left(starts, end, token)  # a token belongs to the run it begins in
        if piece.turn is not None:
            _extend(turns[piece.turn].char_spans, end - piece.length, end)
            _extend(turns[piece.turn].token_spans, first, token)
    return turns


def _extend(spans: list[tuple[int, int]], start: int, end: int) -> None:
    if spans and spans[-1][1] == start:
        spans[-1] = (spans[-1][0], end)
    elif start < end:
        spans.append((start, end))


def _mask(pieces: Sequence[RenderedRun], encoding: Encoding) -> list[bool] | None:
    """Marks each token that overlaps a generated run."""
    ends = accumulate(piece.length for piece in pieces)
    generated = [(end - piece.length, end) for piece, end in zip(pieces, ends, strict=True) if piece.origin.generated]
    if not generated:
        return None
    mask, at = [], 0
    for start, end in encoding.char_spans:
        while at < len(generated) and generated[at][1] <= start:
            at += 1
        mask.append(at < len(generated) and generated[at][0] < max(end, start + 1))
    return mask
