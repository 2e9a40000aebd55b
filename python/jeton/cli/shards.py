"""``jeton shards``: makes token shards of a corpus on one machine, or by the jobs of an array."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import click
from click.core import ParameterSource

import jeton

from ..corpus import Source
from ..errors import ShardError
from ..runners import RUNNERS
from ..shards import FORMATS, Mix, Plan, Report, Status, kubernetes_manifest, slurm_script
from ..shards.mix_exports import SYSTEMS
from ..shards.plan import TASK_BYTES, TOO_LONG
from ..shards.running import Runner
from ..shards.splitting import folder_in
from ..util.messages import translate
from .help_text import Context
from .options import (
    DEFAULT_USED,
    ByteSize,
    Command,
    CommonOptions,
    Count,
    RowLength,
    Share,
    common_options,
    corpus_options,
)
from .quantities import counted, seconds, size
from .running import DIFFERENT
from .streams import write, write_json

Function = Callable[..., None]


class _Group(click.Group):
    """Click group whose help lists the commands in the order in which they are used."""

    command_class = Command
    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Group, short_help="Turn a corpus into token shards, on one machine or many.")
def shards() -> None:
    """Turns a corpus into token shards: files of ids for training, or files of counts.

    \b
    Examples:
      jeton shards make data/*.jsonl -o out/ -t my.json --append-eos     on one machine
      jeton shards add out/ more/*.jsonl                                further inputs
      jeton shards plan data/*.jsonl -o out/ -t my.json --append-eos     on many, with a shared file system:
      jeton shards run out/ --job 0/64                                  on each: 0/64, 1/64, …
      jeton shards merge out/
      jeton shards verify out/
    """


# Value of --mask -> option of `Chat.reply_mask`.
MASKS: dict[str, tuple[str, object]] = {
    "last": ("turns", "last"),
    "no-reasoning": ("reasoning", False),
    "no-stop": ("stop", False),
    "markers": ("source", "markers"),
    "provenance": ("source", "provenance"),
}


def _plan_options(command: Function) -> Function:
    """Adds the options that define a plan. The command gets the arguments of `plan`, `plan_split` or `plan_mix`."""

    @click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        help="Folder of the shards.",
    )
    @click.option(
        "-t",
        "--tokenizer",
        "name",
        metavar="PATH|NAME",
        help="The tokenizer: a file, a folder or a name. Default: the one that ships with Jeton.",
    )
    @click.option("--format", type=click.Choice(FORMATS), default="megatron", show_default=True, help="Format.")
    @click.option("--dtype", default="auto", show_default=True, metavar="TYPE", help="uint16, int32 or uint32.")
    @click.option("--append-eos", is_flag=True, help="End each document with the tokenizer's eos token.")
    @click.option("--eos", metavar="TOKEN", help="End each document with this special token.")
    @click.option("--prepend-bos", is_flag=True, help="Begin each document with the tokenizer's bos token.")
    @click.option("--bos", metavar="TOKEN", help="Begin each document with this special token.")
    @click.option(
        "--task-bytes",
        type=ByteSize(),
        default=str(TASK_BYTES),
        metavar="SIZE",
        help="Input bytes per task, and so per shard. Default: 256MB.",
    )
    @click.option(
        "--shuffle",
        type=click.IntRange(0),
        metavar="SEED",
        help="Shuffle all documents with this seed, in a second stage.",
    )
    @click.option(
        "--pack", type=RowLength(), metavar="LENGTH", help="Pack documents into rows of this many ids: 2048, 2Ki."
    )
    @click.option(
        "--packing",
        type=click.Choice(["concatenate", "best-fit"]),
        default="concatenate",
        show_default=True,
        help="Cut documents at the ends of rows, or only those longer than a row.",
    )
    @click.option(
        "--rest",
        type=click.Choice(["pad", "drop"]),
        default="pad",
        show_default=True,
        help="Pad or drop an incomplete last row.",
    )
    @click.option("--pad", metavar="TOKEN", help="Special token of padding. Default: that of the role pad, else eos.")
    @click.option(
        "--chat",
        is_flag=True,
        help="Encode conversations in the field (default: messages) with the chat template, and write a loss mask.",
    )
    @click.option(
        "--too-long",
        type=click.Choice(TOO_LONG),
        help="Conversations longer than a row of --packing best-fit: end them with the last reply that fits (default), "
        "leave them out, split them before user messages, or cut their ids.",
    )
    @click.option(
        "--mask",
        "masks",
        type=click.Choice(tuple(MASKS)),
        multiple=True,
        help="What the loss mask of --chat covers and how it is found (repeatable): the last reply only, no reasoning, "
        "no stop tokens; by the template's markers, or derived from any template.",
    )
    @click.option(
        "--keep",
        metavar="FIELD,…",
        help="Keep these fields of the records as metadata of the documents: id,meta.url.",
    )
    @click.option(
        "--mix",
        type=click.Path(dir_okay=False, exists=True),
        metavar="FILE",
        help="Instead of CORPUS: a TOML file of sources with weights, epochs or tokens; makes a folder for each.",
    )
    @click.option(
        "--validation",
        type=Share(),
        multiple=True,
        metavar="[NAME=]SHARE",
        help="Make two folders: FOLDER/train, and FOLDER/validation (or NAME) with this share of the documents "
        "(0.01), selected by hash.",
    )
    @click.option("--pattern", default="o200k", metavar="NAME|REGEX", help="For --format counts: the pattern.")
    @click.option(
        "--special-token",
        "special_tokens",
        multiple=True,
        metavar="T",
        help="For --format counts: a special token, at which documents are split (repeatable).",
    )
    @corpus_options
    @functools.wraps(command)
    def wrapped(
        common: CommonOptions,
        corpus: tuple[str, ...],
        reading: dict[str, Any],
        output: str,
        mix: str | None,
        name: str | None,
        append_eos: bool,
        eos: str | None,
        prepend_bos: bool,
        bos: str | None,
        **options: Any,
    ) -> None:
        _check_corpus(corpus, reading, mix)
        if "-" in corpus:
            raise click.UsageError("standard input cannot be read again by a task; write it to a file first")
        tok = None if name is None else jeton.load(name)
        if tok is None and options["format"] != "counts":
            if common.quiet:
                raise click.UsageError("-q hides which tokenizer is used without -t: pass -t, as in -t default")
            tok = jeton.default()
            common.say(translate(DEFAULT_USED))
        for role, asked, named in (("eos", append_eos, eos), ("bos", prepend_bos, bos)):
            if asked and named is None and tok is not None and (tok.eos_id if role == "eos" else tok.bos_id) is None:
                some = ", ".join(list(tok.special_tokens)[:8]) or "none"
                message = (
                    f"the tokenizer has no role {role}; name the token with --{role} TOKEN; special tokens: {some}"
                )
                raise click.UsageError(message)
        options |= {"tok": tok, "append_eos": eos or append_eos, "prepend_bos": bos or prepend_bos}
        options["packing"] = options["packing"].replace("-", "_")
        options["keep"] = [] if options["keep"] is None else options["keep"].split(",")
        masks = options.pop("masks")
        options["mask"] = {name: value for one in masks for name, value in [MASKS[one]]} or None
        shares: tuple[tuple[str, Fraction], ...] = options.pop("validation")
        if len(dict(shares)) < len(shares):
            raise click.UsageError(
                "--validation is given twice for the same part; name the others, as in --validation test=0.01"
            )
        read = jeton.Corpus([Source(place) for place in corpus], **reading)
        parts = {"validation": dict(shares)} if shares else {}
        command(common, **_rest(options), corpus=read, output=output, options=options, parts=parts, mix=mix)

    for param in getattr(wrapped, "__click_params__"):  # noqa: B009 - a private attribute of click
        if isinstance(param, click.Argument):
            param.required = False  # `_check_corpus` requires it, or --mix
    return wrapped


def _check_corpus(corpus: tuple[str, ...], reading: Mapping[str, Any], mix: str | None) -> None:
    """Checks that either a corpus or a mix is given, and that options for reading a corpus are not given with a mix."""
    ctx = click.get_current_context()
    if mix is None:
        if not corpus:
            param = next(param for param in ctx.command.params if isinstance(param, click.Argument))
            raise click.MissingParameter(ctx=ctx, param=param)
        return
    if corpus:
        raise click.UsageError("--mix and CORPUS cannot be combined; name the paths of the sources in the file")
    for name in reading:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option} and --mix cannot be combined; give {name} to the sources in the file")


_RUN_OPTIONS = (
    "workers", "runner", "ray_address", "keep_going", "max_skipped", "join", "no_verify", "task", "stage"
)  # fmt: skip


def _rest(options: dict[str, Any]) -> dict[str, Any]:
    """Removes the options that do not belong to a plan, and returns them."""
    return {name: options.pop(name) for name in _RUN_OPTIONS if name in options}


_max_skipped = click.option(
    "--max-skipped",
    metavar="N|P%",
    help="With --errors skip: fail if more records than this number, or this share of all records, are skipped. "
    "100% also permits that an input has no records left.",
)


def _run_options(command: Function) -> Function:
    """Adds --workers, --runner, --ray-address, --keep-going and --max-skipped."""

    @click.option("--workers", type=click.IntRange(1), metavar="N", help="Tasks at a time. Default: all cores.")
    @click.option(
        "--runner",
        type=click.Choice(tuple(RUNNERS)),
        default="threads",
        help="Threads, processes, or tasks of a Ray cluster.",
    )
    @click.option(
        "--ray-address",
        metavar="HOST:PORT",
        help="For --runner ray: the cluster. Default: RAY_ADDRESS, else Ray is started on this machine.",
    )
    @click.option(
        "--keep-going", is_flag=True, help="If a task fails, run the others; list those that failed, and exit with 1."
    )
    @_max_skipped
    @functools.wraps(command)
    def wrapped(common: CommonOptions, workers: int | None, **rest: Any) -> None:
        if workers is not None and common.threads is not None:
            raise click.UsageError("pass either --workers or --threads; a task uses one thread")
        try:
            command(common, workers=workers or common.threads, **rest)
        except ShardError as error:
            for number, reason in error.failed or ():
                common.warn(translate("task {number}: {message}", number=number, message=reason))
            raise

    return wrapped


_folder = click.argument("output", metavar="FOLDER", type=click.Path(file_okay=False))
_join = click.option("--join", is_flag=True, help="Also write all shards as one file, joined/joined.*.")
_no_verify = click.option("--no-verify", is_flag=True, help="Do not read the shards again.")


@shards.command(short_help="Make shards: plan, run, merge and verify.")
@_no_verify
@_join
@common_options
@_run_options
@_plan_options
def make(
    common: CommonOptions,
    corpus: jeton.Corpus,
    output: str,
    options: dict[str, Any],
    parts: dict[str, Any],
    mix: str | None,
    workers: int | None,
    runner: Runner,
    ray_address: str | None,
    keep_going: bool,
    max_skipped: str | None,
    join: bool,
    no_verify: bool,
) -> None:
    """Makes shards of CORPUS: files, globs, folders and URLs (.gz, .bz2, .xz and .zst too; .jsonl, .json, .csv,
    .parquet and .arrow by row). The same command resumes after an interruption, and runs what has changed: new or
    repaired inputs, lost shards.

    \b
    Examples:
      jeton shards make data/ -o out/ -t my.json --append-eos
      jeton shards make 'data/*.jsonl' -o out/ -t gpt2 --format bin --eos '<|endoftext|>' --join
      jeton shards make data/ -o out/ -t my.json --append-eos --shuffle 7 --pack 4096 --packing best-fit
      jeton shards make chats.jsonl -o out/ -t my.json --chat --pack 4096 --packing best-fit --format parquet
      jeton shards make data/ -o out/ -t my.json --append-eos --validation 0.01
      jeton shards make --mix mix.toml -o out/ -t my.json --append-eos
      jeton shards make data/ -o counts/ --format counts && jeton train counts/*.jtc -o my.json
    """
    options |= {"workers": workers, "runner": runner, "ray_address": ray_address, "keep_going": keep_going}
    options |= {"max_skipped": max_skipped, "join": join, "verify": not no_verify, "progress": common.progress}
    if mix is not None:
        _show_mix(common, jeton.shards.make_mix(mix, output, **parts, **options))
    elif parts:
        reports = jeton.shards.make_split(corpus, output, **parts, **options)
        _show_reports(common, {name: (folder_in(output, name), made) for name, made in reports.items()}, no_verify)
    else:
        _show_made(common, jeton.shards.make(corpus, output, **options), output, no_verify)


@shards.command(short_help="Add inputs to a folder of shards.")
@_folder
@click.argument("corpus", nargs=-1, required=True, metavar="CORPUS…")
@click.option("--errors", type=click.Choice(["strict", "replace", "skip"]), help="New policy for bad records.")
@_no_verify
@_join
@common_options
@_run_options
def add(
    common: CommonOptions, output: str, corpus: tuple[str, ...], errors: Any, no_verify: bool, **options: Any
) -> None:
    """Adds CORPUS to the inputs of FOLDER, with the options and the tokenizer of its plan. Completed tasks are kept,
    and the shards equal those of a single run; in a shuffle, the new documents get shards of their own.

    \b
    Examples:
      jeton shards add out/ new/*.jsonl
      jeton shards add out/ new/ --errors skip --max-skipped 0.1%
    """
    places = [Source(place) for place in corpus]
    made = jeton.shards.add(output, places, errors=errors, verify=not no_verify, progress=common.progress, **options)
    _show_made(common, made, output, no_verify)


@shards.command(short_help="Make lost, damaged and outdated shards again.")
@_folder
@_no_verify
@_join
@common_options
@_run_options
def repair(common: CommonOptions, output: str, no_verify: bool, **options: Any) -> None:
    """Completes FOLDER: hashes all files, and makes again what is lost or damaged, and the shards of inputs that have
    changed since they were planned.

    \b
    Example:
      jeton shards repair out/
    """
    made = jeton.shards.repair(output, verify=not no_verify, progress=common.progress, **options)
    _show_made(common, made, output, no_verify)


@shards.command(short_help="List the inputs and write the plan; read nothing.")
@common_options
@_plan_options
def plan(
    common: CommonOptions,
    corpus: jeton.Corpus,
    output: str,
    options: dict[str, Any],
    parts: dict[str, Any],
    mix: str | None,
) -> None:
    """Plans shards of CORPUS: writes plan.json and the tokenizer into the folder. Inputs are listed and not read.

    \b
    Example:
      jeton shards plan data/*.jsonl -o out/ -t my.json --append-eos --task-bytes 512MB
    """
    if mix is not None:
        plans = jeton.shards.plan_mix(mix, output, **parts, **options)
    elif parts:
        plans = jeton.shards.plan_split(corpus, output, **parts, **options)
    else:
        plans = {"": jeton.shards.plan(corpus, output, **options)}
    _show_plans(common, plans)


@shards.command(short_help="Run the tasks that are not complete, or those of one job.")
@_folder
@click.option(
    "--job",
    metavar="K/N",
    help="Only the tasks K, K+N, K+2N, …, with K from 0. Default: the index of a Slurm array or an indexed "
    "Kubernetes Job, else all tasks.",
)
@click.option(
    "--stage",
    type=click.Choice(["spool", "shuffle"]),
    help="With a shuffle: run only this stage. Default: both, in turn.",
)
@common_options
@_run_options
def run(
    common: CommonOptions,
    output: str,
    job: str | None,
    stage: str | None,
    workers: int | None,
    runner: Runner,
    ray_address: str | None,
    keep_going: bool,
    max_skipped: str | None,
) -> None:
    """Runs the tasks of a planned FOLDER that are not complete. Any number of machines may do so at once, each with its
    --job.

    \b
    Examples:
      jeton shards run out/
      jeton shards run out/ --job 3/64
      jeton shards run out/ --job 3/64 --stage spool      of a shuffle; --stage shuffle when all jobs have ended
    """
    found = jeton.shards.run(
        output,
        job=_job(job, os.environ),
        stage=stage,
        workers=workers,
        runner=runner,
        ray_address=ray_address,
        keep_going=keep_going,
        max_skipped=max_skipped,
        progress=common.progress,
    )
    _show_status(common, found)


@shards.command(short_help="Check that all tasks are complete, and write the manifest and the report.")
@_folder
@_join
@_max_skipped
@common_options
def merge(common: CommonOptions, output: str, join: bool, max_skipped: str | None) -> None:
    """Completes a FOLDER whose tasks are complete: writes manifest.json, report.json and report.md.

    \b
    Examples:
      jeton shards merge out/
      jeton shards merge out/ --join
    """
    _show_report(common, jeton.shards.merge(output, join=join, max_skipped=max_skipped), output)


@shards.command(short_help="Read all shards again and compare them with the source.")
@_folder
@click.option(
    "--no-inputs",
    "inputs",
    flag_value=False,
    type=bool,
    default=None,
    help="Do not look for the inputs; decode samples instead. This is the default if none of them exists.",
)
@click.option(
    "--moved",
    multiple=True,
    metavar="OLD=NEW",
    help="Inputs were moved: prefix of their paths in the plan, and the new prefix (repeatable).",
)
@common_options
def verify(common: CommonOptions, output: str, inputs: bool | None, moved: tuple[str, ...]) -> None:
    """Reads all shards of a merged FOLDER again: hashes, counts, highest id, and samples against the source, if it is
    on this machine. The exit code is 4 if anything differs.

    \b
    Examples:
      jeton shards verify out/
      jeton shards verify out/ --moved /data/corpus=/mnt/corpus
    """
    pairs = [place.partition("=")[::2] for place in moved]
    if not all(map(all, pairs)):
        raise click.UsageError("--moved takes OLD=NEW, such as /data/corpus=/mnt/corpus")
    found = jeton.shards.verify(output, inputs=inputs, moved=dict(pairs) or None, progress=common.progress)
    if common.as_json:
        write_json(found)
    for problem in found.problems:
        common.warn(problem)
    if not found.is_valid:
        raise click.exceptions.Exit(DIFFERENT)
    decoded = counted(found.decoded, "document")
    if found.inputs == "read":
        how = translate("{compared} compared with the source", compared=f"{found.compared:,}")
    elif found.inputs == "missing":
        how = translate(
            "the inputs are not on this machine: hashes, counts and ids only, {documents} decoded", documents=decoded
        )
    else:
        how = translate("without inputs: hashes, counts and ids only, {documents} decoded", documents=decoded)
    common.say(
        translate(
            "verified {shards}: {tokens} in {documents}",
            shards=counted(found.shards, "shard"),
            tokens=counted(found.tokens, "token"),
            documents=counted(found.documents, "document"),
        )
        + translate("; ")
        + how
    )
    if found.touched:
        common.say(
            translate(
                "{files} with another modification time; size and content of the samples are as planned",
                files=counted(found.touched, "file"),
            )
        )


@shards.command(short_help="Show how many tasks are complete, the rate and the time left.")
@_folder
@common_options
def status(common: CommonOptions, output: str) -> None:
    """Shows how many tasks of a FOLDER are complete, also while other processes work on it, with the rate of the last
    ten minutes and the time left.

    \b
    Examples:
      jeton shards status out/
      jeton shards status out/ --json
    """
    found = jeton.shards.status(output, details=True)
    if common.as_json:
        write_json(found)
        return
    write(_status_line(found))
    for line in _pace_lines(found):
        write(line)


@shards.command(short_help="Show the report of a merged folder.")
@_folder
@click.option("--plot", type=click.Path(dir_okay=False), metavar="FILE", help="Save a plot: .png, .svg or .pdf.")
@common_options
def report(common: CommonOptions, output: str, plot: str | None) -> None:
    """Shows the report of a merged FOLDER: totals, bytes per token by source, the largest documents, skipped records.

    \b
    Examples:
      jeton shards report out/
      jeton shards report out/ --plot report.svg
    """
    found = jeton.shards.report(output)
    if plot is not None:
        found.plot(plot)
        common.say(translate("saved    {path}", path=plot))
    if common.as_json:
        write_json(found)
    else:
        write(found.to_markdown().rstrip("\n"))


@shards.command(short_help="Show how much of each source a mix takes.")
@_folder
@click.option(
    "--write",
    "system",
    type=click.Choice(SYSTEMS),
    help="Print the settings of the mix, or of the shards, for Megatron (--data-args-path; after --validation "
    "--per-split-data-args-path) or OLMo-core (SourceMixtureList).",
)
@common_options
def mix(common: CommonOptions, output: str, system: str | None) -> None:
    """Shows the mix of a FOLDER that was made with --mix: documents, tokens, epochs and share of each source.

    \b
    Examples:
      jeton shards mix out/
      jeton shards mix out/ --write megatron > blend.txt
    """
    if system is not None:
        write(jeton.shards.mixture_settings(output, system))
        return
    found = jeton.shards.mix(output)
    if common.as_json:
        write_json(found)
    else:
        write(found.to_markdown().rstrip("\n"))


@shards.command(short_help="Print a job script for Slurm, or a manifest for Kubernetes.")
@click.argument("system", type=click.Choice(["slurm", "k8s"]))
@_folder
@click.option("--jobs", type=Count(1), default=16, show_default=True, metavar="N", help="Number of jobs.")
@click.option("--cpus", type=Count(1), default=8, show_default=True, metavar="N", help="Cores of a job.")
@click.option("--image", default="IMAGE", metavar="NAME", help="k8s: container image with Jeton.")
@click.option("--claim", default="CLAIM", metavar="NAME", help="k8s: persistent volume claim of the folder.")
@click.option("--mount", metavar="PATH", help="k8s: where it is mounted. Default: the parent of the folder.")
@click.option(
    "--stage",
    type=click.Choice(["spool", "shuffle"]),
    help="Stage that this array runs, if the plan shuffles: each of its two stages needs an array.",
)
@common_options
def script(
    common: CommonOptions,
    system: str,
    output: str,
    jobs: int,
    cpus: int,
    image: str,
    claim: str,
    mount: str | None,
    stage: str | None,
) -> None:
    """Prints a script that runs the tasks of a planned FOLDER as the jobs of an array.

    \b
    Examples:
      jeton shards script slurm out/ --jobs 64 > job.sh && sbatch job.sh
      jeton shards script slurm out/ --stage shuffle > two.sh && sbatch --dependency=afterok:$JOB two.sh
      jeton shards script k8s out/ --jobs 64 --image registry/jeton:1 --claim data | kubectl apply -f -
    """
    if system == "slurm":
        text = slurm_script(output, jobs=jobs, cpus=cpus, stage=stage)
    else:
        text = kubernetes_manifest(output, jobs=jobs, cpus=cpus, image=image, claim=claim, mount=mount, stage=stage)
    write(text.removesuffix("\n"))


def _job(job: str | None, environment: Mapping[str, str]) -> tuple[int, int] | None:
    """Returns (index, number of jobs) from --job, a Slurm array or a Kubernetes indexed Job; None without these."""
    if job is not None:
        number, slash, count = job.partition("/")
        if not slash or not _is_number(number) or not _is_number(count) or not int(number) < int(count):
            raise click.UsageError(f"--job {job} is not K/N with 0 <= K < N, such as 0/64")
        return int(number), int(count)
    if "SLURM_ARRAY_TASK_ID" in environment:
        first, step = (
            _number(environment, f"SLURM_ARRAY_TASK_{name}", default) for name, default in (("MIN", 0), ("STEP", 1))
        )
        index = (_number(environment, "SLURM_ARRAY_TASK_ID") - first) // max(step, 1)
        jobs = _number(environment, "SLURM_ARRAY_TASK_COUNT")
    elif "JOB_COMPLETION_INDEX" in environment:
        index, jobs = _number(environment, "JOB_COMPLETION_INDEX"), _number(environment, "JOB_COMPLETIONS")
    else:
        return None
    if not 0 <= index < jobs:
        raise click.UsageError(
            f"the environment variables set job {index} of {jobs} jobs, which is out of range; pass --job K/N"
        )
    return index, jobs


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < 20  # Python rejects very long numbers


def _number(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    """Returns an integer from an environment variable."""
    value = environment.get(name, default)
    if value is None or not _is_number(str(value)):
        raise click.UsageError(f"the environment variable {name} is {value!r}, not a number; pass --job K/N")
    return int(value)


def _status_line(found: Status) -> str:
    done = translate(
        "{done} of {tasks} complete, {size_done} of {size}",
        done=f"{found.done:,}",
        tasks=counted(found.total, "task"),
        size_done=size(found.bytes_done),
        size=size(found.bytes_total),
    )
    if found.stage in ("spool", "shuffle"):
        done = translate("stage {stage}: {status}", stage=found.stage, status=done)
    return done + translate("; ") + translate("merged" if found.merged else "not merged")


def _pace_lines(found: Status) -> list[str]:
    """Returns lines with the skipped records, the rate and the time left, and the time since the last completion."""
    lines = []
    if found.skipped:
        lines.append(translate("{records} skipped", records=counted(found.skipped, "record")))
    if found.bytes_per_s and found.seconds_left:
        rate, left = size(round(found.bytes_per_s)), seconds(found.seconds_left)
        lines.append(translate("{rate} a second, {time} left", rate=rate, time=left))
    if found.idle_s is not None and not found.is_complete:
        lines.append(translate("the last task completed {time} ago", time=seconds(found.idle_s)))
    return lines


def _show_plans(common: CommonOptions, plans: Mapping[str, Plan]) -> None:
    """Prints a single plan, whose name is "", or the plans of several folders."""
    found = {}
    for name, made in plans.items():
        facts = {"tasks": made.num_tasks, "inputs": len(made.inputs), "bytes": made.num_bytes, "dtype": made.dtype}
        found[name] = {**facts, "format": made.format, "digest": made.digest}
        line = translate(
            "planned  {tasks} of {files}, {size}; format {format}, {dtype}",
            tasks=counted(made.num_tasks, "task"),
            files=counted(len(made.inputs), "file"),
            size=size(made.num_bytes),
            format=made.format,
            dtype=made.dtype or "counts",
        )
        common.say(f"{line}; {name}" if name else line)
    if common.as_json:
        write_json(found.get("", found))


def _show_reports(common: CommonOptions, reports: Mapping[str, tuple[str, Report]], no_verify: bool) -> None:
    """Prints the reports of several folders; `reports` maps a name to the path and the report."""
    if common.as_json:
        write_json({name: made.to_json() for name, (_, made) in reports.items()})
        return
    for path, made in reports.values():
        _show_made(common, made, path, no_verify)


def _show_mix(common: CommonOptions, made: Mix) -> None:
    if common.as_json:
        write_json(made)
        return
    shares = translate(", ").join(f"{name} {share:.1%}" for name, share in made.shares.items())
    common.say(translate("mixed    {tokens}: {shares}", tokens=counted(made.tokens, "token"), shares=shares))
    common.say(translate("saved    {path}: {sources}", path=made.folder, sources=counted(len(made.sources), "source")))


def _show_status(common: CommonOptions, found: Status) -> None:
    if common.as_json:
        write_json(found)
    common.say(_status_line(found))


def _show_made(common: CommonOptions, made: Report, output: str, no_verify: bool) -> None:
    """Prints the report of new shards, after they have been verified."""
    _show_report(common, made, output)
    if not no_verify:
        common.say(translate("verified all shards"))


def _show_report(common: CommonOptions, made: Report, output: str) -> None:
    if common.as_json:
        write_json(made)
        return
    semicolon = translate("; ")
    read = translate(
        "read     {size} in {documents}", size=size(made.bytes), documents=counted(made.documents, "document")
    )
    if made.empty:
        read += semicolon + translate("{documents} without tokens left out", documents=counted(made.empty, "document"))
    common.say(read)
    tokens = counted(made.tokens, "token") if made.tokenizer else counted(made.tokens, "pretoken")
    encoded = [translate("encoded  {tokens}", tokens=tokens)]
    if made.bytes_per_token:
        ratio = "{number} bytes per token" if made.tokenizer else "{number} bytes per pretoken"
        encoded.append(translate(ratio, number=f"{made.bytes_per_token:.3f}"))
    encoded.append(translate("{time} of all workers", time=seconds(sum(made.seconds.values()))))
    common.say(semicolon.join(encoded))
    if packed := made.packing:
        rows = translate(
            "packed   {rows} of {length}", rows=counted(packed["rows"], "row"), length=f"{packed['length']:,}"
        )
        if packed["fill"] is not None:
            rows += translate(", {share} filled", share=f"{packed['fill']:.2%}")
        cut = counted(packed["cut"], "document")
        dropped = counted(packed["dropped"], "token")
        common.say(rows + semicolon + translate("cut {documents}, dropped {tokens}", documents=cut, tokens=dropped))
    if made.generations:
        shards = ", ".join(f"{number:,}" for number in made.generations)
        common.say(translate("shuffled in generations, each by itself: {shards} shards", shards=shards))
    num_shards = counted(made.shards, "shard")
    common.say(
        translate("saved    {path}: {shards} of format {format}", path=output, shards=num_shards, format=made.format)
    )
