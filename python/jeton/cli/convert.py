"""``jeton convert``: converts a tokenizer to another format and verifies that the ids are equal.

The output is written under a temporary name, loaded again, compared with the input, and then renamed. Therefore each
output file is verified, except for losses that the user accepted by name.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import click

import jeton

from ..analysis.comparison_texts import ComparisonTexts
from ..analysis.equality import Difference, Equality, same_ids
from ..corpus import Rules, list_files
from ..errors import ConfigError
from ..formats import FORMATS, format_of, model_differences
from ..formats.folder import check_templates
from ..util.atomic import is_stream, own_mode, write_atomically
from ..util.compression import decompressed
from ..util.language import in_language
from ..util.messages import translate
from .options import Command, CommonOptions, Count, common_options
from .quantities import counted
from .running import DIFFERENT
from .streams import write, write_json

# A vocabulary dump cannot be loaded again, so it cannot be verified.
READABLE = [format for format in FORMATS if format != "vocab"]
STRINGS = 20_000
_VERSIONS: dict[str | None, Literal[4, 5] | None] = {None: None, "4": 4, "5": 5}
# The user's files are compared in chunks of at most PIECE_LINES lines. Lines longer than PIECE_BYTES are split. A chunk
# has several lines, so that line ends are tested, too.
PIECE_LINES = 8
PIECE_BYTES = 4096


@click.command(cls=Command, short_help="Write a tokenizer in another format, and compare the two.")
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--to", "format", type=click.Choice(READABLE), help="Output format. Default: by the suffix of OUT.")
@click.option(
    "--accept-loss",
    multiple=True,
    metavar="NAME",
    help="Save without this feature, which OUT's format cannot express; errors state its name (repeatable).",
)
@click.option(
    "--texts",
    multiple=True,
    metavar="FILE",
    help="Additional texts to compare on: a file, glob or folder (repeatable).",
)
@click.option(
    "--strings", type=Count(0), default=STRINGS, show_default=True, metavar="N", help="Number of generated texts."
)
@click.option("--like", metavar="FILE", help="GGUF file to copy: OUT gets its tensors and the tokenizer IN.")
@click.option("--pattern", metavar="NAME|REGEX", help="Pattern of IN, for formats without one (rank files).")
@click.option(
    "--transformers",
    type=click.Choice(["4", "5"]),
    help="Read IN, a folder with a .model, as this major version of transformers does.",
)
@common_options
def convert(
    common: CommonOptions,
    source: str,
    output: str,
    format: str | None,
    accept_loss: tuple[str, ...],
    texts: tuple[str, ...],
    strings: int,
    like: str | None,
    pattern: str | None,
    transformers: Literal["4", "5"] | None,
) -> None:
    """Converts the tokenizer IN to OUT, loads OUT again, and compares the two: ids with special tokens as plain text
    and as control tokens, with and without the template, and decoded bytes; on edge cases, on generated texts, and on
    yours.

    OUT is created only if no difference was found, or if the format loses a feature that was accepted with
    --accept-loss. The exit code is 4 if there is a difference, and the first one is shown.

    A GGUF file has llama.cpp's ids. Where the model's own tokenizer may differ from them, notes say why.

    \b
    Examples:
      jeton convert my.json my-folder
      jeton convert o200k_base o200k.json --texts 'corpus/*.txt'
      jeton convert my.tiktoken my.json --pattern cl100k
      jeton convert llama-folder my.json --transformers 5
      jeton convert my.json new.gguf --like old.gguf
      jeton convert o200k_base copy.tiktoken --accept-loss pattern --accept-loss special_tokens
    """
    if not output:
        raise click.UsageError("OUT is empty")
    format = format or format_of(output)
    if format == "vocab":
        raise click.UsageError(
            f"{output} would be a vocabulary dump, which cannot be loaded; pass another format with --to"
        )
    if format == "folder" and is_stream(output):
        raise click.UsageError(f"{output} is not a folder; pass the format of a file with --to")
    if like is not None and format != "gguf":
        raise click.UsageError("--like needs an OUT of the format gguf")
    if like is not None and Path(output).exists() and Path(output).samefile(like):
        raise click.UsageError(f"{output} is the file to copy from, which is never changed; choose another output")
    tok = jeton.load(source, pattern=pattern, transformers=_VERSIONS[transformers])
    files = list_files(texts, Rules(input_type="text"))  # listed first, so that a wrong path fails early
    if format == "folder":
        check_templates(tok, Path(output))
    common.say(translate("read     {source}: {tokens}", source=source, tokens=counted(len(tok), "token")))
    notes = model_differences(source) if format != "gguf" else {}
    for words in notes.values():
        common.say(translate("note     the model's own tokenizer may differ: {words}", words=in_language(words)))
    with _new_beside(output, is_folder=format == "folder") as new:
        lost = _save(common, tok, new, format, accept_loss, like)
        again = _loaded(new, tok)
        built_in = ComparisonTexts(tok, again, strings)
        mine = (piece for file in files for piece in _pieces(file))
        result = same_ids(
            _without(tok, lost),
            again,
            chain(built_in, mine) if files else built_in,
            decode="decoder" not in lost,
            threads=common.threads,
            progress=common.progress,
        )
        is_kept = result.equal or bool(lost)
        if is_kept:
            _put(new, output)
    if common.as_json:
        write_json(_facts(source, output, accept_loss, result, is_kept) | {"model_differences": notes})
    elif result.first is not None:
        write(str(result.first))
    for line in _summary(output, result, is_kept, decodes="decoder" not in lost):
        common.say(line)
    if not result.equal:
        raise click.exceptions.Exit(DIFFERENT)


# ── writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _new_beside(output: str, *, is_folder: bool) -> Iterator[Path]:
    """Yields a path in a temporary folder beside the output, so that the new file can be renamed atomically."""
    target = Path(output).absolute()
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "the folder to save in does not exist", str(target.parent))
    work = Path(tempfile.mkdtemp(prefix=".jeton-", dir=None if is_stream(output) else target.parent))
    try:
        new = work / (target.name or "out")
        if is_folder:
            new.mkdir()
        yield new
    finally:
        shutil.rmtree(work, ignore_errors=True)


class _Accepted(set[str]):
    """Set of accepted losses. A writer looks up each loss that occurs; if it is accepted, it is added to `found`."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self.found: set[str] = set()

    def __contains__(self, name: object) -> bool:
        is_accepted = super().__contains__(name)
        if is_accepted:
            self.found.add(str(name))
        return is_accepted


