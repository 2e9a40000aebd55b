"""Explanations of models without a list of merges: Unigram, WordPiece, SentencePiece's BPE; and parts of patterns."""

from __future__ import annotations

import json
import random
import re
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.definition import Pattern
from jeton.drawing import Tree
from jeton.reference.sentencepiece_file import write_model
from jeton.reference.step18_sentencepiece import TRAINING, Merging, Piece
from jeton.tokens.kinds import UNUSED

from ..material import CORPUS, TRICKY
from ..selection import amount

PIECES = [["<unk>", 0], ["▁", -3.0], ["a", -1.0], ["b", -1.5], ["ab", -2.0], ["▁ab", -2.5], ["天", -4.0]]


def from_json(**file: object) -> jeton.Tokenizer:
    return jeton.Tokenizer.from_bytes(json.dumps(file).encode())


@pytest.fixture(scope="module")
def unigram() -> jeton.Tokenizer:
    return from_json(
        model={"type": "Unigram", "unk_id": 0, "vocab": PIECES},
        pre_tokenizer={"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    )


@pytest.fixture(scope="module")
def word_piece() -> jeton.Tokenizer:
    words = ["[UNK]", "un", "##aff", "##able", "##a", "u", "aff"]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 12,
        "vocab": {word: id for id, word in enumerate(words)},
    }
    return from_json(model=model, pre_tokenizer={"type": "WhitespaceSplit"})


class TestUnigram:
    def test_the_lattice_has_pieces_scores_and_segmentations(self, unigram: jeton.Tokenizer) -> None:
        (pretoken,) = unigram.explain("ab").pretokens
        lattice = pretoken.lattice
        assert lattice is not None
        assert [tuple(edge) for edge in lattice.edges] == [
            *((0, 3, 1, -3.0), (0, 5, 5, -2.5)),
            *((3, 4, 2, -1.0), (3, 5, 4, -2.0), (4, 5, 3, -1.5)),
        ]
        assert lattice.num_edges == 5
        assert ([edge.id for edge in lattice.best.edges], lattice.best.score) == ([5], -2.5)
        assert [([edge.id for edge in path.edges], path.score) for path in lattice.others] == [
            ([1, 4], -5.0),
            ([1, 2, 3], -5.5),
        ]

    def test_str_shows_the_best_segmentations(self, unigram: jeton.Tokenizer) -> None:
        assert str(unigram.explain("ab")) == (
            '"ab" · 2 bytes · 1 pretoken · 0 merges · 1 token\n\n'
            'pretoken 1: "▁ab", bytes 0 to 2\n'
            "  lattice of 5 edges; score of the best segmentation (Viterbi):\n"
            "  -2.50 = ▁ab (-2.50)\n"
            "  next best: -5.00 = ▁ (-3.00) + ab (-2.00)\n"
            "  next best: -5.50 = ▁ (-3.00) + a (-1.00) + b (-1.50)\n"
            "  ids [5]"
        )

    def test_an_unknown_character_is_an_edge_without_an_id(self, unigram: jeton.Tokenizer) -> None:
        explanation = unigram.explain("x")
        (pretoken,) = explanation.pretokens
        assert pretoken.lattice is not None
        assert [(edge.id, edge.score) for edge in pretoken.lattice.best.edges] == [(1, -3.0), (None, -14.0)]
        assert "an unknown character scores 10 less than the lowest-scoring piece" in str(explanation)

    def test_json_and_html_show_the_lattice(self, unigram: jeton.Tokenizer) -> None:
        explanation = unigram.explain("ab <")
        lattice = json.loads(json.dumps(explanation.to_json()))["pretokens"][0]["lattice"]
        assert lattice["edges"][1] == [0, 5, 5, -2.5]
        assert lattice["best"] == {"edges": [[0, 5, 5, -2.5]], "score": -2.5}
        assert len(lattice["others"]) == 2
        assert '<tr class="best"><td>0 to 5</td><td>▁ab</td><td>5</td>' in explanation.html
        assert "<td>&lt;</td><td>unknown</td>" in explanation.html

    @given(st.text("ab天x ", max_size=20))
    def test_the_best_path_spells_the_ids(self, unigram: jeton.Tokenizer, text: str) -> None:
        for pretoken in unigram.explain(text).pretokens:
            assert pretoken.lattice is not None
            ids = [edge.id or 0 for edge in pretoken.lattice.best.edges]
            fused = [id for at, id in enumerate(ids) if not (id == 0 and at and ids[at - 1] == 0)]
            assert fused == list(pretoken.ids)

    def test_a_megabyte_without_a_space_is_bounded(self) -> None:
        tok = from_json(model={"type": "Unigram", "unk_id": 0, "vocab": PIECES})
        half = amount(1 << 19, default=1 << 17)
        explanation = tok.explain("ab" * half)
        (pretoken,) = explanation.pretokens
        assert pretoken.lattice is not None
        assert len(pretoken.lattice.edges) == 1 << 17
        assert pretoken.lattice.num_edges == 3 * half
        assert pretoken.lattice.others == []
        assert len(str(explanation)) < 4_000
        assert len(explanation.html) < 1_000_000


class TestWordPiece:
    def test_the_longest_entry_is_taken_first(self, word_piece: jeton.Tokenizer) -> None:
        explanation = word_piece.explain("unaffable")
        (pretoken,) = explanation.pretokens
        assert pretoken.attempts is not None
        assert pretoken.attempts.found == [(0, 2, 1), (2, 5, 2), (5, 9, 3)]
        assert (pretoken.attempts.stuck_at, pretoken.attempts.is_too_long) == (None, False)
        assert str(explanation).splitlines()[3:] == [
            "  un  id 1; no entry: unaffable, unaffabl, unaffab and 4 more",
            "  ##aff  id 2; no entry: ##affable, ##affabl, ##affab and 1 more",
            "  ##able  id 3; the whole rest",
            "  ids [1, 2, 3]",
        ]

    def test_html_shows_the_attempts(self, word_piece: jeton.Tokenizer) -> None:
        page = word_piece.explain("unaffable <").html
        assert "<div>##aff  id 2; no entry: ##affable, ##affabl, ##affab and 1 more</div>" in page
        assert "&quot;&lt;&quot;" in page

    def test_an_unmatched_rest_makes_the_pretoken_unknown(self, word_piece: jeton.Tokenizer) -> None:
        explanation = word_piece.explain("unaffx")
        attempts = json.loads(json.dumps(explanation.to_json()))["pretokens"][0]["attempts"]
        assert attempts == {"found": [[0, 2, 1], [2, 5, 2]], "stuck_at": 5, "is_too_long": False}
        assert 'no entry that continues a word is a prefix of "x": the whole pretoken is unknown' in str(explanation)
        assert 'no entry is a prefix of "xun": the whole pretoken is unknown' in str(word_piece.explain("xun"))

    def test_entries_that_begin_a_word_do_not_continue_one(self) -> None:
        words = {"[UNK]": 0, "un": 1, "able": 2}
        model = {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 12, "vocab": words}
        tok = from_json(model={**model, "continuing_subword_prefix": "##"}, pre_tokenizer={"type": "WhitespaceSplit"})
        report = str(tok.explain("unable able"))
        assert "un  id 1; no entry: unable, unabl, unab and 1 more" in report
        assert 'no entry that continues a word is a prefix of "able": the whole pretoken is unknown' in report
        assert "able  id 2; the whole rest" in report

    def test_a_pretoken_over_the_length_limit_is_unknown(self, word_piece: jeton.Tokenizer) -> None:
        explanation = word_piece.explain("unaffableunaffable")
        assert explanation.pretokens[0].attempts is not None
        assert explanation.pretokens[0].attempts.is_too_long
        assert "longer than max_input_chars_per_word: the whole pretoken is unknown, ids [0]" in str(explanation)


class TestPartsOfThePattern:
    PATTERN = r"\p{L}+|\p{N}{1,2}|\s+"

    def test_each_pretoken_names_its_part(self) -> None:
        tok = jeton.train([CORPUS], vocab_size=260, pattern=self.PATTERN, progress=False)
        explanation = tok.explain("ab 123!?")
        assert list(explanation.pattern_parts) == [r"\p{L}+", r"\p{N}{1,2}", r"\s+"]
        assert [(pretoken.text, pretoken.part) for pretoken in explanation.pretokens] == [
            *((b"ab", 0), (b" ", 2), (b"12", 1), (b"3", 1), (b"!?", None)),
        ]
        data = json.loads(json.dumps(explanation.to_json()))
        assert data["pattern"] == list(explanation.pattern_parts)
        assert [pretoken["part"] for pretoken in data["pretokens"]] == [0, 2, 1, 1, None]
        assert r"  matched by regex alternative 2 of 3: \p{N}{1,2}" in str(explanation)

    def test_special_tokens_and_invalid_bytes_have_no_part(self) -> None:
        tok = jeton.train([CORPUS], vocab_size=260, pattern=self.PATTERN, special_tokens=["<s>"], progress=False)
        parts = [pretoken.part for pretoken in tok.explain(b"ab<s>\xff12", special="all").pretokens]
        assert parts == [0, None, None, 1]

    @pytest.mark.parametrize("name", ["gpt2", "gpt4", "cl100k", "llama3", "qwen2", "qwen3.5", "o200k"])
    def test_every_pretoken_of_a_named_pattern_matches_its_part(self, name: str) -> None:
        tok = jeton.train([CORPUS], vocab_size=260, pattern=name, progress=False)
        for text in (*TRICKY, CORPUS[:900]):
            explanation = tok.explain(text)
            for pretoken in explanation.pretokens:
                assert pretoken.part is not None
                # The part by itself matches the same pretoken, unless it looks ahead.
                part = explanation.pattern_parts[pretoken.part]
                if "(?!" not in part and "$" not in part:
                    assert Pattern(part, True).split(pretoken.text)[0] == (0, len(pretoken.text))

    def test_tokenizers_that_one_pattern_does_not_cut_have_no_parts(self, unigram: jeton.Tokenizer) -> None:
        explanation = unigram.explain("ab")
        assert list(explanation.pattern_parts) == []
        assert explanation.pretokens[0].part is None


def test_pieces_with_scores_are_explained_by_their_merges(data: Path) -> None:
    tok = jeton.load(data / "vocabs" / "mistral-v1.model")
    explanation = tok.explain("token ☃🧶")
    (pretoken,) = explanation.pretokens
    *_, last = explanation.sequences(pretoken)
    assert last[:2] == list(pretoken.ids)[:2]
    assert last[-1] == 0  # no piece: unknown, until it is spelled in bytes
    assert len(pretoken.ids) == len(last) + 3
    assert re.search("or the unknown token:\n  .*⟨🧶 f0⟩ ⟨9f⟩ ⟨a7⟩ ⟨b6⟩|<0xF0>", str(explanation))


def test_the_lattice_of_t5_agrees_with_nbest(data: Path) -> None:
    tok = jeton.load(data / "vocabs" / "t5-small.tokenizer.json")
    (pretoken,) = tok.explain("unaffable").pretokens
    assert pretoken.lattice is not None
    assert [pretoken.text[edge.start : edge.end].decode() for edge in pretoken.lattice.best.edges] == [
        *("▁un", "aff", "able"),
    ]
    best, *others = tok.nbest("unaffable", 4)
    assert pretoken.lattice.best.score == best[1]
    assert [path.score for path in pretoken.lattice.others] == [score for _, score in others]


class TestUnusedPieces:
    """SentencePiece merges unused pieces, and splits them again at the end."""

    @pytest.fixture
    def tok(self) -> jeton.Tokenizer:
        made = jeton.train([CORPUS], 200, preset="sentencepiece", progress=False)
        long = [
            id for id, data in made.vocab.items() if len(data.decode()) > 1 and id not in made.special_tokens.values()
        ]
        return jeton.Tokenizer(made.definition, made._core.vocabulary().with_kind(UNUSED, long[::3]))

    def test_merges_and_splits_lead_to_the_ids(self, tok: jeton.Tokenizer) -> None:
        num_splits = 0
        for word in CORPUS.split()[:200]:
            for pretoken in tok.explain(word).pretokens:
                symbols = list(pretoken.start_ids)
                for merge in pretoken.merges:
                    at = next(i for i in range(len(symbols)) if symbols[i : i + 2] == [merge.left, merge.right])
                    symbols[at : at + 2] = [merge.result]
                for split in pretoken.splits:
                    at = symbols.index(split.id)
                    symbols[at : at + 1] = [split.left, split.right]
                num_splits += len(pretoken.splits)
                assert pretoken.by_merges
                assert symbols == list(pretoken.ids) == tok.encode(word)
                roots = Tree.of(pretoken, tok.explain(word).describe)
                assert [roots.nodes[root].id for root in roots.roots] == symbols
        assert num_splits

    def test_str_and_json_show_unused_pieces(self, tok: jeton.Tokenizer) -> None:
        for word in CORPUS.split():
            explanation = tok.explain(word)
            splits = explanation.pretokens[0].splits
            if splits:
                break
        assert ", re-segmented because unused: " in str(explanation)
        assert ", re-segmented because unused: " in explanation.html
        facts = explanation.to_json()["pretokens"][0]
        assert facts["by_merges"]
        assert facts["splits"] == [split._asdict() for split in splits]


class TestAgenda:
    """SentencePiece's BPE in the words of lesson 18: score and position, stale entries, frozen pieces."""

    @pytest.fixture
    def tok(self, tmp_path: Path) -> jeton.Tokenizer:
        pieces = TRAINING | {"<sep>": Piece(0.0, "user_defined")}
        (tmp_path / "lesson.model").write_bytes(write_model(pieces, "bpe"))
        return jeton.load(tmp_path / "lesson.model")

    def test_str_shows_the_agenda(self, tok: jeton.Tokenizer) -> None:
        assert str(tok.explain("<sep>▁the")).splitlines()[3:] == [
            "  <sep> ▁ t h e",
            "  <sep>, id 24, is a user-defined piece: frozen, in no entry of the agenda",
            "  -- (15, 16) ▁+t -> ▁t  score 0, position 5, id 1",
            "  <sep> ▁t h e",
            "  -- (17, 18) h+e -> he  score -2, position 9, id 3",
            "  <sep> ▁t he",
            "  -- (1, 3) ▁t+he -> ▁the  score -3, position 5, id 4",
            "  <sep> ▁the",
            "  -- stale entry: ▁th  score -5, position 5, id 6",
            "  -- stale entry: th  score -6, position 8, id 7",
            "  agenda empty: 5 pushed, 2 stale, 3 merged",
            "  ids [24, 4]",
        ]

    def test_html_and_json_show_the_agenda(self, tok: jeton.Tokenizer) -> None:
        explanation = tok.explain("<sep>ing")
        assert "<tr><th>score</th>" in explanation.html
        assert "<td>-11</td><td>stale entry: ng  score -11, position 6, id 12</td>" in explanation.html
        assert "<td>agenda empty: 3 pushed, 1 stale, 2 merged</td>" in explanation.html
        (facts,) = json.loads(json.dumps(explanation.to_json()))["pretokens"]
        assert facts["agenda"]["frozen"] == [[0, 24]]
        assert facts["agenda"]["entries"] == [
            {"score": -1.0, "position": 5, "id": 2, "is_stale": False},
            {"score": -4.0, "position": 5, "id": 5, "is_stale": False},
            {"score": -11.0, "position": 6, "id": 12, "is_stale": True},
        ]

    def test_long_pretokens_have_ranks(self, tok: jeton.Tokenizer) -> None:
        explanation = tok.explain("ing" * 700)
        assert explanation.pretokens[0].agenda is None
        assert "(21, 22) i+n -> in  rank 1, id 2; other candidates: " in str(explanation)
        assert "agenda" not in explanation.to_json()["pretokens"][0]
        assert tok.explain("ing" * 600).pretokens[0].agenda is not None

    def test_byte_level_bpe_has_no_agenda(self) -> None:
        tok = jeton.train([CORPUS], 300, pattern="gpt2", progress=False)
        assert tok.explain("the").pretokens[0].agenda is None

    def test_the_agenda_equals_that_of_lesson_18(self, tmp_path: Path) -> None:
        compared = 0
        for seed in range(amount(60, default=8)):
            rng = random.Random(seed)
            words = {"".join(rng.choices("ab▁é", k=rng.randint(2, 5))) for _ in range(25)}
            kinds = ("normal", "normal", "normal", "unused", "user_defined")
            pieces = {word: Piece(-float(rng.randint(1, 9)), rng.choice(kinds)) for word in sorted(words)}
            pieces |= {character: Piece(-20.0) for character in "ab▁é"}
            (tmp_path / "lesson.model").write_bytes(write_model(pieces, "bpe"))
            tok = jeton.load(tmp_path / "lesson.model")
            for _ in range(20):
                text = "".join(rng.choices([*"ab▁éx", *words], k=rng.randint(1, 20)))
                merging = Merging(text, pieces)
                starts = [0, *accumulate(len(symbol.encode()) for symbol in merging.symbols)]
                expected = [
                    (-entry.cost, starts[entry.left], entry.piece, what == "stale") for entry, what in merging.run()
                ]
                (pretoken,) = tok.explain(text).pretokens
                assert pretoken.agenda is not None
                found = pretoken.agenda.entries
                assert [(score, at, tok.id_to_token(id), stale) for score, at, id, stale in found] == expected
                frozen = [starts[index] for index, is_frozen in enumerate(merging.frozen) if is_frozen]
                assert [start for start, _ in pretoken.agenda.frozen] == frozen
                compared += len(expected)
        assert compared > amount(8_000, default=1_000)
