"""The answer of ``chat``: the result of `Tokenizer.chat`, and facts for the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.chat import PRESETS
from jeton.errors import ChatTemplateError, ConfigError, InvalidTextError
from jeton.playground.api import chat
from jeton.playground.api.chat import answer
from jeton.playground.catalog import Catalog

from ...material import CORPUS

CHATML = jeton.train([CORPUS], 400, special_tokens=["<|im_start|>", "<|im_end|>"], progress=False)
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a<|im_end|>b"}]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    catalog = Catalog(cached=False)
    catalog.add("chatml.json", CHATML.to_bytes())
    return catalog


def ask(catalog: Catalog, messages: Any = MESSAGES, **more: Any) -> dict[str, Any]:
    return answer(catalog, {"tokenizer": "chatml.json", "messages": messages, **more})


def test_answer_equals_the_result_of_chat(catalog: Catalog) -> None:
    facts = ask(catalog, add_generation_prompt=True)
    expected = CHATML.chat(MESSAGES, template="chatml", add_generation_prompt=True)
    assert facts["chosen"] == "chatml"  # the first template whose tokens the vocabulary has
    assert facts["text"] == expected.text
    assert facts["drawing"]["ids"] == expected.ids
    assert facts["num_tokens"] == len(expected.ids)
    assert facts["turns"] == [
        {"message": turn.message, "role": turn.role, "rows": turn.token_spans} for turn in expected.turns
    ]
    json.dumps(facts)


def test_special_tokens_spelled_in_a_message_are_reported_as_text(catalog: Catalog) -> None:
    facts = ask(catalog)
    [found] = facts["spelled"]
    first, end = found["rows"]
    tokens = CHATML.chat(MESSAGES, template="chatml").encoding.tokens
    assert (found["message"], found["token"]) == (1, "<|im_end|>")
    assert b"".join(tokens[first:end]).startswith(b"<|im_end|>")
    assert not any(facts["drawing"]["table"][look]["special"] for look in facts["drawing"]["looks"][first:end])
    permitted = ask(catalog, special=True)
    assert permitted["spelled"] == []
    assert permitted["num_tokens"] < facts["num_tokens"]


def test_contents_are_the_tokens_of_message_text(catalog: Catalog) -> None:
    facts = ask(catalog, [{"role": "user", "content": "the old tale"}])
    tokens = CHATML.chat([{"role": "user", "content": "the old tale"}], template="chatml").encoding.tokens
    [(first, end)] = facts["contents"]
    assert b"".join(tokens[first:end]) == b"the old tale"


def test_templates_are_those_that_the_vocabulary_allows(catalog: Catalog) -> None:
    facts = answer(catalog, {"tokenizer": "bytes", "messages": MESSAGES})
    assert [choice["id"] for choice in facts["choices"]] == list(PRESETS)
    facts = ask(catalog, template="llama3")
    assert facts["chosen"] == "llama3"
    missing = {choice["id"]: choice["missing"] for choice in facts["choices"]}
    assert missing["llama3"] == list(PRESETS["llama3"].tokens)
    assert missing["chatml"] == []


@pytest.mark.parametrize("tokenizer", ["bytes", "default"])
def test_a_tokenizer_without_a_template_is_shown_with_added_tokens(catalog: Catalog, tokenizer: str) -> None:
    facts = answer(catalog, {"tokenizer": tokenizer, "messages": MESSAGES, "template": "llama3"})
    tok = catalog.get(tokenizer)
    missing = [token for token in PRESETS["llama3"].tokens if token not in tok.special_tokens]
    assert facts["added"] == {token: tok.vocab_size + index for index, token in enumerate(missing)}
    assert facts["drawing"]["ids"] == tok.add_tokens(missing).chat(MESSAGES, template="llama3").ids


def test_a_token_across_template_and_message_belongs_to_the_message(data: Path) -> None:
    catalog = Catalog(cached=False)
    catalog._put("mistral", lambda: jeton.load(data / "vocabs" / "mistral-v3.model"))
    messages = [{"role": "system", "content": "Answer now"}, {"role": "user", "content": "Why?"}]
    facts = answer(catalog, {"tokenizer": "mistral", "messages": messages})
    assert facts["text"].startswith("<s>[INST] Answer now")
    shown = [catalog.get("mistral").id_to_token(id) for id in facts["drawing"]["ids"]]
    assert [shown[slice(*rows)] for rows in facts["contents"]] == [["▁Answer", "▁now"], ["Why", "?"]]
    [system] = [turn for turn in facts["turns"] if turn["role"] == "system"]
    assert [shown[slice(*rows)] for rows in system["rows"]] == [["▁Answer", "▁now"]]


def test_templates_of_the_tokenizer_are_listed_first(catalog: Catalog) -> None:
    own = [{"name": "default", "template": "D{{ messages[0].content }}"}, {"name": "rag", "template": "R"}]
    tok = CHATML._with_facts(chat_template=own)
    catalog._put("own", lambda: tok)
    facts = answer(catalog, {"tokenizer": "own", "messages": MESSAGES})
    assert (facts["chosen"], facts["text"]) == ("default", "DBe brief.")
    assert [choice["id"] for choice in facts["choices"]][:3] == ["default", "rag", "chatml"]
    assert answer(catalog, {"tokenizer": "own", "messages": MESSAGES, "template": "rag"})["text"] == "R"
    gone = answer(catalog, {"tokenizer": "own", "messages": MESSAGES, "template": "of another tokenizer"})
    assert gone["chosen"] == "default"


def test_a_broken_template_is_an_error(catalog: Catalog) -> None:
    for name, template in {"broken": "{{ 1 + }}", "refusing": "{{ raise_exception('no') }}", "odd": 7}.items():
        tok = CHATML._with_facts(chat_template=template)
        catalog._put(name, lambda tok=tok: tok)  # type: ignore[misc]
        with pytest.raises(ChatTemplateError, match="chat template"):
            answer(catalog, {"tokenizer": name, "messages": MESSAGES})


@pytest.mark.parametrize("messages", [None, [], "x", {"role": "user"}, ["x"], [{"content": "x"}], [{"role": 1}]])
def test_invalid_messages_are_refused(catalog: Catalog, messages: Any) -> None:
    with pytest.raises(ConfigError):
        ask(catalog, messages)


def test_too_many_characters_or_messages_are_refused(catalog: Catalog) -> None:
    with pytest.raises(ConfigError, match="1,000,000"):
        ask(catalog, [{"role": "user", "content": "x" * (chat.MAX_CHARS + 1)}])
    with pytest.raises(ConfigError, match="messages"):
        ask(catalog, [{"role": "user", "content": "x"}] * (chat.MAX_MESSAGES + 1))


def test_drawing_is_limited_and_the_count_is_not(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "MAX_DRAWN", 3)
    facts = ask(catalog)
    assert len(facts["drawing"]["ids"]) == 3
    assert facts["num_tokens"] > 3


def test_half_of_a_surrogate_pair_is_named_with_its_message(catalog: Catalog) -> None:
    with pytest.raises(InvalidTextError, match=r"^message 2 has a lone surrogate, U\+DC00, at position 1;"):
        ask(catalog, [MESSAGES[0], {"role": "user", "content": "a\udc00"}])
