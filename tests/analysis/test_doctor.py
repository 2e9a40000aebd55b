"""Doctor: a planted cause is found and named, and sound folders agree."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.analysis import Diagnosis
from jeton.analysis.doctoring import readers as reading
from jeton.analysis.doctoring.changes import Changes
from jeton.analysis.doctoring.telling_texts import telling_texts
from jeton.training import presets
from tests.formats.gguf_writer import gguf, metadata
from tests.material import CORPUS, KINDS, tokenizer

pytest.importorskip("tokenizers")

LLAMA = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
ESCAPE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
NFC = {"type": "NFC"}


# ── folders ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write(folder: Path, **files: Any) -> Path:
    """Writes files: ``tokenizer__json`` is tokenizer.json."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder


def as_json(tok: jeton.Tokenizer, **changes: Any) -> dict[str, Any]:
    """A tokenizer.json without Jeton's own facts, as other programs write it."""
    file: dict[str, Any] = json.loads(tok.to_bytes())
    del file["model"]["jeton"]
    return file | changes


def from_json(file: dict[str, Any]) -> jeton.Tokenizer:
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


def as_gguf(tok: jeton.Tokenizer, name: str = "test", **others: Any) -> bytes:
    """A GGUF file of a byte-level tokenizer, with its special tokens as control tokens."""
    file = as_json(tok)
    tokens, types = [""] * len(tok), [1] * len(tok)
    for token, id in file["model"]["vocab"].items():
        tokens[id] = token
    for token in file["added_tokens"]:
        tokens[token["id"]], types[token["id"]] = token["content"], 3
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in file["model"]["merges"]]
    facts = metadata("gpt2", tokens, token_type=types, merges=merges, **{"add_bos_token": False, **others})
    return gguf({"general.name": name} | facts)


@cache
def pieces(vocab_size: int = 450, **options: Any) -> bytes:
    """A SentencePiece model."""
    sentencepiece = pytest.importorskip("sentencepiece")
    from io import BytesIO

    given: dict[str, Any] = {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity"}
    given |= {"remove_extra_whitespaces": False, "hard_vocab_limit": False, "minloglevel": 2, **options}
    model = BytesIO()
    lines = iter(CORPUS.splitlines() * 5)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, vocab_size=vocab_size, **given
    )
    return model.getvalue()


def of_pieces(tmp_path: Path, data: bytes | None = None) -> jeton.Tokenizer:
    path = tmp_path / "pieces.model"
    path.write_bytes(pieces() if data is None else data)
    tok = jeton.load(path)
    path.unlink()
    return tok


def metaspace(scheme: str) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": False}


def spm_gguf(tok: jeton.Tokenizer) -> bytes:
    """A GGUF file of a SentencePiece model. llama.cpp adds ▁ after each of its control tokens, too."""
    tokens = [tok.id_to_token(id) for id in range(len(tok))]
    types = [{4: 3, 6: 6}.get(tok._core.kind(id), 1) for id in range(len(tok))]
    types[0] = 2
    scores = [float(score) for score in tok._core.scores()]
    facts = {"scores": scores, "token_type": types, "add_bos_token": False, "add_space_prefix": True}
    return gguf(metadata("llama", tokens, **facts))


# ── a planted cause each ────────────────────────────────────────────────────────────────────────────────────────────

Plant = Callable[[Path], Path]


def legacy(folder: Path) -> Path:
    tok = of_pieces(folder)
    file = as_json(tok, normalizer=None, pre_tokenizer=metaspace("first"))
    return write(folder, tokenizer__json=file, model__gguf=spm_gguf(tok))


def legacy_of_a_class(folder: Path) -> Path:
    file = as_json(of_pieces(folder), normalizer=None, pre_tokenizer=metaspace("always"))
    return write(folder, tokenizer__json=file, tokenizer_config__json=LLAMA)


def dummy_prefix(folder: Path) -> Path:
    file = as_json(of_pieces(folder), normalizer=ESCAPE)
    return write(folder, tokenizer__json=file, tokenizer__model=pieces())


def prefix_space(folder: Path) -> Path:
    config = {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}
    return write(folder, tokenizer__json=as_json(tokenizer("byte gpt2")), tokenizer_config__json=config)


def nfc(folder: Path) -> Path:
    tok = tokenizer("byte qwen2")
    return write(folder, tokenizer__json=as_json(tok, normalizer=NFC), model__gguf=as_gguf(tok, pre="qwen2"))


