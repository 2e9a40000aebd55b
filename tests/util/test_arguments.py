"""Every argument of every public function: a wrong type ends in an error of Jeton that names the argument.

`TAKES` says what each argument takes; a new function or argument fails here until it is added. The methods of
`Tokenizer` that encode and decode check theirs in the core.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.definition import Pattern
from jeton.errors import MAX_SHOWN
from jeton.training import presets
from jeton.util.threads import MAX_THREADS, num_threads

CORPUS = ["low lower lowest"] * 9


class Odd:
    """An object that no argument accepts."""


VALUES: list[Any] = [
    None,
    True,
    5,
    -1,
    2.5,
    float("nan"),
    1 << 70,
    "a string",
    "",
    "\ud800",
    "a\0b",
    b"bytes",
    ["x"],
    [300, "x"],
    [None],
    [["x"]],
    {"a": 1},
    {1: "a"},
    {},
    (),
    object,
    Odd(),
]


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_strings(value: Any) -> bool:
    return isinstance(value, list | tuple | Mapping) and all(isinstance(item, str) for item in value)


def is_parts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, Mapping) for item in value)


def is_path(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value and "\ud800" not in value


# kind of argument -> whether a value has an acceptable type; invalid values of such types are tested elsewhere
KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "by_name": lambda value: isinstance(value, int | float | Mapping) and not isinstance(value, bool),
    "bytes": lambda value: isinstance(value, bytes),
    "call": lambda value: isinstance(value, bool) or callable(value),
    "ids": lambda value: isinstance(value, list | tuple | Mapping) and all(map(is_int, value)),
    "int": lambda value: is_int(value) and value >= 0,  # its size is tested elsewhere
    "index": lambda value: isinstance(value, int),
    "version": lambda value: value in (4, 5) and isinstance(value, int),
    "layout": lambda value: isinstance(value, str | Mapping),
    # a token that the vocabulary has
    "keep": lambda value: isinstance(value, list | tuple | Mapping) and all(item in (1, "a", "x") for item in value),
    "map": lambda value: isinstance(value, Mapping) and not value,
    "mapping": lambda value: isinstance(value, Mapping),
    "memory": lambda value: isinstance(value, str),
    "merges": lambda value: isinstance(value, list | tuple | Mapping) and not list(value),
    "number": lambda value: isinstance(value, int | float | Fraction) and not isinstance(value, bool),
    "weight": lambda value: isinstance(value, int | float | str) and value == value,  # Fraction reads strings
    "parts": is_parts,
    "path": is_path,
    "request": lambda value: isinstance(value, list | tuple | Mapping),
    "rules": lambda value: isinstance(value, str) or is_strings(value),
    "share": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "special": lambda value: isinstance(value, str | bytes | list | tuple | Mapping),  # the tokens are tested elsewhere
    "str": lambda value: isinstance(value, str),
    "strings": is_strings,
    "superwords": lambda value: isinstance(value, bool),
    "added": lambda value: isinstance(value, bool | str),  # a role or a special token, which may be missing
    "text": lambda value: isinstance(value, str | bytes),
    "tokens": lambda value: isinstance(value, list | tuple | Mapping) and not list(value),
    "nothing": lambda value: False,  # no value of the list is valid
    # any iterable, path or stream is a corpus; all others are wrong
    "corpus": lambda value: isinstance(value, str | bytes | list | tuple | Mapping),
}

RUNNING = {"threads": "int?", "progress": "call?"}
LIMITED = {**RUNNING, "limits": "nothing?"}
ARROW = {
    "tok": "nothing",
    **dict.fromkeys(("column", "output"), "str"),
    "keep": "strings",
    **dict.fromkeys(("append_eos", "prepend_bos"), "added"),
    "large_list": "bool",
    "threads": "int?",
}

TAKES: dict[str, dict[str, str]] = {
    "Tokenizer.from_merges": {
        "vocab": "mapping",
        "merges": "merges",
        "pattern": "str?",
        "special_tokens": "mapping?",
    },
    "Tokenizer.from_bytes": {"data": "bytes"},
    "AddedToken": {
        "content": "str",
        **dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized", "ascii_space"), "bool"),
    },
    "train": {
        "corpus": "corpus",
        "vocab_size": "int",
        "level": "nothing?",
        "pattern": "str?",
        "tie_break": "nothing?",
        "min_frequency": "int?",
        "special_tokens": "strings",
        "unk_token": "str?",
        "end_of_word": "str?",
        "end_of_word_style": "nothing?",
        "preset": "nothing?",
        **LIMITED,
        "min_count": "int",
        "log": "path?",
        "trace": "call",
        "rules": "rules?",
        "superwords": "superwords?",
    },
    "count_pretokens": {
        "corpus": "corpus",
        "pattern": "str?",
        "normalizer": "parts",
        "pretokenizer": "parts?",
        "special_tokens": "strings",
        **LIMITED,
        "min_count": "int",
    },
    "load": {
        "path_or_name": "path",
        "pattern": "str?",
        "special_tokens": "mapping?",
        "layout": "layout?",
        "transformers": "version?",
    },
    "audit": {
        "tok": "nothing",
        "corpus": "corpus?",
        "embeddings": "path?",
        "tensor": "str?",
        "max_examples": "int",
        "max_texts": "int",
        **RUNNING,
    },
    "chat_check": {"tok": "nothing?", "template": "str?", "variables": "mapping?"},
    "chat_count": {"tok": "nothing", "request": "request"},
    "chat_diff": {
        "tok": "nothing",
        **dict.fromkeys(("a", "b"), "request"),
        "template": "str?",
        "special": "special?",
        "variables": "mapping?",
        "dates": "nothing?",
    },
    "compare": {"toks": "tokens", "text": "text", "special": "rules?"},
    "compare_corpus": {
        "toks": "tokens",
        "corpus": "corpus",
        "max_differences": "int",
        **RUNNING,
    },
    "cost": {
        "toks": "tokens",
        "corpus": "corpus",
        "price": "by_name?",
        "window": "by_name?",
        **RUNNING,
    },
    "doctor": {"place": "path", "texts": "strings?", "beside": "path?", "lock": "path?"},
    "languages": {"toks": "tokens", "folder": "path?", "relative_to": "str", **RUNNING},
    "encode_arrow": {"batch": "nothing", **ARROW},
    "map_dataset": {
        "dataset": "nothing",
        **ARROW,
        "batch_rows": "int",
        "chat": "bool",
        "mask": "mapping?",
        "max_length": "int?",
        "too_long": "str",
    },
    "measure": {
        "tok": "nothing",
        "corpus": "corpus",
        "words": "bool",
        "repeat": "int",
        "max_bytes": "int?",
        "by_file": "bool",
        **LIMITED,
    },
    "Corpus": {
        "sources": "corpus",
        "documents": "nothing",
        "field": "str",
        "errors": "nothing",
        "encoding": "nothing",
        "include": "strings",
        "exclude": "strings",
        "input_type": "nothing",
        "max_expansion": "number?",
        "sample_bytes": "int?",
        "seed": "int",
    },
    "Limits": {"memory_limit": "memory?", "spill_folder": "path?", "checkpoint": "path?", "threads": "int?"},
    "prune": {
        "tok": "nothing",
        "corpus": "corpus?",
        "vocab_size": "int?",
        **dict.fromkeys(("keep", "remove"), "keep?"),
        **dict.fromkeys(("drop_references", "compact"), "bool"),
    },
    "renumber": {"tok": "nothing", "map": "map"},
    "add_words": {"tok": "nothing", "words": "strings", "corpus": "corpus?"},
    "extend": {
        "tok": "nothing",
        "corpus": "corpus",
        "n": "int",
        "protect": "corpus?",
        "other": "corpus?",
        "tie_break": "nothing?",
        "min_frequency": "int",
        "rules": "rules?",
        **LIMITED,
    },
    "merge_vocab": {"a": "nothing", "b": "nothing", "corpus_a": "corpus?", "corpus_b": "corpus?"},
    "align": {"a": "nothing", "b": "nothing"},
    "replay": {"tok": "nothing", "corpus": "corpus", "top": "int"},
    "sizes": {
        "corpus": "corpus",
        "sizes": "ids?",
        "hidden": "int?",
        "tied": "bool",
        "test": "corpus?",
        "held_out": "share",
        **LIMITED,
    },
    "Source": {
        "place": "corpus",
        "weight": "number",
        "field": "str?",
        "documents": "nothing?",
        "encoding": "nothing?",
    },
    "Rules": {
        **dict.fromkeys(
            ["whole_characters", "one_class", "one_script", "lone_punctuation", "digits_from_right"], "bool"
        ),
        "max_token_length": "int?",
        "blocked": "strings",
        "required": "strings",
        "max_words": "int?",
    },
    "Rules.of": {"rules": "rules?"},
    "Rules.holds": {"tokens": "tokens", "by_character": "bool"},
    "Rules.pattern": {"pattern": "nothing"},
    "Superwords": {"from_size": "number", "pattern": "str?", "max_words": "int?"},
    "Superwords.of": {"superwords": "superwords?"},
    "Counts.from_mapping": {"counts": "mapping"},
    "Counts.most_common": {"n": "int?"},
    "Counts.scaled": {"weight": "weight"},
    "Counts.without_rare": {"min_count": "int"},
    "Counts.report": {"top": "int"},
    "Counts.save": {"path": "path"},
    "Counts.load": {"path": "path"},
    "Sizes.at": {"vocab_size": "int"},
    "Sizes.tokenizer": {"vocab_size": "int"},
    "Sizes.plot": {"path": "path"},
    "Replay.at": {"num_merges": "index"},
    "Replay.line": {"num_merges": "index"},
    "Pattern.of": {"pattern": "str?"},
    "Pattern.split": {"text": "text"},
    "TokenBatch.padded": {"length": "int?", "multiple_of": "int?", "side": "nothing", "pad_id": "int?"},
}


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.train(CORPUS, 262, pattern="gpt2", progress=False)


@pytest.fixture(scope="module")
def functions(
    tok: jeton.Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, tuple[Callable[..., Any], dict[str, Any]]]]:
    """Each function with valid arguments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("arguments"))
        patch.setattr(logging.getLogger("jeton"), "disabled", True)
        yield right_calls(tok)


