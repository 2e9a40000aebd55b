"""A `.model` saved as tokenizer.json has one merge for each piece; ids in HF equal those with every split."""

from __future__ import annotations

import json
import random
from itertools import product

from tokenizers import Tokenizer

import jeton
from jeton.formats import sentencepiece
from tests.hostile import model_file, piece
from tests.selection import amount


def every_split(tok: jeton.Tokenizer) -> list[list[str]]:
    """Every split of a piece into two pieces, by descending score, then by id."""
    scores, pieces = tok._core.scores(), {tok.id_to_token(id): id for id in range(tok.vocab_size)}
    order = sorted((id for id in pieces.values() if tok._core.kind(id) == 1), key=lambda id: -scores[id])
    splits = ((text[:at], text[at:]) for text in map(tok.id_to_token, order) for at in range(1, len(text)))
    known = {text for text, id in pieces.items() if tok._core.kind(id) in (1, 5)}
    return [list(split) for split in splits if split[0] in known and split[1] in known]


def random_model(rng: random.Random) -> bytes:
    """Pieces of three characters; some scores are equal, some pieces are unused, some characters are no pieces."""
    texts = {"".join(rng.choices("abc", k=rng.randint(2, 6))) for _ in range(rng.randint(1, 25))}
    texts |= {"a" * count for count in range(2, rng.randint(2, 9))}
    scores = rng.choice([lambda: rng.uniform(-9, 0), lambda: -float(rng.randint(1, 4))])
    kinds = rng.choice([[1], [1, 1, 1, 5]])
    chars = "abc" if rng.random() < 0.8 else "ab"
    pieces = [piece(char, -100.0 - at, 1) for at, char in enumerate(chars)]
    return model_file([*pieces, *(piece(text, scores(), rng.choice(kinds)) for text in sorted(texts))], 2)


def test_merges_of_pieces_give_the_ids_of_every_split() -> None:
    rng = random.Random(5)
    fewer = exact = 0
    for _ in range(amount(2_000, default=30)):
        tok = sentencepiece.read(random_model(rng), source="a.model")
        file = json.loads(tok.to_bytes())
        every = every_split(tok)
        assert len(file["model"]["merges"]) <= len(every)
        fewer += len(file["model"]["merges"]) < len(every)
        mine = Tokenizer.from_str(json.dumps(file))
        file["model"]["merges"] = every
        theirs = Tokenizer.from_str(json.dumps(file))
        texts = ["".join(rng.choices("abc", k=rng.randint(1, 30))) for _ in range(30)]
        texts += map("".join, product("abc", repeat=4)) if rng.random() < 0.2 else []
        texts += ["a" * count for count in range(1, 30)]
        for text in texts:
            assert mine.encode(text).ids == theirs.encode(text).ids, (file["model"], text)
        has_ties = len(set(tok._core.scores())) < tok.vocab_size
        if not has_ties and tok._core.find(b"c", False) is not None and "losses" not in file["model"]["jeton"]:
            exact += 1
            for text in texts:
                assert mine.encode(text).ids == tok.encode(text), (file["model"], text)
    assert fewer
    assert exact
