"""Chats: messages → one text → ids, by a chat template.

    messages ─ template (in a sandbox) ─►  text with the origin of each character  ─ encode ─►  ids

A special token that the template itself writes is encoded as a control token. The text of a message is never encoded
as a control token, even if it spells one.

```text
template      selects and renders a template; prepared: a template with its variables; presets/: templates for
              tokenizers that have none
sandbox       runs a template, compiled by compiling, with filters and functions; clock: the time that a template reads
limits        limits of memory, time and output; costs, formatting: bounds of an operation, computed before it runs
provenance    strings that keep the origin of each character; markup: the same for escaped text
encode        rendered text → ids; only the template writes special tokens
replies       finds the text that a model generates; masks: finds the ids of this text; continuing: prompts that end in
              a prefilled reply
conversation  ids that only grow, turn by turn; proof: checks that the next rendering contains a sampled reply
parsing       reply → message; grammar, nesting and readings: the forms in which the template writes replies
harmony       the messages of gpt-oss, without a template; typescript: the tools in them
canonical     ids that are equal to the encoding of their text; drift: the first ids that are not
difference    first difference of two prompts, with its cause; it uses requests, prompts, authors and values
count         prompt tokens as OpenAI bills them
```

Left out: images and sounds in messages (a template gets them as items of the content), calling models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

from ..encoding import Encoding
from ..errors import ChatTemplateError, ConfigError, JetonError, keyword
from ..tokens.special import Special
from ..util.arguments import choice, flag, wrong
from ..util.lazy import cached_property
from .continuing import continued
from .conversation import Conversation, IdSpan
from .encode import ChatTokenizer, MaskedChat, char_spans, encode, tokenize
from .masks import MaskDifference, MaskSource, MaskTurns, differences, ids_of, marked_spans, without
from .parsing import Reply
from .prepared import TemplateTokenizer, added_spellings, check_tokens, prepare, presets_for
from .presets import PRESETS, ChatPreset
from .provenance import Origin
from .replies import RenderedMessages, ReplySpans, find_replies
from .template import RenderedRun, choose, given_messages, has_generation, is_refusal, render, templates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "PRESETS",
    "Chat",
    "ChatOptions",
    "ChatPreset",
    "Conversation",
    "IdSpan",
    "MaskDifference",
    "Messages",
    "Origin",
    "RenderedRun",
    "Reply",
    "ReplySpans",
    "Turn",
    "chat",
    "check_tokens",
    "checked_templates",
    "has_generation",
    "presets_for",
    "refuse_keywords",
    "templates",
]


Messages: TypeAlias = Sequence[Mapping[str, Any]]
MAX_TURNS_SHOWN, MAX_TOKENS_SHOWN = 50, 2000  # limits of the drawing in a notebook


class ChatOptions(TypedDict, total=False):
    """Keyword arguments of `Tokenizer.chat` that do not change the type of its result."""

    add_generation_prompt: bool
    continue_final_message: bool | str
    tools: Sequence[Mapping[str, Any]] | None
    template: str | None
    special: Special | None
    variables: Mapping[str, Any] | None


class Turn(NamedTuple):
    """Spans of one message, which cover its content and the template's text around it.

    Attributes:
        message: index of the message.
        role: role of the message.
        char_spans: half-open ranges of characters in the text, in order; nearly always a single range.
        token_spans: half-open ranges of indices into the ids, in order.
    """

    message: int
    role: str
    char_spans: list[tuple[int, int]]
    token_spans: list[tuple[int, int]]


@dataclass(frozen=True, eq=False, repr=False)
class Chat:
    """A rendered conversation and its ids. Tokens, turns and mask are computed on access.

    Attributes:
        text: the text that the template rendered.
        ids: the ids, in order.
        pieces: successive runs of characters with their origins; together they cover `text`.

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
    ids: list[int]
    pieces: list[RenderedRun]
    _rendered: RenderedMessages
    _source: tuple[ChatTokenizer, MaskedChat | None] | None

    @cached_property
    def encoding(self) -> Encoding:
        """The tokens of `text`, with their spans."""
        if self._source is None:
            raise RuntimeError("a chat without a tokenizer has its encoding")
        tok, segments = self._source
        return tokenize(tok, self.text, segments)

    @cached_property
    def turns(self) -> list[Turn]:
        """One `Turn` for each message; it has no spans if the template omits the message."""
        return _turns([message["role"] for message in self._rendered.messages], self.pieces, self._char_spans())

    @cached_property
    def mask(self) -> list[bool]:
        """For each id, whether the model generates it: the result of `reply_mask()` without arguments."""
        return self.reply_mask()

    def reply_mask(
        self,
        turns: MaskTurns = "all",
        *,
        reasoning: bool = True,
        stop: bool = True,
        source: MaskSource = "auto",
    ) -> list[bool]:
        """Returns for each id whether the model generates it; only such ids should count in the training loss.

        Args:
            turns: ``"all"`` selects all assistant messages, ``"last"`` only the last one.
            reasoning: False leaves out reasoning, with the template's text that begins and ends it.
            stop: False leaves out the stop token of each turn.
            source: ``"markers"``: the template's ``{% generation %}`` blocks; ``"provenance"``: `replies`, which are
                derived from the origin of the text, for any template; ``"auto"``: markers if the template has them.

        Returns:
            A boolean for each id. All are False if the template's ``{% generation %}`` blocks contain no text.

        Raises:
            ChatTemplateError: the renderings do not show which text is generated, or ``source="markers"`` and the
                template has no markers; the message has the reason.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["hi"], 256 + 2, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
            >>> chat = tok.chat([{"role": "assistant", "content": "hi"}], template="chatml")
            >>> [tok.decode([id]) for id, is_reply in zip(chat.ids, chat.reply_mask()) if is_reply]
            ['h', 'i', '<|im_end|>']
            >>> sum(chat.reply_mask(stop=False))
            2
        """
        choice(turns, "turns", ("all", "last"))
        choice(source, "source", ("auto", "markers", "provenance"))
        is_plain = flag(reasoning, "reasoning") and flag(stop, "stop") and turns == "all"
        if source == "markers" or (source == "auto" and self.has_markers):
            self._check_markers()
            marked = marked_spans(self.pieces)
            if not is_plain and marked:
                chosen = self._chosen(turns, reasoning, stop)
                everything = [span for reply in self.replies for span in reply.spans]
                marked = without(marked, without(everything, chosen))
                if turns == "last" and self.replies:
                    marked = without(marked, [(0, self.replies[-1].spans[0][0])])
            return _mask(marked, self._char_spans()) if marked else [False] * len(self.ids)
        found = self.replies if stop else []
        stops = [one for reply in (found if turns == "all" else found[-1:]) for one in reply.stops]
        spans = self._chosen(turns, reasoning, stop)
        return ids_of(spans, stops, self._char_spans()) if spans else [False] * len(self.ids)

    def _chosen(self, turns: MaskTurns, reasoning: bool, stop: bool) -> list[tuple[int, int]]:
        found = self.replies if turns == "all" else self.replies[-1:]
        spans = [span for reply in found for span in reply.spans]
        if not reasoning:
            spans = without(spans, [span for reply in found for span in reply.reasoning])
        return spans if stop else without(spans, [span for reply in found for span in reply.stops])

    @property
    def has_markers(self) -> bool:
        """True if the template has ``{% generation %}`` blocks, which mark the text that the model generates."""
        return has_generation(self._rendered.source)

    def _check_markers(self) -> None:
        if not self.has_markers:
            raise ChatTemplateError(
                "the chat template has no {% generation %} … {% endgeneration %}, which marks a reply"
            )

    @cached_property
    def replies(self) -> list[ReplySpans]:
        """The text that the model generates in each assistant message, derived from the origin of the text.

        The template's ``{% generation %}`` markers are not used. Parts of the conversation are rendered again, a few
        times for each kind of turn.

        Raises:
            ChatTemplateError: the renderings do not show which text is generated. The error names the message and the
                reason.
        """
        return find_replies(self._rendered, self.text, self.pieces)

    def mask_differences(self) -> list[MaskDifference]:
        """Compares the template's ``{% generation %}`` markers with `replies`.

        Returns:
            The ranges of characters that only one of the two covers, each with a reason; empty if they agree.

        Raises:
            ChatTemplateError: the template has no markers, or `replies` cannot be derived.

        Examples:
            >>> import jeton
            >>> tok = jeton.train(["hi"], 256 + 2, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
            >>> marked = (
            ...     "{% for m in messages %}{{ '<|im_start|>' + m.role }} {% generation %}{{ m.content }}"
            ...     "{% endgeneration %}<|im_end|>{% endfor %}"
            ...     "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
            ... )
            >>> found = tok.chat([{"role": "assistant", "content": "hi"}], template=marked).mask_differences()
            >>> [(one.text, one.is_marked, one.reason) for one in found]
            [('<|im_end|>', False, 'the stop token of message 0')]
        """
        self._check_markers()
        return differences(self._rendered, self.text, self.pieces, self.replies)

    def _char_spans(self) -> NDArray[np.int64]:
        """Returns the `char_spans` of `encoding` as int64[n, 2], without computing its other columns."""
        if self._source is None or "encoding" in self.__dict__:
            import numpy as np

            return np.array(self.encoding.char_spans, np.int64).reshape(-1, 2)
        tok, segments = self._source
        return char_spans(tok, self.text, self.ids, segments)

    def __getstate__(self) -> dict[str, Any]:  # pickles the spans instead of the tokenizer, which is large
        return {**self.__dict__, "encoding": self.encoding, "_source": None}

    def _repr_html_(self) -> str:
        from html import escape

        from ..drawing import to_html
        from ..drawing.theme import REPORT_CSS

        names = [f"{len(self._rendered.messages):,} messages", f"{len(self.ids):,} tokens"]
        if self._source is not None:
            names.append(repr(self._source[0]))
        rows = [
            (f"{turn.message + 1}", turn.role, f"{sum(end - start for start, end in turn.token_spans):,}")
            for turn in self.turns[:MAX_TURNS_SHOWN]
        ]
        lines = ["<tr><th>message</th><th>role</th><th class=number>tokens</th></tr>"]
        lines += [f"<tr><td>{at}</td><td>{escape(role)}</td><td class=number>{n}</td></tr>" for at, role, n in rows]
        left_out = len(self.turns) - len(rows)
        more = f"<p class=soft>… {left_out:,} messages more</p>" if left_out else ""
        drawing = self.encoding.drawing()
        if len(drawing) > MAX_TOKENS_SHOWN:
            more += f"<p class=soft>the first {MAX_TOKENS_SHOWN:,} tokens:</p>"
        parts = f"<p>{escape(' · '.join(names))}</p><table>{''.join(lines)}</table>{more}"
        parts += to_html(drawing.head(MAX_TOKENS_SHOWN))
        return f'<div class="jeton-report"><style>{REPORT_CSS}</style>{parts}</div>'

    def __repr__(self) -> str:
        more = "…" if len(self.text) > 60 else ""
        return f"Chat({len(self._rendered.messages)} messages, {len(self.ids)} tokens: {self.text[:60]!r}{more})"


