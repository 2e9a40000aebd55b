"""`make_split`: divides a corpus into parts, such as ``train`` and ``validation``; each is a folder of shards.

Each part has the documents whose hashes (`hashing`) are in a certain range:

    OUT/validation    first range; further parts, such as OUT/test, have the next ranges
    OUT/train         all remaining hashes

So each document is in exactly one part, and equal documents are in the same part. A document stays in its part when
the corpus grows; a document in ``validation`` also stays there when the share of ``validation`` grows. To make a part,
the whole corpus is read, but only the documents of the part are encoded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..corpus import Corpus, CorpusLike
from ..corpus.paths import is_remote
from ..errors import ConfigError, keyword
from ..formats import load
from ..tokenizer import Tokenizer
from ..util.arguments import file_path, is_finite, wrong
from .folder import MIX, PLAN, TRAIN, ShardFolder
from .hashing import Share
from .making import make
from .plan import Plan
from .planning import plan
from .report import Report

__all__ = ["VALIDATION", "check_name", "folder_in", "make_split", "parts_of", "plan_split"]

VALIDATION = "validation"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def make_split(
    corpus: CorpusLike | Corpus,
    output: str | os.PathLike[str],
    tok: Tokenizer | str | os.PathLike[str] | None = None,
    *,
    validation: Share | Mapping[str, Share],
    **options: Any,
) -> dict[str, Report]:
    """Makes shards of a corpus in parts: ``validation`` has a share of the documents, ``train`` the rest.

    The part of a document depends on a hash of its bytes: equal documents are in the same part, and documents stay in
    their part when the corpus grows. After an interruption, the same call resumes.

    Args:
        corpus, tok, options: as `make`.
        output: folder that will contain the folders ``train`` and ``validation``, which `open` reads.
        validation: share of the documents, between 0 and 1; or shares by name: ``{"validation": 0.01, "test": 0.005}``.

    Returns:
        Name of each part -> its report; ``"train"`` first.

    Raises:
        ConfigError: an invalid share; `output` itself has shards; or as `make`.
        JetonError, OSError: as `make`.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/lines.txt", "w") as file:
        ...     _ = file.writelines(f"line {number}\\n" for number in range(1000))
        >>> lines, tok = jeton.Corpus(f"{folder}/lines.txt", documents="line"), jeton.default()
        >>> made = make_split(lines, f"{folder}/out", tok, validation=0.1, progress=False)
        >>> {name: report.documents for name, report in made.items()}
        {'train': 897, 'validation': 103}
        >>> len(jeton.shards.open(f"{folder}/out/validation"))
        103
    """
    if isinstance(tok, str | os.PathLike):
        tok = load(tok)  # loaded once for all parts
    parts = _checked_parts(output, validation)
    return {
        name: make(corpus, folder_in(output, name), tok, hash_range=part, **options) for name, part in parts.items()
    }


def plan_split(
    corpus: CorpusLike | Corpus,
    output: str | os.PathLike[str],
    tok: Tokenizer | str | os.PathLike[str] | None = None,
    *,
    validation: Share | Mapping[str, Share],
    **options: Any,
) -> dict[str, Plan]:
    """Plans the shards of `make_split`; `run` and `merge` then make each folder, on any number of machines.

    Args:
        corpus, output, tok, options: as `plan`.
        validation: as `make_split`.

    Returns:
        Name of each part -> its plan; ``"train"`` first.

    Raises:
        ConfigError: as `make_split`.
        JetonError, OSError: as `plan`.

    Examples:
        >>> import jeton, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(f"{folder}/a.txt", "w") as file:
        ...     _ = file.write("to be")
        >>> made = plan_split(f"{folder}/a.txt", f"{folder}/out", jeton.default(), validation={"test": 0.5})
        >>> {name: made[name].hash_range[0] / 2**64 for name in made}
        {'train': 0.5, 'test': 0.0}
    """
    if isinstance(tok, str | os.PathLike):
        tok = load(tok)
    parts = _checked_parts(output, validation)
    return {
        name: plan(corpus, folder_in(output, name), tok, hash_range=part, **options) for name, part in parts.items()
    }


def parts_of(validation: Share | Mapping[str, Share]) -> dict[str, tuple[Share, Share]]:
    """Returns the parts: name -> (start, end) of the part's range of hashes, as fractions of all hashes (0 to 1).

    Raises:
        ConfigError: a share is not between 0 and 1, the shares leave no documents for ``train``, or a name is invalid.

    Examples:
        >>> for name, part in parts_of({"validation": 0.01, "test": 0.02}).items():
        ...     print(name, *map(float, part))
        train 0.03 1.0
        validation 0.0 0.01
        test 0.01 0.03
    """
    shares = validation if isinstance(validation, Mapping) else {VALIDATION: validation}
    if not shares:
        raise wrong("validation", validation, "a share, or a mapping with one")
    found: dict[str, tuple[Share, Share]] = {}
    start = Fraction(0)
    for name, share in shares.items():
        check_name(name, "validation")
        if name == TRAIN:
            raise ConfigError(f"{keyword('validation')} has {name!r}, which is reserved for the remaining documents")
        is_number = isinstance(share, int | float | Fraction) and not isinstance(share, bool)
        if not is_number or not is_finite(share) or not 0 < share < 1:
            shown = str(share) if isinstance(share, Fraction) else repr(share)
            raise ConfigError(f"{keyword('validation')}: {shown} is not a share between 0 and 1", option="validation")
        end = start + Fraction(str(share))  # str: Fraction(0.1) is not exactly 1/10, Fraction("0.1") is
        found[name] = start, end
        start = end
    if start >= 1:
        message = f"{keyword('validation')}: its shares add up to {float(start):g}, and leave nothing to {TRAIN!r}"
        raise ConfigError(message, option="validation")
    return {TRAIN: (start, 1), **found}


def check_name(name: object, option: str) -> None:
    """Checks the name of a folder inside another folder.

    Raises:
        ConfigError: the name has other characters than letters, digits, ``-``, ``_`` and ``.``.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        message = f"{keyword(option)}: {name!r} is not the name of a folder, of letters, digits, '-', '_' and '.'"
        raise ConfigError(message, option=option)


def folder_in(output: str | os.PathLike[str], name: str) -> str:
    """Returns the path or URL of a folder inside `output`.

    Examples:
        >>> folder_in("s3://bucket/out/", "train")
        's3://bucket/out/train'
    """
    folder = file_path(output, "output")
    return f"{folder.rstrip('/')}/{name}" if is_remote(folder) else os.path.join(folder, name)


def _checked_parts(
    output: str | os.PathLike[str], validation: Share | Mapping[str, Share]
) -> dict[str, tuple[Share, Share]]:
    parts = parts_of(validation)
    if ShardFolder(output).has(PLAN):
        message = f"{os.fspath(output)} has shards of its own; pass another folder, for a folder of each part"
        raise ConfigError(message, option="output")
    ShardFolder(output).check_free_of(MIX, f"{TRAIN}/{MIX}")
    return parts
