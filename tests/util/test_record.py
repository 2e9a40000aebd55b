"""Records are like frozen dataclasses: functions of `dataclasses` and `inspect`, copies and pickles work on them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any, ClassVar

import pytest

from jeton.definition import Bpe, Definition, Pattern
from jeton.tokens.added import AddedToken
from jeton.util.record import field, record, replace


@record(frozen=True)
class Point:
    """A record with each kind of field."""

    kind: ClassVar = "point"
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    note: str | None = field(default=None, compare=False)
    log: str = field(default="", repr=False)


@dataclasses.dataclass(frozen=True)
class Twin:
    kind: ClassVar = "point"
    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)
    note: str | None = dataclasses.field(default=None, compare=False)
    log: str = dataclasses.field(default="", repr=False)


def test_records_are_made_compared_and_shown_like_dataclasses() -> None:
    for cls in (Point, Twin):
        made: Any = cls(1, tags=["a"])
        assert (made.x, made.y, made.tags, made.note, cls.kind, cls.y) == (1, 0, ["a"], None, "point", 0)
        assert cls(1) == cls(1, 0, [], "any")
        assert cls(1) != cls(2)
        assert cls(1) != 1
        assert cls(1).tags is not cls(1).tags
        assert cls.__match_args__ == ("x", "y", "tags", "note", "log")
    assert repr(Point(1, 2)).replace("Point", "Twin") == repr(Twin(1, 2))
    assert inspect.signature(Point) == inspect.signature(Twin)
    assert Point(1) != Twin(1)


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1,), {"z": 1}), ((1,), {"x": 1}), ((), {"z": 1}), ((1, 2, [], None, "", 5), {}), ((), {"y": 1})],
)
def test_a_wrong_call_has_the_error_of_a_dataclass(values: Any, named: Any) -> None:
    messages = []
    for cls in (Point, Twin):
        with pytest.raises(TypeError) as caught:
            cls(*values, **named)
        messages.append(str(caught.value).replace("Twin", "Point"))
    assert messages[0] == messages[1]


def test_functions_of_dataclasses_accept_records() -> None:
    point = Point(1, tags=["a"])
    assert dataclasses.is_dataclass(Point)
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "tags", "note", "log"]
    assert dataclasses.fields(point)[3].compare is False
    assert dataclasses.replace(point, y=2) == replace(point, y=2) == Point(1, 2, ["a"])
    assert dataclasses.asdict(point) == {"x": 1, "y": 0, "tags": ["a"], "note": None, "log": ""}
    assert dataclasses.astuple(point) == (1, 0, ["a"], None, "")
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        replace(point, z=1)


def test_records_are_frozen() -> None:
    token = AddedToken("<s>")
    for name in ("content", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(token, name, "x")
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(token, name)
    assert token.content == "<s>"


@pytest.mark.parametrize(
    "made", [Point(1, 2), AddedToken("<s>", lstrip=True), Bpe(), Definition(), Pattern("gpt2", False)]
)
def test_copies_and_pickles_are_equal(made: Any) -> None:
    for copied in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied == made
        assert type(copied) is type(made)
        assert repr(copied) == repr(made)


def test_equal_records_have_equal_hashes() -> None:
    assert len({AddedToken("a"), AddedToken("a"), AddedToken("b")}) == 2
    assert {Bpe(): 1}[Bpe()] == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))


def test_matching_by_position_and_name() -> None:
    match Point(1, 2):
        case Point(1, y=2):
            pass
        case _:
            pytest.fail("no match")
