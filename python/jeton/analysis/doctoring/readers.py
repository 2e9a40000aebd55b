"""Readers: all libraries that can load the tokenizer of a folder, a file or a name.

A reader is a library with a file that it loads. Jeton and `tokenizers` load a ``tokenizer.json``, `sentencepiece` loads
a SentencePiece model, `tiktoken` a rank file, `AutoTokenizer` of `transformers` the folder, and Jeton a GGUF file, with
the ids of llama.cpp. A library that is not installed, or that refuses the file, is listed with the reason.

Libraries load local files only, and no remote code is run.

Left out: `mistral-common` for tekken.json, and llama.cpp itself.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

from ... import _core
from ...definition import Pattern
from ...errors import JetonError
from ...formats import detection, load, local_path
from ...formats.config import read_config
from ...formats.layout import for_class
from ...tokenizer import Tokenizer
from ...util.messages import translate

__all__ = ["Reader", "Refused", "find_readers", "quiet"]

T = TypeVar("T")

HEAD_BYTES = 1 << 16
FOLDER = "folder"  # `Reader.file` of a library that reads the whole folder


class Refused(NamedTuple):
    """Result for a text that a reader refuses to encode. All refusals compare equal."""

    message: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Refused)

    def __hash__(self) -> int:
        return hash(Refused)


@dataclass(frozen=True, eq=False)
class Reader:
    """A library and the file that it loads.

    Attributes:
        file: name of the file, or `FOLDER` if the library reads the folder.
        library: name of the library.
        detail: class that the library chose for the tokenizer, or another remark.
        reason: why the reader was not checked; None if it was checked.
        version: version of the library.
        encode: text → ids. Each library matches special tokens in its own way.
        frame: text → ids, including the tokens that a template adds; None if the library adds no tokens.
        decode: ids → text; None if decoding is not compared.
        spell: id → spelling of the token.
        matches_added: whether `encode` matches added tokens in the text.
        twin: Jeton's tokenizer with the same definition.
        pre: ``tokenizer.ggml.pre`` of a GGUF file; an empty text if the file lacks it or is not GGUF.
        is_gguf: whether the file is GGUF.
        is_installed: False if the library is not installed.
    """

    file: str
    library: str
    detail: str = ""
    reason: str | None = None
    version: str = ""
    encode: Callable[[str], list[int]] | None = None
    frame: Callable[[str], list[int]] | None = None
    decode: Callable[[list[int]], str] | None = None
    spell: Callable[[int], str] | None = None
    matches_added: bool = True
    twin: Tokenizer | None = None
    pre: str = ""
    is_gguf: bool = False
    is_installed: bool = True

    @property
    def name(self) -> str:
        """Name of the file and the library, which identifies a reader in reports and lock files."""
        return f"{self.file}: {self.library}"

    def ids(self, text: str, *, framed: bool = False) -> list[int] | Refused:
        """Encodes a text; returns a `Refused` if the library refuses it."""
        call = self.frame if framed else self.encode
        if call is None:
            raise ValueError(f"{self.name} was not checked")
        found = _tried(lambda: [int(id) for id in call(text)])
        return Refused(found) if isinstance(found, _Reason) else found

    def text(self, ids: list[int]) -> str | Refused:
        """Decodes ids; returns a `Refused` if the library refuses them."""
        decode = self.decode
        if decode is None:
            raise ValueError(f"{self.name} decodes nothing")
        found = _tried(lambda: str(decode(ids)))
        return Refused(found) if isinstance(found, _Reason) else found


def find_readers(place: str | os.PathLike[str]) -> list[Reader]:
    """Loads a folder, a file or a name with every library that supports it.

    Raises:
        FileNotFoundError: the place does not exist.
        DownloadError: the tokenizer of this name cannot be downloaded.
    """
    if not os.path.exists(place) and place == "default":
        return [_jeton(str(place), lambda: load("default"))]
    path = local_path(place)
    given = None if os.path.exists(place) else str(place)
    if os.path.isdir(path):
        return _of_folder(path)
    return _of_file(path, {}, None, given or os.path.basename(path), source=given or path)


def _of_folder(folder: str) -> list[Reader]:
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    readers: list[Reader] = []
    config = _tried(lambda: read_config(folder))
    settings: dict[str, Any] = config if isinstance(config, dict) else {}
    main: Tokenizer | None = None
    if "tokenizer.json" in names:
        readers += _of_file(os.path.join(folder, "tokenizer.json"), settings, None, "tokenizer.json")
        main = next((reader.twin for reader in readers if reader.twin is not None), None)
    if any(_is_tokenizer(os.path.join(folder, one)) and not one.endswith(".gguf") for one in names):
        whole = _jeton(FOLDER, lambda: load(folder))
        readers += [whole, *_transformers(folder, FOLDER)]
        main = main or next((reader.twin for reader in readers if reader.twin is not None), None)
    for one in names:
        path = os.path.join(folder, one)
        if one != "tokenizer.json" and _is_tokenizer(path):
            readers += _of_file(path, settings, main, one)
    if not readers:
        raise FileNotFoundError(
            f"the folder {folder} contains no tokenizer (it contains: {', '.join(names[:8]) or 'nothing'})"
        )
    return readers


def _is_tokenizer(path: str) -> bool:
    """Tests whether a file is a tokenizer, by its name and first bytes."""
    name = os.path.basename(path)
    if name in ("tokenizer.json", "tekken.json", "vocab.json", "encoder.json", "vocab.txt"):
        return True
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    # Only the name is left to decide. If the file counts as a tokenizer, the caller reads it and gets this error, too.
    except PermissionError:
        return name.endswith((".model", ".tiktoken", ".gguf"))
    if detection.is_gguf(head):
        return True
    return name.endswith((".model", ".tiktoken")) and (detection.is_rank_file(head) or detection.is_sentencepiece(head))


def _of_file(
    path: str, config: Mapping[str, Any], main: Tokenizer | None, name: str, *, source: str | None = None
) -> list[Reader]:
    """Returns the readers of a file; `main` is the tokenizer of another file in the same folder, if any."""
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    if detection.is_gguf(head):
        return [_gguf(path, name)]
    if detection.is_rank_file(head):
        return _rank_file(path, main, name, source or path)
    if not detection.is_json(head) and detection.is_sentencepiece(head):
        return _sentencepiece(path, config, name)
    ours = _jeton(name, lambda: load(source or path))
    if detection.is_json(head) and not detection.is_gpt2_pair(head) and not detection.is_tekken(head):
        return [_tokenizers(path, name), ours]
    return [ours]


# ── libraries ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _jeton(file: str, make: Callable[[], Tokenizer], **others: Any) -> Reader:
    version = _version("jeton")
    tok = _tried(make)
    if not isinstance(tok, Tokenizer):
        return Reader(file, "jeton", reason=str(tok), version=version)
    return Reader(file, "jeton", version=version, **(_calls(tok) | others))


def _calls(tok: Tokenizer) -> dict[str, Any]:
    return {
        "encode": lambda text: tok.encode(text, special="all"),
        "frame": lambda text: tok.encode(text, special="all", add_special_tokens=True),
        "decode": lambda ids: tok.decode(ids),
        "spell": tok.id_to_token,
        "twin": tok,
    }


def _gguf(path: str, name: str) -> Reader:
    from ...formats.gguf_file import read_header

    key = "tokenizer.ggml.pre"
    found = _tried(lambda: read_header(path, lambda one: one == key).values.get(key, b"").decode("utf-8", "replace"))
    pre = found if isinstance(found, str) else ""
    detail = translate("with the ids of llama.cpp")
    return _jeton(name, lambda: load(path), detail=detail, decode=None, pre=pre, is_gguf=True)


def _tokenizers(path: str, name: str) -> Reader:
    library = _library("tokenizers")
    if isinstance(library, _Reason):
        return _unread(name, "tokenizers", library)
    version = _version("tokenizers")

    def open_file() -> Any:
        tok = library.Tokenizer.from_file(path)
        tok.no_truncation()
        tok.no_padding()
        return tok

    tok = _tried(open_file)
    if isinstance(tok, _Reason):
        return Reader(name, "tokenizers", reason=str(tok), version=version)
    return Reader(
        name,
        "tokenizers",
        version=version,
        encode=lambda text: tok.encode(text, add_special_tokens=False).ids,
        frame=lambda text: tok.encode(text).ids,
        decode=lambda ids: tok.decode(ids, skip_special_tokens=False),
        spell=tok.id_to_token,
        twin=_twin(tok),
    )


def _transformers(folder: str, name: str) -> list[Reader]:
    library = _library("transformers")
    if isinstance(library, _Reason):
        return [_unread(name, "transformers", library)]
    version = _version("transformers")
    ways: list[tuple[str, dict[str, Any]]] = [("transformers", {})]
    if version.startswith("4."):  # version 5 ignores use_fast
        ways.append(("transformers, use_fast=False", {"use_fast": False}))
    return [
        reader
        for way, options in ways
        if (reader := _auto_tokenizer(library, folder, name, way, version, options)) is not None
    ]


def _auto_tokenizer(
    library: Any, folder: str, name: str, way: str, version: str, options: Mapping[str, Any]
) -> Reader | None:
    """Returns the reader of `AutoTokenizer`; None if the slow variant is requested, but there is only a fast one."""
    options = {"trust_remote_code": False, "local_files_only": True, **options}
    with quiet():
        tok: Any = _tried(lambda: library.AutoTokenizer.from_pretrained(folder, **options))
    if isinstance(tok, _Reason):
        return Reader(name, way, reason=str(tok), version=version)
    is_fast = bool(getattr(tok, "is_fast", False))  # mistral-common's class lacks the attribute
    if is_fast and options.get("use_fast") is False:
        return None
    return Reader(
        name,
        way,
        detail=type(tok).__name__,
        version=version,
        encode=lambda text: tok.encode(text, add_special_tokens=False),
        frame=lambda text: tok.encode(text),
        decode=lambda ids: tok.decode(ids),
        spell=tok.convert_ids_to_tokens,
        twin=_twin(tok.backend_tokenizer) if is_fast else None,
    )


def _sentencepiece(path: str, config: Mapping[str, Any], name: str) -> list[Reader]:
    """Returns the readers of a SentencePiece model. Jeton's reader numbers the pieces as the class in `config` does."""
    layout = _tried(lambda: for_class(config)) if config else None
    numbering = layout if isinstance(layout, Mapping) else None
    detail = "" if numbering is None else translate("ids of {name}", name=config.get("tokenizer_class"))
    ours = _jeton(
        name,
        lambda: load(path, layout=numbering),
        detail=detail,
        frame=None,
        matches_added=False,
    )
    twin = ours.twin
    if twin is not None:
        ours = replace(ours, encode=twin.encode)
    library = _library("sentencepiece")
    if isinstance(library, _Reason):
        return [_unread(name, "sentencepiece", library), ours]
    version = _version("sentencepiece")
    tok: Any = _tried(lambda: library.SentencePieceProcessor(model_file=path))
    if isinstance(tok, _Reason):
        return [Reader(name, "sentencepiece", reason=str(tok), version=version), ours]
    theirs = Reader(name, "sentencepiece", detail, None, version, matches_added=False, twin=twin)
    if numbering is None or twin is None:
        return [replace(theirs, encode=tok.encode, decode=tok.decode, spell=tok.id_to_piece), ours]
    ids = _tried(lambda: [twin.token_to_id(tok.id_to_piece(id)) for id in range(tok.get_piece_size())])
    if isinstance(ids, _Reason):
        return [replace(theirs, reason=str(ids), twin=None), ours]
    pieces = {id: piece for piece, id in enumerate(ids)}
    numbered = replace(
        theirs,
        encode=lambda text: [ids[piece] for piece in tok.encode(text)],
        decode=lambda given: tok.decode([pieces[id] for id in given]),
        spell=lambda id: tok.id_to_piece(pieces[id]),
    )
    return [numbered, ours]


