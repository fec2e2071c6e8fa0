"""Rendering: data in, data out, strict about what is missing."""

import copy
import json

import pytest

from tuvl.errors import TemplateError
from tuvl.templating.render import compile_template, compile_tree, literal_template

VALUES = {
    "order": {"id": 7, "items": [{"sku": "b", "n": 2}, {"sku": "a", "n": 1}], "total": 1.5, "note": None},
    "name": "Zoë",
    "ok": True,
    "none": None,
    "empty": [],
    "text": "{{ order.id }} {% if %}",
    "_last_error": "boom",
    "_id": "x",
}


def render(text: str, values: dict | None = None):
    return compile_template(text, where="step 'ask' field 'http.url'").render(VALUES if values is None else values)


def refusal(text: str) -> str:
    with pytest.raises(TemplateError) as error:
        render(text)
    message = str(error.value)
    assert message.startswith("step 'ask' field 'http.url': ")
    return message.removeprefix("step 'ask' field 'http.url': ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("{# kept #}", "{# kept #}"),
        ("{{ order.id }}", 7),
        ("{{ order }}", VALUES["order"]),
        ("{{ order.items }}", VALUES["order"]["items"]),
        ("{{ order.note }}", None),
        ("{{ ok }}", True),
        ("{{ order.items | length }}", 2),
        ("{{ order.items | map(attribute='sku') | sort }}", ["a", "b"]),
        ("{{ order.items[0] }}", {"sku": "b", "n": 2}),
        ("{{ order.id > 5 }}", True),
        ("{{ not ok }}", False),
        ("{{- order.total -}}", 1.5),
        ("{{ (1, 2) }}", [1, 2]),
        ("{{ {'a': order.id} }}", {"a": 7}),
        ("{{ order.id }} ", "7 "),
        ("/o/{{ order.id }}?ok={{ ok }}&n={{ none }}&t={{ order.total }}", "/o/7?ok=true&n=null&t=1.5"),
        ("items: {{ order.items }}", 'items: [{"sku":"b","n":2},{"sku":"a","n":1}]'),
        ("{{ name }} <b>&</b>", "Zoë <b>&</b>"),
        ("{{ '<b>' ~ name }}", "<b>Zoë"),
        ("{{ _last_error }}", "boom"),
    ],
)
def test_one_expression_keeps_its_type_and_all_else_is_text(text, value):
    found = render(text)
    assert found == value
    assert type(found) is type(value)


def test_rendered_text_is_never_a_template_again():
    assert render("{{ text }}") == VALUES["text"]
    assert render("<{{ text }}>") == f"<{VALUES['text']}>"
    assert render("{{ text | upper }}") == VALUES["text"].upper()
    assert literal_template("{{ order.id }}").render(VALUES) == "{{ order.id }}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/orders/{{ order_idd }}", "'order_idd' is undefined"),
        ("{{ nam }}", "'nam' is undefined; did you mean 'name'?"),
        ("{{ order.totl }}", "'order.totl' is undefined: 'order' has no key 'totl'; did you mean 'total'?"),
        ("{{ order.x.y }}", "'order.x.y' is undefined: 'order' has no key 'x'"),
        ("{{ order.id.x }}", "'order.id.x' is undefined: 'order.id' is a number"),
        ("{{ order.items.5.sku }}", "'order.items.5.sku' is undefined: 'order.items' has 2 items"),
        ("{{ order['x'] | upper }}", "'order.x' is undefined: 'order' has no key 'x'"),
        ("{{ zzz == 1 }}", "'zzz' is undefined"),
        ("{% if zzz %}{% endif %}", "'zzz' is undefined"),
        ("{% for x in zzz %}{% endfor %}", "'zzz' is undefined"),
        ("{{ ok and zzz }}", "'zzz' is undefined"),
        ("{{ [zzz] }}", "'zzz' is undefined"),
        ("{{ 'x' ~ zzz }}", "'zzz' is undefined"),
        ("{{ name | default(1) | replace('x', zzz) }}", "'zzz' is undefined"),
        ("{{ _session }}", "'_session' is undefined"),
        ("{{ loop.index }}", "'loop.index' is undefined: there is no 'loop'"),
        ("{{ order.items | map(attribute='x') | list }}", "'item.x' is undefined: 'item' has no key 'x'"),
    ],
)
def test_an_undefined_name_is_an_error_that_names_it(text, message):
    """K02, K03"""
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ a_result | default('-') }}", "-"),
        ("{{ a_result.total | default('-') }}", "-"),
        ("{{ order.x | default('x') }}", "x"),
        ("{{ order.x.y | default(order.id) }}", 7),
        ("{{ name | default(nope) }}", "Zoë"),
        ("{{ none | default('-') }}", None),
        ("{{ none | default('-', true) }}", "-"),
        ("{{ none | default('-', boolean=true) }}", "-"),
        ("{{ nope | default }}", ""),
        ("{{ nope is defined }}", False),
        ("{{ order.id is defined and order.id is not none }}", True),
        ("{{ nope.x is undefined }}", True),
    ],
)
def test_default_and_defined_take_what_is_missing(text, value):
    """K03, N04"""
    assert render(text) == value


