"""`Conversation`: a chat as ids that only grow; the ids that a model sampled are never changed.

    prompt ids │ sampled ids │ closing │ messages, generation prompt │ sampled ids │ …

Text that the template writes is encoded once. Before it is appended, the template renders the messages, and the
rendering is compared with the previous one (`proof`):

1. the rendering must begin with the text of the previous prompt, generation prompt included;
2. after that text, the rendering must contain the reply: either the sampled text, in which only white space can
   differ, or all fields of the message that the caller passed;
3. the text after the reply is appended, without the stop token if the model sampled it.

If condition 1 or 2 fails, nothing is appended.

Time: each turn takes a rendering of at most 50 messages and an encoding of the new text. In a longer conversation,
messages in the middle are left out of the rendering if the text of all other messages stays the same. It is then
assumed that the template does not change the omitted messages later. All messages are rendered each time the number of
messages has grown by a quarter, and in each call of `Conversation.prove`. If leaving out messages changes the text of
other messages, every rendering includes all messages.

Left out: a reply that is sampled in several calls. `parsing` parses replies.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from operator import attrgetter, index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from ..errors import ChatTemplateError, ConfigError, SpecialTokenError
from ..tokens.special import Special
from ..util.arguments import flag, wrong
from . import parsing
from .encode import MaskedChat, char_spans, encode
from .prepared import PreparedTemplate, TemplateTokenizer, prepare
from .proof import (
    Located,
    Rendering,
    SampledReply,
    describe_change,
    describe_difference,
    locate,
    message_range,
    quoted,
)
from .provenance import CALLER, TEMPLATE
from .template import REASONING, RenderedRun
from .values import num_shared

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .._core import TextStream

__all__ = ["Conversation", "ConversationTokenizer", "IdSpan", "conversation"]

# When new text is encoded, ids before it are encoded again: from the last special token on, but at most this number.
_CONTEXT = 16
# To find a special token at a given place in a text, at most this number of characters on each side is searched.
_NEAR = 100
_PLACEHOLDER = "reply"
_PROBE = {"role": "user", "content": "."}
# `_MOST_SHOWN`: above this number, messages are left out of renderings; 48 messages render in a few milliseconds.
# `_LEAST_SHOWN`: number of messages at the end that are never left out, so that each rendering has several turns.
_MOST_SHOWN, _LEAST_SHOWN = 48, 16
_GROWTH = 1.25  # all messages are rendered again when their number has grown by this factor: amortized O(1) per turn


class ConversationTokenizer(TemplateTokenizer, Protocol):
    """The part of a tokenizer's interface that a conversation needs."""

    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...  # noqa: D102
    def decode(self, ids: list[int]) -> str: ...  # noqa: D102
    def stream(self, prompt_ids: list[int]) -> TextStream: ...  # noqa: D102


SpanSource: TypeAlias = Literal["message", "header", "sampled", "closing", "template"]


class IdSpan(NamedTuple):
    """A range of ids of a conversation, and its author.

    Attributes:
        source: ``"message"``: a message of the caller and the template's text around it; ``"header"``: the generation
            prompt; ``"sampled"``: the model; ``"closing"``: the template, after a sampled reply; ``"template"``: other
            text, from the template, tools or variables.
        message: index of the message in `Conversation.messages`. For ``"header"``: index of the reply that follows the
            header. For ``"template"``: None.
        start, end: half-open range of indices into `Conversation.ids`.
    """

    source: SpanSource
    message: int | None
    start: int
    end: int


class Tail(NamedTuple):
    """Position of the new text in a rendering.

    Attributes:
        kept: number of characters at the start of the previous prompt that the rendering leaves unchanged.
        start: index of the first character of the new text, which follows the reply and the text that closes the turn.
    """

    kept: int
    start: int


class Encoded(NamedTuple):
    """The ids of a text, which is encoded together with the context before it.

    Attributes:
        rendering: the context and the text.
        ids: ids of the context and the text.
        segments: second result of `encode`.
        num_before: number of ids of the context.
        start: number of characters of the context.
    """

    rendering: Rendering
    ids: list[int]
    segments: MaskedChat | None
    num_before: int
    start: int

    def char_starts(self, tok: TemplateTokenizer) -> NDArray[np.int64]:
        """Returns for each id the index of its first character in the rendering."""
        return char_spans(tok, self.rendering.text, self.ids, self.segments)[:, 0]