def chat(
    tok: TemplateTokenizer,
    messages: Sequence[Any],
    *,
    special: Special,
    tokenize: bool = True,
    add_generation_prompt: bool = False,
    continue_final_message: bool | str = False,
    tools: Sequence[Mapping[str, Any]] | None = None,
    template: str | None = None,
    variables: Mapping[str, Any],
) -> Any:
    """Implements `Tokenizer.chat`."""
    flag(tokenize, "tokenize")
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise ConfigError('messages must be a list of {"role": …, "content": …}', option="messages")
    if not messages:
        raise ConfigError("messages is empty: a chat needs at least one message", option="messages")
    prepared = prepare(tok, tools=tools, template=template, variables=variables)
    continues = _continued_field(continue_final_message, add_generation_prompt)

    def one(conversation: Sequence[Mapping[str, Any]]) -> Chat | str:
        seen = given_messages(conversation)
        text, pieces = prepared.render(seen, add_generation_prompt=add_generation_prompt)
        if continues:
            text, pieces = continued(text, pieces, conversation[-1], len(conversation) - 1, continues)
        if not tokenize:
            return text
        ids, segments = encode(tok, text, pieces, special)
        own = {**prepared.own, "add_generation_prompt": add_generation_prompt}
        rendered = RenderedMessages(prepared.source, seen, deepcopy(prepared.given), own, tuple(prepared.controls))
        return Chat(text, ids, pieces, rendered, (tok, segments))

    return _each(messages, one) if _is_batch(messages) else one(messages)


