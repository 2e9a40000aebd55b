"""Step 13: a saved tokenizer loads as an equal one, and equals Jeton's with the same options."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jeton
from jeton.reference.step04_train import TIE_BREAKS
from jeton.reference.step13_tokenizer import Tokenizer, in_and_out

from ..selection import amount


def random_text(rng: random.Random) -> str:
    """Words, numbers, white space and Chinese."""
    pieces = ["the", " weather", " 2026", "'S", "今天", "，我们", "\n", "  ", "<s>", "ab", "abab", "!!"]
    return "".join(rng.choices(pieces, k=rng.randrange(1, 20)))


def test_a_tokenizer_is_that_of_jeton_with_the_same_options_and_after_loading(tmp_path: Path) -> None:
    rng = random.Random(13)
    for _ in range(amount(2000, default=20)):
        corpus = [random_text(rng) for _ in range(3)]
        options: dict[str, Any] = {
            "pattern": rng.choice([None, "gpt2", "gpt4", "cl100k", "o200k"]),
            "tie_break": rng.choice(TIE_BREAKS),
            "min_frequency": rng.choice([1, 2]),
        }
        tok = Tokenizer.train(corpus, 276, **options)
        options["pattern"] = options["pattern"] or "none"
        theirs = jeton.train(corpus, 256 + len(tok.merges), progress=False, **options)
        assert theirs.merges == tuple(merge[:3] for merge in tok.merges)
        tok = tok.add_special(["<s>", "小"])
        theirs = jeton.Tokenizer.from_merges(
            {id: token for id, token in tok.vocab.items() if id not in tok.special_tokens.values()},
            [merge[:3] for merge in tok.merges],
            pattern=options["pattern"],
            special_tokens=dict(tok.special_tokens),
        )
        tok.save(tmp_path / "tok.json")
        loaded = Tokenizer.load(tmp_path / "tok.json")
        assert loaded == tok
        for text in [random_text(rng), *corpus]:
            for special in ("none", "all"):
                ids = loaded.encode(text, special)
                assert ids == theirs.encode(text, special=special)
                assert loaded.decode(ids) == theirs.decode(ids, skip_special_tokens=False) == text
        assert loaded.vocab_size == theirs.vocab_size


def test_the_file_holds_merges_pattern_and_special_tokens(tmp_path: Path) -> None:
    tok = Tokenizer.train("hug pug hug", 258).add_special(["<|小|>", '"\\'])
    tok.save(tmp_path / "tok.json")
    saved = json.loads((tmp_path / "tok.json").read_text("utf-8"))
    assert saved == {
        "pattern": "gpt4",
        "special_tokens": {"<|小|>": 258, '"\\': 259},
        "merges": [[117, 103, 256, 3], [104, 256, 257, 2]],
    }
    assert "小" in (tmp_path / "tok.json").read_text("utf-8")


def test_the_defaults_of_jeton_give_other_merges() -> None:
    corpus = ["今天的天气很好，今天的风也很好。", "The weather is good today, and the wind is good today."]
    mine = tuple(merge[:3] for merge in Tokenizer.train(corpus, 270).merges)
    assert jeton.train(corpus, 270, pattern="gpt4", tie_break="first", progress=False).merges == mine
    assert jeton.train(corpus, 270, progress=False).merges != mine


def test_the_table_of_inputs_and_outputs() -> None:
    methods = [line.split()[0] for line in in_and_out("hug pug hug", 258, "hugs").splitlines()[1:]]
    assert methods == ["train", "vocab_size", "encode", "tokens", "decode", "save", "load"]
