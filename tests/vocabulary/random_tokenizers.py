"""Small random tokenizers of every kind that surgery supports, and random texts for them."""

from __future__ import annotations

from random import Random

import jeton
from jeton._core import Vocabulary
from jeton.definition import Bpe, Definition
from jeton.tokenizer import Tokenizer

KINDS = ("merges", "ranks", "char", "pieces", "unigram", "wordpiece")
ALPHABETS = ("ab ", "abcd ", "aé天b ", "ab 1.")


def random_text(random: Random, alphabet: str, size: int) -> str:
    """Syllables glued together: more merges than random characters."""
    syllables = ["".join(random.choices(alphabet, k=random.randint(1, 4))) for _ in range(6)]
    text = ""
    while len(text) < size:
        text += random.choice(syllables) if random.random() < 0.8 else random.choice(alphabet)
    return text


def random_tokenizer(random: Random, kind: str, alphabet: str) -> Tokenizer:
    """A tokenizer trained on random text; `alphabet` is covered."""
    corpus = [alphabet, *(random_text(random, alphabet, random.randint(20, 120)) for _ in range(4))]
    pattern = random.choice(["none", "gpt2"])
    options = {"progress": False, "pattern": pattern}
    special = ["<|end|>"] if random.random() < 0.5 else []
    size = random.randint(5, 40)
    if kind == "merges":
        return jeton.train(corpus, 256 + size, special_tokens=special, **options)
    if kind == "ranks":
        tok = jeton.train(corpus, 256 + size, **options)
        ids, kinds, contents, _ = tok._core.vocabulary().columns()
        definition = Definition(Bpe(ranks="tokens", whole_first=True), pretokenizer=tok.definition.pretokenizer)
        return Tokenizer(definition, Vocabulary(ids, kinds, contents, [])).add_tokens(special)
    if kind == "char":
        return jeton.train(corpus, 12 + size, level="char", special_tokens=special, unk_token="<unk>", **options)
    if kind == "pieces":
        return jeton.train(
            corpus, 14 + size, preset=jeton.training.presets.SentencePiece(hard_vocab_limit=False), progress=False
        )
    if kind == "unigram":
        return jeton.train(corpus, 14 + size, preset="unigram", progress=False)
    return jeton.train(corpus, 24 + size, preset="bert", progress=False)
