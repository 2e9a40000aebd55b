"""Counts pretokens and learns models for the trainers, with the presets of `jeton.training`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, UnsupportedFeatureError
from .entries import Members
from .parts import Part, from_state
from .values import to_json

if TYPE_CHECKING:
    from ...training.counts import Counts

__all__ = ["counted", "learn_bpe", "learn_unigram"]

_MOST = (1 << 63) - 1


def counted(texts: Iterable[str], stages: Mapping[str, Any], shows_progress: bool) -> Counts:
    """Returns the counts of the pretokens in texts.

    Args:
        texts: the corpus.
        stages: ``"normalizer"`` and ``"pre_tokenizer"``, as objects or as JSON; None for a missing stage.
        shows_progress: whether a bar is drawn in a terminal.
    """
    from ...corpus import open_corpus
    from ...formats.hf_parts import read_parts
    from ...training.count import count
    from ...training.counts import Counts
    from ...training.limits import Limits
    from ...training.stages import Stages as OwnStages
    from ...util.progress import make_reporter

    if any(isinstance(stage, Part) and stage.is_custom for stage in stages.values()):
        return Counts.from_mapping(Counter(_words(texts, stages)))
    spelled = {name: stage.state if isinstance(stage, Part) else stage for name, stage in stages.items()}
    read = read_parts(spelled, byte_level_model=False, suffix="")
    own = OwnStages(read["normalizer"], read["pretokenizer"], byte_level=False)
    with make_reporter(None if shows_progress else False) as report:
        return count(open_corpus(texts), own, [], report, limits=Limits.of(None, None))


def _words(texts: Iterable[str], stages: Mapping[str, Any]) -> Iterator[str]:
    """Yields the pretokens of texts. It is used if a stage is a Python object."""
    normalizer, splitter = (
        stage if stage is None or isinstance(stage, Part) else from_state(name, stage)
        for name, stage in ((name, stages.get(name)) for name in ("normalizer", "pre_tokenizer"))
    )
    for content in texts:
        content = content if normalizer is None else normalizer.normalize_str(content)  # type: ignore[attr-defined]
        if splitter is None:
            yield content
        else:
            yield from (word for word, _ in splitter.pre_tokenize_str(content))  # type: ignore[attr-defined]


def learn_bpe(state: Mapping[str, Any], counts: Counts, *, keeps_merges: bool) -> tuple[dict[str, Any], Members]:
    """Learns merges.

    Args:
        state: the options of the trainer.
        counts: the pretokens.
        keeps_merges: whether the learned model has merges (WordPiece has none).

    Returns:
        Options of the model, and the members of its JSON.

    Raises:
        UnsupportedFeatureError: a learned token is equal to a special token.
    """
    from ...definition import Bpe, Definition
    from ...formats.tokenizer_json import written_members
    from ...tokenizer import Tokenizer
    from ...tokens.added import AddedToken as Token
    from ...tokens.added import with_added_tokens
    from ...training.checkpoint import checkpointed_run
    from ...training.limits import Limits
    from ...training.presets.hf import _check_special

    special = tuple(dict.fromkeys(token["content"] for token in state["special_tokens"]))
    prefix, suffix = state["continuing_subword_prefix"] or None, state["end_of_word_suffix"] or None
    alphabet = [ord(char) for char in state["initial_alphabet"]]
    _check_special(special, alphabet, "char")
    options = {
        "byte_level": False,
        "tie_break": "lowest_ids",
        "vocab_size": max(state["vocab_size"] - len(special), 1),
        "first_id": len(special),
        "min_frequency": min(state["min_frequency"], _MOST),
        "limit_alphabet": state["limit_alphabet"],
        "initial_alphabet": alphabet,
        "prefix": prefix,
        "suffix": suffix,
        "max_token_length": state.get("max_token_length"),
    }
    run = checkpointed_run(counts, {}, Limits.of(None, None))
    try:
        learned = counts._core.learn_hf(json.dumps(options), keeps_merges, run)
    except ConfigError:
        # The alphabet exceeds the vocabulary size. Keep the whole alphabet and learn no merges, as in the original.
        options |= {"vocab_size": 1 << 24, "min_frequency": _MOST}
        learned = counts._core.learn_hf(json.dumps(options), keeps_merges, run)
    for token in special:
        if learned[0].find(token.encode()) is not None:
            raise UnsupportedFeatureError(
                f"the special token {token!r} is also a token that is learned, and both would get the same id, as in "
                "the original; choose another special token",
                feature="special_tokens",
            )
    vocabulary = with_added_tokens(learned[0], [(id, Token(token)) for id, token in enumerate(special)])
    model = Bpe("char", end_of_word=suffix, end_of_word_style="suffix" if suffix else "symbol")
    tok = Tokenizer(Definition(model), vocabulary)
    given = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
    return given, written_members(tok)


def learn_unigram(state: Mapping[str, Any], counts: Counts) -> tuple[dict[str, Any], Members]:
    """Learns pieces and scores.

    Args:
        state: the options of the trainer.
        counts: the pretokens.

    Returns:
        Options of the model, and the members of its JSON.
    """
    from ...definition import Definition, Unigram
    from ...tokenizer import Tokenizer
    from ...training.checkpoint import checkpointed_piece_run
    from ...training.limits import Limits
    from ...training.presets.unigram import LONGEST

    reserved = [token["content"] for token in state["special_tokens"]]
    unk = state["unk_token"]
    if unk is not None and unk not in reserved:
        reserved.insert(0, unk)
    options = {
        "vocab_size": state["vocab_size"],
        "num_reserved": len(reserved),
        "character_coverage": 1.0,
        "required_chars": "".join(state["initial_alphabet"]),
        "max_sentencepiece_length": min(state["max_piece_length"], LONGEST),
        "split_by_unicode_script": False,
        "split_by_number": False,
        "split_digits": False,
        "seed_sentencepiece_size": max(state["seed_size"], 1),
        "shrinking_factor": state["shrinking_factor"],
        "num_sub_iterations": state["n_sub_iterations"],
        "bug_compatible": True,  # pieces that occur only at the ends of words are not seeds, as in the original
        "single_precision": False,
    }

    def learned(**changes: int) -> Any:
        chosen = options | changes
        run = checkpointed_piece_run(counts, {}, chosen["vocab_size"], Limits.of(None, None))
        return counts._core.learn_unigram(json.dumps(chosen), [], run)[0]

    size = state["vocab_size"]
    try:
        vocabulary = learned()
    except ConfigError:
        # If the characters fit into the vocabulary, but leave too few ids for the special tokens, Hugging
        # Face's library keeps all pieces of its last pruning.
        try:
            learned(num_reserved=0)
            vocabulary = learned(num_reserved=0, vocab_size=size * 11 // 10)
        except ConfigError:
            raise Exception("The vocabulary is not large enough to contain all chars") from None
    core = Tokenizer(Definition(Unigram(None)), vocabulary)._core
    pieces = zip(map(bytes.decode, vocabulary.columns()[2]), core.scores(), strict=True)
    known = set(reserved)
    entries = [(token, 0.0) for token in reserved] + [each for each in pieces if each[0] not in known]
    facts = {"type": "Unigram", "unk_id": None if unk is None else reserved.index(unk), "byte_fallback": False}
    return facts, (to_json(entries).encode(), None)