def test_names_resolve_to_data_even_when_they_are_called_like_methods():
    values = {"d": {"items": "i", "keys": "k", "get": "g", "__class__": "c", "_id": 3}, "l": ["x"], "s": "text"}
    assert render("{{ d.items }}{{ d.keys }}{{ d.get }}{{ d['__class__'] }}{{ d._id }}", values) == "ikgc3"
    for text in ("{{ l.append }}", "{{ s.upper }}", "{{ l | first | string.upper }}"):
        with pytest.raises(TemplateError):
            render(text, values)


def test_lists_are_indexed_by_dot_and_bracket():
    assert render("{{ order.items.1.sku }}{{ order.items[1].sku }}{{ order.items[-1]['sku'] }}") == "aaa"
    assert render("{{ m.0 }}{{ m['0'] }}", {"m": {"0": "zero"}}) == "zerozero"
    assert render("{{ order.items[:1] | length }}{{ name[1:] }}{{ name[::-1] }}") == "1oëëoZ"


def test_rendering_changes_nothing_and_returns_copies():
    before = copy.deepcopy(VALUES)
    for text in (
        "{{ order }}",
        "{{ order.items | sort(attribute='n') }}",
        "{{ [order.items] }}",
        "{{ order | default }}",
    ):
        found = render(text)
        _spoil(found)
        assert before == VALUES
    tree = compile_tree({"fixed": {"a": [1]}, "order": "{{ order }}"}, where="x")
    _spoil(tree.render(VALUES))
    assert tree.render(VALUES) == {"fixed": {"a": [1]}, "order": before["order"]}


def _spoil(value) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.append("spoiled")


def test_a_tree_renders_strings_at_any_depth_and_keeps_keys():
    tree = compile_tree(
        {"a": ["{{ order.id }}", {"b": "n={{ name }}", "{{ name }}": 1}], "c": 2, "d": "x"}, where="step 's' params"
    )
    assert tree.render(VALUES) == {"a": [7, {"b": "n=Zoë", "{{ name }}": 1}], "c": 2, "d": "x"}
    assert tree.names == {"order", "name"}
    with pytest.raises(TemplateError, match=r"step 's' params\.a\[0\]: 'order\.id' is undefined: there is no 'order'"):
        tree.render({"name": "x"})
    with pytest.raises(TemplateError, match=r"params\.q: bad template: "):
        compile_tree({"q": "{{ a"}, where="params")


def test_a_bad_template_is_refused_when_it_is_compiled():
    with pytest.raises(TemplateError, match="field 'x': bad template: unknown filter 'uper'; did you mean 'upper'"):
        compile_template("{{ a | uper }}", where="field 'x'")


def test_render_text_writes_json_for_what_is_no_text():
    for text, written in (
        ("{{ order.note }}", "null"),
        ("{{ ok }}", "true"),
        ("{{ empty }}", "[]"),
        ("{{ name }}", "Zoë"),
    ):
        assert compile_template(text, where="x").render_text(VALUES) == written


