"""No rendering is longer than the extent of its template, read from its syntax."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.templating.extent import extent
from tuvl.templating.render import compile_template
from tuvl.values import JsonValue, json_size

TEMPLATES = [
    "Hello {{ a }} and {{ b.c }}",
    "{{ a }}{{ a }}",
    "{% if a %}yes {{ a }}{% elif b %}{{ b }}{% else %}no{% endif %}",
    "{{ a | upper }} {{ a | title }} {{ a | slug }}",
    "{{ a | default('nothing') }}",
    "{{ a | length }} {{ b.d | join(', ') }}",
    "{{ b | tojson }}",
    "{{ b.d | map(attribute='x') | join(' ') if b.e else 'none' }}",
    "{{ a ~ b.c }} {{ 'long' if a == 'x' else a }}",
    "{{ a[0] if a else '' }} {{ b['c'] }} {{ a and b.c or 'z' }}",
    "{{ b.d | first }} {{ b.d | last }}",
]
WORDS = st.text(alphabet='xX\u00df\u0130\u0149\u0390 "\\\n\u20ac', max_size=12)


@settings(max_examples=150, deadline=None)
@given(template=st.sampled_from(TEMPLATES), a=WORDS, c=WORDS, items=st.lists(WORDS, min_size=1, max_size=4))
def test_rendering_is_no_longer_than_its_extent(template: str, a: str, c: str, items: list[str]) -> None:
    texts: list[JsonValue] = [*items]
    objects: list[JsonValue] = [{"x": item} for item in items]
    values: dict[str, JsonValue] = {
        "a": a,
        "b": {"c": c, "d": objects if "attribute" in template else texts, "e": True},
    }
    found = extent(template)
    assert found is not None
    most = found.literal + sum(json_size(at(values, path)) for path in found.paths)
    assert len(compile_template(template, where="test").render_text(values).encode()) <= most


def at(values: JsonValue, path: tuple[str, ...]) -> JsonValue:
    for key in path:
        if not isinstance(values, dict):
            break  # an index of a list or a text: what holds it is longer
        values = values[key]
    return values


@pytest.mark.parametrize(
    "template",
    [
        "{% for x in a %}{{ x }}{% endfor %}",
        "{% set b = a ~ a %}{{ b }}",
        "{{ a | replace('x', 'xxxx') }}",
        "{{ a * 1000 }}",
        "{{ a | center(1000) }}",
        "{{ b | tojson(indent=8) }}",
        "{{ b.d | join('----') }}",
        "{{ a | list }}",
        "{{ broken",
    ],
)
def test_nothing_is_said_of_what_may_repeat_its_values(template: str) -> None:
    assert extent(template) is None