def right_calls(tok: jeton.Tokenizer) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    pyarrow, datasets = pytest.importorskip("pyarrow"), pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    counts = jeton.count_pretokens(CORPUS, pattern="gpt2", progress=False)
    counts.save("counts.jtc")
    tok.save("tok.json")
    found = jeton.sizes(CORPUS, [258, 262], test=CORPUS, progress=False)
    played = jeton.replay(tok, CORPUS)
    quiet = {"corpus": CORPUS, "progress": False}
    messages = [{"role": "user", "content": "low"}]
    right: dict[str, dict[str, Any]] = {
        "Tokenizer.from_merges": {"vocab": {97: b"a"}, "merges": []},
        "Tokenizer.from_bytes": {"data": tok.to_bytes()},
        "train": {**quiet, "vocab_size": 260},
        "count_pretokens": quiet,
        "load": {"path_or_name": "tok.json"},
        "audit": {"tok": tok, "progress": False},
        "chat_check": {"tok": tok, "template": "{{ messages[0].content }}"},
        "chat_count": {"tok": tok, "request": messages},
        "chat_diff": {"tok": tok, "a": messages, "b": messages, "template": "{{ messages[0].content }}"},
        "compare": {"toks": [tok], "text": "low"},
        "compare_corpus": {**quiet, "toks": [tok]},
        "cost": {**quiet, "toks": [tok]},
        "doctor": {"place": "tok.json"},
        "languages": {"toks": [tok], "progress": False},
        "encode_arrow": {"batch": pyarrow.table({"text": CORPUS}), "tok": tok},
        "map_dataset": {"dataset": datasets.Dataset.from_dict({"text": CORPUS}), "tok": tok},
        "measure": {**quiet, "tok": tok},
        "prune": {"tok": tok, "corpus": CORPUS, "vocab_size": 260},
        "renumber": {"tok": tok, "map": {}},
        "add_words": {"tok": tok, "words": ["low"]},
        "extend": {**quiet, "tok": tok, "n": 1},
        "merge_vocab": {"a": tok, "b": tok},
        "align": {"a": tok, "b": tok},
        "replay": {"tok": tok, "corpus": CORPUS},
        "sizes": {**quiet, "sizes": [258, 260], "held_out": 0.5},
        "AddedToken": {"content": "<x>"},
        "Corpus": {"sources": CORPUS},
        "Limits": {},
        "Source": {"place": CORPUS},
        "Rules.of": {"rules": None},
        "Rules.holds": {"tokens": []},
        "Rules.pattern": {"pattern": Pattern.of("o200k")},
        "Superwords.of": {"superwords": None},
        "Counts.from_mapping": {"counts": {}},
        "Counts.scaled": {"weight": 1},
        "Counts.without_rare": {"min_count": 1},
        "Counts.save": {"path": "saved.jtc"},
        "Counts.load": {"path": "counts.jtc"},
        "Sizes.at": {"vocab_size": 260},
        "Sizes.tokenizer": {"vocab_size": 260},
        "Sizes.plot": {"path": "sizes.svg"},
        "Replay.at": {"num_merges": 1},
        "Replay.line": {"num_merges": 1},
        "Pattern.of": {"pattern": "gpt2"},
        "Pattern.split": {"text": "low"},
        "TokenBatch.padded": {"pad_id": 0},
    }
    objects = {"Counts": counts, "Sizes": found, "Replay": played, "Rules": jeton.Rules(digits_from_right=True)}
    objects |= {"Pattern": Pattern.of("gpt2"), "TokenBatch": tok.encode_batch(["low"])}
    made: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {}
    for name in TAKES:
        first, _, method = name.partition(".")
        holder = objects.get(first, getattr(jeton, first, None))
        made[name] = (getattr(holder, method) if method else getattr(jeton, first), right.get(name, {}))
    return made


