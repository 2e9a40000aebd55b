"""Random conversations with a simulated model, and the invariants of `Conversation`.

The sampled replies are read from renderings of the whole chat. The checks compare with the whole chat as well,
so they share only `tok.chat` with the code that they check.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import cache
from itertools import accumulate
from typing import Any

import jeton
from jeton.chat import Conversation
from jeton.errors import ChatTemplateError

from ..material import CORPUS
from .test_published import TOOLS, call, reply, result, user

MARKER = re.compile(r"<[|｜/a-zA-Z_][^<>\s'\"{}=]{0,40}>|\[/?[A-Z_]{3,}\]|\[e~\[|\]~!?b[\[\]]")
WORDS = ("the weather", "ok", "今天", " é", "\n", "a  b", "x < y & z", "1 + 1 = 2", "😉", "<|im_end|>", "\n\n", "rain")
PLAIN = ("<think>", "</think>", "<tool_call>", "</tool_call>")  # text, as in the vocabularies of some models


@cache
def base() -> jeton.Tokenizer:
    return jeton.train([CORPUS], 450, pattern="gpt2", progress=False)


@cache
def tokenizer_of(source: str) -> jeton.Tokenizer:
    """A tokenizer with the special tokens of a template."""
    markers = sorted({*MARKER.findall(source)} - {*PLAIN})
    return base().add_tokens([*markers, "<s>", "</s>"])._with_facts(roles={"bos": "<s>", "eos": "</s>"})


def text(rng: random.Random) -> str:
    return "".join(rng.choice(WORDS) for _ in range(rng.randint(1, 4))).strip()


def dense(text: str) -> str:
    return "".join(text.split())


def in_bytes(tok: jeton.Tokenizer, ids: list[int]) -> list[int]:
    """Ids of the same text with one token for each byte; added tokens stay."""
    single = {tok.id_to_bytes(id): id for id in range(256)}
    return [
        part
        for id in ids
        for part in ([id] if id in tok.added_tokens else [single[bytes([b])] for b in tok.id_to_bytes(id)])
    ]


class Rollout:
    """A conversation with a template, turn by turn; `counts` says what happened."""

    def __init__(self, source: str, rng: random.Random, counts: Counter[str]) -> None:
        self.tok = tokenizer_of(source)
        self.rng, self.counts = rng, counts
        self.options: dict[str, Any] = {"template": source, "tools": TOOLS if rng.random() < 0.4 else None}
        self.is_canonical = True
        self.sampled: list[tuple[int, int]] = []

    def run(self) -> None:
        system = [{"role": "system", "content": "Be short."}] if self.rng.random() < 0.4 else []
        messages = [*system, user("q " + text(self.rng))]
        if self.render(messages, prompt=True) is None:  # some templates need tools, or have no system message
            messages = messages[-1:]
            self.options |= {"tools": TOOLS, "variables": {"datetime": "now", "functions": "[]"}}
        try:
            conv = self.tok.conversation(messages, **self.options)
        except ChatTemplateError:
            self.counts["no first prompt"] += 1
            return
        for _ in range(self.rng.randint(1, 4)):
            if not self.turn(conv):
                return
        self.counts["complete conversations"] += 1

    def render(self, messages: Any, *, prompt: bool) -> str | None:
        try:
            return self.tok.chat(messages, add_generation_prompt=prompt, **self.options).text
        except ChatTemplateError:
            return None

    def written(self, messages: Any, message: Any, following: Any) -> tuple[str, str] | None:
        """What a model that learned the template writes for a message, and its stop token; None if that is unknown.

        It is read from the chat with following messages, or from the one without if only that one has the prompt. A
        reply with reasoning is read from the latter, as the template may drop the reasoning when messages follow.
        """
        prompt = self.render(messages, prompt=True)
        final = self.render([*messages, message], prompt=False)
        try:
            chat = self.tok.chat([*messages, message, *following], add_generation_prompt=True, **self.options)
            if "reasoning_content" in message or not chat.text.startswith(prompt or ""):
                chat = self.tok.chat([*messages, message], **self.options)
        except ChatTemplateError:
            return None
        if prompt is None or final is None or not chat.text.startswith(prompt):
            return None
        at = last = len(prompt)  # the end of the message's own text
        for run, end in zip(chat.pieces, accumulate(run.length for run in chat.pieces), strict=True):
            at = end
            if at > len(prompt) and run.turn is not None and run.turn > len(messages):
                break
            if run.origin.message == len(messages):
                last = max(last, at)
        stops = [match for match in self.tok._special_matcher(chat.text) if match.start >= last]
        common = next((n for n in range(len(final)) if chat.text[n : n + 1] != final[n]), len(final))
        if message.get("tool_calls"):  # special tokens may end the calls
            stops = [match for match in stops if match.end <= common][-1:] or stops
        if not stops or (not message.get("tool_calls") and chat.text[last : stops[0].start].strip()):
            return chat.text[len(prompt) : last], ""
        return chat.text[len(prompt) : stops[0].start], chat.text[stops[0].start : stops[0].end]

    def turn(self, conv: Conversation) -> bool:
        """Samples a turn, adds messages, and checks both; returns whether they were appended."""
        rng, tok = self.rng, self.tok
        kind = rng.choice(
            ["plain", "plain", "cut", "white space", "bytes", "reasoning", "tool", "reasoning, tool", "not UTF-8"]
        )
        content = "it is " + (text(rng).replace("<|im_end|>", "") or "so")
        message: dict[str, Any] | None = reply(content)
        following = [user("and " + text(rng))]
        if kind == "reasoning":
            message = reply(content, reasoning_content="so " + (text(rng).replace("<|im_end|>", "") or "what"))
        if kind == "tool":
            message = reply("" if rng.random() < 0.5 else content, tool_calls=[call({"city": "北京 x"})])
        if kind == "reasoning, tool":
            message = reply("", reasoning_content="so", tool_calls=[call({"city": "x"})])
        if message is not None and "tool_calls" in message:
            following = [result("rain " + text(rng))]
        before, messages = conv.ids, conv.messages
        written = self.written(messages, message, following)
        if written is None and message is not None and len(message) > 2:
            return True  # the template does not support this turn
        body, stop = (content, "") if written is None else written
        if kind == "cut":
            stop = ""
        if kind == "white space":
            body = " " + body + " \n"
        if body.strip() == content:  # the decoded text is the content, so the caller need not parse it
            message = None
            body += rng.choice(["", "", " <|im_end|>", "<|im_end|> <s>"])  # spelled, which is text
        ids = tok.encode(body, special="all" if message else "none") + tok.encode(stop, special="all")
        if kind == "bytes":
            ids = in_bytes(tok, ids)
        if kind == "not UTF-8":
            ids, message = in_bytes(tok, [*base().encode("é")])[:1] + ids, None
        self.is_canonical = self.is_canonical and kind not in ("bytes", "not UTF-8")
        conv.add_sampled(ids, message)
        self.sampled.append((len(before), len(before) + len(ids)))
        assert conv.ids[: len(before) + len(ids)] == before + ids
        closed = conv.ids
        added = conv.add(following)
        self.check_ids(conv)
        whole = self.render([*conv.messages, *([] if added else following)], prompt=True)
        prompt = self.render(messages, prompt=True)
        assert prompt is not None
        sampled = tok.stream(before[-8:])
        sampled_text = sampled.push(ids) + sampled.finish()
        follows = whole is not None and whole.startswith(prompt)
        is_same = follows and dense(whole[len(prompt) :]).startswith(dense(sampled_text))
        if added is None:
            assert conv.ids == closed
            assert not is_same, (conv.refusal, whole)
            self.check_refusal(conv, follows, whole is None)
            self.counts[f"refused: {kind}"] += 1
            return False
        assert conv.ids == closed + added
        assert follows
        assert conv.refusal is None
        self.counts[f"appended: {kind}"] += 1
        ours = tok.decode(conv.ids)
        if ours == whole:
            self.counts["text equal"] += 1
            if self.is_canonical:
                self.counts["ids equal"] += 1
                assert conv.ids == tok.chat(conv.messages, add_generation_prompt=True, **self.options).ids
        else:
            self.counts["text equal but for white space"] += 1
            self.is_canonical = False
            assert dense(ours) == dense(whole)
        return True

    def check_ids(self, conv: Conversation) -> None:
        """Checks that the mask covers exactly the sampled ids, and that spans tile the ids."""
        mask = [False] * len(conv.ids)
        for start, end in self.sampled:
            mask[start:end] = [True] * (end - start)
        assert conv.mask == mask
        spans = conv.spans
        assert [at for span in spans for at in range(span.start, span.end)] == list(range(len(conv.ids)))
        assert [(span.start, span.end) for span in spans if span.source == "sampled"] == [
            pair for pair in self.sampled if pair[0] < pair[1]
        ]
        assert all(span.message is not None for span in spans if span.source != "template")

    def check_refusal(self, conv: Conversation, follows: bool, is_error: bool) -> None:
        """Checks that the reason names what differs: the text before the reply, the reply, or the text after it."""
        assert conv.refusal is not None
        if is_error:
            reasons = ("the chat template",)
        elif not follows:
            reasons = ("the template begins the sampled turn with", "the template rewrites", "the template moves",
                       "the template drops")  # fmt: skip
        else:
            reasons = ("the template rewrites the sampled text of", "the template drops the", "the reply ends with")
        assert conv.refusal.startswith(reasons), conv.refusal
        reason = re.sub(r"\d+|'.*|\".*|, at character.*", "…", conv.refusal)
        self.counts[f"reason: {reason}"] += 1
