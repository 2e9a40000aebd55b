"""The worker of the page without a server answers as the server does, for every kind of model."""

from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.errors import JetonError
from jeton.playground.api import find
from jeton.playground.catalog import Catalog
from jeton.training.request import TIE_BREAKS
from jeton.util.language import in_language, use_language

from ...material import CORPUS, KINDS, TRICKY, tokenizer
from .conftest import KEYS, Request

Engine = Callable[..., list[Any]]

TEXTS = (
    *TRICKY,
    CORPUS,
    "strawberry café 👩‍👩‍👧 العربية שלום हिन्दी",
    "a\u200d\u0301b\ue000\uffff x",
    "<s>hi</s> <|endoftext|>  <unk>[UNK] ##a ▁b",
)


@pytest.fixture(scope="module")
def catalog(files: list[str]) -> Catalog:
    return Catalog(files, cached=False)


def compared(site: Path, engine: Engine, catalog: Catalog, requests: list[Request], language: str = "en") -> None:
    """Compares the answers to requests, errors included."""
    answers = engine(site, requests, language)
    for (path, body), answer in zip(requests, answers, strict=True):
        with use_language(language):
            try:
                expected = json.loads(json.dumps(find(path)(catalog, body)))
            except JetonError as error:
                expected = {"error": in_language(str(error)), "kind": type(error).__name__}
        assert answer == expected, (path, body)


def requests_of(key: str, texts: tuple[str, ...]) -> list[Request]:
    """Requests about one tokenizer."""
    found: list[Request] = []
    for text in texts:
        for special in (False, True):
            found.append(("tokens", {"tokenizer": key, "text": text, "special": special, "template": special}))
        found.append(("why", {"tokenizer": key, "text": text}))
    found += [("token", {"tokenizer": key, "id": id}) for id in (*range(0, 300, 7), 65_535, 65_536)]
    searches: list[dict[str, Any]] = [
        {},
        {"query": "er"},
        {"query": "e4 bd", "by": "hex"},
        {"query": "20", "by": "id", "limit": 5},
        *({"kind": kind, "from": 3, "limit": 20} for kind in ("special", "byte", "part", "ordinary")),
    ]
    return [*found, *(("vocabulary", {"tokenizer": key, **search}) for search in searches)]


WRONG: list[Request] = [
    ("tokens", {}),
    ("tokens", {"tokenizer": "it's\nnot here", "text": ""}),
    ("tokens", {"tokenizer": "default", "text": 5}),
    ("tokens", {"tokenizer": "default", "text": "a", "limit": 0}),
    ("tokens", {"tokenizer": "default", "text": "a", "special": "x"}),
    ("vocabulary", {"tokenizer": "default", "query": "xyz", "by": "hex"}),
    ("vocabulary", {"tokenizer": "default", "query": "q!", "by": "id"}),
    ("vocabulary", {"tokenizer": "default", "kind": "none"}),
    ("compare", {"tokenizers": [], "text": ""}),
    ("compare", {"tokenizers": ["not here"], "text": "abc"}),
    ("compare", {"tokenizers": ["default", "not here"], "text": "abc"}),
    ("classics", {"id": "not here"}),
]


def test_some_answers_equal_those_of_the_server(site: Path, engine: Engine, catalog: Catalog) -> None:
    requests = [*requests_of("wordpiece", TEXTS[:4]), *requests_of("pieces", TEXTS[-2:]), *WRONG]
    compared(site, engine, catalog, requests)


def test_chinese_answers_equal_those_of_the_server(site: Path, engine: Engine, catalog: Catalog) -> None:
    special = [("token", {"tokenizer": key, "id": id}) for key in ("wordpiece", "pieces") for id in range(4)]
    stories = [("classics", {}), *(("classics", {"id": each}) for each in ("strawberry", "cut-character"))]
    paragraph: list[Request] = [("paragraph", {"tokenizers": ["bytes"]})]
    errors: list[Request] = [*WRONG, ("train", {"text": "low", "vocab_size": 20})]
    compared(site, engine, catalog, [*special, *stories, *paragraph, *errors], "zh")


