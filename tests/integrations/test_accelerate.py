"""`accelerate`: in place, with every change applied, and falling back to the original where equality is unproved."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import pytest

import jeton
from jeton.compat.hf_backend import Engine, Unproven
from jeton.integrations.transformers import accelerate, restore, stats
from jeton.integrations.transformers.state import check

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is a test dependency")
pytest.importorskip("transformers", reason="transformers is a test dependency")
pytestmark = pytest.mark.filterwarnings("ignore")  # ignore warnings of transformers

TEXTS = ["the lower world", "  two <mask> 12", "", "na\u00efve </s>\n"]


def calls(tok: Any) -> list[Any]:
    """Some results of a tokenizer."""
    found = [tok(TEXTS)["input_ids"], tok(TEXTS[0]), tok(TEXTS, padding=True, return_offsets_mapping=True)]
    return [*found, tok.decode([5, 6, 300, 301]), tok.tokenize(TEXTS[0])]


def test_accelerate_changes_the_tokenizer_in_place(original: Any) -> None:
    tok = copy.deepcopy(original)
    kind = type(tok)
    fast = accelerate(tok)
    assert fast is tok
    assert isinstance(fast, kind)
    assert type(fast).__name__ == kind.__name__
    assert accelerate(fast) is fast
    assert calls(fast) == calls(original)
    assert stats(fast).on_jeton == 5
    assert not stats(fast).fallbacks
    assert restore(fast) is tok
    assert type(tok) is kind
    assert stats(tok).on_jeton == 0
    assert calls(tok) == calls(original)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok))])
def test_copies_are_accelerated(original: Any, fast: Any, again: Callable[[Any], Any]) -> None:
    fast(TEXTS)
    other = again(fast)
    assert type(other) is type(fast)
    assert calls(other) == calls(original)
    assert stats(other).on_jeton >= 5


def test_classes_are_importable_by_name(fast: Any) -> None:
    assert pickle.loads(pickle.dumps(type(fast))) is type(fast)
    from jeton.integrations.transformers import classes

    for name in ("nothing", "no/module:Class", "jeton/errors:ConfigError", "json:missing"):
        with pytest.raises(AttributeError):
            getattr(classes, name)


def test_a_subclass_keeps_its_overrides(original: Any) -> None:
    class Shouting(type(original)):  # type: ignore[misc]
        def _decode(self, *args: Any, **options: Any) -> str:
            return super()._decode(*args, **options).upper()

    tok = copy.deepcopy(original)
    tok.__class__ = Shouting
    fast = accelerate(tok)
    ids = original("the lower")["input_ids"]
    assert fast.decode(ids) == original.decode(ids).upper()
    assert fast.batch_decode([ids, ids]) == [original.decode(ids).upper()] * 2
    assert stats(fast).on_jeton == 3


def _model(tok: Any) -> None:
    """A model of the same size, with the ids of two entries swapped."""
    file = json.loads(tok.backend_tokenizer.to_str())
    vocab = file["model"]["vocab"]
    vocab["t"], vocab["h"] = vocab["h"], vocab["t"]
    tok.backend_tokenizer.model = tokenizers.Tokenizer.from_str(json.dumps(file)).model


def _items(tok: Any) -> None:
    sequence = tok._tokenizer.normalizer
    sequence[1] = tokenizers.normalizers.Replace("e", "a")


CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_tokens": lambda tok: tok.add_tokens(["lower"]),
    "add_tokens of the backend": lambda tok: tok.backend_tokenizer.add_tokens(["wor"]),
    "add_tokens by its class": lambda tok: tokenizers.Tokenizer.add_tokens(tok._tokenizer, ["wor"]),
    "add_special_tokens": lambda tok: tok.add_special_tokens({"cls_token": "the"}),
    "model": _model,
    "normalizer": lambda tok: setattr(tok._tokenizer, "normalizer", tokenizers.normalizers.Replace("o", "a")),
    "pre_tokenizer, live": lambda tok: setattr(tok._tokenizer.pre_tokenizer, "add_prefix_space", True),
    "post_processor": lambda tok: setattr(tok._tokenizer, "post_processor", None),
    "decoder": lambda tok: setattr(tok._tokenizer, "decoder", tokenizers.decoders.Fuse()),
    "train": lambda tok: tok._tokenizer.train_from_iterator(
        ["other words"],
        tokenizers.trainers.BpeTrainer(
            show_progress=False,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<s>", "</s>", "<pad>", "<mask>"],
        ),
    ),
    "state": lambda tok: tok._tokenizer.__setstate__(_other_state()),
    "another tokenizer": lambda tok: setattr(
        tok, "_tokenizer", tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    ),
}


def _other_state() -> bytes:
    return bytes(tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a")).__getstate__())


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_the_backend_takes_effect(original: Any, fast: Any, change: Callable[[Any], Any]) -> None:
    before = fast("the lower world"), original("the lower world")
    assert before[0] == before[1]
    for tok in (original, fast):
        change(tok)
    found = [
        # New words, because training in place does not clear the library's cache.
        [tok("lowest worth them"), tok.decode([0, 1, 2]), tok.tokenize("they")]
        for tok in (original, fast)
    ]
    assert found[0] == found[1]
    # Encodings of an earlier result do not change.
    assert before[1].tokens() == before[0].tokens()
    assert before[1].word_ids() == before[0].word_ids()


def test_a_changed_item_of_a_normalizer_takes_effect(original: Any, fast: Any) -> None:
    for tok in (original, fast):
        replace = tokenizers.normalizers.Replace
        tok._tokenizer.normalizer = tokenizers.normalizers.Sequence([replace("x", "y"), replace("x", "y")])
    assert fast("the lower") == original("the lower")
    for tok in (original, fast):
        _items(tok)
    assert fast("the lower") == original("the lower")
    assert fast.tokenize("the lower") == original.tokenize("the lower")


def test_a_stage_that_is_a_python_object(original: Any, fast: Any) -> None:
    class Halves:
        def pre_tokenize(self, text: Any) -> None:
            text.split(lambda _, part: [part[: len(str(part)) // 2], part[len(str(part)) // 2 :]])

    for tok in (original, fast):
        tok._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Halves())
    for _ in range(3):
        assert fast("thelower") == original("thelower")
        assert fast.decode([5, 6]) == original.decode([5, 6])
    assert not stats(fast).on_jeton
    for tok in (original, fast):
        tok._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert fast("thelower") == original("thelower")
    assert stats(fast).on_jeton == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_normalized_added_tokens_give_equal_ids(original: Any, fast: Any, is_first: bool) -> None:
    # Some versions match them in the form that the normalizer produced when they were added.
    lower = tokenizers.normalizers.Lowercase()
    for tok in (original, fast):
        tok._tokenizer.normalizer = lower if is_first else None
        tok.add_tokens([tokenizers.AddedToken("LOWER", normalized=True)])
        tok._tokenizer.normalizer = None if is_first else lower
    assert fast("a LOWER lower") == original("a LOWER lower")
    assert fast.tokenize("a LOWER lower") == original.tokenize("a LOWER lower")


def test_a_tokenizer_with_other_ids_than_its_file_is_unproven(original: Any) -> None:
    other = jeton.train(["the lower world"], 270, pattern="gpt2", progress=False)
    with pytest.raises(Unproven, match="differ"):
        check(original._tokenizer, Engine(other))


def test_a_replaced_method_of_the_backend_is_called(original: Any, fast: Any) -> None:
    for tok in (original, fast):
        tok._tokenizer.decode = lambda ids, skip_special_tokens=False: "mine"
        tok._tokenizer.encode_batch = None
    assert fast.decode([5]) == original.decode([5]) == "mine"
    with pytest.raises(TypeError):
        fast("the")


def test_fallbacks_are_logged_once(fast: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Odd(str):
        __slots__ = ()

    with caplog.at_level(logging.INFO, "jeton.integrations"):
        for _ in range(3):
            fast(Odd("the"))
    lines = [line for line in caplog.messages if "a text that is not a str" in line]
    assert len(lines) <= 1  # another test may have logged it already
    assert sum(stats(fast).fallbacks.values()) == 3
    assert "3 on the original: encode: a text that is not a str" in repr(stats(fast))
    assert stats(fast).to_json()["share"] == 0


def test_unsupported_tokenizers_are_refused_or_unchanged(original: Any, caplog: pytest.LogCaptureFixture) -> None:
    original._tokenizer.model.dropout = 0.5
    kind = type(original)
    with pytest.raises(jeton.UnsupportedFeatureError, match="dropout") as raised:
        accelerate(original)
    assert raised.value.feature == "dropout"
    with caplog.at_level(logging.WARNING, "jeton.integrations"):
        assert accelerate(original, strict=False) is original
    assert "dropout" in caplog.text
    assert type(original) is kind
    with pytest.raises(TypeError, match="PreTrainedTokenizerFast"):
        accelerate("gpt2")


def test_a_feature_that_becomes_unsupported_falls_back(original: Any, fast: Any) -> None:
    model = fast._tokenizer.model
    model.dropout = 0.5
    assert fast("the lower")["input_ids"]
    assert any("dropout" in reason for reason in stats(fast).fallbacks)
    model.dropout = None
    assert fast("the lower") == original("the lower")
    assert stats(fast).on_jeton == 1


def test_results_equal_the_originals(original: Any, fast: Any) -> None:
    theirs, ours = original(TEXTS), fast(TEXTS)
    assert type(ours) is type(theirs)
    assert isinstance(ours.encodings, list)
    for result in (ours, pickle.loads(pickle.dumps(fast(TEXTS))), copy.deepcopy(fast(TEXTS))):
        assert [one.tokens for one in result.encodings] == [one.tokens for one in theirs.encodings]
        assert result.word_ids(1) == theirs.word_ids(1)
        assert len(result.encodings) == 4
        assert type(result.encodings[0]) is tokenizers.Encoding
        assert result.char_to_token(0, 4) == theirs.char_to_token(0, 4)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((TEXTS,), {}),
        ((TEXTS, TEXTS[::-1]), {"padding": True, "padding_side": "left"}),
        ((TEXTS,), {"max_length": 5, "stride": 2, "truncation": True, "return_overflowing_tokens": True}),
        ((TEXTS, TEXTS[::-1]), {"max_length": 9, "truncation": "longest_first", "padding": "max_length"}),
        (([text.split() for text in TEXTS],), {"is_split_into_words": True, "padding": True}),
        ((" ".join(TEXTS * 20),), {"add_special_tokens": False}),
    ],
)
def test_word_ids_need_no_encodings(small: dict[str, Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    for name, tok in small.items():
        if tok.pad_token is None and "padding" in options:
            continue
        fast = accelerate(copy.deepcopy(tok), strict=False)
        expected, found = tok(*arguments, **options), fast(*arguments, **options)
        rows = range(len(expected.encodings))
        assert [found.word_ids(row) for row in rows] == [expected.word_ids(row) for row in rows], name
        assert found.word_ids(-1) == expected.word_ids(-1)
        if name == "small byte-level":
            assert found.encodings._source is not None
        with pytest.raises(IndexError):
            found.word_ids(len(rows))
        assert [found.word_ids(row) for row in rows] == [expected.word_ids(row) for row in rows]


def test_classmethods_and_saving_equal_the_originals(fast: Any, original: Any, tmp_path: Any) -> None:
    original.save_pretrained(tmp_path / "a")
    fast.save_pretrained(tmp_path / "b")
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
    loaded = type(fast).from_pretrained(tmp_path / "a")
    assert type(loaded) is type(fast)
    assert calls(loaded) == calls(original)
    trained = fast.train_new_from_iterator([["other words"]], 300)
    assert type(trained) is type(fast)
    assert trained("other words")["input_ids"]


def test_threads_give_equal_ids(original: Any, fast: Any) -> None:
    expected = original(TEXTS * 20, padding=True)["input_ids"]
    found: list[Any] = []

    def work() -> None:
        found.extend(fast(TEXTS * 20, padding=True)["input_ids"] == expected for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 60


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 9},
    {"truncation": True, "max_length": 4},
    {"truncation": True, "max_length": 5, "padding": True, "padding_side": "left"},
    {"padding": True, "pad_to_multiple_of": 8},
    {"truncation": True, "max_length": 6, "stride": 2, "return_overflowing_tokens": True},
)


def test_options_that_other_threads_set_change_no_result(
    original: Any, fast: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may set options at any moment; here, between setting and using the options of a call."""
    expected = [dict(original(texts, **options)) for options in OPTIONS for texts in (TEXTS, TEXTS[0])]
    found = [dict(fast(texts, **options)) for options in OPTIONS for texts in (TEXTS, TEXTS[0])]
    assert found == expected
    splits = vars(tokenizers.Tokenizer)["encode_special_tokens"]

    def interfere(backend: Any) -> Any:
        backend.enable_truncation(3)
        backend.enable_padding(length=17)
        return splits.__get__(backend)

    monkeypatch.setattr(tokenizers.Tokenizer, "encode_special_tokens", property(interfere, splits.__set__))
    found = [dict(fast(texts, **options)) for options in OPTIONS for texts in (TEXTS, TEXTS[0])]
    monkeypatch.undo()
    assert found == expected
    padding = vars(tokenizers.Tokenizer)["padding"]
    others = {**(padding.__get__(fast._tokenizer) or {}), "length": 17, "direction": "left", "pad_to_multiple_of": 3}
    monkeypatch.setattr(tokenizers.Tokenizer, "padding", property(lambda backend: others))
    found = [dict(fast(texts, **options)) for options in OPTIONS for texts in (TEXTS, TEXTS[0])]
    assert found == expected