def nfkc(folder: Path) -> Path:
    data = pieces(300, normalization_rule_name="nfkc", model_type="unigram", byte_fallback=False)
    file = as_json(of_pieces(folder, data))
    parts = file["normalizer"]["normalizers"]
    file["normalizer"]["normalizers"] = [part for part in parts if part["type"] != "Precompiled"]
    return write(folder, tokenizer__json=file, tokenizer__model=data)


def lowercase(folder: Path) -> Path:
    tok = jeton.train([CORPUS], 250, preset=presets.Bert(), progress=False)
    config = {"tokenizer_class": "BertTokenizer", "do_lower_case": False}
    return write(folder, tokenizer__json=as_json(tok), tokenizer_config__json=config)


def pattern_of_a_class(folder: Path) -> Path:
    file = as_json(tokenizer("byte llama3"), normalizer=NFC)
    return write(folder, tokenizer__json=file, tokenizer_config__json={"tokenizer_class": "Qwen2Tokenizer"})


def missing_pre(folder: Path) -> Path:
    tok = tokenizer("byte gpt2")
    return write(folder, tokenizer__json=as_json(tok), model__gguf=as_gguf(tok))


def flags(folder: Path) -> Path:
    tok = tokenizer("byte gpt2")
    return write(folder, tokenizer__json=as_json(tok), model__gguf=as_gguf(tok, "phi-3", pre="gpt-2"))


def missing_token(folder: Path) -> Path:
    config = {**FAST, "additional_special_tokens": ["<tool>"]}
    return write(folder, tokenizer__json=as_json(tokenizer("byte gpt2")), tokenizer_config__json=config)


def byte_fallback(folder: Path) -> Path:
    file = as_json(of_pieces(folder))
    file["model"]["byte_fallback"] = False
    return write(folder, tokenizer__json=file, tokenizer__model=pieces())


def bos(folder: Path) -> Path:
    tok = tokenizer("byte gpt2")
    id = tok.special_tokens["<|endoftext|>"]
    model = as_gguf(tok, pre="gpt-2", bos_token_id=id, add_bos_token=True)
    return write(folder, tokenizer__json=as_json(tok), model__gguf=model)


def ignore_merges(folder: Path) -> Path:
    file = as_json(tokenizer("byte llama3"))
    del file["model"]["merges"][20:40]  # so some entries are not results of merges
    model = as_gguf(from_json(file), pre="dbrx")
    file["model"]["ignore_merges"] = True
    return write(folder, tokenizer__json=file, model__gguf=model)


def other_vocabulary(folder: Path) -> Path:
    return write(folder, tokenizer__json=as_json(of_pieces(folder)), tokenizer__model=pieces(440))


def clean_up(folder: Path) -> Path:
    file = as_json(jeton.train([CORPUS], 250, preset=presets.Bert(), progress=False))
    file["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": False}
    return write(folder, tokenizer__json=file, tokenizer_config__json={**FAST, "clean_up_tokenization_spaces": True})


# cause, words that name it, readers that differ (class readers as in transformers 5)
PLANTED: list[tuple[Plant, str, str, str]] = [
    (legacy, "legacy", "the option legacy", "model.gguf"),
    (legacy_of_a_class, "legacy", "by the class LlamaTokenizer", "folder: transformers"),
    (dummy_prefix, "prefix_space", "add_dummy_prefix", "tokenizer.model"),
    (prefix_space, "prefix_space", "add_prefix_space", "folder: transformers"),
    (nfc, "normalizer", "lacks the normalizer NFC", "model.gguf"),
    (nfkc, "normalizer", "such as NFKC", "tokenizer.model"),
    (lowercase, "normalizer", "BertNormalizer.lowercase is false", "folder: transformers"),
    (pattern_of_a_class, "pattern", "it splits by 'qwen2', not by 'gpt4'", "folder: transformers"),
    (missing_pre, "gguf_pre", "tokenizer.ggml.pre is missing", "model.gguf"),
    (flags, "added_token_flags", "rstrip is true", "model.gguf"),
    (missing_token, "added_tokens", "'<tool>'", "folder: transformers"),
    (byte_fallback, "byte_fallback", "byte_fallback is true, not false", "tokenizer.model"),
    (bos, "template", "its template is <|endoftext|> …", "model.gguf"),
    (ignore_merges, "ignore_merges", "ignore_merges is false, not true", "model.gguf"),
    (other_vocabulary, "vocabulary", "it lacks 10 entries", "tokenizer.model"),
    (clean_up, "clean_up_tokenization_spaces", "removes spaces before punctuation", "folder: transformers"),
]
OF_VERSION_5 = (legacy_of_a_class, prefix_space, lowercase, pattern_of_a_class)


