"""`Part`, the base class of a tokenizer's stages. The options of a part are in a cell, which several parts can share.

A subclass declares its options, in the order of the constructor's arguments. The base class derives constructor,
getters, setters, `repr`, `str` and pickling from the declared options. Options are stored in the form of
`tokenizer.json`. As in Hugging Face's package, an item of a Sequence shares a cell with the part from which the item
was created: setting an option of the item changes that part, too, and vice versa.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import count
from typing import Any, ClassVar, TypeVar

from .values import Converter, shown, size, to_json, wrong

__all__ = ["Cell", "Option", "Part", "SequencePart", "from_state"]

P = TypeVar("P", bound="Part")
REQUIRED: Any = object()
MODULES = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pre_tokenizers",
    "decoder": "decoders",
    "post_processor": "processors",
    "model": "models",
    "trainer": "trainers",
}
BASES = {
    "normalizer": "Normalizer",
    "pre_tokenizer": "PreTokenizer",
    "decoder": "Decoder",
    "post_processor": "PostProcessor",
    "model": "Model",
}
_NO_PREFIX = {"type": "Prepend", "prepend": ""}  # has no effect; not passed to the core, which rejects it
_versions = count()


class Cell:
    """State of a part. Several objects can share a cell. Each change stores a new state with a new version.

    Attributes:
        items: the cells of a Sequence; None for other parts.
        custom: the Python object of a custom part.
        entries: the vocabulary of a model.
    """

    __slots__ = ("_json", "_state", "_version", "custom", "entries", "items")

    def __init__(self, state: dict[str, Any], custom: Any = None, items: list[Cell] | None = None) -> None:
        self.entries: Any = None
        self._json: tuple[Any, str] = (None, "")
        self.replace(state, custom, items)

    def replace(self, state: dict[str, Any], custom: Any = None, items: list[Cell] | None = None) -> None:
        """Replaces the state."""
        self._state, self.custom, self.items = state, custom, items
        self._version = next(_versions)

    @property
    def state(self) -> dict[str, Any]:
        """The state in the form of `tokenizer.json`; callers must not change it."""
        if self.items is None:
            return self._state
        return {name: value or [item.state for item in self.items] for name, value in self._state.items()}

    def core_json(self) -> str:
        """Returns the JSON of the list of components, in which Sequences are flattened."""
        state, (known, written) = self.state, self._json
        if known is not state:  # always true for a Sequence, whose state is a new dict on each access
            written = to_json(list(_components(state)))
            self._json = state, written  # a single assignment, because another thread may replace the state
        return written

    @property
    def version(self) -> object:
        """A value that changes with each change of the state."""
        return self._version if self.items is None else (self._version, *(item.version for item in self.items))

    @property
    def is_custom(self) -> bool:
        """True if the part, or an item of it, is a Python object."""
        return self.custom is not None or any(item.is_custom for item in self.items or ())


def _components(state: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if state["type"] == "Sequence":
        for name, inner in state.items():
            if name != "type":
                for part in inner:
                    yield from _components(part)
    elif state != _NO_PREFIX:
        yield state


class Option:
    """An option of a part: an argument of its constructor, and an attribute that can be set.

    Args:
        convert: function from the argument to the value in JSON.
        default: default of the argument; `REQUIRED` if it has none.
        argument: name of the argument of the constructor; empty if there is no such argument.
        key: name of the option in JSON.
        load: function from a value of parsed JSON to a value of Jeton's types.
        get: function from the value in JSON to the value of the attribute.
        is_hidden: whether the option has no attribute.
    """

    def __init__(
        self,
        convert: Converter,
        default: Any = REQUIRED,
        *,
        argument: str | None = None,
        key: str | None = None,
        load: Converter | None = None,
        get: Converter | None = None,
        is_hidden: bool = False,
    ) -> None:
        self.convert, self.default, self.is_hidden = convert, default, is_hidden
        self.load, self.get = load, get
        self.argument, self.key = argument, key or ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.key = self.key or name
        self.argument = name if self.argument is None else self.argument

    def __get__(self, part: Part | None, owner: type) -> Any:
        if part is None:
            return self
        self._check(part)
        value = part.cell.state[self.key]
        return value if self.get is None else self.get(value)

    def __set__(self, part: Part, value: Any) -> None:
        self._check(part)
        part.cell.replace({**part.cell.state, self.key: self.convert(value)})

    def _check(self, part: Part) -> None:
        if self.is_hidden:
            raise AttributeError(f"{type(part).__name__!r} object has no attribute {self.name!r}")
        if part.cell.state.get("type") != type(part).__name__:
            raise Exception(f"the item of the Sequence is no longer a {type(part).__name__}")

    def __delete__(self, part: Part) -> None:
        raise AttributeError("property has no deleter")


class _Signature:
    """Descriptor for the signature of a class, which is computed on first use."""

    def __get__(self, part: object, owner: type[Part]) -> Any:
        from inspect import Parameter, Signature

        def parameter(option: Option) -> Parameter:
            kind = Parameter.KEYWORD_ONLY if owner._keywords_only else Parameter.POSITIONAL_OR_KEYWORD
            default = Parameter.empty if option.default is REQUIRED else option.default
            return Parameter(option.argument or "", kind, default=default)

        return Signature([parameter(option) for option in owner._options if option.argument])


class Part:
    """Base class of a tokenizer's stages.

    Attributes:
        cell: the state, shared with all Python objects that represent the same part.
    """

    kind: ClassVar[str]
    base: ClassVar[type[Part]]
    types: ClassVar[dict[str, type[Part]]]
    _options: ClassVar[tuple[Option, ...]] = ()
    _fixed: ClassVar[Mapping[str, Any]] = {}  # members of the JSON with constant values
    _ignores_others: ClassVar[bool] = False  # whether the constructor ignores unknown keywords
    _keywords_only: ClassVar[bool] = False
    _new_arguments: ClassVar[tuple[Any, ...]] = ()
    __slots__ = ("cell",)
    __signature__ = _Signature()

    cell: Cell

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            cls.base, cls.types = cls, {}
        elif hasattr(cls, "base") and cls.__module__ == cls.base.__module__:
            cls._options = tuple(value for value in vars(cls).values() if isinstance(value, Option))
            cls.types[cls.__name__] = cls

    def __init__(self, *args: Any, **options: Any) -> None:
        cls = type(self)
        if cls is cls.base:
            raise TypeError(f"cannot create 'tokenizers.{MODULES[cls.kind]}.{cls.__name__}' instances")
        values = cls._bound(args, options)
        state: dict[str, Any] = {"type": cls.__name__, **self._fixed}
        for option in cls._options:
            state[option.key] = option.convert(values.get(option.name, option.default))
        self.cell = Cell(state)

    @classmethod
    def _bound(cls, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of a call of the constructor as option → value."""
        called = f"{cls.__name__}.__new__()"
        known = {option.argument: option for option in cls._options if option.argument}
        if len(args) > (most := 0 if cls._keywords_only else len(known)):
            fewest = sum(option.default is REQUIRED for option in known.values())
            takes = f"from {fewest} to {most}" if fewest < most else str(most)
            given = "1 was" if len(args) == 1 else f"{len(args)} were"
            raise TypeError(f"{called} takes {takes} positional argument{'s' * (takes != '1')} but {given} given")
        values = {option.name: value for option, value in zip(known.values(), args, strict=False)}
        for name, value in options.items():
            option = known.get(name)
            if option is None:
                if not cls._ignores_others:
                    raise TypeError(f"{called} got an unexpected keyword argument {name!r}")
            elif option.name in values:
                raise TypeError(f"{called} got multiple values for argument {name!r}")
            else:
                values[option.name] = value
        missing = [
            repr(name) for name, option in known.items() if option.default is REQUIRED and option.name not in values
        ]
        if missing:
            plural = "s" * (len(missing) > 1)
            named = " and ".join(missing[-2:]) if len(missing) < 3 else ", ".join(missing)
            raise TypeError(f"{called} missing {len(missing)} required positional argument{plural}: {named}")
        return values

    # ── state ──

    @property
    def state(self) -> dict[str, Any]:
        """The part in the form of `tokenizer.json`; callers must not change it.

        Raises:
            Exception: the part, or a part in it, is a Python object, which has no such form.
        """
        if self.is_custom:
            raise Exception(f"Custom {self.base.__name__} cannot be serialized")
        return self.cell.state

    @property
    def version(self) -> object:
        """A value that changes with each change of the part."""
        return self.cell.version

    @property
    def is_custom(self) -> bool:
        """True if this part, or a part in it, is a Python object."""
        return self.cell.is_custom

    @classmethod
    def _of_cell(cls: type[P], cell: Cell) -> P:
        """Creates an object that shares a given cell."""
        own: Any = cls.base if cell.custom is not None else cls.types[cell._state["type"]]
        part: P = own.__new__(own)
        part.cell = cell
        return part

    @classmethod
    def _of_state(cls, state: Mapping[str, Any]) -> Cell:
        """Creates a cell from parsed JSON."""
        loaded: dict[str, Any] = {"type": cls.__name__}
        for key, default in cls._fixed.items():
            loaded[key] = state.get(key, default)
        for option in cls._options:
            if option.key in state:
                value = state[option.key]
                loaded[option.key] = value if option.load is None or value is None else option.load(value)
            elif option.default is REQUIRED:
                raise Exception(f"missing field `{option.key}`")
            else:
                loaded[option.key] = option.convert(option.default)
        return Cell(loaded)

    def original(self) -> Any:
        """Creates the component of Hugging Face's package with this state.

        Raises:
            UnsupportedFeatureError: the package is not installed.
        """
        from . import original

        if not self.is_custom:
            return original.part(self.kind, self.state)
        module = original.module(MODULES[self.kind])
        if self.cell.items is not None:
            return module.Sequence([self._of_cell(item).original() for item in self.cell.items])
        return getattr(module, self.base.__name__).custom(self.cell.custom)

    def __getstate__(self) -> Any:
        try:
            return to_json(self.state).encode()
        except Exception as error:
            raise Exception(f"Error while attempting to pickle {self.base.__name__}: {error}") from None

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, bytes):
            raise wrong(state, "bytes")
        try:
            self.cell = from_state(self.kind, json.loads(state)).cell
        except Exception as error:
            raise Exception(f"Error while attempting to unpickle {self.base.__name__}: {error}") from None

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self._new_arguments

    def __repr__(self) -> str:
        return shown(self.state)

    def __str__(self) -> str:
        return shown(self.state, most=6, longest=100)


