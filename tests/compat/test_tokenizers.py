"""`jeton.compat.tokenizers`: mutable tokenizers over immutable ones equal the original."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import jeton.compat.tokenizers as ours
from jeton.compat import report
from jeton.compat.tokenizers import original
from jeton.errors import UnsupportedFeatureError

theirs = pytest.importorskip("tokenizers", reason="tokenizers is a test dependency")

VOCAB = {token: id for id, token in enumerate(["[UNK]", "[CLS]", "[SEP]", *"lower", "low", "er", "##er", "▁", "new"])}
TEXTS = ["low lower new", "", "lower  newer <x>", "é low", "a\u0301 lower"]


def word_level(library: Any) -> Any:
    tok = library.Tokenizer(library.models.WordLevel({**VOCAB, "lower": 13}, unk_token="[UNK]"))
    tok.normalizer = library.normalizers.Lowercase()
    tok.pre_tokenizer = library.pre_tokenizers.Whitespace()
    tok.post_processor = library.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tok.decoder = library.decoders.WordPiece()
    return tok


def state(encoding: Any) -> Any:
    return json.loads(encoding.__getstate__())


def both(run: Any) -> tuple[Any, Any]:
    return run(theirs), run(ours)


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("adds", [False, True])
def test_encodings_are_equal(is_batch: bool, adds: bool) -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        tok.add_tokens([library.AddedToken("<x>", lstrip=True)])
        if is_batch:
            found = tok.encode_batch([*TEXTS, ("low", "new")], add_special_tokens=adds)
        else:
            found = [tok.encode(text, add_special_tokens=adds) for text in TEXTS]
        return list(map(state, found))

    expected, found = both(run)
    assert found == expected


def test_padding_and_truncation_are_equal() -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        tok.enable_truncation(7, stride=1)
        tok.enable_padding(direction="left", pad_to_multiple_of=3, pad_token="[PAD]", pad_id=9)
        found = tok.encode_batch(["low lower new lower low", "low", ("low new low", "lower lower")])
        return list(map(state, found)), tok.padding, tok.truncation, tok.to_str()

    expected, found = both(run)
    assert found == expected


def test_changes_of_components_take_effect() -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        first = tok.encode("LOW").ids
        tok.normalizer = library.normalizers.BertNormalizer(lowercase=False)
        second = tok.encode("LOW").ids
        tok.normalizer.lowercase = True
        tok.decoder  # noqa: B018 - reading another component must not hide the change
        third = tok.encode("LOW").ids
        tok.normalizer = None
        return first, second, third, tok.encode("LOW").ids, str(tok)

    expected, found = both(run)
    assert found == expected
    tok = word_level(ours)
    assert tok.normalizer is tok.normalizer


def test_an_empty_model_drops_unknown_text() -> None:
    def run(library: Any) -> Any:
        tok = library.Tokenizer(library.models.BPE())
        tok.add_tokens(["my", "name", library.AddedToken("is", single_word=True)])
        tok.add_special_tokens(["[CLS]"])
        return [state(tok.encode(text)) for text in ("my name is john", "this [CLS]", "")], tok.to_str()

    expected, found = both(run)
    assert found == expected


def test_added_tokens_have_the_ids_of_the_original() -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        numbers = [
            tok.add_tokens(["new", "<a>", "", "<a>"]),
            tok.add_special_tokens(["<a>", library.AddedToken("<b>", normalized=True)]),
            tok.add_tokens(["<c>"]),
        ]
        decoder = {id: str(token) for id, token in tok.get_added_tokens_decoder().items()}
        sizes = tok.get_vocab_size(), tok.get_vocab_size(False)
        return numbers, decoder, sizes, tok.token_to_id("<c>"), tok.id_to_token(15), sorted(tok.get_vocab().items())

    expected, found = both(run)
    assert found == expected


def test_decode_leaves_out_unknown_ids() -> None:
    expected, found = both(lambda library: word_level(library).decode_batch([[1, 8, 99, 10], [1 << 31]], False))
    assert found == expected


def test_a_decode_stream_waits_for_characters() -> None:
    entries = {f"<0x{byte:02X}>": byte for byte in range(256)} | {"▁low": 256}

    def run(library: Any) -> Any:
        tok = library.Tokenizer(library.models.BPE(entries, [], byte_fallback=True))
        decoders = library.decoders
        tok.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse(), decoders.Metaspace()])
        stream = decoders.DecodeStream()
        return [stream.step(tok, id) for id in [256, *"é小!".encode(), 256]]

    expected, found = both(run)
    assert found == expected
    assert None in found


def test_asynchronous_calls_equal_the_original() -> None:
    async def run(library: Any) -> Any:
        tok = word_level(library)
        one = await tok.async_encode("low lower")
        many = await asyncio.gather(*(tok.async_encode_batch(["low", "new"]) for _ in range(3)))
        return state(one), [list(map(state, each)) for each in many], await tok.async_decode_batch([[8], [12]])

    expected, found = asyncio.run(run(theirs)), asyncio.run(run(ours))
    assert found == expected


def test_pickles_and_copies_are_equal_and_independent() -> None:
    tok = word_level(ours)
    expected = state(tok.encode("low new"))
    for made in (pickle.loads(pickle.dumps(tok)), copy.deepcopy(tok), ours.Tokenizer.from_str(tok.to_str())):
        assert state(made.encode("low new")) == expected
    copied = copy.deepcopy(tok)
    copied.add_tokens(["<x>"])
    assert tok.token_to_id("<x>") is None
    encoding = pickle.loads(pickle.dumps(tok.encode("low new")))
    assert state(encoding) == expected


def test_the_state_of_the_original_loads() -> None:
    tok = ours.Tokenizer(ours.models.BPE())
    tok.__setstate__(word_level(theirs).__getstate__())
    assert state(tok.encode("low")) == state(word_level(theirs).encode("low"))


@pytest.mark.parametrize(
    "call",
    [
        lambda library, tok: tok.encode(1),
        lambda library, tok: tok.encode("\ud800"),
        lambda library, tok: tok.encode(["a", 1], is_pretokenized=True),
        lambda library, tok: tok.encode_batch("text"),
        lambda library, tok: tok.encode_batch([1]),
        lambda library, tok: tok.decode("text"),
        lambda library, tok: tok.decode([-1]),
        lambda library, tok: tok.enable_truncation(3, stride=9),
        lambda library, tok: tok.enable_truncation(3, strategy="none"),
        lambda library, tok: tok.enable_padding(direction="up"),
        lambda library, tok: tok.add_tokens([1]),
        lambda library, tok: setattr(tok, "normalizer", 1),
        lambda library, tok: library.Tokenizer(1),
        lambda library, tok: library.Tokenizer.from_str("{}"),
        lambda library, tok: library.Tokenizer.from_file("/no/such/file"),
        lambda library, tok: library.Tokenizer.from_buffer(b"{}"),
    ],
)
def test_exceptions_have_the_same_class(call: Any) -> None:
    raised = []
    for library in (theirs, ours):
        with pytest.raises(Exception) as caught:
            call(library, word_level(library))
        raised.append(caught.type)
    assert raised[1] is raised[0]


def test_threads_encode_while_another_changes_the_tokenizer() -> None:
    tok = word_level(ours)
    expected = {tuple(tok.encode("low LOW <x>").ids)}
    tok.normalizer = None
    expected.add(tuple(tok.encode("low LOW <x>").ids))
    found: list[tuple[int, ...]] = []

    def encode() -> None:
        found.extend(tuple(tok.encode("low LOW <x>").ids) for _ in range(200))

    workers = [threading.Thread(target=encode) for _ in range(3)]
    for worker in workers:
        worker.start()
    for turn in range(40):
        tok.normalizer = ours.normalizers.Lowercase() if turn % 2 else None
    for worker in workers:
        worker.join()
    assert set(found) <= expected


class Upper:
    """A pre-tokenizer in Python, which the original runs."""

    def pre_tokenize(self, text: Any) -> None:
        text.split(lambda index, part: part.split("-", "removed"))


def test_python_components_run_on_the_original() -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        tok.pre_tokenizer = library.pre_tokenizers.PreTokenizer.custom(Upper())
        return state(tok.encode("low-new"))

    expected, found = both(run)
    assert found == expected
    assert any("Python object" in line for line in report.lines("tokenizers", set))


def test_python_components_need_the_original_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(original, "extension_or_none", lambda: None)
    tok = word_level(ours)
    tok.pre_tokenizer = ours.pre_tokenizers.PreTokenizer.custom(Upper())
    with pytest.raises(UnsupportedFeatureError, match="original package"):
        tok.encode("low")
    assert word_level(ours).encode("low").ids == [1, 8, 2]


def test_training_keeps_options_and_uses_python_components() -> None:
    def run(library: Any) -> Any:
        tok = library.Tokenizer(library.models.BPE(unk_token="?", fuse_unk=True))
        tok.normalizer = library.normalizers.Lowercase()
        tok.pre_tokenizer = library.pre_tokenizers.PreTokenizer.custom(Upper())
        model = tok.model
        trainer = library.trainers.BpeTrainer(special_tokens=["?"], show_progress=False)
        tok.train_from_iterator(["low-new", "LOW"], trainer)
        tok.pre_tokenizer = None
        return tok.to_str(), model.unk_token, model.token_to_id("low"), state(tok.encode("Low!!"))

    expected, found = both(run)
    assert found == expected
    with pytest.raises(Exception, match=r"^UnigramTrainer can only train a Unigram$"):
        word_level(ours).train_from_iterator([], ours.trainers.UnigramTrainer())


def byte_level(library: Any, **options: Any) -> Any:
    alphabet = sorted(library.pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: id for id, token in enumerate([*alphabet, "lo", "low"])}
    tok = library.Tokenizer(library.models.BPE(vocab, [("l", "o"), ("lo", "w")], **options))
    tok.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tok


def test_added_tokens_in_ids_that_entries_leave_free() -> None:
    def run(library: Any) -> Any:
        tok = library.Tokenizer(library.models.WordPiece({"a": 0, "[UNK]": 1, "##a": 5}, unk_token="[UNK]"))
        tok.add_tokens(["<y>"])
        tok = library.Tokenizer.from_str(tok.to_str())
        tok.add_tokens(["<z>"])
        tok.normalizer = library.normalizers.Lowercase()
        state(tok.encode("aa"))
        return (
            tok.to_str(),
            tok.get_vocab_size(),
            tok.get_vocab_size(False),
            tok.token_to_id("<z>"),
            tok.get_vocab(False),
        )

    expected, found = both(run)
    assert found == expected


def test_an_added_token_that_is_an_entry_within_words() -> None:
    def run(library: Any) -> Any:
        tok = byte_level(library)
        tok.add_tokens([library.AddedToken("low", single_word=True)])
        return [state(tok.encode(text)) for text in ("lower low", "low")]

    expected, found = both(run)
    assert found == expected


def test_components_that_change_after_a_file_was_read() -> None:
    def run(library: Any) -> Any:
        bytes_alone = {f"<0x{byte:02X}>": byte for byte in range(3)} | {"[UNK]": 3, "a": 4}  # which Jeton does not read
        tok = library.Tokenizer(library.models.BPE(bytes_alone, [], byte_fallback=True, unk_token="[UNK]"))
        tok = library.Tokenizer.from_str(tok.to_str())
        tok.decoder = library.decoders.Fuse()
        before = state(tok.encode("ab"))
        tok.model.unk_token = "a"
        return before, state(tok.encode("ac")), tok.to_str()  # the original keeps the old tokens of "ab"

    expected, found = both(run)
    assert found == expected


def test_a_post_processor_longer_than_the_truncation_limit() -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        processor, tok.post_processor = tok.post_processor, None
        tok.enable_truncation(2, stride=1)
        tok.post_processor = processor
        return [state(tok.encode(text, add_special_tokens=False)) for text in ("low", "")]

    expected, found = both(run)
    assert found == expected


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("options", [{"max_length": 3}, {"max_length": 4, "stride": 1}, {"max_length": 9}])
def test_truncation_and_padding_of_one_text_equal_the_original(options: dict[str, int], direction: str) -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        tok.enable_truncation(**options, direction=direction)
        tok.enable_padding(direction=direction, pad_id=7, pad_type_id=3, pad_token="[P]", pad_to_multiple_of=5)
        cases = [(text, adds) for text in ("low", "", "low new er low lower", "\u00e9 low") for adds in (False, True)]
        return [state(tok.encode(text, add_special_tokens=adds)) for text, adds in cases]

    expected, found = both(run)
    assert found == expected


def test_pairs_without_post_processor_equal_the_original() -> None:
    def run(library: Any) -> Any:
        tok = word_level(library)
        tok.post_processor = None
        tok.enable_padding(pad_type_id=2, direction="left")
        fast = [each.type_ids for each in tok.encode_batch_fast([("low", "new"), ("low new er", "low")])]
        tok.enable_truncation(3)
        pieces = [tok.encode(*pair) for pair in (("low new er", "low"), ("low", "low new er"))]
        return fast, list(map(state, pieces))

    expected, found = both(run)
    assert found == expected


def test_offsets_of_texts_with_bytes_that_the_model_does_not_know() -> None:
    def run(library: Any) -> Any:
        tok = byte_level(library)
        vocab = {token: id for token, id in tok.get_vocab().items() if token not in "\u0103\u0104"}  # 0x03 and 0x04
        tok.model = library.models.BPE(vocab, [("l", "o"), ("lo", "w")])
        return [state(tok.encode(text)) for text in ("low\u00e9r low", "lo\x03w \x04low")]

    expected, found = both(run)
    assert found == expected
    calls = report.lines("tokenizers", set)
    byte_level(ours).encode("low\u00e9r low").offsets  # noqa: B018 - all bytes that UTF-8 has are known
    assert report.lines("tokenizers", set) == calls


def test_indented_files_are_equal() -> None:
    vocab = {'"vocab": 0': 0, "a": 1, "\0": 2, "a\0": 3, "\n": 4}

    def run(library: Any) -> Any:
        made = [
            library.models.BPE({**vocab}, [("a", "\0")]), library.models.WordLevel(vocab, unk_token="a"),
            library.models.Unigram([("a", -1.5), ('"merges": 0', 0.0)], 0), library.models.BPE(),
        ]  # fmt: skip
        return [library.Tokenizer(model).to_str(pretty=True) for model in made]

    expected, found = both(run)
    assert found == expected


PROGRAM = """
import jeton.compat
jeton.compat.replace("tokenizers")
import tokenizers
from tokenizers.implementations import ByteLevelBPETokenizer
from tokenizers import Tokenizer, models
tok = ByteLevelBPETokenizer()
tok.train_from_iterator(["low lower lowest"] * 3, vocab_size=270, show_progress=False)
print(tokenizers.__name__, tok.decode(tok.encode("lower lowest").ids), type(tok._tokenizer).__module__)
"""


def test_the_name_of_the_library_is_replaced() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["jeton.compat.tokenizers", "lower", "lowest", "jeton.compat.tokenizers.core"]


DATA = os.environ.get("JETON_TEST_DATA")


@pytest.mark.skipif(not DATA, reason="JETON_TEST_DATA is not set")
@pytest.mark.parametrize("name", ["mbart-en-fairseq", "roberta-base", "t5-small"])
def test_published_files_give_equal_encodings(name: str) -> None:
    path = str(Path(DATA or "") / "vocabs" / f"{name}.tokenizer.json")
    tok, expected = ours.Tokenizer.from_file(path), theirs.Tokenizer.from_file(path)
    assert tok.to_str() == expected.to_str()
    for text in (*TEXTS, "x  y\t<mask> z </s> <pad> 今天 {naïve}"):
        assert state(tok.encode(text)) == state(expected.encode(text))
