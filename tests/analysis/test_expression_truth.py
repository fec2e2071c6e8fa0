"""What can be told of an expression before a run, held against what rendering it gives."""

from itertools import product

import pytest

from tuvl.analysis.expression_truth import truth
from tuvl.analysis.value_ranges import Known, known_by
from tuvl.errors import TemplateError
from tuvl.templating.render import compile_template
from tuvl.values import JsonValue

SCHEMAS: dict[str, dict[str, JsonValue]] = {
    "small": {"type": "integer", "minimum": 0, "maximum": 10},
    "amount": {"type": "number", "minimum": 0},
    "name": {"type": "string"},
    "topic": {"enum": ["order", "refund"]},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "any": {},
}
SAMPLES: dict[str, list[JsonValue]] = {
    "small": [0, 1, 5, 10],
    "amount": [0, 1, 0.5, 5000],
    "name": ["", "order", "1"],
    "topic": ["order", "refund"],
    "flag": [True, False],
    "list": [[], [1], ["order"]],
    "any": [None, True, 1, "order", [1], {"order": 1}],
}


def reads(path: tuple[str, ...]) -> Known | None:
    return known_by(SCHEMAS[path[0]]) if len(path) == 1 and path[0] in SCHEMAS else None


@pytest.mark.parametrize(
    ("expression", "decided"),
    [
        ("true", True),
        ("false", False),
        ("not true", False),
        ("1 > 2", False),
        ("1 < 2 < 3", True),
        ("'a' == 'b'", False),
        ("'a' in ['a', 'b']", True),
        ("true in ['a', 1]", None),
        ("(1 > 2) == false", True),
        ("small > 10", False),
        ("small <= 10", True),
        ("small > 9", None),
        ("small == 11", False),
        ("small != 11", True),
        ("amount < 0", False),
        ("amount < small", None),
        ("name == 1", False),
        ("name == 'order'", None),
        ("topic == 'gift'", False),
        ("topic in ['gift', 'card']", False),
        ("topic in ['order', 'refund']", True),
        ("topic not in ['order', 'refund']", False),
        ("flag == 'yes'", False),
        ("flag == 1", None),
        ("flag", None),
        ("list == 'order'", False),
        ("any == 1", None),
        ("unknown == 1", None),
        ("small > 10 and unknown", False),
        ("unknown and small > 10", None),
        ("small > 10 or small < 11", True),
        ("false if flag else false", None),
        ("name == 1 if small <= 10 else true", False),
        ("name > 1", None),
        ("name | length > 3", None),
    ],
)
def test_expression_is_decided_as_it_renders(expression: str, decided: bool | None) -> None:
    source = f"{{{{ {expression} }}}}"
    assert truth(source, reads) is decided
    used = [name for name in SAMPLES if name in expression]
    rendered = set()
    for values in product(*(SAMPLES[name] for name in used)):
        try:
            rendered.add(compile_template(source, where="test").render(dict(zip(used, values, strict=True))))
        except TemplateError:
            continue
    assert decided is None or rendered == {decided}


@pytest.mark.parametrize("template", ["false", "{{ false }} ", "{% if true %}{{ false }}{% endif %}", "{{ false"])
def test_text_is_no_truth(template: str) -> None:
    assert truth(template, reads) is None
