"""`Corpus`: sources of documents, and options for reading them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..util.arguments import integer, string, strings, wrong
from ..util.compression import MAX_EXPANSION
from .error_policy import ErrorPolicy, check_policy
from .kinds import InputType, check_input_type
from .listing import Lister, Listing, Rules
from .source import CorpusLike, Source, check_corpus, check_documents, sources_of
from .streams import check_encoding

__all__ = ["Corpus"]

MAX_SEED = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sources of documents, and the options for reading them.

    `jeton.train`, `jeton.count_pretokens`, `jeton.sizes` and `jeton.measure` accept a `Corpus` instead of sources.

    Attributes:
        sources: a path, glob, folder (its files, sorted) or URL; an iterable of
            `str`/`bytes` (documents), of mappings (rows, such as a dataset of the package `datasets`), or of `Path`
            (files); a binary stream; a `Source` or a list of them. ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` are
            decompressed; JSON Lines, Parquet, Arrow and CSV have one document per row. `listing` returns the files that
            are read, and the files of folders that are not read.
        documents: ``"file"``: a text file is one document; ``"line"``: each line is a document, without its line end.
        field: field of a row (JSON, Parquet, Arrow, CSV, mapping) that holds the text; ``"content.body"`` and
            ``"text.0"`` are nested fields, unless a key has this whole name.
        errors: policy for invalid UTF-8, lone surrogates and unreadable records: ``"strict"`` raises the error;
            ``"replace"`` replaces invalid text by U+FFFD, but raises all other errors; ``"skip"`` skips the record, and
            files that cannot be opened. Replacements and skipped records are logged.
        encoding: encoding of text files, streams and `bytes`: ``"gb18030"``, or another name that Python knows. Parquet
            is always UTF-8.
        max_expansion: maximum ratio of decompressed to compressed size, beyond the first 4 MiB; a larger ratio is
            rejected as a decompression bomb. None means no limit.
        sample_bytes: approximate size of a sample in bytes. Only the sample is used; it consists of whole documents
            from all parts of the corpus. None means no sample.
        seed: seed of the sample, and of the held-out documents of `jeton.sizes`.
        include: globs, such as ``["*.md"]``; only files that match a glob are read, including kinds of files that are
            otherwise not read from folders. A glob without a slash matches the file's name; a glob with a slash matches
            its path below the folder. ``*`` also matches slashes.
        exclude: globs of files that are not read.
        input_type: ``"auto"``: the type depends on the suffix and, for ``.json``, on the content; else the type of all
            files: ``"text"``, ``"jsonl"``, ``"json"``, ``"parquet"``, ``"arrow"``, ``"csv"``, ``"tsv"`` or ``"tar"``.

    Raises:
        ConfigError: an option or the type of a source is invalid.

    Examples:
        >>> import jeton
        >>> corpus = jeton.Corpus([{"body": "to be"}, {"body": "or not to be"}], field="body")
        >>> jeton.count_pretokens(corpus, pattern="gpt2").most_common(1)
        [(b' be', 2)]
    """

    sources: CorpusLike
    documents: Literal["file", "line"] = "file"
    field: str = "text"
    errors: ErrorPolicy = "strict"
    encoding: str = "utf-8"
    max_expansion: int | None = MAX_EXPANSION
    sample_bytes: int | None = None
    seed: int = 0
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    input_type: InputType = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.sources, Source):
            check_corpus(self.sources, "sources")
        check_documents(self.documents)
        string(self.field, "field")
        check_policy(self.errors)
        check_encoding(self.encoding)
        limit = self.max_expansion
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise wrong("max_expansion", limit, "a positive integer or None")
        if self.sample_bytes is not None:
            integer(self.sample_bytes, "sample_bytes", 1)
        integer(self.seed, "seed", 0, MAX_SEED)
        strings(self.include, "include")
        strings(self.exclude, "exclude")
        check_input_type(self.input_type)

    @classmethod
    def of(cls, corpus: CorpusLike | Corpus) -> Corpus:
        """Converts the argument of a function (sources, or a `Corpus`) to a `Corpus`.

        Raises:
            ConfigError: the type of the argument is invalid.
        """
        if isinstance(corpus, Corpus):
            return corpus
        if not isinstance(corpus, Source):
            check_corpus(corpus, "corpus")
        return cls(corpus)

    def by_line(self) -> Corpus:
        """Returns a copy in which each line of a text file is a document."""
        return replace(self, documents="line")

    def listing(self) -> Listing:
        """Returns the files that are read, in order, and unread files in folders. Documents in memory have no files.

        Raises:
            FileNotFoundError: there is no such file, a glob has no match, or no file of a folder is read.
            ConfigError: the same file belongs to sources with different options.

        Examples:
            >>> import jeton, pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> for name in ("a.txt", "README.md"):
            ...     _ = (folder / name).write_text("to be")
            >>> listing = jeton.Corpus(folder).listing()
            >>> [pathlib.Path(file).name for file in listing.files], [str(unread) for unread in listing.unread]
            (['a.txt'], ['1 .md (README.md)'])
            >>> len(jeton.Corpus(folder, include=["*.txt", "*.md"]).listing().files)
            2
        """
        lister = Lister()
        files = [file for source in sources_of(self.sources) for file in lister.add_source(source, self.rules(source))]
        return Listing(tuple(files), lister.unread)

    def rules(self, source: Source) -> Rules:
        """Returns the rules that select the files of a source; the source's own options take precedence."""
        return Rules(
            source.field or self.field,
            check_encoding(source.encoding or self.encoding),
            self.max_expansion,
            self.include,
            self.exclude,
            self.input_type,
            self.errors == "skip",
        )