@pytest.mark.parametrize(("plant", "cause", "words", "reader"), PLANTED, ids=[one[0].__name__ for one in PLANTED])
def test_a_planted_cause_is_found_and_proved(plant: Plant, cause: str, words: str, reader: str, tmp_path: Path) -> None:
    if reader.endswith("transformers"):
        transformers = pytest.importorskip("transformers")
        if plant in OF_VERSION_5 and transformers.__version__ < "5":
            pytest.skip("version 4 reads tokenizer.json as it is")
    found = jeton.doctor(plant(tmp_path))
    assert not found.agrees
    first = found.differences[0]
    assert any(name.startswith(reader) for name in first.readers)
    assert first.causes[0].cause == cause
    assert words in first.causes[0].words
    assert all(one.proven for each in found.differences for one in each.causes)
    # a small change is the only cause; the character map of NFKC differs slightly from SentencePiece's
    assert len(first.causes) == (2 if plant is nfkc else 1)
    assert cause in str(found)


def test_legacy_false_is_the_cause_of_a_difference_between_folder_and_model(tmp_path: Path) -> None:
    """SentencePiece adds ▁ to each text. The slow class of transformers 4 agrees, but has no definition to read."""
    pytest.importorskip("transformers")
    found = jeton.doctor(write(tmp_path, tokenizer__model=pieces(), tokenizer_config__json={**LLAMA, "legacy": False}))
    difference = next(one for one in found.differences if "tokenizer.model: sentencepiece" in one.readers)
    assert [(one.cause, one.proven) for one in difference.causes] == [("legacy", True)]
    assert "by the class" not in str(difference.causes)


def test_two_causes_are_both_proved(tmp_path: Path) -> None:
    tok = tokenizer("byte qwen2")
    found = jeton.doctor(write(tmp_path, tokenizer__json=as_json(tok, normalizer=NFC), model__gguf=as_gguf(tok)))
    causes = found.differences[0].causes
    assert [(one.cause, one.proven) for one in causes] == [("gguf_pre", True), ("normalizer", True)]
    assert causes[0].num_texts > causes[1].num_texts > 0
    assert causes[1].text is not None
    unchanged = [one for one in (causes[0].text, causes[1].text) if one is not None]
    assert len(set(unchanged)) == 2


def test_a_difference_without_a_proved_cause_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, tokenizer__json=as_json(tokenizer("byte gpt2")))
    real = reading._tokenizers

    def odd(path: str, name: str) -> reading.Reader:
        reader = real(path, name)
        return reading.replace(
            reader, encode=lambda text: [*(reader.encode or list)(text), *([7] if "x" in text else [])]
        )

    monkeypatch.setattr(reading, "_tokenizers", odd)
    found = jeton.doctor(tmp_path)
    assert not found.agrees
    assert "x" in found.differences[0].text
    assert [one.proven for one in found.differences[0].causes] == [False]
    assert "no cause was proved" in str(found)


def test_a_difference_in_the_tokens_of_the_template_alone_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = tokenizer("byte gpt2").add_tokens(["<s>"]).with_template("<s> $A", "<s> $A <s> $B")
    write(tmp_path, tokenizer__json=as_json(tok))
    real = reading._tokenizers

    def odd(path: str, name: str) -> reading.Reader:
        reader = real(path, name)
        return reading.replace(reader, frame=lambda text: [*(reader.frame or list)(text), 7])

    monkeypatch.setattr(reading, "_tokenizers", odd)
    found = jeton.doctor(tmp_path)
    assert not found.agrees
    assert [one.proven for one in found.differences[0].causes] == [False]


