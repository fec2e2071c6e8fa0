"""What `is` can ask of a value."""

from tuvl.templating.calls import Call, Registry
from tuvl.templating.operators import compares
from tuvl.templating.tree import Comparison
from tuvl.values import JsonValue

TESTS = Registry()
_test = TESTS.add


@_test("none")
def _none(call: Call) -> JsonValue:
    return call.value is None


@_test("boolean")
def _boolean(call: Call) -> JsonValue:
    return isinstance(call.value, bool)


@_test("true")
def _true(call: Call) -> JsonValue:
    return call.value is True


@_test("false")
def _false(call: Call) -> JsonValue:
    return call.value is False


@_test("integer")
def _integer(call: Call) -> JsonValue:
    return isinstance(call.value, int) and not isinstance(call.value, bool)


@_test("float")
def _float(call: Call) -> JsonValue:
    return isinstance(call.value, float)


@_test("number")
def _number(call: Call) -> JsonValue:
    return isinstance(call.value, int | float) and not isinstance(call.value, bool)


@_test("string")
def _string(call: Call) -> JsonValue:
    return isinstance(call.value, str)


@_test("mapping")
def _mapping(call: Call) -> JsonValue:
    return isinstance(call.value, dict)


@_test("sequence", "iterable")
def _sequence(call: Call) -> JsonValue:
    return isinstance(call.value, list | dict | str)


@_test("lower")
def _lower(call: Call) -> JsonValue:
    return call.subject.islower()


@_test("upper")
def _upper(call: Call) -> JsonValue:
    return call.subject.isupper()


@_test("odd")
def _odd(call: Call) -> JsonValue:
    return call.number % 2 == 1


@_test("even")
def _even(call: Call) -> JsonValue:
    return call.number % 2 == 0


@_test("divisibleby", takes="num")
def _divisibleby(call: Call) -> JsonValue:
    return call.number % call.integer("num", 1, least=1) == 0


def _comparison(operator: Comparison, *names: str) -> None:
    @_test(*names, takes="other")
    def _compare(call: Call) -> JsonValue:
        return compares(operator, call.value, call.get("other"), call.rendering)


_comparison("==", "eq", "equalto", "==")
_comparison("!=", "ne", "!=")
_comparison("<", "lt", "lessthan", "<")
_comparison("<=", "le", "<=")
_comparison(">", "gt", "greaterthan", ">")
_comparison(">=", "ge", ">=")
_comparison("in", "in")
