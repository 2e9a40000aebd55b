"""``jeton train``: trains a tokenizer on a corpus."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import click

import jeton
from jeton.training.presets import PRESETS, make
from jeton.training.request import END_OF_WORD_STYLES, LEVELS, TIE_BREAKS
from jeton.training.rules import NAMES

from ..errors import JetonError
from ..tokens.kinds import GIANT_BYTES
from ..util.messages import translate
from .options import Command, CommonOptions, Count, common_options, corpus_options, memory_options, sample_options
from .outputs import check_file, check_tokenizer, save_tokenizer
from .quantities import counted, seconds, size
from .roles import RoleOptions, role_options
from .streams import input_corpus, write, write_json

if TYPE_CHECKING:
    from jeton.training.presets import TrainingPreset

# Corpus and vocabulary size for a trial; 400 entries suffice for the alphabet (256 at byte level) and special tokens.
SMALL_CORPUS = "the older man told the oldest tale, the older the better\n" * 20
SMALL_SIZE = 400


@click.command(cls=Command, short_help="Train a tokenizer on a corpus.")
@click.option("-o", "--output", required=True, metavar="OUT", help="Output: my.json, or a folder (no suffix).")
@click.option(
    "-s",
    "--vocab-size",
    type=Count(),
    default=32_000,
    show_default=True,
    metavar="N",
    help="Size of the vocabulary: 32000, 32k.",
)
@click.option("--level", type=click.Choice(LEVELS), help="Initial symbols. Default: byte.")
@click.option("--pattern", metavar="NAME|REGEX", help="Pre-tokenization regex: o200k (the default), gpt2, none, …")
@click.option(
    "--tie-break",
    type=click.Choice(TIE_BREAKS),
    help="Tie-break rule between equally frequent pairs.",
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="unigram, or the rules of another library, reproduced exactly. Default: BPE by the options above.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the preset, by the library's name for it (repeatable): --set split_digits=true.",
)
@click.option("--min-frequency", type=Count(), metavar="N", help="Minimum frequency of a pair to be merged.")
@click.option("--special-token", "special_tokens", multiple=True, metavar="T", help="A special token (repeatable).")
@click.option("--unk-token", metavar="T", help="Token for characters that are not in the vocabulary (level char).")
@click.option("--end-of-word", metavar="MARK", help='End-of-word mark, such as "</w>".')
@click.option(
    "--end-of-word-style",
    type=click.Choice(END_OF_WORD_STYLES),
    help="Form of the mark: a separate symbol, or a suffix of the last character.",
)
@click.option(
    "--rule",
    "rules",
    type=click.Choice(NAMES),
    multiple=True,
    help="Constraint on tokens (repeatable).",
)
@click.option(
    "--max-token-length",
    type=Count(),
    metavar="N",
    help="Maximum length of a token in bytes, or characters at level char.",
)
@click.option("--block", "blocked", multiple=True, metavar="TEXT", help="Text that never becomes a token (repeatable).")
@click.option("--require", "required", multiple=True, metavar="TEXT", help="Text that becomes a token (repeatable).")
@click.option("--superwords", is_flag=True, help="Let the last fifth of the merges cross word boundaries (SuperBPE).")
@click.option(
    "--superwords-from",
    "from_size",
    type=Count(),
    metavar="N",
    help="Let merges cross word boundaries once the vocabulary has N entries.",
)
@click.option(
    "--accept-loss",
    multiple=True,
    metavar="NAME",
    help="Save without this feature, which OUT's format cannot express; errors state its name (repeatable).",
)
@role_options
@memory_options
@click.option("--log", type=click.Path(dir_okay=False), metavar="FILE", help="Write a table of the merges.")
@click.option("--trace", is_flag=True, help="Print the segmented corpus after each merge; for a few lines of text.")
@corpus_options
@sample_options
@common_options
def train(
    common: CommonOptions,
    corpus: tuple[str, ...],
    reading: dict[str, Any],
    weights: tuple[float, ...],
    output: str,
    accept_loss: tuple[str, ...],
    log: str | None,
    trace: bool,
    preset: str | None,
    settings: tuple[str, ...],
    rules: tuple[str, ...],
    max_token_length: int | None,
    blocked: tuple[str, ...],
    required: tuple[str, ...],
    superwords: bool,
    from_size: int | None,
    roles: RoleOptions,
    **options: Any,
) -> None:
    """Trains a tokenizer on CORPUS: files, globs, folders and URLs (.gz, .bz2, .xz and .zst too; .jsonl, .json, .csv,
    .parquet and .arrow by row), or - for standard input.

    \b
    Examples:
      jeton train books/ -o books.json -s 16000
      jeton train 'data/*.jsonl.gz' --field content -o code.json --special-token '<|endoftext|>'
      jeton train english/ chinese/ --weight 1 --weight 2.5 --sample 2GB -o both.json
      xzcat big.txt.xz | jeton train - -o big.json
      jeton train huge/ -o huge.json -s 128000 --memory-limit 2GB --checkpoint state/
      jeton train words.txt -o words.json --end-of-word '</w>' --tie-break first --log merges.tsv
      jeton train texts/ -o my-chat --chat-template chatml --eos '<|im_end|>' --pad '<|pad|>'
      jeton train lines.txt -o my.model --preset unigram -s 8000
      jeton train lines.txt -o my.model --preset sentencepiece --set split_digits=true --set character_coverage=1
      jeton train texts/ -o clean.json --rule one_script --rule whole_characters --require '</think>' --superwords
      echo abcababcaabc | jeton train - -o tiny.json -s 260 --pattern none --tie-break first --trace
    """
    if trace and common.as_json:
        raise click.UsageError("--trace and --json cannot be combined")
    how = {"preset": _preset(preset, settings)} | {
        name: options[name] for name in ("level", "pattern", "tie_break", "special_tokens", "unk_token", "end_of_word")
    }
    how |= {"end_of_word_style": options["end_of_word_style"]}
    # A preset has its own special tokens. With a preset, the tokens of roles are therefore added only after training.
    if preset is None:
        how["special_tokens"] = _special_tokens(how["special_tokens"], roles, options["unk_token"])
    check_tokenizer(output, accept_loss, lambda: _small(how, roles))
    check_file(log)
    tok = jeton.train(
        jeton.Corpus(input_corpus(common, corpus, weights), **reading),
        rules=jeton.Rules(
            max_token_length=max_token_length, blocked=blocked, required=required, **dict.fromkeys(rules, True)
        ),
        superwords=superwords if from_size is None else jeton.Superwords(from_size=from_size),
        log=log,
        trace=write if trace else False,
        threads=common.threads,
        progress=common.progress,
        **{**options, **how},
    )
    tok = roles.applied(tok)
    save_tokenizer(common, tok, output, accept_loss)
    facts = _facts(tok, output)
    if facts["longest_token"] > GIANT_BYTES:
        common.warn(
            translate(
                "the longest token has {size}, probably from a long run of one character; limit tokens with "
                "--max-token-length",
                size=counted(facts["longest_token"], "byte"),
            )
        )
    if common.as_json:
        write_json(facts)
    else:
        for line in _summary(facts):
            common.say(line)


def _preset(name: str | None, settings: tuple[str, ...]) -> TrainingPreset | None:
    """Returns the preset with its options. A value is parsed as JSON; if it is not JSON, it is a string."""
    if name is None:
        if settings:
            raise click.UsageError("--set applies to a preset; name one with --preset")
        return None
    options = {}
    for setting in settings:
        option, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting} has no value; write --set {setting}=…")
        try:
            options[option] = json.loads(value)
        except ValueError:
            options[option] = value
    return make(name, options)


def _special_tokens(given: tuple[str, ...], roles: RoleOptions, unk: str | None) -> list[str]:
    """Returns the special tokens to train with: the given ones, and those of the roles and the chat template."""
    return [*given, *(token for token in roles.tokens if token not in given and token != unk)]


def _small(how: dict[str, Any], roles: RoleOptions) -> jeton.Tokenizer | None:
    """Returns a tokenizer trained on a few lines with options `how`, to test saving; None if training fails."""
    logger = logging.getLogger("jeton")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # suppresses the warning that training stopped early
    try:
        return roles.applied(jeton.train([SMALL_CORPUS], SMALL_SIZE, progress=False, **how))
    except JetonError:
        return None
    finally:
        logger.setLevel(level)


def _facts(tok: jeton.Tokenizer, output: str) -> dict[str, Any]:
    """Returns the data of the training run for ``--json``."""
    training = tok.training
    if training is None:
        raise RuntimeError("a newly trained tokenizer has no training facts")
    names = ("algorithm", "num_merges", "stopped", "documents", "corpus_bytes", "pretokens", "distinct_pretokens")
    facts: dict[str, Any] = {"path": output, "vocab_size": tok.vocab_size, "num_tokens": len(tok)}
    facts |= {name: getattr(training, name) for name in (*names, "special_tokens_found", "records_skipped", "seconds")}
    facts["bytes_per_token"] = training.log[-1].bytes_per_token if training.log else None
    facts["fingerprint"] = tok.fingerprint
    special = set(tok.special_tokens.values())
    facts["longest_token"] = max((len(data) for id, data in tok.vocab.items() if id not in special), default=0)
    return facts


def _summary(facts: dict[str, Any]) -> list[str]:
    lines = [
        translate(
            "read     {size} in {documents}; {pretokens}, {distinct} of them distinct",
            size=size(facts["corpus_bytes"]),
            documents=counted(facts["documents"], "document"),
            pretokens=counted(facts["pretokens"], "pretoken"),
            distinct=f"{facts['distinct_pretokens']:,}",
        )
    ]
    what = translate("pieces") if facts["algorithm"] == "unigram" else counted(facts["num_merges"], "merge")
    learned = translate("learned  {merges} in {time}", merges=what, time=seconds(facts["seconds"]))
    if facts["bytes_per_token"] is not None:
        learned += translate("; ") + translate("{number} bytes per token", number=f"{facts['bytes_per_token']:.3f}")
    lines.append(learned)
    if facts["special_tokens_found"]:
        found = counted(facts["special_tokens_found"], "special token")
        lines.append(
            translate("found    {tokens} in the corpus; they split the text and were not learned", tokens=found)
        )
    saved = translate("saved    {path}: {tokens}", path=facts["path"], tokens=counted(facts["num_tokens"], "token"))
    return [*lines, saved]