def test_a_reader_without_a_definition_is_compared_with_variants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a slow class of transformers, which is Python code."""
    tok = tokenizer("byte gpt2")
    write(tmp_path, tokenizer__json=as_json(tok))
    variant = jeton.Tokenizer.from_bytes(json.dumps(as_json(tok, normalizer={"type": "Lowercase"})).encode())
    monkeypatch.setattr(
        reading,
        "_transformers",
        lambda folder, name: [reading.Reader(name, "slow", encode=lambda text: variant.encode(text, special="all"))],
    )
    (difference,) = jeton.doctor(tmp_path).differences
    assert [(one.cause, one.proven) for one in difference.causes] == [("normalizer", True)]
    assert "Lowercase" in difference.causes[0].words


def test_an_unrelated_tokenizer_is_one_cause(tmp_path: Path) -> None:
    a = write(tmp_path / "a", tokenizer__json=as_json(of_pieces(tmp_path)))
    b = write(tmp_path / "b", tokenizer__json=as_json(tokenizer("byte qwen2"), normalizer=NFC))
    (difference,) = jeton.doctor(a, beside=b).differences
    assert [(one.cause, one.proven) for one in difference.causes] == [("vocabulary", True)]
    assert "it is another tokenizer" in difference.causes[0].words
    assert "its model is BPE (byte), not BPE (char)" in difference.causes[0].words


def test_swapped_ids_are_proved_as_numbering(tmp_path: Path) -> None:
    file = as_json(tokenizer("char gpt2"))
    other = json.loads(json.dumps(file))
    vocab = other["model"]["vocab"]
    vocab["a"], vocab["e"] = vocab["e"], vocab["a"]
    a, b = write(tmp_path / "a", tokenizer__json=file), write(tmp_path / "b", tokenizer__json=other)
    (difference,) = jeton.doctor(a, beside=b).differences
    assert [(one.cause, one.proven) for one in difference.causes] == [("numbering", True)]


def test_all_changes_turn_any_tokenizer_into_the_second(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All changes together give the second tokenizer, so leaving one out tests whether it is a cause."""
    monkeypatch.setattr(Changes, "_is_another", lambda self: False)
    b = tokenizer(kind)
    texts = telling_texts([b], [])[:150]
    for name in KINDS:
        changes = Changes(tokenizer(name), b)
        made = changes.apply(changes.all)
        assert made is not b
        for text in texts:
            assert _ids(made, text) == _ids(b, text), (name, text)


def _ids(tok: jeton.Tokenizer, text: str) -> list[int] | None:
    try:
        return tok.encode(text, special="all")
    except jeton.JetonError:
        return None


# ── sound folders ───────────────────────────────────────────────────────────────────────────────────────────────────


def trained(name: str) -> Plant:
    def build(folder: Path) -> Path:
        tok = tokenizer(name)
        tok.save(folder / "tokenizer.json")
        return folder

    return build


def with_gguf(folder: Path) -> Path:
    tok = tokenizer("byte qwen2")
    return write(folder, tokenizer__json=as_json(tok), model__gguf=as_gguf(tok, pre="qwen2"))


def with_spm_gguf(folder: Path) -> Path:
    tok = of_pieces(folder)
    return write(folder, tokenizer__json=as_json(tok), tokenizer__model=pieces(), model__gguf=spm_gguf(tok))


def with_model(folder: Path) -> Path:
    return write(folder, tokenizer__json=as_json(of_pieces(folder)), tokenizer__model=pieces())


def model_alone(folder: Path) -> Path:
    return write(folder, tokenizer__model=pieces(300, model_type="unigram", byte_fallback=False))


def word_pieces(folder: Path) -> Path:
    tok = jeton.train([CORPUS], 250, preset=presets.Bert(), progress=False)
    return write(folder, tokenizer__json=as_json(tok), tokenizer_config__json={"tokenizer_class": "BertTokenizer"})


def pair(folder: Path) -> Path:
    file = as_json(tokenizer("byte gpt2"))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in file["model"]["merges"]]
    special = {token["content"] for token in file["added_tokens"]}
    vocab = {token: id for token, id in file["model"]["vocab"].items() if token not in special}
    lines = "\n".join(["#version: 0.2", *merges]) + "\n"
    named = {f"{role}_token": None for role in ("bos", "eos", "unk")}
    config = {"tokenizer_class": "GPT2Tokenizer", **named}
    return write(folder, vocab__json=vocab, merges__txt=lines.encode(), tokenizer_config__json=config)


def ranks(folder: Path) -> Path:
    """A rank file, whose pattern and special tokens the folder's tokenizer.json names."""
    tok = tokenizer("byte cl100k")
    tok.save(folder / "ranks.tiktoken", accept_loss=["pattern", "special_tokens"])
    return write(folder, tokenizer__json=as_json(tok))