def _save(
    common: CommonOptions,
    tok: jeton.Tokenizer,
    path: Path,
    format: str,
    accept_loss: tuple[str, ...],
    like: str | None,
) -> set[str]:
    """Saves the tokenizer, and returns the names of the accepted losses that occurred."""
    accepted = _Accepted(accept_loss)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", jeton.errors.LossyConversionWarning)
        tok.save(path, format=format, accept_loss=accepted, like=like)
    for warning in caught:
        common.warn(str(warning.message))
    return accepted.found


def _loaded(path: Path, tok: jeton.Tokenizer) -> jeton.Tokenizer:
    """Loads the output as a user would. If the format has no pattern, takes pattern and special tokens from `tok`."""
    try:
        return jeton.load(path)
    except ConfigError as error:
        if error.option != "pattern":
            raise
        pattern = tok.definition.pattern
        if pattern is None:
            raise
        return jeton.load(path, pattern=pattern.text, special_tokens=tok.special_tokens)


def _without(tok: jeton.Tokenizer, lost: Collection[str]) -> jeton.Tokenizer:
    """Returns the tokenizer to compare with the output: `tok`, or a copy without the template that the format lost.

    If the template is lost, only the ids of the texts are compared. The ids that the template would add are left out.
    """
    if "template" not in lost:
        return tok
    return jeton.Tokenizer(replace(tok.definition, template=None), tok._core.vocabulary())


def _put(new: Path, output: str) -> None:
    """Renames the new file or folder to its final name. In an existing folder, other files are not changed."""
    target = Path(output)
    if is_stream(output):
        with new.open("rb") as written, write_atomically(output, streams=True) as stream:
            shutil.copyfileobj(written, stream)
        return
    if not new.is_dir():
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, but the output must be a file", output)
        if (mode := own_mode(target)) is not None:
            new.chmod(mode)
        new.replace(target)
        return
    if target.is_dir():
        for file in sorted(path for path in new.rglob("*") if path.is_file()):
            to = target / file.relative_to(new)
            to.parent.mkdir(exist_ok=True)
            file.replace(to)
        return
    new.rename(target)


# ── the user's texts ────────────────────────────────────────────────────────────────────────────────────────────────


def _pieces(path: str) -> Iterator[str | bytes]:
    """Yields a file in chunks of a few lines; very long lines are split."""
    with open(path, "rb") as raw, decompressed(raw, path) as stream:
        lines: list[bytes] = []
        while line := stream.readline(PIECE_BYTES):
            lines.append(line)
            if len(lines) == PIECE_LINES or len(line) == PIECE_BYTES:
                yield _as_text(b"".join(lines))
                lines = []
        if lines:
            yield _as_text(b"".join(lines))


def _as_text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


# ── report ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _summary(output: str, result: Equality, is_kept: bool, *, decodes: bool) -> list[str]:
    lines = []
    if result.equal:
        texts = counted(result.compared, "text")
        equal = (
            translate("equal    {texts}: same ids, same decoded bytes", texts=texts)
            if decodes
            else translate("equal    {texts}: same ids", texts=texts)
        )
        if result.refused:
            equal += translate(" (including {texts} that both refuse)", texts=counted(result.refused, "text"))
        lines.append(equal)
    else:
        lines.append(translate("differs  on text {number}", number=f"{result.compared:,}"))
    return [*lines, translate("saved    {path}" if is_kept else "nothing was written to {path}", path=output)]


def _facts(source: str, output: str, accept_loss: tuple[str, ...], result: Equality, is_kept: bool) -> dict[str, Any]:
    return {
        "input": source,
        "output": output if is_kept else None,
        "equal": result.equal,
        "compared": result.compared,
        "refused": result.refused,
        "same_fingerprint": result.same_fingerprint,
        "accepted": list(accept_loss),
        "difference": None if result.first is None else _difference(result.first),
    }


def _difference(first: Difference) -> dict[str, Any]:
    facts = first._asdict()
    for name, value in facts.items():
        if isinstance(value, bytes):
            facts[name] = {"bytes_hex": value.hex()}
    return facts
