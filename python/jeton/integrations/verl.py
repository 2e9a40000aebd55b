"""`continuous_token_builder`: verl's `ContinuousTokenBuilder` for any chat template.

    builder = continuous_token_builder(tok)                  # in place of an agent loop's `continuous_token_builder`
    ids = builder.build_initial_tokens(messages, tools=tools)
    merged = builder.merge_assistant_tokens(ids, sampled)
    merged = builder.merge_context_tokens(messages, [*messages, *tool_results], merged.token_ids, tools=tools)

The class is derived from verl's class, which aligns masks and log-probabilities. The interface passes prompts as ids
only, so the builder stores the conversation of each prompt that it made.

Source: `verl/utils/tokenizer/continuous_token.py` of verl 0.9.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..chat.conversation import Conversation
from ..errors import ChatTemplateError, ConfigError
from ..tokenizer import Tokenizer
from ..util.optional import import_optional
from .prompts import PromptCache

__all__ = ["continuous_token_builder"]


def continuous_token_builder(
    tok: Tokenizer,
    template: str | None = None,
    *,
    variables: Mapping[str, Any] | None = None,
    keep_sampled: bool = False,
    allowed_append_roles: Sequence[str] | None = None,
    capacity: int = 1024,
) -> Any:
    """Returns a `ContinuousTokenBuilder` that builds prompts with a chat template.

    Args:
        tok: the tokenizer.
        template: as for `Tokenizer.chat`.
        variables: as for `Tokenizer.chat`; verl's ``chat_template_kwargs``.
        keep_sampled: as for `Tokenizer.conversation`.
        allowed_append_roles: roles of messages that may be appended; None: all roles that verl permits.
        capacity: maximum number of prompts whose conversations the builder stores. The same maximum applies to prompts
            with a sampled reply.

    Raises:
        MissingDependencyError: verl is not installed.
    """
    base = import_optional("verl.utils.tokenizer.continuous_token", "continuous_token_builder")

    class TemplateTokenBuilder(base.ContinuousTokenBuilder):  # type: ignore[misc,name-defined]
        """Builder of prompts that uses `Conversation`, which verifies that text before new messages stays unchanged."""

        def __init__(self) -> None:
            super().__init__(tok, chat_template_kwargs=dict(variables or {}), allowed_append_roles=allowed_append_roles)
            self._prompts = PromptCache[Conversation](capacity)
            self._sampled = PromptCache[tuple[Conversation, list[int]]](capacity)

        def build_initial_tokens(self, messages: Any, *, tools: Any = None, **media: Any) -> list[int]:
            if any(media.get(name) for name in ("images", "videos", "audios")):
                raise ConfigError("images, videos and audios are not supported: the tokenizer has no processor")
            conversation = tok.conversation(
                messages, tools=tools or None, template=template, variables=variables, keep_sampled=keep_sampled
            )
            self._prompts.put(conversation.ids, conversation)
            return conversation.prompt_ids

        def merge_assistant_tokens(self, runtime_token_ids: Any, assistant_token_ids: Any) -> Any:
            merged = super().merge_assistant_tokens(runtime_token_ids, assistant_token_ids)
            conversation = self._prompts.get(runtime_token_ids)
            if conversation is not None:
                self._sampled.put(merged.token_ids, (conversation, list(assistant_token_ids)))
            return merged

        def merge_context_tokens(
            self, previous_messages: Any, updated_messages: Any, runtime_token_ids: Any, *, tools: Any = None
        ) -> Any:
            self._assert_append_only(previous_messages, updated_messages)
            known = self._sampled.get(runtime_token_ids)
            if known is None:
                raise ConfigError(
                    "runtime_token_ids are not a prompt of this builder and its reply: call build_initial_tokens and "
                    "merge_assistant_tokens before merge_context_tokens"
                )
            conversation, sampled = known[0].copy(), known[1]
            conversation.add_sampled(sampled, conversation.parse(sampled).message)
            if conversation.add(updated_messages[len(previous_messages) :]) is None:
                raise ChatTemplateError(f"these messages cannot be appended: {conversation.refusal}")
            self._prompts.put(conversation.ids, conversation)
            return base.MergeResult(conversation.ids, len(conversation.ids) - len(runtime_token_ids), "context")

    return TemplateTokenBuilder()
