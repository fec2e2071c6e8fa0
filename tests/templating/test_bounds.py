"""Whatever a template says, rendering it is bounded in work, in text and in the size of what it returns."""

import pytest

from tuvl.errors import TemplateError
from tuvl.templating.budget import MAX_TEXT
from tuvl.templating.render import compile_template

VALUES = {"l": list(range(10)), "s": "x" * 1000, "big": "y" * (MAX_TEXT - 10)}


def nested_loops(levels: int, body: str) -> str:
    return "".join(f"{{% for v{level} in l %}}" for level in range(levels)) + body + "{% endfor %}" * levels


DOUBLING = "{% set x = [s, s] %}" + "{% set x = [x, x] %}" * 60

UNBOUNDED = {
    "loops": nested_loops(9, ""),
    "loops that filter": "".join("{% for a in l if l | sum > 0 %}" for _ in range(9)) + "{% endfor %}" * 9,
    "loops that write": nested_loops(4, "{{ s }}"),
    "loops over locals": "".join(f"{{% set n{index} = 1 %}}" for index in range(300)) + nested_loops(5, "{{ n1 }}"),
    "repeated text": "{{ 'x' * 10 ** 9 }}",
    "power": "{{ 10 ** 300 ** 10 }}",
    "power of power": "{{ 2 ** 3000000000 }}",
    "big product": "{{ " + " * ".join(["2 ** 1000"] * 5) + " }}",
    "concatenation": "{% set x = s ~ s %}" * 1 + "{% set x = x ~ x %}" * 30 + "{{ x }}",
    "addition": "{% set x = s + s %}" + "{% set x = x + x %}" * 30 + "{{ x }}",
    "list addition": "{% set x = l + l %}" + "{% set x = x + x %}" * 40 + "{{ x | length }}",
    "capture": "{% set x %}{{ s }}{% endset %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 30 + "{{ x }}",
    "replace": "{{ s | replace('x', s) | replace('x', s) | replace('x', s) }}",
    "replace nothing": "{{ s | replace('', s) | replace('', s) }}",
    "join": "{{ l | join(s) | list | join(s) | list | join(s) }}",
    "center": "{{ 'x' | center(1000000000) }}",
    "indent": "{{ 'x' | indent(1000000000, true) }}",
    "indent of lines": "{{ ('a\n' * 10000) | indent(900) }}",
    "format": "{{ '%999999999d' | format(1) }}",
    "batch": "{{ l | batch(1000000000, 'x') | list }}",
    "slice": "{{ l | slice(1000000000, 'x') | list }}",
    "round": "{{ 1.5 | round(1000000000) }}",
    "shared lists written": DOUBLING + "{{ x }}",
    "shared lists as JSON": DOUBLING + "{{ x | tojson }}",
    "shared lists compared": DOUBLING + "{{ x == [x] }}",
    "shared lists as text": DOUBLING + "{{ 'a' ~ x }}",
    "shared lists hashed": DOUBLING + "{{ x | sha256 }}",
    "shared lists made unique": DOUBLING + "{{ [x, x] | unique | list }}",
    "shared lists searched": DOUBLING + "{{ 'q' in x }}",
    "deep list": "{% set x = [] %}" + "{% set x = [x] %}" * 500 + "{{ x }}",
    "plain text twice": "{{ big }}{{ big }}",
    "sorting in loops": nested_loops(6, "{{ (l | sort)[0] }}"),
    "wrapping": "{{ big | wordwrap(1) | wordwrap(1) }}",
    "sum of texts": "{{ ([s] * 2) | sum }}",
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_a_template_without_bound_is_refused_while_it_runs(name):
    """K02"""
    with pytest.raises(TemplateError, match=r"^step 'x': "):
        compile_template(UNBOUNDED[name], where="step 'x'").render(VALUES)


def test_a_value_built_to_explode_is_not_returned():
    shared = "[x, x]"
    for _ in range(5):
        shared = shared.replace("x", "[x, x]")
    expression = f"{{{{ {shared.replace('x', 'l')} }}}}"
    assert compile_template(expression, where="x").render({"l": [1]}) is not None
    with pytest.raises(TemplateError, match="operations"):
        compile_template(expression, where="x").render({"l": list(range(100_000))})


def test_honest_templates_fit():
    rows = [{"id": index, "name": f"row {index}", "tags": ["a", "b"]} for index in range(2000)]
    text = "{% for row in rows %}{{ row.id }}: {{ row.name | upper }} [{{ row.tags | join(', ') }}]\n{% endfor %}"
    found = compile_template(text, where="x").render({"rows": rows})
    assert found.count("\n") == 2000
    assert compile_template("{{ big }}", where="x").render({"big": "z" * 5 * MAX_TEXT}) == "z" * 5 * MAX_TEXT


def test_one_rendering_does_not_spend_the_budget_of_the_next():
    template = compile_template("{{ s * 900 }}", where="x")
    for _ in range(5):
        assert len(template.render(VALUES)) == 900_000