def _rank_file(path: str, main: Tokenizer | None, name: str, source: str) -> list[Reader]:
    """Returns the readers of a rank file. Its pattern is the one that `load(source)` finds, or else that of `main`."""

    def ours() -> Tokenizer:
        try:
            return load(source)
        except JetonError:
            pattern = None if main is None else main.definition.pattern
            if main is None or pattern is None:
                raise
            return load(path, pattern=pattern.text, special_tokens=dict(main.special_tokens))

    jeton = _jeton(name, ours, frame=None)
    library = _library("tiktoken")
    if isinstance(library, _Reason):
        return [_unread(name, "tiktoken", library), jeton]
    version = _version("tiktoken")
    twin = jeton.twin
    pattern = None if twin is None else twin.definition.pattern
    if twin is None or pattern is None:
        reason = translate("no pattern is known for this rank file")
        return [Reader(name, "tiktoken", reason=reason, version=version), jeton]

    def open_file() -> Any:
        from tiktoken.load import load_tiktoken_bpe

        special = dict(twin.special_tokens)
        ranks = load_tiktoken_bpe(path)
        return library.Encoding("doctor", pat_str=_regex(pattern), mergeable_ranks=ranks, special_tokens=special)

    tok = _tried(open_file)
    if isinstance(tok, _Reason):
        return [Reader(name, "tiktoken", reason=str(tok), version=version), jeton]
    theirs = Reader(
        name,
        "tiktoken",
        version=version,
        encode=lambda text: tok.encode(text, allowed_special="all"),
        decode=tok.decode,
        spell=lambda id: tok.decode([id]),
        twin=twin,
    )
    return [theirs, jeton]


