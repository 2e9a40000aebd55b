"""`JetonRenderer`: the interface `Renderer` of the package `renderers` 0.1, for any chat template.

    renderer = JetonRenderer(tok)
    prompt = renderer.render_ids(messages, tools=tools, add_generation_prompt=True)
    reply = renderer.parse_response(sampled, prompt_ids=prompt)
    following = renderer.bridge_to_next_turn(prompt, sampled, tool_results)

The interface passes prompts as ids only, so the renderer stores the conversation of each prompt that it made.

Source: `renderers/base.py` of renderers 0.1.12, the protocol `Renderer`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..chat import Chat
from ..chat.conversation import Conversation
from ..errors import ChatTemplateError
from ..tokenizer import Tokenizer
from ..util.optional import import_optional
from .prompts import PromptCache

__all__ = ["JetonRenderer"]

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]] | None
_NEUTRAL = [{"role": "user", "content": "Hello"}]  # used in place of an unknown prompt


class JetonRenderer:
    """A `Renderer` with the message formats of a chat template.

    Args:
        tok: the tokenizer.
        template: as for `Tokenizer.chat`.
        variables: as for `Tokenizer.chat`; all calls use the same values.
        keep_sampled: as for `Tokenizer.conversation`.
        capacity: maximum number of prompts for which the renderer stores the conversation.

    Raises:
        MissingDependencyError: `renderers` is not installed.
    """

    is_prefix_stable = False  # whether prompts are prefix-stable depends on the conversation

    def __init__(
        self,
        tok: Tokenizer,
        template: str | None = None,
        *,
        variables: Mapping[str, Any] | None = None,
        keep_sampled: bool = False,
        capacity: int = 1024,
    ) -> None:
        self._base = import_optional("renderers.base", "JetonRenderer")
        self._tok = tok
        self._template = template
        self._variables = variables
        self._keep_sampled = keep_sampled
        self._prompts = PromptCache[Conversation](capacity)

    def _conversation(self, messages: Messages, tools: Tools) -> Conversation:
        return self._tok.conversation(
            messages,
            tools=tools,
            template=self._template,
            variables=self._variables,
            keep_sampled=self._keep_sampled,
        )

    def render(self, messages: Messages, *, tools: Tools = None, add_generation_prompt: bool = False) -> Any:
        """Renders messages; returns `RenderedTokens` without ``is_content``.

        ``sampled_mask`` is empty if the template does not show what the model generates.
        """
        chat = self._chat(messages, tools, add_generation_prompt)
        try:
            mask = chat.mask
        except ChatTemplateError:
            mask = []
        indices = [-1] * len(chat.ids)
        for turn in chat.turns:
            for start, end in turn.token_spans:
                indices[start:end] = [turn.message] * (end - start)
        return self._base.RenderedTokens(
            token_ids=chat.ids,
            message_indices=indices,
            sampled_mask=mask,
            message_roles=[message["role"] for message in messages],
            message_tool_names=self._base.extract_message_tool_names(messages),
        )

    def render_ids(self, messages: Messages, *, tools: Tools = None, add_generation_prompt: bool = False) -> list[int]:
        """Returns only the ids that `render` computes."""
        return self._chat(messages, tools, add_generation_prompt).ids

    def _chat(self, messages: Messages, tools: Tools, add_generation_prompt: bool) -> Chat:
        chat: Chat = self._tok.chat(
            messages,
            tools=tools,
            template=self._template,
            variables=self._variables,
            add_generation_prompt=add_generation_prompt,
        )
        if add_generation_prompt:
            self._prompts.put(chat.ids, self._conversation(messages, tools))
        return chat

    def parse_response(
        self, token_ids: Sequence[int], *, tools: Tools = None, prompt_ids: Sequence[int] | None = None
    ) -> Any:
        """Parses a reply; returns `ParsedResponse`.

        Args:
            token_ids: the sampled ids.
            tools: the tools of the prompt.
            prompt_ids: the prompt of the reply. The parsed reply is verified by rendering it after the prompt's
                conversation. If the renderer has not stored a conversation for these ids, the reply is rendered after a
                neutral user message instead. `render` and `render_ids` (both with a generation prompt) and
                `bridge_to_next_turn` store the conversation of the prompt that they return.
        """
        conversation = self._prompts.get(prompt_ids) if prompt_ids else None
        if conversation is None:
            conversation = self._conversation(_NEUTRAL, tools)
        reply = conversation.parse(token_ids)
        calls = [self._call(call, tools) for call in reply.tool_calls]
        if reply.refusal is not None:
            status = self._base.ToolCallParseStatus.MALFORMED_STRUCTURE
            calls.append(self._base.ParsedToolCall(raw=reply.content, status=status))
        is_open = reply.reasoning is not None and not (reply.content or reply.tool_calls or reply.is_complete)
        return self._base.ParsedResponse(
            content=reply.content,
            reasoning_content=reply.reasoning,
            tool_calls=calls,
            reasoning_complete=not is_open,
        )

    def _call(self, call: Mapping[str, Any], tools: Tools) -> Any:
        function = call["function"]
        known = {tool.get("function", tool).get("name") for tool in tools or ()}
        status = self._base.ToolCallParseStatus
        return self._base.ParsedToolCall(
            raw=json.dumps(function, ensure_ascii=False),
            name=function["name"],
            arguments=function["arguments"],
            status=status.OK if not tools or function["name"] in known else status.UNKNOWN_TOOL,
            id=call["id"],
        )

    def get_stop_token_ids(self) -> list[int]:
        """Returns the ids at which sampling stops: the ids with which the template ends a reply, and eos."""
        stops = self._conversation(_NEUTRAL, None).parser().stop_ids()
        eos = [] if self._tok.eos_id is None else [self._tok.eos_id]
        return list(dict.fromkeys([*stops, *eos]))

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Sequence[int],
        previous_completion_ids: Sequence[int],
        new_messages: Messages,
        *,
        tools: Tools = None,
    ) -> Any:
        """Appends messages to a prompt and its reply; returns `RenderedTokens`.

        The ids of the prompt and of the reply stay unchanged. Returns None in two cases: the template rewrites text
        before the new messages, or the renderer has not stored the conversation of the prompt. The caller then renders
        all messages.
        """
        known = self._prompts.get(previous_prompt_ids)
        if known is None:
            return None
        conversation = known.copy()
        conversation.add_sampled(previous_completion_ids, conversation.parse(previous_completion_ids).message)
        num_before = len(conversation.messages)
        if conversation.add(new_messages) is None:
            return None
        ids = conversation.ids
        self._prompts.put(ids, conversation)
        indices = [-1] * len(ids)
        for span in conversation.spans:
            if span.source == "message" and span.message is not None and span.message >= num_before:
                indices[span.start : span.end] = [span.message - num_before] * (span.end - span.start)
        return self._base.RenderedTokens(
            token_ids=ids,
            message_indices=indices,
            sampled_mask=[False] * len(ids),
            message_roles=[message["role"] for message in new_messages],
            message_tool_names=self._base.extract_message_tool_names(list(new_messages)),
        )