class SequencePart(Part):
    """Base class of the Sequence classes whose items can be assigned. The items are parts of one kind."""

    _key: ClassVar[str]  # key of the list of items in JSON
    _role: ClassVar[str]  # name of an item in error messages
    _new_arguments = ([],)

    def __init__(self, *args: Any, **options: Any) -> None:
        (parts,) = self._bound(args, options).values()
        if not isinstance(parts, list):
            raise wrong(parts, "list")
        cells: list[Cell] = []
        for part in parts:
            if not isinstance(part, self.base):
                raise wrong(part, self.base.__name__)
            cells += [part.cell] if part.cell.items is None else part.cell.items
        self.cell = Cell({"type": "Sequence", self._key: None}, items=cells)

    @classmethod
    def _of_state(cls, state: Mapping[str, Any]) -> Cell:
        parts = state.get(cls._key)
        if not isinstance(parts, list):
            raise Exception(f"missing field `{cls._key}`")
        cells = [from_state(cls.kind, part).cell for part in parts]
        return Cell({"type": "Sequence", cls._key: None}, items=cells)

    def _item(self, at: Any) -> Cell:
        items, place = self.cell.items or [], size(at)
        if place >= len(items):
            raise IndexError("Index not found")
        return items[place]

    def __getitem__(self, index: Any) -> Any:
        return self._of_cell(self._item(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, self.base):
            raise wrong(value, self.base.__name__)
        if value.cell.items is not None:
            raise Exception(f"{self._role} should not be a sequence")
        self._item(index).replace(value.cell.state, value.cell.custom)


def from_state(kind: str, state: Any) -> Part:
    """Creates a part from its state.

    Args:
        kind: ``"normalizer"``, ``"pre_tokenizer"``, ``"decoder"``, ``"post_processor"`` or ``"model"``.
        state: the state, in the form of `tokenizer.json`.

    Raises:
        Exception: there is no part of this type.

    Examples:
        >>> from_state("decoder", {"type": "WordPiece", "prefix": "##", "cleanup": False}).cleanup
        False
    """
    base: type[Part] = getattr(import_module(f".{MODULES[kind]}", __package__), BASES[kind])
    name = state.get("type") if isinstance(state, dict) else None
    if kind == "model" and isinstance(state, dict):
        return base._of_parsed(state)  # type: ignore[attr-defined, no-any-return]
    if not isinstance(name, str) or name not in base.types:
        raise Exception(f"data did not match any variant of untagged enum {base.__name__}Untagged")
    own = base.types[name]
    return own._of_cell(own._of_state(state))