class _Part(NamedTuple):
    """A rendered text and its ids, for which no `IdSpan` has been computed yet.

    Attributes:
        start, end: half-open range of indices into the ids of the conversation.
        encoded: the text and its ids.
        shift: a message's index in the conversation minus its index in the rendering.
        reply: index of the sampled message before the text; None for the first prompt.
        opened: if the text ends with a generation prompt, the index of the reply that follows the prompt. If the text
            closes a turn, None.
    """

    start: int
    end: int
    encoded: Encoded
    shift: int
    reply: int | None
    opened: int | None


class Conversation:
    """A chat as ids, in which sampled ids are never replaced by other ids; created by `Tokenizer.conversation`.

    The order of calls is: read `prompt_ids` and sample; `add_sampled`; `add` the next messages; read `prompt_ids` …

    `add` renders the messages to prove that the template does not change earlier text. If there are more than 48
    messages, `add` renders only the first and the last of them. It renders all messages when their number has grown by
    a quarter; `prove` renders all of them at any time.

    Attributes:
        refusal: the reason why the last call of `add` appended nothing; else None.

    Examples:
        >>> import jeton
        >>> tokens = ["<|im_start|>", "<|im_end|>"]
        >>> tok = jeton.train(["hi there you"], 256 + 2, special_tokens=tokens, progress=False)
        >>> conv = tok.conversation([{"role": "user", "content": "hi"}], template="chatml")
        >>> tok.decode(conv.prompt_ids)
        '<|im_start|>user\\nhi<|im_end|>\\n<|im_start|>assistant\\n'
        >>> conv.add_sampled(tok.encode("hello<|im_end|>", special="all"))
        >>> tok.decode(conv.add([{"role": "user", "content": "bye"}]))
        '<|im_start|>user\\nbye<|im_end|>\\n<|im_start|>assistant\\n'
        >>> tok.decode([id for id, sampled in zip(conv.ids, conv.mask) if sampled])
        'hello<|im_end|>'
    """

    refusal: str | None

    def __init__(
        self,
        tok: ConversationTokenizer,
        template: PreparedTemplate,
        messages: Sequence[Mapping[str, Any]],
        *,
        special: Special,
        keep_sampled: bool,
    ) -> None:
        self._tok = tok
        self._template = template
        self._special = special
        self._keep_sampled = keep_sampled
        self._messages: list[Mapping[str, Any]] = copy.deepcopy(list(messages))
        self._rendered = list(self._messages)  # as passed to the template; `add` appends a reply only after checking it
        self._skipped = (0, 0)  # range of `_rendered` that is left out of renderings
        # Parts of the rendered text. Joined, the parts equal the rendering of `_rendered` with the generation prompt.
        self._texts: list[str] = []
        self._num_whole = len(self._messages)  # number of messages in the last rendering that included all messages
        self._can_skip = True
        self._ids: list[int] = []
        self._spans: list[IdSpan] = []
        self._parts: list[_Part] = []  # parts whose spans are computed on access and appended to `_spans`
        self._sampled: list[tuple[int, int]] = []
        self._reply: SampledReply | None = None
        self.refusal = None
        self._prompt = self._render(self._rendered, True)  # the last rendering; the next one must begin with its text
        self._texts.append(self._prompt.text)
        self._append(self._encode(self._prompt, []), reply=None, opened=len(self._messages))

    # ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def ids(self) -> list[int]:
        """All ids so far, in order."""
        return list(self._ids)

    @property
    def prompt_ids(self) -> list[int]:
        """All ids so far, which are the model's input: they end with the generation prompt.

        Raises:
            ConfigError: the last turn has been sampled, and `add` has not started the next one.
        """
        if self._reply is not None:
            raise ConfigError(
                "the conversation ends with a sampled turn; call add(messages) to open the next one, or "
                "add([]) for another turn of the model"
            )
        return list(self._ids)

    @property
    def mask(self) -> list[bool]:
        """For each id, whether the model sampled it."""
        mask = [False] * len(self._ids)
        for start, end in self._sampled:
            mask[start:end] = [True] * (end - start)
        return mask

    @property
    def spans(self) -> list[IdSpan]:
        """Ranges of ids with their authors, in order. Together they cover `ids` without gaps."""
        for part in self._parts:
            self._spans += _part_spans(self._tok, part)
        self._parts = []
        self._spans = sorted((span for span in self._spans if span.start < span.end), key=attrgetter("start"))
        return list(self._spans)

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages so far, including one for each sampled turn."""
        return copy.deepcopy(self._messages)

    # ── growth ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def add_sampled(self, ids: Iterable[int], message: Mapping[str, Any] | None = None) -> None:
        """Appends, unchanged, the ids that the model sampled for the current turn, and closes the turn.

        The template closes a turn with a text, such as a newline or a stop token that was not sampled. The end of this
        text may depend on whether another message follows. If so, `add` appends the end of the text later. The text
        before this end is appended now.

        Args:
            ids: the sampled ids, with or without the stop token.
            message: the reply as a message, for the template: ``content``, ``reasoning_content``, ``tool_calls``.
                None: a message of role ``assistant`` whose content is the decoded text without the stop token.

        Raises:
            UnknownTokenError: an id is not in the vocabulary.
            ConfigError: the turn was sampled already, or `message` is not a message.
        """
        if self._reply is not None:
            raise ConfigError(
                "the turn was sampled already: pass add_sampled all ids of a turn at once, and call add(messages) "
                "before the next one"
            )
        if message is not None and not isinstance(message, Mapping):
            raise wrong("message", message, 'a message: {"role": "assistant", "content": …}')
        sampled = _integers(ids)
        text, stop = self._decoded(sampled)
        if message is None:
            shown: Mapping[str, Any] = {"role": "assistant", "content": text}
        else:
            shown = {"role": "assistant", **copy.deepcopy(dict(message))}
        reply = SampledReply(text, stop, shown, message is not None)
        start, end = len(self._ids), len(self._ids) + len(sampled)
        closing = self._closing(reply, (self._ids[-_CONTEXT:] + sampled)[-_CONTEXT:])
        number = len(self._messages)
        self._ids += sampled
        self._sampled.append((start, end))
        self._spans.append(IdSpan("sampled", number, start, end))
        self._messages.append(shown)
        if closing is not None:
            reply = reply._replace(closing=closing.rendering.text[closing.start :])
            self._append(closing, reply=number, opened=None)
        self._reply = reply
        self.refusal = None

    def add(self, messages: Sequence[Mapping[str, Any]]) -> list[int] | None:
        """Appends messages and the generation prompt of the next turn, if the template does not change earlier text.

        Args:
            messages: messages after the sampled turn, such as tool results or the user's next message; can be empty.

        Returns:
            The ids that were appended to `ids`. None if nothing was appended; `refusal` has the reason.

        Raises:
            ConfigError: no turn has been sampled since the last call, or `messages` is not a list of messages.
            SpecialTokenError: as `Tokenizer.chat`.
        """
        if self._reply is None:
            raise ConfigError("the conversation waits for a sampled turn; call add_sampled(ids) before add(messages)")
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
            raise wrong("messages", messages, 'a list of {"role": …, "content": …}')
        new = copy.deepcopy(list(messages))
        refusal = ""
        for reply in self._readings(self._reply):
            added = [self._opaque(reply), *new]
            try:
                rendering = self._render([*self._shown, *added], True)
                tail = self._tail(rendering, reply, keeps=self._keep_sampled)
                if isinstance(tail, Tail):
                    encoded = self._encode(rendering.after(tail.start), self._ids[-_CONTEXT:])
                    cut = len(self._prompt.text) - tail.kept
                    text = rendering.text[tail.kept :]
                    if self._num_skipped and len(self._rendered) + len(added) >= _GROWTH * self._num_whole:
                        tail = self._difference_of_whole(added, cut, text) or tail
            except ChatTemplateError as error:
                tail = str(error)
            if isinstance(tail, Tail):
                break
            refusal = refusal or tail
        else:
            self.refusal = refusal
            return None
        number = len(self._messages) - 1
        appended = self._append(encoded, reply=number, opened=number + 1 + len(new))
        self._messages[-1:] = [reply.message, *new]
        self._rendered += added
        self._texts[-1] = self._texts[-1][: len(self._texts[-1]) - cut]
        self._texts.append(text)
        self._prompt = rendering
        self._reply = self.refusal = None
        if not self._num_skipped:
            self._num_whole = len(self._rendered)
        self._skip()
        return appended

    def parse(self, ids: Iterable[int]) -> parsing.Reply:
        """Parses ids that the model sampled for the current turn, before or after `add_sampled`; appends nothing.

        The forms in which the template writes reasoning and tool calls are derived from its renderings. Rendering the
        parsed message again must give the text of the ids; text that cannot be proved in this way stays in the content.
        See `jeton.chat.Reply`.

        Args:
            ids: the sampled ids, with or without the stop token.

        Raises:
            UnknownTokenError: an id is not in the vocabulary.

        Examples:
            >>> import jeton
            >>> tokens = ["<|im_start|>", "<|im_end|>"]
            >>> tok = jeton.train(["hi there you"], 256 + 2, special_tokens=tokens, progress=False)
            >>> conv = tok.conversation([{"role": "user", "content": "hi"}], template="chatml")
            >>> reply = conv.parse(tok.encode("hello<|im_end|>", special="all"))
            >>> reply.content, reply.reasoning, reply.tool_calls
            ('hello', None, [])
        """
        return self.parser()(ids)

    def parser(self) -> parsing.ReplyParser:
        """Returns the parser of replies for the current turn, before or after `add_sampled`."""
        before = self._messages if self._reply is None else self._messages[:-1]
        num_calls = sum(len(message.get("tool_calls") or ()) for message in before)
        return parsing.ReplyParser(self._tok, self._template, self._shown, num_calls=num_calls)

    def copy(self) -> Conversation:
        """Returns an independent conversation with the same ids, to continue in another branch.

        Examples:
            >>> import jeton
            >>> tokens = ["<|im_start|>", "<|im_end|>"]
            >>> tok = jeton.train(["hi there you"], 256 + 2, special_tokens=tokens, progress=False)
            >>> conv = tok.conversation([{"role": "user", "content": "hi"}], template="chatml")
            >>> branch = conv.copy()
            >>> branch.add_sampled([104])
            >>> len(conv.ids) < len(branch.ids)
            True
        """
        made = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(made, name, value[:] if isinstance(value, list) else value)
        return made

    __copy__ = copy  # Python's shallow copy would share the lists, which grow

    def __repr__(self) -> str:
        state = "waits for a sampled turn" if self._reply is None else "waits for messages"
        return f"Conversation({len(self._messages)} messages, {len(self._ids)} ids, {state})"

    # ── proof ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def prove(self) -> bool:
        """Renders all messages up to the last generation prompt, and compares the result with the text of `ids`.

        `add` does the same in each call while the conversation is short, and less often later: see `Conversation`.

        Returns:
            Whether both texts are equal; if not, `refusal` has the reason.
        """
        try:
            self.refusal = self._difference_of_whole([], 0, "")
        except ChatTemplateError as error:
            self.refusal = str(error)
        return self.refusal is None

    def _difference_of_whole(self, added: list[Mapping[str, Any]], cut: int, text: str) -> str | None:
        """Renders all messages. If the result differs from the conversation's text, returns the reason.

        Args:
            added: messages that are being added.
            cut: number of characters at the end of the conversation's text that `text` replaces.
            text: new end of the conversation's text, with the added messages.
        """
        rendering = self._render([*self._rendered, *added], True)
        expected = "".join(self._texts)
        expected = expected[: len(expected) - cut] + text
        if expected == rendering.text:
            self._num_whole = len(self._rendered) + len(added)
            return None
        # The conversation's text is stored without runs (who wrote which characters). Up to the first difference, the
        # new rendering has the same text, so the runs of the new rendering are used for both texts.
        at = self._token_start(expected, num_shared(expected, rendering.text))
        was = Rendering(expected, [*rendering.before(at).runs, RenderedRun(len(expected) - at, TEMPLATE, None)])
        reason = describe_difference(was, rendering, at)
        return f"{reason}; the last rendering of all messages had {self._num_whole} of them"

    def _tail(self, rendering: Rendering, reply: SampledReply, *, keeps: bool) -> Tail | str:
        """Finds where the new text starts in a rendering. The new text follows the reply and the closing of the turn.

        Args:
            rendering: messages, the reply, and messages after it.
            reply: the reply.
            keeps: if true, the reply and the generation prompt in the rendering may differ from the conversation's
                text.
        """
        index = len(self._shown)
        start = self._reply_start(rendering, keeps=keeps)
        if isinstance(start, str):
            return start
        located = locate(rendering, index, start, reply)
        if isinstance(located, str) and keeps:
            located = self._other_stop(rendering, start, reply) or located
        if isinstance(located, str):
            return located
        changed = None if keeps else describe_change(rendering, index, start, located, reply, len(self._messages) - 1)
        if changed:
            return changed
        if not rendering.text.startswith(reply.closing, located.tail):
            written = rendering.text[located.tail :][: len(reply.closing)]
            return (
                f"the template closes the turn with {quoted(written)} before these messages, but with "
                f"{quoted(reply.closing)} at the end of a chat"
            )
        return Tail(start, located.tail + len(reply.closing))

    def _other_stop(self, rendering: Rendering, start: int, reply: SampledReply) -> Located | None:
        """Locates a reply whose stop token changes if messages follow, as in gpt-oss; None for other replies."""
        final = self._render([*self._shown, self._opaque(reply)], False)
        index = len(self._shown)
        located = locate(final, index, start, reply)
        if isinstance(located, str):
            return None
        at, here = (message_range(each, index, start)[0] for each in (final, rendering))
        between = final.text[at : located.end]
        end = here + len(between)
        if rendering.text[here:end] != between:
            return None
        for match in self._tok._special_matcher(rendering.text[end : end + _NEAR]):
            if match.start == 0 and rendering.is_template(end, end + match.end):
                return Located(end, end + match.end)
        return None

    def _reply_start(self, rendering: Rendering, *, keeps: bool) -> int | str:
        """Returns the index at which the reply begins; if the rendering changes earlier text, describes the change."""
        prompt = self._prompt
        if rendering.text.startswith(prompt.text):
            return len(prompt.text)
        base = num_shared(prompt.text, self._render(self._shown, False).text)
        if rendering.text.startswith(prompt.text[:base]):
            if keeps:
                return base
            was, is_now = prompt.text[base:], rendering.text[base:]
            return (
                f"the template begins the sampled turn with {quoted(is_now)}, but the generation prompt was "
                f"{quoted(was)}"
            )
        at = self._token_start(prompt.text, num_shared(prompt.text, rendering.text))
        return describe_difference(self._numbered(prompt), self._numbered(rendering), at)

    def _numbered(self, rendering: Rendering) -> Rendering:
        """Converts a rendering's message indices, which omit skipped messages, to indices in the conversation."""
        return Rendering(
            rendering.text,
            [
                RenderedRun(
                    run.length, run.origin._replace(message=self._number(run.origin.message)), self._number(run.turn)
                )
                for run in rendering.runs
            ],
        )

    def _number(self, shown: int | None) -> int | None:
        """Converts a message's index in `_shown` (the template's input) to the message's index in the conversation."""
        if shown is None or shown < self._skipped[0]:
            return shown
        return shown + self._num_skipped

    def _token_start(self, text: str, char: int) -> int:
        """If the index `char` is inside a special token, returns the start of this token; otherwise returns `char`."""
        offset = max(0, char - _NEAR)
        for match in self._tok._special_matcher(text[offset : char + _NEAR]):
            if match.start < char - offset < match.end:
                return match.start + offset
        return char

    def _closing(self, given: SampledReply, before: list[int]) -> Encoded | None:
        """Returns the text that closes a sampled turn. If a following message changes the text's end, omits this end.

        Returns None if the template raises an error, or if the reply is not found in the rendering.

        Args:
            given: the sampled reply.
            before: the last ids of the conversation, including the sampled ids.
        """
        for reply in self._readings(given):
            shown = [*self._shown, self._opaque(reply)]
            texts = []
            for following in ([], [_PROBE]):
                try:
                    rendering = self._render([*shown, *following], bool(following))
                except ChatTemplateError:
                    break
                tail = self._tail(rendering, reply, keeps=True)
                if isinstance(tail, Tail):
                    texts.append(rendering.after(tail.start))
            if len(texts) == 2:
                last, followed = (text.before(text.template_end()) for text in texts)
                # The text may include the beginning of the next turn; only the text of this turn is used.
                ends = accumulate(run.length for run in last.runs)
                others = (
                    end - run.length for run, end in zip(last.runs, ends, strict=True) if run.turn != len(shown) - 1
                )
                own = next(others, len(last.text))
                common = last.before(min(own, self._shared_ids(last, followed, before)))
                return self._encode(common, before)
        return None

    def _readings(self, reply: SampledReply) -> list[SampledReply]:
        """Returns the reply, and in one case a second version, in which the last token is part of the text.

        The case: the last token is an added token that is not special, such as ``</think>``, and the caller gave no
        message for the reply.
        """
        if not reply.stop or reply.is_parsed or reply.stop in self._tok.special_tokens:
            return [reply]
        text = reply.text + reply.stop
        return [reply, reply._replace(text=text, stop="", message={"role": "assistant", "content": text})]

    def _opaque(self, reply: SampledReply) -> Mapping[str, Any]:
        """Returns the reply as a message for the template; with ``keep_sampled``, the content is a placeholder."""
        message = reply.message
        if not self._keep_sampled:
            return message
        kept = {key: value for key, value in message.items() if key not in REASONING}
        if kept.get("content") or not kept.get("tool_calls"):
            kept["content"] = _PLACEHOLDER
        return kept

    # ── messages that are rendered ───────────────────────────────────────────────────────────────────────────────────

    @property
    def _num_skipped(self) -> int:
        return self._skipped[1] - self._skipped[0]

    @property
    def _shown(self) -> list[Mapping[str, Any]]:
        """The messages that are passed to the template."""
        first, end = self._skipped
        return self._rendered[:first] + self._rendered[end:]

    def _skip(self) -> None:
        """Excludes messages in the middle from later renderings, if the text of the other messages stays the same."""
        num_shown = len(self._rendered) - self._num_skipped
        if num_shown <= _MOST_SHOWN or not self._can_skip:
            return
        roles = [message.get("role") for message in self._rendered]
        first = roles.index("assistant") if "assistant" in roles else len(roles)
        ends = [at for at in range(len(roles) - _LEAST_SHOWN, first, -1) if roles[at] == "assistant"]
        alike = [at for at in ends if roles[at - 1] == (roles[first - 1] if first else None)]
        self._can_skip = False
        for end in [*alike[:1], *ends[:1]]:
            try:
                rendering = self._render(self._rendered[:first] + self._rendered[end:], True)
            except ChatTemplateError:
                continue
            text, rest = self._prompt.text, rendering.text
            begin = num_shared(text, rest)
            if text.endswith(rest[begin:]):
                self._skipped, self._prompt = (first, end), rendering
                self._can_skip = True
                return

    # ── text and ids ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _render(self, messages: Sequence[Mapping[str, Any]], prompt: bool) -> Rendering:
        return Rendering(*self._template.render(messages, add_generation_prompt=prompt))

    def _decoded(self, ids: list[int]) -> tuple[str, str]:
        """Returns the text that ids add, and the spelling of the last id if it is an added token, else ``""``."""
        added = self._tok.added_tokens.get(ids[-1]) if ids else None
        stop = "" if added is None else added.content
        stream = self._tok.stream(self._ids[-_CONTEXT:])
        text = stream.push(ids[:-1] if stop else ids) + stream.finish()
        return text, stop

    def _append(self, encoded: Encoded, *, reply: int | None, opened: int | None) -> list[int]:
        """Appends the ids of an encoded text. `reply` and `opened` are fields of `_Part`."""
        start = len(self._ids)
        self._ids += encoded.ids[encoded.num_before :]
        self._parts.append(_Part(start, len(self._ids), encoded, self._num_skipped, reply, opened))
        return self._ids[start:]

    def _encode(self, rendering: Rendering, before: list[int]) -> Encoded:
        """Encodes text that follows given ids.

        Args:
            rendering: the text.
            before: the last ids before it, at most `_CONTEXT`.
        """
        context, before = self._context(before)
        whole = Rendering(context.text + rendering.text, context.runs + rendering.runs)
        with suppress(SpecialTokenError):  # if the text itself causes the error, the call below raises it again
            ids, segments = encode(self._tok, whole.text, whole.runs, self._special)
            start = len(context.text)
            if ids[: len(before)] == before:
                return Encoded(whole, ids, segments, len(before), start)
            # The encoding does not begin with the ids of the context. A cause: for the text of the context, the model
            # sampled other ids than the encoder returns. If no token of the encoding crosses the start of the new text,
            # the ids from this start on are used.
            spans = char_spans(self._tok, whole.text, ids, segments)
            num_before = int((spans[:, 1] <= start).sum())
            if not (spans[num_before:, 0] < start).any():
                return Encoded(whole, ids, segments, num_before, start)
        ids, segments = encode(self._tok, rendering.text, rendering.runs, self._special)
        # Encoded without the context: the context causes an error, or a token crosses the start of the new text.
        return Encoded(rendering, ids, segments, 0, 0)

    def _shared_ids(self, first: Rendering, second: Rendering, before: list[int]) -> int:
        """Returns the number of leading characters that are equal in two texts and also have equal ids.

        Args:
            first, second: the texts.
            before: the last ids before each text, at most `_CONTEXT`.
        """
        common = num_shared(first.text, second.text)
        encoded, other = self._encode(first, before), self._encode(second, before)
        same = next(
            (at for at, pair in enumerate(zip(encoded.ids, other.ids, strict=False)) if pair[0] != pair[1]),
            min(len(encoded.ids), len(other.ids)),
        )
        if same == len(encoded.ids):
            return common
        return min(common, max(int(encoded.char_starts(self._tok)[same]) - encoded.start, 0))

    def _context(self, before: list[int]) -> tuple[Rendering, list[int]]:
        """Drops the ids of `before` that precede the last special token (if any); returns the rest as text and ids."""
        known = self._tok.added_tokens
        starts = (at for at in reversed(range(len(before))) if before[at] in known and known[before[at]].special)
        start = next(starts, None)
        if start is None:
            text = self._tok.decode(before)
            return Rendering(text, [RenderedRun(len(text), CALLER, None)]), before
        own = known[before[start]].content
        stream = self._tok.stream([before[start]])
        text = stream.push(before[start + 1 :]) + stream.finish()
        runs = [RenderedRun(len(own), TEMPLATE, None), RenderedRun(len(text), CALLER, None)]
        return Rendering(own + text, runs), before[start:]


