"""``jeton audit``: checks a tokenizer by rules, and prints the findings."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import click

import jeton

from ..util.atomic import write_atomically
from ..util.messages import translate, use_catalog
from .options import Command, CommonOptions, Count, common_options, selection_options
from .outputs import check_file
from .running import DIFFERENT
from .streams import input_corpus, write

__all__ = ["audit"]


@click.command(
    cls=Command, short_help="Check a tokenizer: unreachable entries, unsafe tokens, policies, chat template."
)
@click.argument("name", metavar="TOKENIZER")
@click.option("--pattern", metavar="NAME|REGEX", help="Pattern, for formats without one (rank files).")
@click.option(
    "--corpus",
    multiple=True,
    metavar="PLACE",
    help="Files, globs or folders: report entries that these texts do not use (repeatable).",
)
@click.option(
    "--documents",
    type=click.Choice(["file", "line"]),
    default="file",
    help="What is a document of a text file: the whole file, or a line.",
)
@click.option("--field", default="text", show_default=True, help="Field that holds the text, in files of rows.")
@selection_options
@click.option(
    "--errors",
    type=click.Choice(["strict", "replace", "skip"]),
    default="strict",
    help="Policy for records of the corpus that are not UTF-8, as in jeton train.",
)
@click.option(
    "--embeddings",
    metavar="FILE",
    help="A safetensors file, its index or the folder of a model: report candidates of glitch tokens.",
)
@click.option("--tensor", metavar="NAME", help="Name of the embeddings in the file. Default: the usual names.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    help="Form of the report. Default: text, or json with --json.",
)
@click.option(
    "--top", type=Count(0), default=10, show_default=True, metavar="N", help="Number of examples of each finding."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report to this file.")
@common_options
def audit(
    common: CommonOptions,
    name: str,
    pattern: str | None,
    corpus: tuple[str, ...],
    documents: Any,
    field: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    input_type: Any,
    errors: Any,
    embeddings: str | None,
    tensor: str | None,
    form: str | None,
    top: int,
    output: str | None,
) -> None:
    """Checks TOKENIZER, a file or folder of any supported format or a name: entries that no text produces, partial
    characters, duplicates, special tokens that plain text can produce, private data among the entries, giant tokens,
    digits and white space, and the chat template. Exit code 4 if a finding is an error.

    \b
    Examples:
      jeton audit o200k
      jeton audit my.json --corpus texts/ --top 50
      jeton audit model/ --embeddings model/ --format html -o audit.html
      jeton audit my.json --json | jq '.findings[] | [.severity, .rule, .count]'
    """
    if common.as_json and form not in (None, "json"):
        raise click.UsageError(f"--json contradicts --format {form}")
    if tensor is not None and embeddings is None:
        raise click.UsageError("--tensor needs --embeddings")
    check_file(output)
    form = form or ("json" if common.as_json else "text")
    reading = {"documents": documents, "field": field, "errors": errors, "input_type": input_type}
    reading |= {"include": include, "exclude": exclude}
    tok = jeton.load(name, pattern=pattern)
    texts = jeton.Corpus(input_corpus(common, corpus), **reading) if corpus else None
    with use_catalog(None) if form == "json" else nullcontext():
        found = jeton.audit(
            tok,
            texts,
            embeddings,
            tensor=tensor,
            max_examples=top,
            threads=common.threads,
            progress=common.progress,
        )
        report = {
            "json": lambda: json.dumps(found.to_json(), ensure_ascii=False),
            "html": found.to_html,
            "text": found.__str__,
        }
        text = report[form]()
    if output is None:
        write(text)
    else:
        with write_atomically(output, streams=True) as file:
            file.write((text if text.endswith("\n") else text + "\n").encode())
        common.say(translate("wrote {path}", path=output))
    if any(each.severity == "error" for each in found.findings):
        raise click.exceptions.Exit(DIFFERENT)