def _continued_field(value: object, add_generation_prompt: object) -> str | None:
    """Returns the name of the last message's field that the model continues; None if it continues no field."""
    if not isinstance(value, str | bool) or value == "":
        raise wrong("continue_final_message", value, "True, False or a key of the last message")
    if value and add_generation_prompt:
        raise ConfigError(
            f"{keyword('continue_final_message')} continues a reply, {keyword('add_generation_prompt')} "
            "begins one; pass only one of them",
            option="continue_final_message",
        )
    return "content" if value is True else value or None


def _is_batch(messages: Sequence[Any]) -> bool:
    first = messages[0]
    if not isinstance(first, Sequence) or isinstance(first, str | bytes):
        return False
    return not first or not isinstance(first[0], str)  # ("user", "hi") is a malformed message, not a conversation


def _each(conversations: Sequence[Any], one: Callable[[Any], Chat | str]) -> list[Chat | str]:
    """Applies a function to each conversation of a batch; an error names the conversation."""
    made = []
    for index, messages in enumerate(conversations):
        try:
            if not isinstance(messages, Sequence) or isinstance(messages, str | bytes) or not messages:
                raise ConfigError("not a list of at least one message", option="messages")
            made.append(one(messages))
        except JetonError as error:
            error.prefix(f"conversation {index}: ")
            raise
    return made