def _integers(ids: Iterable[int]) -> list[int]:
    try:
        return [index(id) for id in ids]
    except TypeError:
        raise wrong("ids", ids, "a sequence of integer ids") from None


# ── spans ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _part_spans(tok: TemplateTokenizer, part: _Part) -> list[IdSpan]:
    """Assigns the ids of a rendered text to messages. An id belongs to the run that contains its first character."""
    if part.opened is None:
        return [IdSpan("closing", part.reply, part.start, part.end)]
    runs = part.encoded.rendering.runs
    starts = part.encoded.char_starts(tok)
    ends = list(accumulate(run.length for run in runs))
    num_messages = max((number for number, run in enumerate(runs, 1) if run.turn is not None), default=0)
    spans: list[IdSpan] = []
    # `part.encoded.ids` has the ids of the context, then the ids of the text. `at`: index in the conversation at which
    # the context begins.
    at = part.end - len(part.encoded.ids)
    first = part.start
    for number, (run, last) in enumerate(zip(runs, starts.searchsorted(ends).tolist(), strict=True)):
        end = max(at + last, first)
        message = None if run.turn is None else run.turn + part.shift
        source: SpanSource = "template"
        if message is not None:
            source = "closing" if message == part.reply else "message"
        elif number >= num_messages and (num_messages or part.reply is not None):
            source, message = "header", part.opened
        _extend(spans, IdSpan(source, message, first, end))
        first = end
    return spans


def _extend(spans: list[IdSpan], span: IdSpan) -> None:
    """Appends a span, or extends the last span if both have the same source and message."""
    if spans and spans[-1][:2] == span[:2]:
        spans[-1] = spans[-1]._replace(end=span.end)
    elif span.start < span.end:
        spans.append(span)


def conversation(
    tok: ConversationTokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    special: Special,
    tools: Sequence[Mapping[str, Any]] | None = None,
    template: str | None = None,
    variables: Mapping[str, Any],
    keep_sampled: bool = False,
) -> Conversation:
    """Implements `Tokenizer.conversation`."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise wrong("messages", messages, 'a list of {"role": …, "content": …}')
    if not messages:
        raise ConfigError("messages is empty: a conversation begins with at least one message", option="messages")
    flag(keep_sampled, "keep_sampled")
    prepared = prepare(tok, tools=tools, template=template, variables=variables)
    return Conversation(tok, prepared, messages, special=special, keep_sampled=keep_sampled)
