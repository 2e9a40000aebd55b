"""`audit`: checks a tokenizer with all rules."""

from __future__ import annotations

import os

import numpy as np

from ...corpus import Corpus, CorpusLike, open_corpus
from ...tokenizer import Tokenizer
from ...util.arguments import file_path, instance, integer, string
from ...util.messages import translate
from ...util.progress import Progress, ProgressEvent, Reporter, make_reporter
from ...util.threads import num_threads
from ...vocabulary.embeddings import read_embeddings
from . import entries, policies, templates
from .entries import FATES, REACHED, Entries
from .finding import SEVERITIES, Finding
from .glitches import glitches
from .report import Audit

__all__ = ["audit"]

BATCH_BYTES = 4 << 20


def audit(
    tok: Tokenizer,
    corpus: CorpusLike | Corpus | None = None,
    embeddings: str | os.PathLike[str] | None = None,
    *,
    tensor: str | None = None,
    max_examples: int = 20,
    max_texts: int = 1_000_000,
    threads: int | None = None,
    progress: Progress = None,
) -> Audit:
    """Checks a tokenizer: entries that no text produces, unsafe tokens, digits, white space, and the chat template.

    An entry is *reached* if the ids of some text include it; the report shows such a text. Otherwise it is proved
    unreachable, or undecided. The text can be longer than the entry, because some entries become a token only if
    certain other text is next to them.

    Args:
        tok: the tokenizer.
        corpus: as in `jeton.train`; the report then lists entries that do not occur in the corpus. Weights of sources
            have no effect.
        embeddings: a ``.safetensors`` file, its index, or the folder of a model, to report candidates of glitch tokens.
        tensor: name of the tensor with the embeddings; None: the usual names of input embeddings are tried.
        max_examples: number of examples of each finding.
        max_texts: maximum number of texts that are encoded in search of entries that are hard to reach.
        threads, progress: as in `jeton.train`.

    Raises:
        ConfigError: an option is invalid, or the embeddings have fewer rows than the vocabulary has ids.
        FileNotFoundError, FormatError, InvalidTextError: as `jeton.train`.

    Examples:
        >>> import jeton
        >>> tok = jeton.train(["low lower lowest"], 259, pattern="gpt2", progress=False)
        >>> found = jeton.audit(tok, progress=False)
        >>> [each.rule for each in found.findings]
        ['unreachable', 'partial-characters', 'digits', 'white-space']
        >>> found["unreachable"].facts["by_reason"]
        {'not UTF-8': 13}
    """
    instance(tok, "tok", Tokenizer, "a Tokenizer")
    integer(max_examples, "max_examples", 0)
    integer(max_texts, "max_texts", 0)
    count = num_threads(threads)
    texts = Corpus.of([] if corpus is None else corpus)
    if tensor is not None:
        string(tensor, "tensor")
    rows = None if embeddings is None else read_embeddings(file_path(embeddings, "embeddings"), tensor)
    with make_reporter(progress) as report:
        facts = Entries(tok, max_texts)
        results = entries.rules(facts, max_examples) | policies.rules(facts, max_examples)
        of_template, skipped = templates.rules(tok)
        results |= of_template
        if corpus is None:
            skipped["unused"] = translate("no corpus was given")
        else:
            results["unused"] = _unused(facts, texts, max_examples, count, report)
        if rows is None:
            skipped["glitch-candidates"] = translate("no embeddings were given")
        else:
            results["glitch-candidates"] = glitches(facts, rows, max_examples)
    findings = [each for each in results.values() if each is not None]
    findings.sort(key=lambda each: SEVERITIES.index(each.severity))
    fates = np.bincount(facts.fates, minlength=len(FATES)).tolist()
    return Audit(
        tuple(findings),
        tuple(name for name, each in results.items() if each is None),
        skipped,
        {
            "model": type(tok.definition.model).__name__,
            "entries": len(tok),
            "ids": tok.vocab_size,
            "fingerprint": tok.fingerprint,
            "fates": dict(zip(FATES, fates, strict=True)),
        },
    )


def _unused(found: Entries, corpus: Corpus, most: int, threads: int, report: Reporter) -> Finding | None:
    """Returns a finding of the entries that some text can produce, but that no document of the corpus produces."""
    reader = open_corpus(corpus)
    counts = np.zeros(found.fates.size, np.int64)
    num_bytes = 0
    for batch in reader.batches(BATCH_BYTES):
        used = found.tok.encode_batch(batch.texts, threads=threads).ids
        counts += np.bincount(used, minlength=counts.size)
        num_bytes += sum(map(len, batch.texts))
        report(ProgressEvent("encode", batch.bytes_read, reader.total_bytes, "B"))
    reader.log_complaints()
    reached = found.fates == REACHED
    ids = np.flatnonzero(reached & (counts == 0))
    if not ids.size:
        return None
    longest = ids[np.argsort(-found.num_chars[ids], kind="stable")]
    return Finding(
        "unused",
        "note",
        translate(
            "{count} of {all} reachable entries do not occur in the corpus of {bytes} bytes.",
            count=f"{ids.size:,}",
            all=f"{int(reached.sum()):,}",
            bytes=f"{num_bytes:,}",
        ),
        translate("If the corpus represents the model's texts, remove these entries and their rows with jeton prune."),
        int(ids.size),
        found.examples(longest, lambda id: translate("{number} characters", number=found.num_chars[id]), most),
        {"ids": ids.tolist(), "tokens": int(counts.sum()), "bytes": num_bytes},
    )
