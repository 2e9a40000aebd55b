"""Random surgeries on small random tokenizers: ids, closure, reachability, files, equality with Hugging Face."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np
import pytest

import jeton
from jeton.definition import Bpe, Unigram
from jeton.tokenizer import Tokenizer
from jeton.vocabulary.trees import MergeTrees

from ..selection import amount
from .random_tokenizers import ALPHABETS, KINDS, random_text, random_tokenizer

hf = pytest.importorskip("tokenizers")

CASES = amount(1000, default=48)
BLOCKS = 6  # cases in blocks, so that a failure names few seeds and workers share the work
GROWING = ("merges", "ranks", "char", "pieces")


def ranks_by_force(tok: Tokenizer) -> dict[tuple[int, int], tuple[float, int]]:
    """(left, right) -> (rank, result), by the definition of each model."""
    model = tok.definition.model
    if isinstance(model, Bpe) and model.ranks == "merges":
        return {(left, right): (rank, new) for rank, (left, right, new) in enumerate(tok.merges)}
    scores = tok._core.scores()
    contents = {id: tok._core.content(id) or b"" for id in tok._core.ids_of(1)}
    by_content = {content: id for id, content in contents.items()}
    found = {}
    for new, content in contents.items():
        halves = [(content[:at], content[at:]) for at in range(1, len(content))]
        for left, right in halves:
            if left in by_content and right in by_content:
                found[by_content[left], by_content[right]] = (-scores[new] if scores else new, new)
    return found


def reached_by_force(tok: Tokenizer, id: int, ranks: dict[tuple[int, int], tuple[float, int]]) -> bool:
    """True if merging the units of an entry yields it, by the plain algorithm: the lowest rank, leftmost first."""
    content = tok._core.content(id) or b""
    units = [content[i : i + 1] for i in range(len(content))]
    if not tok.definition.is_byte_level:
        units = [char.encode() for char in content.decode()]
    ids = [tok._core.find(unit, False) for unit in units]
    while len(ids) > 1:
        found = [(ranks[pair][0], at) for at, pair in enumerate(pairwise(ids)) if pair in ranks]
        if not found:
            return False
        _, at = min(found)
        ids[at : at + 2] = [ranks[ids[at], ids[at + 1]][1]]
    return ids == [id]


def texts_of(random: Random, alphabet: str) -> list[str]:
    return [random_text(random, alphabet, random.randint(0, 40)) for _ in range(12)]


def check_files(tok: Tokenizer, texts: list[str]) -> None:
    """Loading gives the saved tokenizer, with equal ids in Hugging Face. Unigram in `tokenizer.json` has no holes."""
    if tok.definition.model.type == "Unigram":
        ids = sorted(tok._core.ids())
        tok = jeton.renumber(tok, {id: new for new, id in enumerate(ids)}).tokenizer
    again = Tokenizer.from_bytes(tok.to_bytes())
    assert [again.encode(text) for text in texts] == [tok.encode(text) for text in texts]
    assert again.vocab_size == tok.vocab_size
    assert again.special_tokens == tok.special_tokens
    theirs = hf.Tokenizer.from_str(tok.to_bytes().decode())
    if isinstance(tok.definition.model, Unigram):  # Hugging Face adds scores in f64
        definition = replace(tok.definition, model=replace(tok.definition.model, single_precision=False))
        tok = Tokenizer(definition, tok._core.vocabulary())
    for text in texts:
        assert theirs.encode(text, add_special_tokens=False).ids == tok.encode(text), text


def prune(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    ids = list(tok._core.ids())
    if random.random() < 0.5:
        done = jeton.prune(tok, keep=random.sample(ids, random.randint(0, len(ids))), compact=random.random() < 0.7)
    else:
        least = len(jeton.prune(tok, keep=[]).tokenizer)
        size = random.randint(least, len(tok))
        done = jeton.prune(tok, corpus=[text for text in texts if text], vocab_size=size)
        assert len(done.tokenizer) == size
    new_ids, made = done.plan.id_map, done.tokenizer
    for id in ids:  # an entry keeps its content, and the parts of its merge exist
        if new_ids[id] >= 0:
            assert made.id_to_bytes(int(new_ids[id])) == tok.id_to_bytes(id)
    if tok.definition.model.type in ("BPE", "Pieces"):
        before, after = MergeTrees.of(tok), MergeTrees.of(made)
        kept = np.flatnonzero(new_ids >= 0)
        assert (before.closed(new_ids >= 0) == (new_ids >= 0)).all()
        assert (after.is_reached[new_ids[kept]] | ~before.is_reached[kept]).all()
    unk = tok.token_to_id(tok.roles["unk"]) if "unk" in tok.roles else None
    for text in texts:
        old = np.array(tok.encode(text), np.int64)
        is_exact = tok.definition.model.type != "WordPiece" or unk not in old
        if (new_ids[old] >= 0).all() and is_exact:
            assert made.encode(text) == new_ids[old].tolist(), text
    return made


def remove(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    """Removes special tokens and others; a token that is refused is left out."""
    added = list(tok.added_tokens)
    wanted = random.sample(added, random.randint(0, len(added))) + random.sample(list(tok._core.ids()), 3)
    compact = random.random() < 0.7
    done = jeton.prune(tok, remove=[], compact=compact)
    removed: list[int] = []
    for id in wanted:
        try:
            done = jeton.prune(tok, remove=[*removed, id], drop_references=True, compact=compact)
            removed.append(id)
        except jeton.errors.ConfigError as error:
            assert any(why in str(error) for why in ("unknown token", "initial symbol", "merged into", "lowest score"))
    done.plan.verify()
    made, new_ids = done.tokenizer, done.plan.id_map
    assert (new_ids[list(set(tok._core.ids()) - {*removed})] >= 0).all()
    assert (new_ids[removed] < 0).all()
    assert all(compact or new_ids[id] in (-1, id) for id in tok._core.ids())
    unk = tok.token_to_id(tok.roles["unk"]) if "unk" in tok.roles else None
    for text in [*texts, *(text + token.content + text for text in texts[:3] for token in tok.added_tokens.values())]:
        old = np.array(tok.encode(text, special="all"), np.int64)
        if (new_ids[old] >= 0).all() and (tok.definition.model.type != "WordPiece" or unk not in old):
            assert made.encode(text, special="all") == new_ids[old].tolist(), text
    return made


def renumber(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    ids = list(tok._core.ids())
    to = random.sample(range(len(ids) + random.randint(0, 5)), len(ids))
    done = jeton.renumber(tok, dict(zip(ids, to, strict=True)))
    mapped = dict(zip(ids, to, strict=True))
    for text in texts:
        assert done.tokenizer.encode(text) == [mapped[id] for id in tok.encode(text)], text
    return done.tokenizer


def check_growth(tok: Tokenizer, done: jeton.Surgery, texts: list[str]) -> None:
    made = done.tokenizer
    assert all(made.id_to_bytes(id) == tok.id_to_bytes(id) for id in tok._core.ids())
    new = [id for id in made._core.ids() if id >= tok.vocab_size and made._core.kind(id) == 1]
    trees, ranks = MergeTrees.of(made), ranks_by_force(made)
    for id in new:
        assert reached_by_force(made, id, ranks) == trees.is_reached[id]
    for text in texts:  # old tokens that remain have their old spans
        old, ids = tok.tokenize(text), made.tokenize(text)
        places = {(token.id, token.byte_span) for token in old}
        assert {(token.id, token.byte_span) for token in ids if token.id < tok.vocab_size} <= places


def add_words(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    letters = alphabet.replace(" ", "").replace(".", "").replace("1", "")
    words = ["".join(random.choices(letters, k=random.randint(1, 6))) for _ in range(random.randint(1, 3))]
    words += [" " + words[0]]
    done = jeton.add_words(tok, words)
    assert done.report["unreachable"] == []
    check_growth(tok, done, texts)
    for word in words:
        if tok.definition.is_byte_level:
            assert len(done.tokenizer.encode(word)) == 1
    return done.tokenizer


def add_whole_words(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    """Each word is one token after any text, and text that does not spell a word keeps its ids."""
    letters = alphabet.replace(" ", "").replace(".", "").replace("1", "")
    words = ["".join(random.choices(letters, k=random.randint(1, 6))) for _ in range(random.randint(1, 4))]
    words += [words[0] + words[-1]] if random.random() < 0.5 else []
    try:
        done = jeton.add_words(tok, words)
    except jeton.errors.ConfigError as error:  # the pattern splits it, or the entry has the lowest score
        assert "is not one token" in str(error) or "lowest score" in str(error)
        return tok
    made = done.tokenizer
    done.plan.verify()
    assert jeton.add_words(made, words).tokenizer == made
    contents = [tok._core.explain(word, None, most=1)[0][0][1] for word in words]
    ids = [made._core.find(content, False) for content in contents]
    for word, id in zip(words, ids, strict=True):
        assert made.encode(word) == [id]
        before = random.choice(texts)
        text = before + " " + word
        if made.encode(before + " ") == made.encode(before) or made.definition.model.type == "WordPiece":
            assert made.encode(text)[-1] == id, text
    for text in texts:
        if not any(content in pretoken[1] for pretoken in tok._core.explain(text)[0] for content in contents):
            assert made.encode(text) == tok.encode(text), text
    return made


def extend(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    if tok.definition.model.type == "Pieces":
        with pytest.raises(jeton.UnsupportedFeatureError, match="Pieces"):
            jeton.extend(tok, texts, 3, progress=False)
        return add_words(random, tok, alphabet, texts)
    corpus = [alphabet, random_text(random, alphabet, 60)]
    protect = random.sample(texts, 3) if random.random() < 0.5 else None
    done = jeton.extend(tok, corpus, random.randint(1, 8), protect=protect, progress=False)
    assert done.report["unreachable"] == []
    check_growth(tok, done, texts)
    for text in protect or []:
        assert done.tokenizer.encode(text) == tok.encode(text)
    return done.tokenizer


def merge_vocab(random: Random, tok: Tokenizer, alphabet: str, texts: list[str]) -> Tokenizer:
    model = tok.definition.model
    other = random_tokenizer(random, {"BPE": "merges", "Pieces": "pieces"}[model.type], random.choice(ALPHABETS))
    if not tok.definition.is_byte_level and model.type == "BPE":
        other = random_tokenizer(random, "char", random.choice(ALPHABETS))
    done = jeton.merge_vocab(tok, other)
    check_growth(tok, done, [] if model.type == "Pieces" or not tok.definition.is_byte_level else texts)
    named = {id for ids in done.report["left_out"].values() for id in ids}
    reached = set(np.flatnonzero(MergeTrees.of(done.tokenizer).is_reached).tolist())
    for id in other._core.ids():  # every entry is reachable, or listed as unreachable
        if other._core.kind(id) == 1 and id not in named:
            found = done.tokenizer._core.find(other._core.content(id) or b"", False)
            assert found in reached or found in done.report["unreachable"]
    return done.tokenizer


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_surgeries_keep_their_invariants(block: int) -> None:
    for seed in range(block, CASES, BLOCKS):
        random = Random(seed)
        kind, alphabet = random.choice(KINDS), random.choice(ALPHABETS)
        tok = random_tokenizer(random, kind, alphabet)
        texts = texts_of(random, alphabet)
        verbs = [prune, remove, renumber, *([add_words, extend, merge_vocab] if kind in GROWING else [add_whole_words])]
        done = tok
        for _ in range(random.randint(1, 3)):
            verb = random.choice(verbs)
            try:
                done = verb(random, done, alphabet, texts)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {verb.__name__} of {kind}") from error
        try:
            check_files(done, texts)
        except Exception as error:
            raise AssertionError(f"seed {seed}: files of {kind}") from error