SOUND: list[Plant] = [
    *(trained(name) for name in ("byte gpt2", "byte o200k", "char gpt2", "words suffix")),
    *(with_gguf, with_spm_gguf, with_model, model_alone, word_pieces, pair, ranks),
]


@pytest.mark.parametrize("build", SOUND, ids=lambda build: build.__qualname__.replace(".<locals>.build", ""))
def test_sound_folders_agree(build: Plant, tmp_path: Path) -> None:
    found = jeton.doctor(build(tmp_path))
    assert found.agrees, str(found)
    assert found.differences == ()
    assert sum(row.group == "A" for row in found.readers) >= 2


PUBLISHED = {
    "gpt2": {"gpt2.encoder.json": "vocab.json", "gpt2.vocab.bpe": "merges.txt"},
    "bert": {"bert-uncased.vocab.txt": "vocab.txt"},
    "roberta": {"roberta-base.tokenizer.json": "tokenizer.json"},
    "neox": {"gpt-neox-20b.tokenizer.json": "tokenizer.json"},
    "whisper": {"whisper-tiny.tokenizer.json": "tokenizer.json"},
    "phi": {"phi-3-mini.tokenizer.json": "tokenizer.json"},
}


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.slow(reason="small folders of each kind, trained")
def test_published_tokenizers_agree(name: str, tmp_path: Path, data: Path) -> None:
    for source, to in PUBLISHED[name].items():
        (tmp_path / to).write_bytes((data / "vocabs" / source).read_bytes())
    if name == "gpt2":  # llama.cpp's file of the same vocabulary
        (tmp_path / "model.gguf").write_bytes(lzma.decompress((data / "gguf" / "gpt-2.gguf.xz").read_bytes()))
    found = jeton.doctor(tmp_path)
    assert found.agrees, str(found)


# ── readers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_libraries_that_are_not_installed_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, tokenizer__json=as_json(of_pieces(tmp_path)), tokenizer__model=pieces())
    for name in ("tokenizers", "transformers", "sentencepiece"):
        monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(reading, "find_spec", lambda name: None)
    found = jeton.doctor(tmp_path)
    unchecked = {row.name: row.reason for row in found.readers if row.reason is not None}
    assert unchecked == {
        "tokenizer.json: tokenizers": "tokenizers is not installed",
        "folder: transformers": "transformers is not installed",
        "tokenizer.model: sentencepiece": "sentencepiece is not installed",
    }
    assert found.agrees
    assert "Not checked: folder: transformers: transformers is not installed" in str(found)


def test_remote_code_is_never_run(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    marker = tmp_path / "ran"
    code = f"open({str(marker)!r}, 'w').close()\nclass OwnTokenizer: pass\n"
    config = {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}}
    folder = write(
        tmp_path / "model",
        tokenizer__json=as_json(tokenizer("byte gpt2")),
        tokenizer_config__json=config,
        tokenization_own__py=code.encode(),
    )
    found = jeton.doctor(folder)
    assert not marker.exists()
    assert found.agrees
    assert {row.name for row in found.readers} >= {"folder: jeton", "folder: transformers"}


def test_a_damaged_file_is_named_and_the_others_are_compared(tmp_path: Path) -> None:
    write(tmp_path, tokenizer__json=as_json(of_pieces(tmp_path)), tokenizer__model=pieces()[:-100], model__gguf=b"GGUF")
    found = jeton.doctor(tmp_path)
    reasons = {row.name: row.reason for row in found.readers}
    assert reasons["tokenizer.json: jeton"] is None
    assert "ends in the middle" in str(reasons["model.gguf: jeton"])
    assert reasons["tokenizer.model: jeton"]
    assert reasons["tokenizer.model: sentencepiece"]
    assert found.agrees


def test_a_folder_without_a_tokenizer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="contains no tokenizer"):
        jeton.doctor(tmp_path)
    with pytest.raises(FileNotFoundError):
        jeton.doctor(tmp_path / "no")
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(jeton.ConfigError, match="no library loads it"):
        jeton.doctor(tmp_path)


def test_a_class_without_is_fast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For a folder with tekken.json, `AutoTokenizer` returns mistral-common's class if that package is installed."""
    transformers = pytest.importorskip("transformers")
    ours = tokenizer("byte gpt2")

    class Backend:
        encode = staticmethod(lambda text, **options: ours.encode(text, special="all"))
        decode = staticmethod(ours.decode)
        convert_ids_to_tokens = staticmethod(ours.id_to_token)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *args, **options: Backend())
    found = jeton.doctor(write(tmp_path, tokenizer__json=as_json(ours)))
    assert found.agrees
    assert any(row.detail == "Backend" and row.group == "A" for row in found.readers)


