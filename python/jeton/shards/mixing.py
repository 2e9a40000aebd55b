"""`make_mix`: makes a folder of shards for each source of a mix, and ``mix.json`` with the amount of each source."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..errors import ConfigError
from ..formats import load
from ..tokenizer import Tokenizer
from .folder import MIX, PLAN, TRAIN, ShardFolder
from .making import make
from .mix import Mix, resolved, write_mix
from .mix_file import MixFile
from .plan import Plan
from .planning import plan, status
from .report import report
from .skipping import SkipLimit
from .splitting import folder_in, parts_of
from .validity import remove_invalid

__all__ = ["make_mix", "plan_mix"]

RUNNING = ("workers", "runner", "ray_address", "keep_going", "max_skipped")  # options of `run`, not of `plan`

_log = logging.getLogger("jeton")

MixLike = str | os.PathLike[str] | Mapping[str, Any]


def make_mix(
    mix: MixLike,
    output: str | os.PathLike[str],
    tok: Tokenizer | str | os.PathLike[str] | None = None,
    *,
    validation: float | Fraction | Mapping[str, float | Fraction] | None = None,
    **options: Any,
) -> Mix:
    """Makes the shards of a mix: a folder for each source, and ``mix.json``, so that `loader` can read the whole mix.

    Weights, epochs and numbers of tokens are not stored in the shards. So a call with another mix of the same sources
    does not encode complete sources again; it only checks the names and sizes of their files.

    Args:
        mix: a TOML file, or a mapping with the same entries (see `mix_file`). Each source has paths, options of
            reading, and one amount: a weight, epochs, tokens or samples.
        output: folder that will contain the folders of the sources.
        tok, options: as `make`, for all sources.
        validation: as `make_split`: each source is divided between the folders ``train`` and ``validation`` of
            `output`. The mix of ``validation`` takes one epoch of each source.

    Returns:
        The mix with the computed amounts. If `validation` is given, the mix of ``train``.

    Raises:
        FormatError: an entry of the mix is missing, unknown or invalid.
        ConfigError: the mix takes more of a source than the source has; or as `make`.
        JetonError, OSError: as `make`.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "web.txt").write_text("to be or not to be\\n" * 300)
        >>> _ = (folder / "code.txt").write_text("x = 1\\n" * 100)
        >>> _ = (folder / "mix.toml").write_text('''
        ... [sources.web]
        ... paths = "web.txt"
        ... documents = "line"
        ... weight = 0.75
        ... [sources.code]
        ... paths = "code.txt"
        ... documents = "line"
        ... weight = 0.25
        ... max_epochs = 2
        ... ''')
        >>> made = make_mix(folder / "mix.toml", folder / "out", jeton.default(), append_eos=True, progress=False)
        >>> made, float(made.sources["web"].epochs)
        (Mix(2,800 tokens: web 75.0%, code 25.0%), 1.0)
    """
    if isinstance(tok, str | os.PathLike):
        tok = load(tok)  # loaded once for all sources
    settings = MixFile.of(mix)
    parts = []
    for folder, one, part in _parts(settings, output, validation):
        for name, source in one.sources.items():
            _make_source(source.corpus, folder_in(folder, name), tok, {**options, **part})
        found = resolved(one, folder)  # raises an error for an impossible mix before it is written
        write_mix(folder, one)
        parts.append(found)
    return parts[0]


def plan_mix(
    mix: MixLike,
    output: str | os.PathLike[str],
    tok: Tokenizer | str | os.PathLike[str] | None = None,
    *,
    validation: float | Fraction | Mapping[str, float | Fraction] | None = None,
    **options: Any,
) -> dict[str, Plan]:
    """Plans the shards of `make_mix`, and writes ``mix.json``; `run` and `merge` then make each folder, on any machine.

    Args:
        mix, output, tok, validation: as `make_mix`.
        options: as `plan`.

    Returns:
        Dictionary: folder of each source, relative to `output` -> plan.

    Raises:
        FormatError, ConfigError: as `make_mix`. But amounts are not checked here: the function `mix` checks the amounts
            after the sources are merged.
        JetonError, OSError: as `plan`.

    Examples:
        >>> import jeton, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("to be")
        >>> made = {"sources": {"a": {"paths": str(folder / "a.txt"), "weight": 1}}}
        >>> plans = plan_mix(made, folder / "out", jeton.default(), validation=0.5)
        >>> list(plans)
        ['train/a', 'validation/a']
        >>> for name in plans:
        ...     _ = jeton.shards.run(folder / "out" / name, progress=False)
        ...     _ = jeton.shards.merge(folder / "out" / name)
        >>> sum(jeton.shards.report(folder / "out" / name).documents for name in plans)
        1
    """
    if isinstance(tok, str | os.PathLike):
        tok = load(tok)
    settings = MixFile.of(mix)
    plans = {}
    for folder, one, part in _parts(settings, output, validation):
        head = "" if folder == os.fspath(output) else f"{folder[len(folder_in(output, '')) :]}/"
        for name, source in one.sources.items():
            plans[head + name] = plan(source.corpus or [], folder_in(folder, name), tok, **options, **part)
        write_mix(folder, one)
    return plans


def _parts(
    settings: MixFile,
    output: str | os.PathLike[str],
    validation: float | Fraction | Mapping[str, float | Fraction] | None,
) -> list[tuple[str, MixFile, dict[str, Any]]]:
    """Returns the folder, mix and options of each part.

    If `validation` is given, the parts are ``train`` and the validation parts. Otherwise, `output` is the only part.
    """
    if ShardFolder(output).has(PLAN):
        message = f"{os.fspath(output)} has shards of its own; pass another folder, for a folder of each source"
        raise ConfigError(message, option="output")
    # If there is no validation, the folder ``train`` may contain a plan, because ``train`` may be the name of a source.
    others = (f"{TRAIN}/{MIX}",) if validation is None else (MIX, f"{TRAIN}/{PLAN}")
    ShardFolder(output).check_free_of(*others)
    if validation is None:
        return [(os.fspath(output), settings, {})]
    return [
        (folder_in(output, name), settings if name == TRAIN else settings.each_once(), {"hash_range": part})
        for name, part in parts_of(validation).items()
    ]


def _make_source(corpus: Any, folder: str, tok: Tokenizer | None, options: dict[str, Any]) -> None:
    """Makes the shards of a source, unless they are complete."""
    running = {*RUNNING, "join", "verify", "progress"}
    made = plan(corpus, folder, tok, **{name: value for name, value in options.items() if name not in running})
    tally, _ = remove_invalid(ShardFolder(folder), made, files="sizes")  # finds lost and truncated shards
    found = status(folder)
    is_joined = not options.get("join") or (found.merged and "joined" in ShardFolder(folder).load_manifest())
    if not (found.is_complete and found.merged and is_joined):
        make(corpus, folder, tok, **options)
        return
    SkipLimit.of(options.get("max_skipped")).check(tally, folder)
    known = report(folder)
    for complaint in known.complaints():  # `merge` logs the same warnings
        _log.warning(complaint, extra={"skipped": known.num_skipped})
