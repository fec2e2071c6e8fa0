"""The quick reading of `{{ dotted.path }}` and the full one agree: same names, same results, same errors."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tuvl.errors import TemplateError
from tuvl.templating.plain import plain_template
from tuvl.templating.program import compile_program
from tuvl.templating.reads import reads_of
from tuvl.templating.render import compile_template
from tuvl.templating.scan import scan
from tuvl.templating.syntax import parse_template

PIECES = [
    "{{",
    "}}",
    "{",
    "}",
    "{%",
    "%}",
    "{#",
    "#}",
    "a",
    "b",
    "items",
    ".",
    "0",
    "1",
    "01",
    "_x",
    "__x",
    "-",
    " ",
    "\n",
]
PIECES += [
    "\r\n",
    "\t",
    "{{ a }}",
    "{{a.b}}",
    "{{ a.items.0 }}",
    "{{ if }}",
    "{{ true }}",
    "{{ loop }}",
    "{{ self }}",
    "text",
    "é",
    "'",
]
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)

leaves = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.sampled_from(["", "x", "{{ a }}", "é\n"])
)
keys = st.sampled_from(["a", "b", "items", "0", "1", "_x", "if", "loop", "self"])
values = st.dictionaries(
    keys,
    st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
    ),
    max_size=4,
)


def outcome(render, given_values):
    try:
        return render(given_values)
    except TemplateError as error:
        return f"error: {str(error).removeprefix('here: ')}"


@given(texts, values)
@settings(deadline=None, max_examples=600)
@example("{{{a}}}", {"a": 1})
@example("{{a}}}", {"a": 1})
@example("{{ a }}\r\n", {"a": [1]})
@example("{{ a.b.items }}", {"a": {"b": 3}})
def test_both_readings_agree(text, given_values):
    if plain_template(text) is None or "{{" not in text:
        return
    syntax = parse_template(text)
    assert syntax.problems == ()
    reads = reads_of(syntax.body)
    found = scan(text)
    assert found.paths == tuple(reads.paths)
    assert found.names == {path[0] for path in reads.paths}
    assert found.single_expression == (syntax.single is not None)
    template = compile_template(text, where="here")
    assert outcome(template.render, given_values) == outcome(compile_program(text), given_values)


@given(texts)
@settings(deadline=None, max_examples=300)
def test_any_text_is_scanned_and_compiles_unless_it_has_problems(text):
    found = scan(text)
    try:
        template = compile_template(text, where="here")
    except TemplateError:
        assert found.problems
    else:
        assert not found.problems
        assert template.names == found.names
