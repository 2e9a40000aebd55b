"""``jeton demo``: trains a tokenizer on text that every machine has, and shows the result.

The corpus is the standard library of the running Python, and Jeton's own lessons in English and Chinese. The command
has no training options; ``jeton train`` has them.
"""

from __future__ import annotations

import platform
import sys
import sysconfig
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import click

import jeton

from .._core import find_invalid_utf8
from ..drawing import LookPartKind, to_terminal, visible
from ..drawing.display_width import padded
from ..util.messages import translate
from .options import Command, CommonOptions, common_options
from .outputs import check_tokenizer, save_tokenizer
from .quantities import counted, seconds, size
from .streams import terminal_look, write, write_json

VOCAB_SIZE = 8_000
# Folders that are left out, because installed packages differ between machines. The standard library is nearly the
# same on all machines.
NOT_STDLIB = {"site-packages", "dist-packages", "__pycache__"}
FIRST_MERGES = 10
BAR_CELLS = 40
NAME_CELLS = 16
SENTENCES = {
    "English": "A tokenizer cuts text into tokens, and a model reads their numbers.",
    "Chinese": "词元是文本的一小段，模型读入的是它的 ID。",
    "Python": "for token in tokenizer.encode(text):\n    print(token)",
}


@dataclass(frozen=True)
class _Section:
    """Group of documents of one kind."""

    name: str
    documents: Sequence[Path | bytes]
    num_bytes: int


@click.command(cls=Command, short_help="Train on this Python's standard library, and show the results.")
@click.option("-o", "--output", default="jeton-demo", show_default=True, metavar="OUT", help="Where to save.")
@common_options
def demo(common: CommonOptions, output: str) -> None:
    """Trains a tokenizer on this Python's standard library (tens of megabytes) and on Jeton's lessons in English and
    Chinese, and shows the result. Takes seconds and needs no network. With -q, prints only "name<TAB>bytes per token"
    for each kind of text.

    \b
    Examples:
      jeton demo
      jeton demo -o /tmp/demo
    """
    check_tokenizer(output)
    parts = _parts()
    corpus: list[Path | bytes] = [document for part in parts for document in part.documents]
    if not (common.as_json or common.quiet):
        _write_corpus(parts)
    tok = jeton.train(corpus, VOCAB_SIZE, threads=common.threads, progress=common.progress)
    save_tokenizer(common, tok, output)
    measures = {part.name: jeton.measure(tok, part.documents, words=False, progress=False) for part in parts}
    training = tok.training
    if training is None:
        raise RuntimeError("a newly trained tokenizer has no training facts")
    if common.as_json:
        write_json(_facts(tok, training, measures, output))
        return
    if common.quiet:
        for name, measure in measures.items():
            write(f"{name}\t{measure.bytes_per_token:.3f}")
        return
    _write_training(tok, training, output)
    _write_measures(measures)
    _write_merges(tok, training)
    _write_sentences(tok)
    _write_next_steps(output)


def _parts() -> list[_Section]:
    """Returns the corpus: the files of the standard library and the installed lessons."""
    root = Path(sysconfig.get_path("stdlib"))
    found = sorted(path for path in root.rglob("*.py") if not NOT_STDLIB & set(path.relative_to(root).parts))
    # some test files of the standard library are not UTF-8, on purpose
    library = [path for path in found if find_invalid_utf8(path.read_bytes()) is None]
    if not library:
        raise FileNotFoundError(2, "the standard library of this Python has no source files", str(root))
    parts = [_Section("Python source", library, sum(path.stat().st_size for path in library))]
    for name, ending in (("English lessons", ".py"), ("Chinese lessons", ".zh.md")):
        lessons = list(_lessons(ending))
        parts.append(_Section(name, lessons, sum(map(len, lessons))))
    return parts


def _lessons(ending: str) -> Iterator[bytes]:
    folder = resources.files("jeton.reference")
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.startswith("step") and file.name.endswith(ending):
            yield file.read_bytes()