# Keyword of `apply_chat_template` in transformers -> what to use in Jeton instead.
_FOREIGN_KEYWORDS = {
    "chat_template": "template=",
    **dict.fromkeys(("return_tensors", "return_dict"), "tok.chat(messages).ids, a list"),
    "return_assistant_tokens_mask": "tok.chat(messages).mask",
    "documents": 'variables={"documents": …}',
    "max_length": "len(tok.chat(messages).ids), to compare with a limit",
    "truncation": "len(tok.chat(messages).ids), to compare with a limit",
    "padding": "tok.chat(messages).ids, to pad with tok.pad_id",
}
_KEYWORDS = ("add_generation_prompt", "continue_final_message", "tokenize", "tools", "template", "special", "variables")


def refuse_keywords(unknown: Mapping[str, Any]) -> None:
    """Rejects unknown keywords of `Tokenizer.chat`, with a hint at `variables`.

    Raises:
        TypeError: there is an unknown keyword.

    Examples:
        >>> refuse_keywords({"greeting": "hi"})
        Traceback (most recent call last):
            ...
        TypeError: chat() has no keyword 'greeting'; pass variables of the template as variables={'greeting': …}
    """
    for name in unknown:
        if name in _FOREIGN_KEYWORDS:
            raise TypeError(f"chat() has no keyword {name!r}; in Jeton: {_FOREIGN_KEYWORDS[name]}")
        close = get_close_matches(name, _KEYWORDS, 1)
        hint = f"did you mean {close[0]}=…? Or " if close else ""
        raise TypeError(
            f"chat() has no keyword {name!r}; {hint}pass variables of the template as variables={{{name!r}: …}}"
        )


def checked_templates(tok: ChatTokenizer, template: object) -> Any:
    """Implements `Tokenizer.with_chat_template`: checks one or several templates, and returns their Jinja sources."""
    if template is None:
        return None
    if isinstance(template, Mapping):
        if not template:
            raise wrong("template", template, "a chat template, or several by name")
        return [{"name": name, "template": _checked(tok, one)} for name, one in template.items()]
    return _checked(tok, template)


def _checked(tok: ChatTokenizer, template: object) -> str:
    """Returns the source of a template, after a check that it compiles and renders.

    It renders a conversation of one message twice: with the content as a text, and as a list of parts. One of the two
    renderings must succeed, or the template itself must refuse the conversation.

    Args:
        tok: the tokenizer of the template.
        template: a name in `PRESETS`, or Jinja source.

    Raises:
        ChatTemplateError: the tokenizer lacks special tokens of the preset, there is no such preset, or the template is
            broken.
        ConfigError: the template is not a string.
    """
    if not isinstance(template, str) or not template:
        raise wrong("template", template, "a chat template (a string)")
    source = choose(None, template, tools=False)
    if template in PRESETS:
        check_tokens(template, added_spellings(tok))
    own = {f"{role}_token": token for role, token in tok.roles.items()}
    failed: ChatTemplateError | None = None
    for content in ("Hello", [{"type": "text", "text": "Hello"}]):
        messages = [{"role": "user", "content": content}]
        try:
            render(source, messages, {"documents": None, "tools": None}, {**own, "add_generation_prompt": True}, [])
            return source
        except ChatTemplateError as error:
            if is_refusal(error):
                return source
            failed = failed or error
    raise failed or RuntimeError("a template neither rendered nor failed")


def _turns(roles: Sequence[str], pieces: Sequence[RenderedRun], char_spans: NDArray[np.int64]) -> list[Turn]:
    turns = [Turn(index, role, [], []) for index, role in enumerate(roles)]
    ends = list(accumulate(piece.length for piece in pieces))
    start = first = 0
    # A token belongs to the run that contains its first character.
    for piece, end, token in zip(pieces, ends, char_spans[:, 0].searchsorted(ends).tolist(), strict=True):
        if piece.turn is not None:
            turn = turns[piece.turn]
            _extend(turn.char_spans, start, end)
            _extend(turn.token_spans, first, token)
        start, first = end, token
    return turns


def _extend(spans: list[tuple[int, int]], start: int, end: int) -> None:
    if spans and spans[-1][1] == start:
        spans[-1] = (spans[-1][0], end)
    elif start < end:
        spans.append((start, end))


def _mask(generated: Sequence[tuple[int, int]], char_spans: NDArray[np.int64]) -> list[bool]:
    """Returns for each token whether it overlaps a generated range. An empty span counts as one character."""
    import numpy as np

    first, last = np.array(generated).T
    starts, ends = char_spans.T
    at = last.searchsorted(starts, side="right")  # index of the first run that ends after the token's start
    begins = np.append(first, np.iinfo(np.int64).max)[at]
    mask: list[bool] = (begins < np.maximum(ends, starts + 1)).tolist()
    return mask