# ── calls into libraries ────────────────────────────────────────────────────────────────────────────────────────────


class _Reason(str):
    """Error message of a library call that failed."""


def _tried(make: Callable[[], T]) -> T | _Reason:
    """Calls a library. Returns any error as a `_Reason`, even a panic of Rust code, which is not an `Exception`."""
    try:
        return make()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        return _Reason(_first_line(error))


def _first_line(error: BaseException, longest: int = 300) -> str:
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    return text if len(text) <= longest else text[:longest] + "…"


def _library(name: str) -> Any:
    """Imports a library; returns a `_Reason` if that fails."""
    with quiet():
        return _tried(lambda: import_module(name))


def _unread(file: str, library: str, reason: str) -> Reader:
    """Returns the reader of a library that cannot be imported."""
    if find_spec(library) is not None:
        return Reader(file, library, reason=reason, version=_version(library))
    reason = translate("{name} is not installed", name=library)
    return Reader(file, library, reason=reason, is_installed=False)


def _version(name: str) -> str:
    from importlib import metadata  # not at the top, because it imports the whole e-mail parser

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silences the warnings of libraries about files that they load."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _twin(backend: Any) -> Tokenizer | None:
    """Converts a `tokenizers.Tokenizer` to Jeton's tokenizer; None if Jeton does not support it."""
    found = _tried(lambda: load(backend))
    return found if isinstance(found, Tokenizer) else None


def _regex(pattern: Pattern) -> str:
    """Returns a pattern as a regular expression in tiktoken's dialect."""
    return pattern.text if pattern.is_regex else _core.pattern_text(pattern.text) or r"[\s\S]+"