def test_an_unreadable_tokenizer_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(tmp_path, tokenizer__json=as_json(tokenizer("byte gpt2")))

    def refusing(path: Any, *args: Any) -> Any:
        if str(path).endswith(("secret.txt", "secret.gguf")):
            raise PermissionError(13, "Permission denied", str(path))
        return open(path, *args)

    monkeypatch.setattr(reading, "open", refusing, raising=False)
    (tmp_path / "secret.txt").touch()
    assert jeton.doctor(place).agrees
    (tmp_path / "secret.gguf").touch()
    with pytest.raises(PermissionError, match=r"secret\.gguf"):
        jeton.doctor(place)


def test_a_file_and_a_registered_name_are_accepted(tmp_path: Path) -> None:
    write(tmp_path, tokenizer__json=as_json(tokenizer("byte gpt2")))
    found = jeton.doctor(tmp_path / "tokenizer.json")
    assert [row.name for row in found.readers] == ["tokenizer.json: tokenizers", "tokenizer.json: jeton"]
    assert [row.name for row in jeton.doctor("default").readers] == ["default: jeton"]


def test_a_second_folder_is_compared(tmp_path: Path) -> None:
    a = write(tmp_path / "a", tokenizer__json=as_json(tokenizer("byte gpt2")))
    b = write(tmp_path / "b", tokenizer__json=as_json(tokenizer("byte gpt4")))
    found = jeton.doctor(a, beside=b)
    assert not found.agrees
    assert {"tokenizer.json: jeton", "b/tokenizer.json: jeton"} <= {row.name for row in found.readers}


def test_two_files_of_one_name_are_named_by_their_folders(tmp_path: Path) -> None:
    file = as_json(tokenizer("byte gpt2"))
    one, other = (write(tmp_path / name, tokenizer__json=file) / "tokenizer.json" for name in "ab")
    files = {row.name.partition(":")[0] for row in jeton.doctor(one, beside=other).readers}
    assert files == {"tokenizer.json", "b/tokenizer.json"}


def test_given_texts_are_compared(tmp_path: Path) -> None:
    file = as_json(tokenizer("byte gpt2"))
    other = json.loads(json.dumps(file))
    text = "zqzq Xyzzy zqzq"
    found = jeton.doctor(
        write(tmp_path / "a", tokenizer__json=file), [text], beside=write(tmp_path / "b", tokenizer__json=other)
    )
    assert found.agrees
    assert found.num_texts == jeton.doctor(tmp_path / "a", beside=tmp_path / "b").num_texts + 1


def test_pieces_are_renumbered_as_by_the_class_before_comparison(tmp_path: Path) -> None:
    """XLM-R renumbers the pieces of its model; its class in transformers 5 normalizes differently."""
    data = pieces(300, normalization_rule_name="nfkc", model_type="unigram", byte_fallback=False)
    config = {"tokenizer_class": "XLMRobertaTokenizer"}
    found = jeton.doctor(write(tmp_path, sentencepiece__bpe__model=data, tokenizer_config__json=config))
    groups = {row.name: row.group for row in found.readers}
    assert groups["sentencepiece.bpe.model: sentencepiece"] == groups["folder: jeton"] == "A"