@pytest.mark.slow(reason="a few requests are in the default selection")
@pytest.mark.parametrize("key", KEYS)
def test_tokens_why_and_vocabulary(key: str, site: Path, engine: Engine, catalog: Catalog) -> None:
    compared(site, engine, catalog, requests_of(key, TEXTS))


@pytest.mark.slow(reason="a few requests are in the default selection")
def test_answers_on_several_tokenizers_equal_the_server(site: Path, engine: Engine, catalog: Catalog) -> None:
    pairs: list[Request] = [
        ("compare", {"tokenizers": list(keys), "text": text, "special": special})
        for text in TEXTS
        for keys, special in ((KEYS[:4], False), (KEYS[3:7], True))
    ]
    long = CORPUS * 300
    pairs += [("tokens", {"tokenizer": key, "text": long, "limit": 500}) for key in ("default", "unigram")]
    pairs += [
        ("compare", {"tokenizers": ["default", "words"], "text": long}),
        ("why", {"tokenizer": "default", "text": long}),
    ]
    pairs += [("paragraph", {"tokenizers": list(KEYS[:4])}), ("classics", {})]
    pairs += [("classics", {"id": entry["id"]}) for entry in find("classics")(catalog, {})["classics"]]
    compared(site, engine, catalog, pairs)


@pytest.mark.slow(reason="the engine of training is that of the package")
def test_training_answers_equal_those_of_the_server(site: Path, engine: Engine, catalog: Catalog) -> None:
    texts = ("aaabdaaabac", "low lower lowest new newer", CORPUS[:400], "", "天天气 naïve 👩‍👩‍👧")
    compared(
        site,
        engine,
        catalog,
        [
            ("train", {"text": text, "vocab_size": size, "tie_break": rule, "level": level, **pattern})
            for rule in ("lowest_ids", "first", "highest_pair", "shortest")
            for level in ("byte", "char")
            for pattern in (
                {},
                {"pattern": "none"},
                {"pattern": r"\p{L}+|\p{N}"},
                {"pattern": "gpt5"},
                {"pattern": "("},
            )
            for text in texts
            for size in (276, 300, 20)
        ],
    )


WORDS = ("low low lower newest", "Ünïcode naïve [MASK] 天天气", CORPUS[:400], "", "the\nthe a")


@pytest.mark.slow(reason="the engine of training is that of the package")
def test_answers_of_training_on_words_equal_those_of_the_server(site: Path, engine: Engine, catalog: Catalog) -> None:
    sizes: list[dict[str, Any]] = [{}, *({"vocab_size": size} for size in (3, 5, 12, 60))]
    requests: list[Request] = [
        ("train", {"text": text, "algorithm": algorithm, "tie_break": rule, **size})
        for algorithm, rules in (("words", TIE_BREAKS), ("wordpiece", ("lowest_ids", "first")))
        for rule in rules
        for text in WORDS
        for size in sizes
    ]
    compared(site, engine, catalog, requests)


def test_requests_that_need_the_server_are_refused(site: Path, engine: Engine) -> None:
    requests: list[Request] = [
        ("train", {"text": "low lower", "algorithm": algorithm}) for algorithm in ("sentencepiece", "unigram")
    ]
    requests.append(("chat", {}))
    assert {answer["kind"] for answer in engine(site, requests)} == {"NeedsServer"}


def opened(path: Path) -> Request:
    return ("open", {path.name: base64.b64encode(path.read_bytes()).decode()})  # type: ignore[return-value]