def _write_corpus(parts: list[_Section]) -> None:
    _headline(translate("Jeton {version}: training on text from this machine", version=jeton.__version__))
    for part in parts:
        line = translate(
            "  {name} {size} in {files}",
            name=padded(translate(part.name), NAME_CELLS),
            size=padded(size(part.num_bytes), -10),
            files=counted(len(part.documents), "file"),
        )
        if part is parts[0]:
            line += translate(" (Python {version}'s standard library)", version=platform.python_version())
        write(line)


def _write_training(tok: jeton.Tokenizer, training: jeton.training.TrainingFacts, output: str) -> None:
    took = training.seconds or 0.0
    write("")
    learned = translate(
        "  {merges} learned from {size} in {time}",
        merges=counted(training.num_merges, "merge"),
        size=size(training.corpus_bytes),
        time=seconds(took),
    )
    if took:
        learned += translate(" ({size} a second)", size=size(int(training.corpus_bytes / took)))
    write(learned)
    write(translate("  {tokens} saved in {path}", tokens=counted(len(tok), "token"), path=output))


def _write_measures(measures: dict[str, Any]) -> None:
    _headline(translate("Compression: bytes per token"))
    longest = max(measure.bytes_per_token for measure in measures.values())
    for name, measure in measures.items():
        bar = "█" * max(round(measure.bytes_per_token / longest * BAR_CELLS), 1)
        write(f"  {padded(translate(name), NAME_CELLS)} {measure.bytes_per_token:5.2f}  {bar}")
    write(translate("  One token per byte would be 1.00. Frequent text gets longer tokens."))


def _write_merges(tok: jeton.Tokenizer, training: jeton.training.TrainingFacts) -> None:
    _headline(translate("The first merges: at each step, the most frequent pair becomes a token"))
    for step in training.log[:FIRST_MERGES] if training.log else []:
        pair = f"{visible(tok.id_to_bytes(step.left))} + {visible(tok.id_to_bytes(step.right))}"
        times = translate("{number} times", number=f"{step.pair_count:>11,}")
        write(f"  {step.rank:>2}  {padded(pair, 12)} → {padded(visible(step.token), 8)} = {step.id}  {times}")
    write(translate("  the last merge made: {token}", token=visible(tok.id_to_bytes(tok.merges[-1][2]))))


def _write_sentences(tok: jeton.Tokenizer) -> None:
    _headline(translate("One sentence of each kind: the tokens, then their ids"))
    color, width = terminal_look()
    for name, sentence in SENTENCES.items():
        tokens = tok.tokenize(sentence)
        num_bytes = counted(len(sentence.encode()), "byte")
        line = "  {name}: {bytes}, {tokens}"
        write(translate(line, name=translate(name), bytes=num_bytes, tokens=counted(len(tokens), "token")))
        drawing = tokens.drawing()
        write(to_terminal(drawing, color=color, width=width, indent="    "))
        ids = f"    {' '.join(map(str, tokens.ids))}"
        write(textwrap.fill(ids, width or len(ids), subsequent_indent="    "))
        if any(part.kind is LookPartKind.BYTES for look in drawing.table for part in look.parts):
            write(translate("    ⟨…⟩: bytes of a split character; more such text would merge them"))


def _write_next_steps(output: str) -> None:
    _headline(translate("Now you"))
    write(f'  jeton encode -t {output} --format tokens "{translate("your text")}"')
    write(f'  jeton explain -t {output} "tokenizer"')
    write(f"  jeton vocab -t {output} --grep '[一-龥]'")
    write(f"  jeton train {translate('your-texts/')} -o my.json")


def _headline(text: str) -> None:
    color, _ = terminal_look()
    write("")
    write(f"\x1b[1m{text}\x1b[0m" if color else text)
    sys.stdout.flush()


def _facts(
    tok: jeton.Tokenizer, training: jeton.training.TrainingFacts, measures: dict[str, Any], output: str
) -> dict[str, Any]:
    return {
        "path": output,
        "num_tokens": len(tok),
        "corpus_bytes": training.corpus_bytes,
        "seconds": training.seconds,
        "bytes_per_token": {name: measure.bytes_per_token for name, measure in measures.items()},
        "first_merges": [list(merge) for merge in tok.merges[:FIRST_MERGES]],
        "sentences": {name: tok.encode(sentence) for name, sentence in SENTENCES.items()},
    }