def test_every_public_function_is_tested() -> None:
    functions = {name for name in jeton.__all__ if inspect.isfunction(getattr(jeton, name))} - {
        "default",
        "names",
    }  # without arguments
    options = {
        name
        for name in ("AddedToken", "Corpus", "Limits", "Source", "Rules", "Superwords")
        if dataclasses.is_dataclass(getattr(jeton, name))
    }
    methods = {
        f"{cls}.{name}"
        for cls in ("Counts", "Sizes", "Rules", "Superwords", "Replay")
        for name, member in vars(class_of(cls)).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, classmethod))
    }
    # these take no arguments, or are called by Jeton only
    methods -= {"Counts.items", "Rules.core_json", "Superwords.first_size"}
    ours = {"Tokenizer.from_merges", "Tokenizer.from_bytes", "Pattern.of", "Pattern.split"}
    missing = {name for name in methods - TAKES.keys() if takes_something(name)}
    assert missing == set()
    assert functions | options | ours <= TAKES.keys()


def class_of(name: str) -> Any:
    """A public class: of the package, or of a module that has results."""
    return {"Sizes": jeton.analysis.Sizes, "Replay": jeton.training.Replay}.get(name) or getattr(jeton, name)


def takes_something(name: str) -> bool:
    first, _, method = name.partition(".")
    return set(inspect.signature(getattr(class_of(first), method)).parameters) - {"self"} != set()


