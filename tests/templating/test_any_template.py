"""Whatever the template and the data, rendering returns JSON data or raises `TemplateError`."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tuvl.errors import TemplateError
from tuvl.templating.filters import FILTERS, TEST_TABLE
from tuvl.templating.render import compile_template
from tuvl.templating.scan import scan

atoms = st.sampled_from(
    ["a", "b.c", "rows", "rows.0", "text", "none", "true", "3", "-1", "2.5", "'x'", "''", "[]", "[a, 1]"]
)
atoms |= st.sampled_from(["{'k': a}", "missing", "b['c']", "text[1:]", "rows[-1]", "10 ** 9", "1e300", "'%d' ", "big"])


def grow(inner):
    names = st.sampled_from([*sorted(FILTERS), "default", "map", "select", "selectattr"])
    tests = st.sampled_from([name for name in sorted(TEST_TABLE) if name.isalpha()] + ["defined"])
    operators = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", ">=", "in", "not in", "and", "or"]
    )
    return st.one_of(
        st.builds("({} {} {})".format, inner, operators, inner),
        st.builds("({} | {})".format, inner, names),
        st.builds("({} | {}({}))".format, inner, names, inner),
        st.builds("({} | {}({}, {}))".format, inner, names, inner, inner),
        st.builds("({} is {}({}))".format, inner, tests, inner),
        st.builds("({} is {})".format, inner, tests),
        st.builds("({}[{}])".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("(-{})".format, inner),
        st.builds("{}.c".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("({}[{}:{}:{}])".format, inner, inner, inner, inner),
        st.builds("({} | map(attribute={}))".format, inner, inner),
        st.builds("({} | map('{}'))".format, inner, names),
    )


expressions = st.recursive(atoms, grow, max_leaves=6)
templates = st.one_of(
    st.builds("{{{{ {} }}}}".format, expressions),
    st.builds("x{{{{ {} }}}}".format, expressions),
    st.builds("{{% for i in {} %}}{{{{ i }}}}{{{{ loop.index }}}}{{% endfor %}}".format, expressions),
    st.builds("{{% for i, j in {} if {} %}}{{{{ j }}}}{{% endfor %}}".format, expressions, expressions),
    st.builds("{{% set v = {} %}}{{% if v %}}{{{{ v }}}}{{% endif %}}".format, expressions),
    st.builds("{{% set v %}}{{{{ {} }}}}{{% endset %}}{{{{ v }}}}".format, expressions),
)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
data = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["c", "k", "0"]), inner, max_size=3),
    max_leaves=6,
)


@given(templates, data, data, data)
@settings(deadline=None, max_examples=300)
def test_any_template_gives_json_data_or_a_template_error(text, first, second, rows):
    values = {"a": first, "b": {"c": second}, "rows": rows, "text": "some text", "big": "y" * 100_000}
    before = json.dumps(values)
    refused = ""
    found = None
    try:
        found = compile_template(text, where="here").render(values)
    except TemplateError as error:
        refused = str(error)
    assert (refused + "here: ").startswith("here: ")
    assert "\n" not in refused
    assert refused or not scan(text).problems
    json.dumps(found, allow_nan=False)
    assert json.dumps(values) == before