def check_opened(site: Path, engine: Engine, path: Path, texts: tuple[str, ...]) -> None:
    """Opens a file on the page, and compares drawings with those of the package."""
    tok = jeton.load(path)
    options = [(text, special) for text in texts for special in (False, True)]
    requests: list[Request] = [
        ("tokens", {"tokenizer": path.name, "text": text, "special": special, "template": special})
        for text, special in options
    ]
    report, *answers = engine(site, [opened(path), *requests])
    assert report["errors"] == []
    for (text, special), answer in zip(options, answers, strict=True):
        try:
            own = tok.tokenize(text, special="all" if special else "none", add_special_tokens=special)
        except JetonError as error:
            # The position of the error may be relative to the whole text or to the pretoken.
            assert answer["error"].partition(" (position")[0] == str(error).partition(" (position")[0]
            continue
        assert answer["drawing"] == json.loads(json.dumps(own.drawing().to_json())), (path.name, text)


@pytest.mark.slow(reason="one file of each reader is in the default selection")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "byte words symbol"])
def test_answers_on_saved_files_equal_the_server(kind: str, site: Path, engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    tokenizer(kind).save(path)
    check_opened(site, engine, path, TRICKY)


def test_some_opened_files_give_equal_answers(site: Path, engine: Engine, files: list[str]) -> None:
    for name in ("unigram.model", "wordpiece.json"):
        check_opened(site, engine, next(Path(file) for file in files if file.endswith(name)), TRICKY[2:5])


@pytest.mark.slow(reason="files of each reader are in the default selection")
@pytest.mark.parametrize(
    "name",
    [
        "phi-3-mini.tokenizer.json",
        "t5-small.tokenizer.json",
        "roberta-base.tokenizer.json",
        "whisper-tiny.tokenizer.json",
        "falcon.tokenizer.json",
        "gpt-neox-20b.tokenizer.json",
        "mbart-en-fairseq.tokenizer.json",
        "mbart-en-fairseq.sentencepiece.bpe.model",
        "mistral-v3.model",
        "spm-ja.model",
        "cl100k_base.tiktoken",
        "llama3.tiktoken",
    ],
)
def test_opened_files_of_published_models_give_equal_answers(name: str, site: Path, engine: Engine, data: Path) -> None:
    check_opened(site, engine, data / "vocabs" / name, TRICKY)


def test_files_that_are_refused(site: Path, engine: Engine, tmp_path: Path) -> None:
    contents = {
        "torn.json": b'{"model": {"type": "BPE"',
        "notes.txt": b"not a tokenizer",
        "strange.json": b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": {"type": "Upper"}}',
        "unknown.tiktoken": b"".join(base64.b64encode(bytes([byte])) + b" %d\n" % byte for byte in range(256)),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    answers = engine(site, [opened(tmp_path / name) for name in contents])
    errors = [answer["errors"][0]["error"] for answer in answers]
    assert [error.partition(":")[0] for error in errors] == list(contents)
    assert "tokenizer.json, a rank file of tiktoken, or a .model" in errors[1]
    assert "the normalizer 'Upper' is not supported ($.normalizer)" in errors[2]
    assert "has no pattern" in errors[3]


@pytest.mark.slow(reason="a megabyte with five vocabularies")
def test_ids_of_a_megabyte_equal_encode(module: bytes, engine: Engine, data: Path, tmp_path: Path) -> None:
    import build_page

    names = [
        "cl100k_base.tiktoken",
        "o200k_base.tiktoken",
        "bert-uncased.vocab.txt",
        "t5-small.tokenizer.json",
        "mistral-v1.model",
    ]
    paths = [str(data / "vocabs" / name) for name in names]
    build_page.build(tmp_path / "page", module, paths)
    parts = []
    for path in sorted((data / "corpora").glob("*.txt.xz")):
        with lzma.open(path) as corpus:
            parts.append(corpus.read(1 << 18).decode("utf-8", "ignore"))
    text = "".join(parts)
    assert len(text.encode()) > 1_000_000
    catalog = Catalog(paths, cached=False)
    keys = [entry["key"] for entry in catalog.describe()][: len(names)]
    answers = engine(tmp_path / "page", [("ids", {"tokenizer": key, "text": text}) for key in keys])
    for key, answer in zip(keys, answers, strict=True):
        assert answer == catalog.get(key).encode(text), key
