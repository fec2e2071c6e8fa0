"""What a template is said to give is what it gives, and nothing is said where nobody can tell."""

import pytest

from tuvl.errors import TemplateError
from tuvl.templating.render import compile_template
from tuvl.templating.result import Types, result_types

VALUES = {"s": "text", "n": 3, "x": 2.5, "b": True, "l": ["b", "a"], "m": {"k": 1}, "z": None}
KNOWN = {"s": "string", "n": "integer", "x": "number", "b": "boolean", "l": "array", "m": "object", "z": "null"}

TOLD = {
    "words": {"string"},
    "a > 3": {"string"},
    "": {"string"},
    "{{ n }} of {{ n }}": {"string"},
    "{% if b %}1{% endif %}": {"string"},
    "{{ n }}": {"integer"},
    "{{ l }}": {"array"},
    "{{ 1 }}": {"integer"},
    "{{ 1.5 }}": {"number"},
    "{{ 'x' }}": {"string"},
    "{{ true }}": {"boolean"},
    "{{ none }}": {"null"},
    "{{ n > 1 }}": {"boolean"},
    "{{ not s }}": {"boolean"},
    "{{ s is string }}": {"boolean"},
    "{{ gone is defined }}": {"boolean"},
    "{{ n ~ s }}": {"string"},
    "{{ [n, s] }}": {"array"},
    "{{ {'a': n} }}": {"object"},
    "{{ -n }}": {"number"},
    "{{ n + x }}": {"number"},
    "{{ s + s }}": {"string"},
    "{{ l + l }}": {"array"},
    "{{ s * n }}": {"string"},
    "{{ n - 1 }}": {"number"},
    "{{ b and s }}": {"boolean", "string"},
    "{{ s or n }}": {"string", "integer"},
    "{{ n if b else s }}": {"integer", "string"},
    "{{ n if b }}": {"integer", "string"},
    "{{ n | default(s) }}": {"integer", "string"},
    "{{ gone | default(1) }}": None,
    "{{ s | upper }}": {"string"},
    "{{ l | join(', ') }}": {"string"},
    "{{ m | tojson }}": {"string"},
    "{{ l | length }}": {"number"},
    "{{ n | round }}": {"number"},
    "{{ l | sort }}": {"array"},
    "{{ l | map('upper') }}": {"array"},
    "{{ l | select('string') }}": {"array"},
    "{{ l | first }}": None,
    "{{ s | int }}": None,
    "{{ s | float(z) }}": None,
    "{{ m.k }}": None,
    "{{ l[0] }}": None,
    "{{ l[n - 3] }}": None,
    "{{ s[1:] }}": None,
    "{{ gone }}": None,
}


def types_of(path: tuple[str, ...]) -> Types | None:
    return frozenset({KNOWN[path[0]]}) if len(path) == 1 and path[0] in KNOWN else None


@pytest.mark.parametrize(("text", "told"), TOLD.items())
def test_types_of_a_result_are_told_and_hold(text: str, told: set[str] | None) -> None:
    found = result_types(text, types_of)
    assert found == (None if told is None else frozenset(told))
    try:
        value = compile_template(text, where="here").render(VALUES)
    except TemplateError:
        return  # it gives nothing at all
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    name = names.get(type(value), "null")
    assert found is None or name in found or (name == "integer" and "number" in found)


def test_template_with_a_mistake_gives_nothing_to_speak_of() -> None:
    assert result_types("{{ n | nonsense }}", types_of) is None
    assert result_types("{{ n", types_of) is None
