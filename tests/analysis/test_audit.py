"""Rules of `jeton.audit`, each on a tokenizer with its fault and on one without."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

import jeton
from jeton.analysis import Audit
from jeton.analysis.auditing.glitches import indicators
from jeton.definition import Bpe, Definition
from jeton.errors import ConfigError
from jeton.tokenizer import Tokenizer
from jeton.tokens.kinds import GIANT_BYTES, SPECIAL, TOKEN
from jeton.vocabulary.safetensors_file import from_float, write_file

from ..selection import amount
from .test_audit_reach import loaded

BYTES = {id: bytes([id]) for id in range(256)}
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def audited(tok: Tokenizer, **options: object) -> Audit:
    return jeton.audit(tok, progress=False, **options)  # type: ignore[arg-type]


def test_a_merge_preempted_by_lower_ranks_is_unused() -> None:
    # "ab" merges first, so "bc" never merges in "abc", and "abc" is never made of "a" and "bc".
    vocab = {97: b"a", 98: b"b", 99: b"c", 200: b"ab", 201: b"bc", 202: b"abc"}
    tok = Tokenizer.from_merges(vocab, [(97, 98, 200), (98, 99, 201), (200, 99, 202), (97, 201, 202)])
    found = audited(tok)["unused-merges"]
    assert (found.count, found.facts["ranks"]) == (1, [3])


def test_unused_merges_equal_a_brute_force_search() -> None:
    some = 0
    for case in range(amount(200, default=25)):
        random = Random(case)
        vocab = {id: bytes([id]) for id in b"abc"}
        merges: list[tuple[int, int, int]] = []
        for _ in range(random.randint(2, 8)):
            left, right = random.choices(list(vocab), k=2)
            content = vocab[left] + vocab[right]
            if len(content) > 4 or any(pair[:2] == (left, right) for pair in merges):
                continue
            id = next((id for id, known in vocab.items() if known == content), 256 + len(vocab))
            vocab[id] = content
            merges.append((left, right, id))
        random.shuffle(merges)
        tok = Tokenizer.from_merges(vocab, merges)
        used: set[int] = set()
        for size in range(1, 6):
            for text in product("abc", repeat=size):
                for pretoken in tok.explain("".join(text)).pretokens:
                    used.update(merge.rank for merge in pretoken.merges)
            if size == 4 and len(used) == len(merges):
                break
        expected = sorted(set(range(len(merges))) - used)
        found = audited(tok)
        assert (found["unused-merges"].facts["ranks"] if "unused-merges" in found else []) == expected, case
        some += bool(expected)
    assert some > 2


def test_runs_of_missing_ids_are_holes() -> None:
    tok = Tokenizer.from_merges({0: b"a", 3: b"b", 5: b"c"}, [])
    assert audited(tok)["holes"].facts["runs"] == [(1, 2), (4, 4)]
    assert "holes" in audited(Tokenizer.from_merges({0: b"a", 1: b"b"}, [])).passed


def test_entries_equal_after_normalization_are_duplicates() -> None:
    model = {"type": "WordLevel", "vocab": {"<unk>": 0, "Low": 1, "low": 2, "high": 3, "é": 4}, "unk_token": "<unk>"}
    tok = loaded({"model": model, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}})
    found = audited(tok)
    assert found["duplicates"].facts["groups"] == [[1, 2]]
    assert found["duplicates"].examples[0].why == "same text after normalization as 2 ·low"
    assert found["unreachable"].facts["ids"] == [1]  # no text keeps its capital
    assert "duplicates" in audited(loaded({"model": model, "pre_tokenizer": {"type": "Whitespace"}})).passed


def test_the_audit_reports_special_tokens_formed_by_text() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0], ["<s>", -2.0]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tok = loaded({"model": model, "added_tokens": [{"id": 2, "content": "<s>", "special": True, **flags}]})
    by_force = {id for size in range(1, 4) for text in product("a<s>", repeat=size) for id in tok.encode("".join(text))}
    assert ("special-from-text" in audited(tok)) == (2 in by_force)
    assert "special-from-text" in audited(jeton.default()).passed


def test_entries_that_encode_to_several_tokens_are_not_canonical() -> None:
    vocab = {**BYTES, 256: b"\n/", 257: b"//"}
    tok = Tokenizer.from_merges(vocab, [(10, 47, 256)], pattern="o200k")
    found = audited(tok)["not-canonical"]
    assert found.facts["ids"] == [256]
    assert tok.encode("\n/") != [256]
    text = found.examples[0].why.removeprefix("in the ids of '").removesuffix("'").replace("\\n", "\n")
    assert 256 in tok.encode(text)


def test_entries_with_partial_characters_are_listed() -> None:
    found = audited(Tokenizer.from_merges({**BYTES, 256: b"a\xe2"}, [(97, 0xE2, 256)]))["partial-characters"]
    assert found.facts["ids"] == [*range(128, 257)]
    assert (found.examples[0].id, found.examples[0].why) == (256, "bytes 61 e2")


def test_private_data_is_found_by_its_form() -> None:
    contents = [b"jane@example.org", b"/home/jane", b"plain words", b"10.0.0.17"]
    ids = list(range(260))
    definition = Definition(Bpe(ranks="tokens", whole_first=True))
    tok = Tokenizer(definition, jeton._core.Vocabulary(ids, [1] * 260, [*BYTES.values(), *contents], []))
    found = audited(tok)["private-data"]
    assert found.facts["by_form"] == {"e-mail address": 1, "home folder": 1, "IP address": 1}
    assert found.facts["ids"] == [256, 257, 259]
    assert "proves nothing" in found.remedy


def with_entries(contents: list[bytes], kinds: list[int]) -> Tokenizer:
    ids = list(range(256 + len(contents)))
    vocab = jeton._core.Vocabulary(ids, [TOKEN] * 256 + kinds, [*BYTES.values(), *contents], [])
    return Tokenizer(Definition(Bpe(ranks="tokens", whole_first=True)), vocab)


def test_tokens_over_the_size_limit_are_giant() -> None:
    at_limit = ["é".encode() * (GIANT_BYTES // 2), b"-" * GIANT_BYTES, ("𝒳" * (GIANT_BYTES // 4)).encode()]
    giants = [b"x" * (GIANT_BYTES + 1), ("𝒳" * (GIANT_BYTES // 4) + "a").encode(), b"\xff" * 300, b" " * 9000]
    found = audited(with_entries(at_limit + giants, [TOKEN] * 7))["giant-tokens"]
    assert (found.severity, found.count) == ("warning", 4)
    assert found.facts == {"limit": GIANT_BYTES, "longest": 9000, "ids": [259, 260, 261, 262]}
    assert [(each.id, each.why) for each in found.examples[:3]] == [
        (262, "9,000 bytes"),
        (261, "300 bytes"),
        (259, "257 bytes"),
    ]
    assert "--max-token-length" in found.remedy
    for tok in (with_entries(at_limit, [TOKEN] * 3), with_entries([b"s" * 5000], [SPECIAL]), jeton.default()):
        assert "giant-tokens" in audited(tok).passed


def test_long_entries_are_shortened_in_reports() -> None:
    contents = [b"x" * 50_000, b"x" * 50_000 + b"\xff", b" " * 50_000, b"0" * 50_000]
    found = audited(with_entries(contents, [TOKEN] * 4))
    assert {256, 257, 258, 259} <= {example.id for each in found.findings for example in each.examples}
    for report in (str(found), found.to_html(), json.dumps(found.to_json())):
        assert "x" * 60 in report
        assert "x" * 100 not in report
        assert len(report) < 50_000


def test_a_giant_token_learned_in_training_is_found() -> None:
    text = "low lower " + "x" * 5000
    found = audited(jeton.train([text], 280, progress=False))["giant-tokens"]
    assert found.facts["longest"] == 5001
    limited = jeton.train([text], 280, rules=jeton.Rules(max_token_length=16), progress=False)
    assert "giant-tokens" in audited(limited).passed


@pytest.mark.parametrize(
    ("entries", "policy"),
    [
        ([], "one digit per token"),
        ([f"{n:02}" for n in range(100)], "up to 2 digits per token, and all 100 groups"),
        (["12", "19", "2000"], "digits merge by frequency, up to 4 in a token; 2 of 100 groups of 2"),
    ],
)
def test_digit_policy_follows_from_the_entries(entries: list[str], policy: str) -> None:
    contents = [*BYTES.values(), *(entry.encode() for entry in entries)]
    definition = Definition(Bpe(ranks="tokens", whole_first=True))
    size = len(contents)
    tok = Tokenizer(definition, jeton._core.Vocabulary(list(range(size)), [1] * size, contents, []))
    found = audited(tok)["digits"]
    assert policy in found.summary
    assert found.facts["entries"] == 10 + len(entries)
    assert found.severity == ("warning" if "frequency" in policy else "note")


def test_lost_white_space_is_a_warning() -> None:
    kept = audited(Tokenizer.from_merges({**BYTES, 256: b"  "}, [(32, 32, 256)]))["white-space"]
    assert (kept.severity, kept.facts["lost"], kept.facts["longest_run_of_spaces"]) == ("note", [], 2)
    model = {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, "b": 2}, "unk_token": "<unk>"}
    lost = audited(loaded({"model": model, "pre_tokenizer": {"type": "Whitespace"}}))["white-space"]
    assert lost.severity == "warning"
    assert "tab" in lost.facts["lost"]


def test_entries_unused_on_a_corpus_are_listed() -> None:
    tok = jeton.train(["low lower lowest"], 260, pattern="gpt2", progress=False)
    found = audited(tok, corpus=["low low", "er"])["unused"]
    used = set(tok.encode("low low")) | set(tok.encode("er"))
    assert not used & set(found.facts["ids"])
    assert found.count + len(used) == audited(tok).facts["fates"]["reached"]
    assert found.facts["bytes"] == 9
    assert "unused" in audited(tok).skipped


def model_file(path: Path, rows: np.ndarray, name: str = "model.embed_tokens.weight") -> Path:
    data = from_float(rows.astype(np.float64), "F32")
    write_file(path, [(name, "F32", rows.shape, data.nbytes, [data.tobytes()])], None)
    return path


def test_entries_with_unused_embeddings_are_glitch_candidates(tmp_path: Path) -> None:
    tok = jeton.train(["low lower lowest " * 5], 266, pattern="gpt2", progress=False)
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(tok.vocab_size, 16))
    unused = generator.normal(size=16)
    unreachable = audited(tok)["unreachable"].facts["ids"]
    rows[unreachable] = unused + 0.01 * generator.normal(size=(len(unreachable), 16))
    small, same = 258, 97
    rows[small] *= 1e-3
    rows[same] = unused
    found = audited(tok, embeddings=model_file(tmp_path / "model.safetensors", rows))["glitch-candidates"]
    assert found.facts["ids"][0] == small
    assert set(found.facts["ids"]) == {small, same}
    assert found.facts["reference_rows"] == len(unreachable) == 13
    assert "glitch-candidates" in audited(tok).skipped


def test_glitch_indicators_by_a_plain_formula() -> None:
    generator = np.random.default_rng(1)
    rows = (generator.normal(size=(40, 6)) + 3 * generator.normal(size=6)).astype(np.float32)
    untrained = np.arange(5)
    norms, distances = indicators(rows, untrained)
    first = np.linalg.svd(rows.astype(np.float64), full_matrices=False)[2][0]
    rest = np.array([row - (row @ first) * first for row in rows.astype(np.float64)])
    mean = sum(rest[:5]) / 5
    assert norms == pytest.approx([np.linalg.norm(row) for row in rows], rel=1e-5)
    expected = [1 - row @ mean / np.linalg.norm(row) / np.linalg.norm(mean) for row in rest]
    assert distances == pytest.approx(expected, abs=1e-5)


def test_embeddings_of_another_model_are_refused(tmp_path: Path) -> None:
    file = model_file(tmp_path / "model.safetensors", np.ones((3, 4)))
    with pytest.raises(ConfigError, match=r"shape \(3, 4\).*256 ids"):
        audited(Tokenizer.from_merges(BYTES, []), embeddings=file)
    with pytest.raises(ConfigError, match="no tensor wte"):
        audited(Tokenizer.from_merges(BYTES, []), embeddings=file, tensor="wte")


def chat_tok(template: str, eos: str | None = "<|im_end|>") -> Tokenizer:
    tok = Tokenizer.from_merges(BYTES, [], special_tokens={"<|im_start|>": 256, "<|im_end|>": 257, "</s>": 258})
    return tok.with_roles(eos=eos).with_chat_template(template)


def test_a_sound_template_passes_the_rules() -> None:
    pytest.importorskip("jinja2")
    found = audited(chat_tok(CHATML + PROMPT))
    assert {"template-prefix", "template-stop", "template-content"} <= set(found.passed)
    assert found["template-special"].severity == "note"
    assert found["template-special"].facts["in_ids_of_chat"] is False


@pytest.mark.parametrize(
    ("template", "eos", "rule", "said"),
    [
        # Only the last message has a mark, so no conversation is a prefix of a longer one.
        (
            CHATML.replace("<|im_end|>", "{% if loop.last %}<|im_end|>{% endif %}") + PROMPT,
            "<|im_end|>",
            "template-prefix",
            "1 messages",
        ),
        (CHATML + PROMPT.replace("assistant", "model"), "<|im_end|>", "template-prefix", "generation prompt"),
        (CHATML + PROMPT, "</s>", "template-stop", "ends with <|im_end|>, but the role eos is </s>"),
        (CHATML + PROMPT, None, "template-stop", "no token has the role eos"),
        (CHATML.replace("<|im_end|>", "") + PROMPT, "</s>", "template-stop", "does not end with a special token"),
        (CHATML.replace("m.content", "m.content | trim") + PROMPT, "<|im_end|>", "template-content", "user"),
    ],
)
def test_faults_of_templates_are_found(template: str, eos: str | None, rule: str, said: str) -> None:
    pytest.importorskip("jinja2")
    found = audited(chat_tok(template, eos))[rule]
    assert said in " ".join([found.summary, *(example.text + example.why for example in found.examples)])


def test_a_template_that_refuses_the_messages_is_skipped() -> None:
    pytest.importorskip("jinja2")
    found = audited(chat_tok("{{ raise_exception('only one message') }}"))
    assert "only one message" in found.skipped["template-prefix"]


class Page(HTMLParser):
    """Tags of a page, and addresses in their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_reports_as_json_text_and_html() -> None:
    tok = Tokenizer.from_merges({**BYTES, 256: b"<b>&", 257: b"zz"}, [])
    found = audited(tok)
    assert json.loads(json.dumps(found.to_json()))["facts"]["entries"] == 258
    assert {each["rule"] for each in found.to_json()["findings"]} == {each.rule for each in found.findings}
    text, page = str(found), found.to_html()
    assert "warning  unreachable" in text
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;" in page
    parser = Page()
    parser.feed(page)
    assert parser.open == []
    assert not parser.addresses
    assert not parser.tags & {"script", "link", "img", "iframe"}
    assert not re.search(r"url\(|@import|https?://", page)
    assert f"tokenizer {tok.fingerprint}" in page
    severities = [each.severity for each in found.findings]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    with pytest.raises(KeyError):
        found["no such rule"]


def test_tokens_of_more_than_256_bytes_are_giant() -> None:
    found = audited(with_entries([b"-" * 256, b"-" * 257], [TOKEN] * 2))["giant-tokens"]
    assert (found.facts["limit"], found.facts["ids"]) == (256, [257])
