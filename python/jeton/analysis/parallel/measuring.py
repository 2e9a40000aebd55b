"""`languages`: measures tokenizers on parallel texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ...errors import ConfigError
from ...tokenizer import Tokenizer
from ...util.arguments import file_path, instance
from ...util.progress import Progress
from ..measure import measure
from ..named import named_tokenizers
from .table import LanguageTable
from .texts import PARAGRAPH, parallel_texts

__all__ = ["languages"]


def languages(
    toks: Tokenizer | Mapping[str, Tokenizer] | Sequence[Tokenizer],
    folder: str | os.PathLike[str] | None = None,
    *,
    relative_to: str = "eng",
    threads: int | None = None,
    progress: Progress = None,
) -> LanguageTable:
    """Measures tokenizers on the same text in many languages: tokens relative to English, and fertility.

    Args:
        toks: a tokenizer, or several tokenizers: a mapping name -> tokenizer, or a list. The tokenizers of a list are
            named by number, from 1.
        folder: parallel texts, one file for each language, named by its ISO 639 code, as ``eng.txt`` or
            ``cmn_hans.txt``; for example the Universal Declaration of Human Rights, https://www.unicode.org/udhr/.
            None: a paragraph in twenty languages that comes with Jeton.
        relative_to: name of the file, without suffix, of the language to compare with.
        threads, progress: as in `jeton.train`.

    Returns:
        The table. A file with less than a fifth of the characters of the `relative_to` file is excluded, and is listed
        in `left_out`.

    Raises:
        ConfigError: there are no tokenizers, or `relative_to` has no file.
        FileNotFoundError: the folder does not exist.
        InvalidTextError: a file is not UTF-8, or a tokenizer cannot encode it.

    Examples:
        >>> import jeton
        >>> table = jeton.languages(jeton.default())
        >>> print(table.to_terminal(by="family").splitlines()[0])
        tokens relative to English, median of the languages

    Source:
        Petrov et al. 2023, arXiv 2305.15425; Ahia et al. 2023, arXiv 2305.13707.
    """
    named = {"tok": toks} if isinstance(toks, Tokenizer) else named_tokenizers(toks, "toks", "compare")
    instance(relative_to, "relative_to", str, "the name of a file without its suffix (a string)")
    place = PARAGRAPH if folder is None else file_path(folder, "folder")
    texts, left_out = parallel_texts(place, relative_to)
    sources = {language.key: [text] for language, text in texts.items()}
    table = measure(named, sources, threads=threads, progress=progress)
    empty = [name for name in named if table[relative_to, name].tokens == 0]
    if empty:
        message = f"{empty[0]} encodes the text {relative_to} to no tokens, so no ratio to it exists"
        raise ConfigError(message, option="relative_to")
    return LanguageTable(table.tokenizers, tuple(texts), table.cells, relative_to, tuple(left_out))