@pytest.mark.parametrize("name", TAKES)
def test_every_argument_is_tested(name: str, functions: dict[str, tuple[Callable[..., Any], dict[str, Any]]]) -> None:
    parameters = inspect.signature(functions[name][0]).parameters.values()
    assert {each.name for each in parameters if each.kind is not each.VAR_KEYWORD} == TAKES[name].keys()


@pytest.mark.parametrize("name", TAKES)
def test_a_wrong_type_is_named(name: str, functions: dict[str, tuple[Callable[..., Any], dict[str, Any]]]) -> None:
    function, right = functions[name]
    function(**right)
    found: list[str] = []
    for argument, takes in TAKES[name].items():
        may_be = KINDS[takes.removesuffix("?")]
        for value in VALUES:
            if may_be(value) or (value is None and takes.endswith("?")):
                continue
            try:
                function(**{**right, argument: value})
            except jeton.ConfigError as error:
                if argument not in str(error) or len(str(error)) > 400:
                    found.append(f"{argument}={value!r}: {error}")
            except Exception as error:
                found.append(f"{argument}={value!r}: {type(error).__name__}: {error}")
            else:
                found.append(f"{argument}={value!r} raised nothing")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("preset", ["Hf", "Bert", "SentencePiece", "SentencePieceUnigram", "SubwordNmt", "MinBpe"])
def test_the_options_of_presets(preset: str) -> None:
    found: list[str] = []
    for each in dataclasses.fields(getattr(presets, preset)):
        for value in VALUES:
            try:
                made = getattr(presets, preset)(**{each.name: value})
                jeton.train(CORPUS, 300, preset=made, progress=False)
            except jeton.TrainingError:
                pass  # the option is valid, but the corpus is too small for it
            except jeton.ConfigError as error:
                if each.name not in str(error):
                    found.append(f"{each.name}={value!r}: {error}")
            except Exception as error:
                found.append(f"{each.name}={value!r}: {type(error).__name__}: {error}")
    assert not found, "\n".join(found)