def test_options_of_one_thread_do_not_affect_another(original: Any, fast: Any) -> None:
    expected = [dict(original(TEXTS, **options)) for options in OPTIONS]
    wrong: list[Any] = []

    def work(first: int) -> None:
        for step in range(120):
            at = (first + step) % len(OPTIONS)
            if dict(fast(TEXTS, **OPTIONS[at])) != expected[at]:
                wrong.append(OPTIONS[at])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(first,)) for first in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def _ids(tok: Any, texts: list[str]) -> Any:
    return tok(texts, padding=True)["input_ids"], stats(tok).on_jeton > 0


@pytest.mark.parametrize(
    "method", ["fork", pytest.param("spawn", marks=pytest.mark.slow(reason="pickling, and the fork"))]
)
def test_accelerated_tokenizers_work_in_other_processes(original: Any, fast: Any, method: Any) -> None:
    expected = original(TEXTS, padding=True)["input_ids"]
    assert fast(TEXTS, padding=True)["input_ids"] == expected
    with get_context(method).Pool(2) as pool:
        assert pool.starmap(_ids, [(fast, TEXTS)] * 2) == [(expected, True)] * 2


def test_hashes_for_datasets_are_stable(
    original: Any, fast: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is a test dependency")
    from datasets.fingerprint import Hasher

    datasets.disable_progress_bars()
    seen = Hasher.hash(fast)
    calls(fast)
    fast.backend_tokenizer.no_padding()  # a setting that a call leaves, as in the original
    assert Hasher.hash(fast) == seen
    rows = datasets.Dataset.from_dict({"text": TEXTS * 5})
    prints = set()
    for num_proc in (None, None, 2):
        mapped = rows.map(lambda batch: fast(batch["text"]), batched=True, num_proc=num_proc)
        assert mapped["input_ids"][:] == original(TEXTS * 5)["input_ids"]
        prints.add(mapped._fingerprint)
    assert len(prints) == 1


def test_missing_transformers_names_the_version() -> None:
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "import jeton, jeton.integrations.transformers\n"
        "try:\n    jeton.integrations.transformers.accelerate\n"
        "except jeton.errors.MissingDependencyError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'transformers>=4.57,<6'" in done.stdout


def test_repeated_reading_of_encodings_leaves_calls_to_the_original(original: Any, fast: Any) -> None:
    expected = original("the lower").word_ids()
    for _ in range(100):
        assert fast("the lower").word_ids() == expected
    assert sum(stats(fast).fallbacks.values()) > 60
    before = stats(fast).on_jeton  # masks need no encodings
    chat, template = [{"content": "the"}], "{% generation %}{{ messages[0].content }}{% endgeneration %}"
    options = {"chat_template": template, "return_dict": True, "return_assistant_tokens_mask": True}
    for _ in range(10):
        assert fast.apply_chat_template(chat, **options)["assistant_masks"] == [1]
    assert stats(fast).on_jeton == before + 10
    for _ in range(60):
        fast("the lower")
    before = stats(fast).on_jeton
    for _ in range(20):
        fast("the lower")
    assert stats(fast).on_jeton == before + 20


def test_a_sampling_model_is_left_to_the_original(small: dict[str, Any]) -> None:
    tok = copy.deepcopy(small["small Unigram"])
    if not hasattr(tok._tokenizer.model, "alpha"):
        pytest.skip("this version of tokenizers does not sample")
    fast = accelerate(tok)
    fast("the lower")
    fast._tokenizer.model.alpha = 0.1
    assert len({tuple(fast("the lower lower")["input_ids"]) for _ in range(50)}) > 1
    assert any("samples" in reason for reason in stats(fast).fallbacks)


def test_a_tokenizer_without_transformers_becomes_the_drop_in(original: Any) -> None:
    backend = copy.deepcopy(original._tokenizer)
    backend.enable_truncation(6)
    backend.encode_special_tokens = True
    fast = accelerate(backend)
    assert type(fast).__module__ == "jeton.compat.tokenizers.core"
    assert accelerate(fast) is fast
    assert fast.to_str() == backend.to_str()
    assert fast.encode_special_tokens
    found, expected = ([each.ids for each in own.encode_batch(TEXTS)] for own in (fast, backend))
    assert found == expected
    fast.no_truncation()
    assert backend.truncation is not None


class Custom:
    """A pre-tokenizer that is a Python object."""

    def pre_tokenize(self, text: Any) -> None:
        """Leaves a text as it is."""


def sampling(backend: Any) -> None:
    backend.model = tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5)


def custom(backend: Any) -> None:
    backend.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Custom())


@pytest.mark.parametrize(("change", "reason"), [(sampling, "dropout=0.5"), (custom, "Custom PreTokenizer")])
def test_a_tokenizer_that_cannot_become_the_drop_in(
    change: Callable[[Any], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    change(backend)
    with pytest.raises(jeton.UnsupportedFeatureError, match=f"Jeton does not support this Tokenizer: .*{reason}"):
        accelerate(backend)
    with caplog.at_level(logging.WARNING, "jeton.integrations"):
        assert accelerate(backend, strict=False) is backend
    assert reason in caplog.text