# ── lock files ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lock_file_is_written_then_checked(tmp_path: Path) -> None:
    folder, lock = missing_pre(tmp_path), tmp_path / "tokenizer.lock"
    first = jeton.doctor(folder, ["my text"], lock=lock)
    assert (first.lock, first.agrees) == ("written", False)
    content = json.loads(lock.read_text(encoding="utf-8"))
    assert (content["format"], content["version"]) == ("jeton doctor", 1)
    assert "my text" in content["texts"]
    assert content["readers"]["tokenizer.json: jeton"]["fingerprint"] == tokenizer("byte gpt2").fingerprint
    again = jeton.doctor(folder, lock=lock)
    assert (again.lock, again.agrees, again.lock_differences) == ("checked", True, ())
    assert again.differences  # known, and accepted
    assert lock.read_text(encoding="utf-8") == json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def test_changes_since_the_lock_file_are_found(tmp_path: Path) -> None:
    folder, lock = with_gguf(tmp_path), tmp_path / "tokenizer.lock"
    jeton.doctor(folder, lock=lock)
    write(folder, model__gguf=as_gguf(tokenizer("byte qwen2")))
    found = jeton.doctor(folder, lock=lock)
    assert not found.agrees
    assert len(found.lock_differences) == 1
    assert found.lock_differences[0].startswith("model.gguf: jeton gives other ids for ")
    (folder / "model.gguf").write_bytes(b"GGUF")
    assert "does not load" in jeton.doctor(folder, lock=lock).lock_differences[0]
    (folder / "model.gguf").unlink()
    assert jeton.doctor(folder, lock=lock).lock_differences == (
        "model.gguf: jeton is in the lock file, but was not found",
    )
    tok = tokenizer("byte qwen2").add_tokens(["<new token>"])
    write(folder, tokenizer__json=as_json(tok), model__gguf=as_gguf(tokenizer("byte qwen2"), pre="qwen2"))
    found = jeton.doctor(folder, lock=lock)
    assert any("another fingerprint" in one for one in found.lock_differences)
    content = json.loads(lock.read_text(encoding="utf-8"))
    content["versions"]["jeton"] = "0.0.9"  # fingerprints differ between versions
    lock.write_text(json.dumps(content), encoding="utf-8")
    assert jeton.doctor(folder, lock=lock).agrees


def test_a_new_reader_is_compared_with_the_lock_file(tmp_path: Path) -> None:
    tok = tokenizer("byte gpt2")
    folder, lock = write(tmp_path, tokenizer__json=as_json(tok)), tmp_path / "tokenizer.lock"
    jeton.doctor(folder, lock=lock)
    write(folder, model__gguf=as_gguf(tok, pre="gpt-2"))
    assert jeton.doctor(folder, lock=lock).agrees
    write(folder, model__gguf=as_gguf(tok))
    assert "is not in the lock file" in jeton.doctor(folder, lock=lock).lock_differences[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2 of the lock file is not supported"),
        ({"format": "x"}, "not a lock file of jeton doctor"),
        ({"texts": ["a"]}, "not a lock file of jeton doctor"),
        ({"readers": {"x": {"like": "y", "other": {}, "framed": None}}}, "not a lock file of jeton doctor"),
        ({"readers": 5}, "not a lock file of jeton doctor"),
        ({"versions": []}, "not a lock file of jeton doctor"),
        (
            {"texts": ["a"], "framed": [], "readers": {"x": {"ids": [3], "framed": None}}},
            "not a lock file of jeton doctor",
        ),
    ],
)
def test_a_damaged_lock_file_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder, lock = write(tmp_path, tokenizer__json=as_json(tokenizer("byte gpt2"))), tmp_path / "tokenizer.lock"
    jeton.doctor(folder, lock=lock)
    content = json.loads(lock.read_text(encoding="utf-8"))
    lock.write_text(json.dumps(content | change), encoding="utf-8")
    with pytest.raises(jeton.FormatError, match=message):
        jeton.doctor(folder, lock=lock)
    lock.write_bytes(b"\xff{")
    with pytest.raises(jeton.FormatError, match="not a lock file"):
        jeton.doctor(folder, lock=lock)


def test_a_text_with_a_lone_surrogate_is_compared(tmp_path: Path) -> None:
    place, lock = write(tmp_path, tokenizer__json=as_json(tokenizer("byte gpt2"))), tmp_path / "tokenizer.lock"
    text = "a\ud800b"
    assert text in json.loads((jeton.doctor(place, [text], lock=lock), lock.read_bytes())[1])["texts"]
    found = jeton.doctor(place, [text], lock=lock)
    assert found.agrees
    assert (str(found) + found.to_html()).encode()


# ── the report ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_report_names_the_cause_in_json_html_and_text(tmp_path: Path) -> None:
    found: Diagnosis = jeton.doctor(bos(tmp_path))
    content = json.loads(json.dumps(found.to_json()))
    assert content["agrees"] is False
    assert content["differences"][0]["causes"][0]["cause"] == "template"
    assert {"A", "B"} <= {row["group"] for row in content["readers"]}
    page = found.to_html()
    assert "its template is &lt;|endoftext|&gt;" in page
    assert repr(found).startswith("Diagnosis(")
    assert found._repr_html_() in page
    lines = str(found).splitlines()
    assert lines[2].split() == ["ids", "reader", "version", "texts", "that", "differ"]
