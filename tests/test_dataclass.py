"""Dataclasses of the package are what the standard library would make of the same class, at less cost."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from tuvl.dataclass import dataclass

SOURCES = Path(__file__).resolve().parents[1] / "src" / "tuvl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)
    note: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived(Point):
    """A point that knows how far it is."""

    far: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "far", abs(self.x) + abs(self.y))


@dataclass(slots=True)
class Changing:
    """What changes."""

    one: int
    more: dict[str, object] = field(default_factory=dict)
    fixed: int = field(default=3, init=False)


class Shapes:
    """The same classes, made by one decorator or the other."""

    def __init__(self, decorate: Callable[..., Any]) -> None:
        @decorate(frozen=True, slots=True)
        class Pair:
            left: int
            right: int | None = None

        @decorate(frozen=True)
        class One:
            """One field."""

            only: float

        @decorate(frozen=True, slots=True)
        class Empty:
            """Nothing."""

        @decorate
        class Open:
            """May change."""

            a: int = 1
            b: list[int] = field(default_factory=list)

        @decorate(frozen=True, slots=True, kw_only=True)
        class Own:
            """Has methods of its own."""

            a: int

            def __repr__(self) -> str:
                return f"own {self.a}"

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Own) and self.a % 2 == other.a % 2

            def __hash__(self) -> int:
                return self.a % 2

        self.made = (Pair(1), Pair(1, 2), One(1.5), Empty(), Open(), Open(2, [3]), Own(a=4))
        self.equal = [[a == b for b in self.made] for a in self.made]


OURS, STANDARD = Shapes(dataclass), Shapes(dataclasses.dataclass)


def test_dataclass_equals_shows_and_hashes_as_the_standard_one() -> None:
    assert OURS.equal == STANDARD.equal
    for ours, standard in zip(OURS.made, STANDARD.made, strict=True):
        assert repr(ours) == repr(standard)
        assert str(inspect.signature(type(ours))) == str(inspect.signature(type(standard)))
        assert type(ours).__match_args__ == type(standard).__match_args__
        assert hasattr(ours, "__dict__") == hasattr(standard, "__dict__")
        assert (type(ours).__hash__ is None) == (type(standard).__hash__ is None)
        if type(ours).__hash__ is not None:
            assert hash(ours) == hash(standard)


@pytest.mark.parametrize("decorate", [dataclass, dataclasses.dataclass], ids=["ours", "standard"])
def test_frozen_dataclass_takes_no_change(decorate: Callable[..., Any]) -> None:
    pair = Shapes(decorate).made[0]
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'left'"):
        pair.left = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'left'"):
        del pair.left
    if decorate is dataclass:  # the standard one says something else of a slotted class and a name that is no field
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'new'"):
            pair.new = 2


def test_helpers_of_the_standard_library_take_our_dataclasses() -> None:
    point = Derived(x=3, y=-4, tags=["a"], note="n")
    assert dataclasses.is_dataclass(point)
    assert [each.name for each in fields(point)] == ["x", "y", "tags", "note", "far"]
    assert asdict(point) == {"x": 3, "y": -4, "tags": ["a"], "note": "n", "far": 7}
    assert replace(point, x=0) == Derived(x=0, y=-4, tags=["a"])
    assert replace(point, x=0).far == 4


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_equal(take: Callable[[Any], Any]) -> None:
    for value in (Derived(x=3, tags=["a"], note="n"), Changing(1, {"a": 2})):
        taken = take(value)
        assert taken == value
        assert taken is not value
        assert asdict(taken) == asdict(value)


def test_factories_make_a_value_for_each() -> None:
    one, two = Changing(1), Changing(1)
    one.more["a"] = 1
    assert two == Changing(1, {})
    assert (one.fixed, one.one) == (3, 1)


def test_value_that_holds_itself_is_shown() -> None:
    value = Changing(1)
    value.more["me"] = value
    assert repr(value) == "Changing(one=1, more={'me': ...}, fixed=3)"


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required keyword-only argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(x=1, z=2)  # type: ignore[call-arg]


def test_package_makes_its_dataclasses_the_cheap_way() -> None:
    standard = "from dataclasses import dataclass"
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py") if path.name != "dataclass.py"}
    wrong = [str(path.relative_to(SOURCES)) for path, text in texts.items() if standard in text]
    assert not wrong, f"take `dataclass` from tuvl.dataclass; of dataclasses take field, fields and replace: {wrong}"
