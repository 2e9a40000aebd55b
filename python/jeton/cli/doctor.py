"""``jeton doctor``: compares all ways of loading a tokenizer."""

from __future__ import annotations

from contextlib import nullcontext

import click

import jeton

from ..corpus import open_corpus
from ..util.messages import translate, use_catalog
from .options import Command, CommonOptions, common_options
from .running import DIFFERENT
from .streams import write, write_json

__all__ = ["doctor"]


@click.command(cls=Command, short_help="Load a tokenizer with each library, and explain differences.")
@click.argument("place", metavar="PLACE")
@click.option("--beside", metavar="PLACE", help="Another folder, file or name that should give the same ids.")
@click.option("--texts", metavar="FILE", help="Additional texts to compare, one per line.")
@click.option(
    "--lock",
    metavar="FILE",
    help="Lock file of ids and fingerprints: written if missing; otherwise the readers are compared with it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    help="Form of the report. Default: text, or json with --json.",
)
@common_options
def doctor(
    common: CommonOptions, place: str, beside: str | None, texts: str | None, lock: str | None, form: str | None
) -> None:
    """Loads PLACE, a folder, a file or a name, in all common ways: tokenizer.json with tokenizers, the .model with
    sentencepiece, rank files with tiktoken, the folder with transformers, a GGUF file with the ids of llama.cpp, and
    each of them with Jeton. All encode the same texts. Reports which agree, the first text on which each differs, and
    the cause, proved by experiment. Exit code 4 if there is a difference; with a lock file, only a difference from the
    file counts.

    \b
    Examples:
      jeton doctor model/
      jeton doctor model/ --beside model-Q4.gguf
      jeton doctor model/ --texts prompts.txt --json | jq '.differences[].causes'
      jeton doctor model/ --lock tokenizer.lock
    """
    if common.as_json and form not in (None, "json"):
        raise click.UsageError(f"--json contradicts --format {form}")
    form = form or ("json" if common.as_json else "text")
    own = None if texts is None else _lines(texts)
    with use_catalog(None) if form == "json" else nullcontext():
        found = jeton.doctor(place, own, beside=beside, lock=lock)
        if form == "json":
            write_json(found)
        else:
            write(found.to_html() if form == "html" else str(found))
    if found.lock == "written":
        common.say(translate("wrote {path}", path=lock))
    if not found.agrees:
        raise click.exceptions.Exit(DIFFERENT)


def _lines(path: str) -> list[str]:
    return [document.data.decode() for document in open_corpus(jeton.Corpus(path, documents="line"))]