def test_line_breaks_and_the_last_newline_are_kept():
    assert render("a\n{{ name }}\n") == "a\nZoë\n"
    assert render("a\r\n{{ name }}\r\n") == "a\nZoë\n"
    assert render("{% if ok %}\nx\n{% endif %}\n") == "\nx\n\n"


def test_a_router_condition_is_a_real_boolean():
    assert render("{{ order.total > 1 and name == 'Zoë' }}") is True
    assert render("{{ order.id in [1, 2] }}") is False
    assert render("{{ name }}") is not True


def test_statements():
    text = "{% for k, v in order.items | map('items') | first %}{{ k }}={{ v }}{{ ', ' if not loop.last }}{% endfor %}"
    assert render(text) == "sku=b, n=2"
    assert render("{% for x in empty %}{% else %}nothing{% endfor %}") == "nothing"
    assert (
        render("{% for i in order.items if i.n > 1 %}{{ loop.index }}/{{ loop.length }}{{ i.sku }}{% endfor %}")
        == "1/1b"
    )
    assert render("{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}") == "231"
    assert render("{% if order.id > 9 %}a{% elif ok %}b{% else %}c{% endif %}") == "b"
    assert render("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}") == "3"
    assert render("{% set t | upper | trim %} hey {{ name }} {% endset %}[{{ t }}]") == "[HEY ZOË]"
    assert render("{% for a, b in [[1, 2], [3, 4]] %}{{ a * b }},{% endfor %}") == "2,12,"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% for x in name %}{% endfor %}", "'name' is text; `for` takes a list or a mapping"),
        ("{% for x in none %}{% endfor %}", "null"),
        ("{% for a, b in [[1]] %}{% endfor %}", "need a list of 2 values"),
        ("{{ 1 + 'a' }}", "'+' does not take a number and text; `~` joins"),
        ("{{ name < 1 }}", "'<' does not take text and a number"),
        ("{{ ok + 1 }}", "a boolean and a number"),
        ("{{ 1 / 0 }}", "divides by zero"),
        ("{{ (-8) ** 0.5 }}", "no number"),
        ("{{ 1e308 * 10 }}", "too large"),
        ("{{ [3, 'a'] | sort }}", "'sort' cannot order"),
        ("{{ order.id | join }}", "'join' needs a list, not a number"),
        ("{{ name | indent('x', 1) }}", "needs true or false as `first`"),
        ("{{ name | replace(1, 2) }}", "needs text as `old`"),
        ("{{ empty | first }}", "empty"),
        ("{{ order[none] }}", "indexed by null"),
        ("{{ {1: 2} }}", "keys are text"),
        ("{{ '%d' | format('x') }}", "'format' cannot be filled"),
        ("{{ '%(x)s' | format(1) }}", "conversions"),
    ],
)
def test_misuse_of_a_value_is_an_error_in_words(text, words):
    assert words in refusal(text)


def test_rendering_does_not_depend_on_what_was_rendered_before():
    template = compile_template("{% set x = name %}{{ x | default('-') }}{{ y | default('-') }}", where="x")
    assert [template.render({"name": name}) for name in ("a", "b")] == ["a-", "b-"]


def test_errors_do_not_show_values():
    secret = {"order": {"token": "s3cr3t"}, "list": ["s3cr3t"]}
    for text in (
        "{{ order.x }}",
        "{{ order + 1 }}",
        "{{ list.x }}",
        "{{ order.token | items }}",
        "{{ order.token < 1 }}",
    ):
        with pytest.raises(TemplateError) as error:
            render(text, secret)
        assert "s3cr3t" not in str(error.value)


def test_json_text_is_not_escaped_for_html():
    assert render("{{ v | tojson }}", {"v": {"a": "<é>&'"}}) == json.dumps(
        {"a": "<é>&'"}, ensure_ascii=False, separators=(",", ":")
    )