def test_a_wrong_element_is_named() -> None:
    small = {97: b"a", 98: b"b", 256: b"ab"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"vocab": {0: "a"}}, r"vocab\[0\]='a' is not bytes"),
        ({"vocab": {"a": b"a"}}, "vocab: 'a' is not an id"),
        ({"vocab": {True: b"a"}}, "vocab: True is not an id"),
        ({"merges": [[97, 98, 256]]}, r"merges\[0\]=\[97, 98, 256\] is not a tuple"),
        ({"merges": [(97, 98, 256), (97, 98)]}, r"merges\[1\]=\(97, 98\) is not a tuple"),
        ({"merges": [(97, "98", 256)]}, "merges: '98' is not an id"),
        ({"special_tokens": {"<s>": "300"}}, "special_tokens: '300' is not an id"),
        ({"special_tokens": {300: 300}}, "special_tokens=300 is not a token"),
        ({"pattern": 7}, "pattern=7 is not a string"),
    ]
    for options, message in wrong:
        with pytest.raises(jeton.ConfigError, match=message) as caught:
            jeton.Tokenizer.from_merges(**{"vocab": small, "merges": [(97, 98, 256)], **options})
        assert caught.value.option == next(iter(options))
    with pytest.raises(jeton.ConfigError, match=r"sizes\[1\]='x' is not a positive integer") as caught:
        jeton.sizes(CORPUS, [300, "x"])  # type: ignore[list-item]
    assert caught.value.option == "sizes"
    with pytest.raises(jeton.ConfigError, match=r"toks\['a'\]=5 is not a Tokenizer; jeton.load"):
        jeton.compare({"a": 5}, "low")  # type: ignore[dict-item]
    with pytest.raises(jeton.ConfigError, match="counts: the count of 'a' is 'b', not an integer"):
        jeton.Counts.from_mapping({"a": "b"})  # type: ignore[dict-item]


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(jeton.ConfigError) as caught:
        jeton.prune("x" * 100_000, vocab_size=300)  # type: ignore[arg-type]
    assert len(str(caught.value)) < MAX_SHOWN + 60
    assert "… (str)" in str(caught.value)


def test_paths_may_be_paths(tmp_path: Path) -> None:
    counts = jeton.Counts.from_mapping({"low": 5})
    counts.save(tmp_path / "counts.jtc")
    assert jeton.Counts.load(os.fspath(tmp_path / "counts.jtc")) == counts


@pytest.mark.parametrize("value", ["1" * 20, "1" * 5_000, str(1 << 64), "0257", "999999", "256"])
def test_rayons_variable_beyond_the_limit_of_threads(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", value)
    assert num_threads(None) == MAX_THREADS
    assert jeton.default().encode_batch(["a", "b"]).tolist() == [jeton.default().encode(text) for text in "ab"]


@pytest.mark.parametrize("value", ["", "0", "00", "-1", "1.5", "4x", "\u0664", "\u0660", "1_0", " 3"])
def test_another_value_of_rayons_variable_is_ignored(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    usual = num_threads(None)
    monkeypatch.setenv("RAYON_NUM_THREADS", value)
    assert num_threads(None) == usual


HUGE = (1 << 63, 1 << 64, 1 << 200, 10**5000)


@pytest.mark.parametrize("value", HUGE, ids=["2^63", "2^64", "2^200", "10^5000"])
def test_huge_integers_are_refused(value: int) -> None:
    """They must not reach the core or NumPy, which would raise `OverflowError`; messages may omit their digits."""
    pieces = '[["<unk>", 0], ["a", -1.0], ["b", -1.5], ["ab", -2.0]]'
    unigram = jeton.Tokenizer.from_bytes(f'{{"model": {{"type": "Unigram", "unk_id": 0, "vocab": {pieces}}}}}'.encode())
    tok = jeton.train(CORPUS, 260, pattern="gpt2", progress=False)
    calls: dict[str, Callable[[], object]] = {
        "n": lambda: unigram.nbest("ab", value),
        "nbest": lambda: unigram.encode("ab", alpha=1.0, nbest=value),
        "max_differences": lambda: jeton.compare_corpus([tok, tok], CORPUS, max_differences=value, progress=False),
        "window": lambda: jeton.cost(tok, CORPUS, window=value, progress=False),
        "memory_limit": lambda: jeton.Limits(memory_limit=value),
    }
    if value > 1 << 63:
        calls["seed"] = lambda: unigram.encode("ab", alpha=1.0, seed=value)
    if value > 1 << 200:
        calls |= {
            "alpha": lambda: unigram.encode("ab", alpha=value),
            "price": lambda: jeton.cost(tok, CORPUS, price=value, progress=False),
            "weight": lambda: jeton.Source(CORPUS, weight=value),
            "max_length": lambda: tok.encode_batch(["a"], max_length=-value),
        }
    for option, call in calls.items():
        with pytest.raises(jeton.ConfigError) as caught:
            call()
        assert caught.value.option == option
    for call in (
        lambda: tok.decode([97, value]),
        lambda: tok.id_to_bytes(value),
        lambda: tok.stream().push([97, value]),
        lambda: tok.tree(value),
    ):
        with pytest.raises(jeton.UnknownTokenError):
            call()


def test_amounts_with_too_many_digits_are_refused() -> None:
    with pytest.raises(jeton.ConfigError, match="memory_limit"):
        jeton.Limits(memory_limit="9" * 5_000)
