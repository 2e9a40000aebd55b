"""`PreparedTemplate`: a chat template with its variables, checked once, for any number of renderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..errors import ChatTemplateError, ConfigError, call, keyword
from ..tokens.protocols import HasCore
from .encode import ChatTokenizer
from .presets import PRESETS
from .template import RenderedRun, choose, render

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..definition import Definition

__all__ = ["PreparedTemplate", "TemplateTokenizer", "added_spellings", "check_tokens", "prepare", "presets_for"]


class TemplateTokenizer(ChatTokenizer, Protocol):
    """The part of a tokenizer's interface that rendering and encoding a chat need."""

    @property
    def definition(self) -> Definition: ...  # noqa: D102


class PreparedTemplate(NamedTuple):
    """A template and all of its variables but the messages.

    Attributes:
        source: Jinja source.
        given: the caller's variables, tools included.
        own: the tokenizer's variables, such as ``bos_token``.
        controls: spellings of the special tokens.
    """

    source: str
    given: dict[str, Any]
    own: dict[str, Any]
    controls: list[str]

    def render(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool
    ) -> tuple[str, list[RenderedRun]]:
        """Renders messages with these variables; see `template.render`."""
        own = {**self.own, "add_generation_prompt": add_generation_prompt}
        return render(self.source, messages, self.given, own, self.controls)


def prepare(
    tok: TemplateTokenizer,
    *,
    tools: Sequence[Mapping[str, Any]] | None,
    template: str | None,
    variables: Mapping[str, Any],
) -> PreparedTemplate:
    """Selects a template and checks its variables.

    Args:
        tok: the tokenizer.
        tools, template, variables: as for `Tokenizer.chat`.

    Raises:
        ConfigError: wrong arguments.
        ChatTemplateError: there is no such template, or the tokenizer lacks special tokens of a preset.
    """
    if not isinstance(variables, Mapping) or not all(isinstance(name, str) for name in variables):
        raise ConfigError('variables must be a mapping, such as {"enable_thinking": False}', option="variables")
    own = {f"{role}_token": token for role, token in tok.roles.items()}
    for name in ("messages", "add_generation_prompt", "continue_final_message", "tools", *own):
        if name in variables:
            setter = "the tokenizer" if name in own else f"chat({name}=…)"
            raise ConfigError(f"variables cannot contain {name}: {setter} sets it", option="variables")
    if tools is not None:
        if not _are_objects(tools):
            is_code = isinstance(tools, list | tuple) and any(callable(tool) for tool in tools)
            hint = "; a Python function is not supported, pass its schema" if is_code else ""
            raise ConfigError(f"tools must be a list of objects (JSON schemas){hint}", option="tools")
        tools = list(tools)
    if variables.get("documents") is not None and not _are_objects(variables["documents"]):
        raise ConfigError("documents must be a list of objects with a title and a text", option="variables")
    if template is None and tok.definition.chat_template is None:
        raise ChatTemplateError(f"the tokenizer has no chat template; {_remedy(tok)}")
    source = choose(tok.definition.chat_template, template, tools=tools is not None)
    if template in PRESETS and source == PRESETS[template].source:
        check_tokens(template, added_spellings(tok))
    return PreparedTemplate(source, {"documents": None, **variables, "tools": tools}, own, list(tok.special_tokens))


def _are_objects(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(isinstance(value, Mapping) for value in values)


def presets_for(tok: HasCore) -> list[str]:
    """Returns the names of the `PRESETS` for which a tokenizer has all special tokens.

    The presets with the most special tokens come first. The tokens indicate the format that a tokenizer was made for.
    They do not prove that its model was trained on this format. For a preset that is not in the list,
    ``PRESETS[name].tokens`` has the tokens to add.

    Examples:
        >>> import jeton
        >>> presets_for(jeton.default())
        ['chatml']
        >>> presets_for(jeton.Tokenizer.from_merges({}, []))
        []
    """
    spellings = added_spellings(tok)
    names = [name for name, preset in PRESETS.items() if spellings.issuperset(preset.tokens)]
    return sorted(names, key=lambda name: -len(PRESETS[name].tokens))


def added_spellings(tok: HasCore) -> set[str]:
    """Returns the spellings of all added tokens, special or not: markers such as ``<think>`` are often not special."""
    return {content for _, content, _, _ in tok._core.added_tokens()}


_ADD_CHATML = "tok = tok.add_tokens(jeton.chat.PRESETS['chatml'].tokens).with_chat_template('chatml')"


def _add_command(name: str) -> str:
    return f"jeton add-tokens -t TOKENIZER --chat-template {name} -o OUT"


def _remedy(tok: HasCore) -> str:
    """Returns advice for the error that a tokenizer has no chat template."""
    names = presets_for(tok)
    if not names:
        return (
            f"pass {keyword('template')} with a Jinja template, or add ChatML's special tokens and template with "
            f"{call(_ADD_CHATML, _add_command('chatml'))}; to estimate what OpenAI's API counts, use "
            f"{call('jeton.chat_count(tok, messages)', 'jeton chat count')}"
        )
    names = [repr(name) for name in names]
    return (
        f"pass {keyword('template')} with a Jinja template, or with one of Jeton's that fits the tokenizer's "
        "special tokens: "
        f"{', '.join(names)}; tok.with_chat_template({names[0]}) stores it in the tokenizer"
    )


def check_tokens(name: str, special_tokens: Collection[str]) -> None:
    """Checks that a tokenizer has the special tokens of a preset.

    Args:
        name: name of the preset.
        special_tokens: spellings of the tokenizer's special and other added tokens.

    Raises:
        ChatTemplateError: tokens are missing; the message names them.
    """
    missing = [token for token in PRESETS[name].tokens if token not in special_tokens]
    if missing:
        raise ChatTemplateError(
            f"the template {name!r} needs special tokens that the tokenizer lacks: {', '.join(map(repr, missing))}; "
            f"add them with {call(f'tok = tok.add_tokens({missing!r})', _add_command(name))}"
        )
