"""What is read from the syntax of a template."""

import subprocess
import sys

import pytest

from tuvl.templating.scan import scan


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("no template", ()),
        ("{# only a comment #}", ()),
        ("{{ order.id }}/{{ order.total.net }} {{ who }}", (("order", "id"), ("order", "total", "net"), ("who",))),
        ("{{ rows.0.name }}", (("rows", "0", "name"),)),
        ("{{ rows[0]['name'] }}", (("rows", "0", "name"),)),
        ("{{ rows[which].name }}", (("which",), ("rows",))),
        ("{{ a if b else c }}", (("b",), ("a",), ("c",))),
        ("{{ a | join(sep) }}", (("a",), ("sep",))),
        (
            "{% for row in rows if row.ok %}{{ row.name }}{{ loop.index }}{{ title }}{% endfor %}",
            (("rows",), ("title",)),
        ),
        ("{% set x = a.b %}{{ x.c }}{{ y }}", (("a", "b"), ("y",))),
        ("{{ x }}{% set x = 1 %}{{ x }}", (("x",),)),
        ("{% if a %}{% set x = 1 %}{% endif %}{{ x }}", (("a",), ("x",))),
        ("{% if a %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}", (("a",),)),
        ("{% with x = a %}{{ x }}{% endwith %}{{ x }}", (("a",), ("x",))),
        ("{% set x %}{{ a }}{% endset %}{{ x }}", (("a",),)),
        ("{% raw %}{{ a }}{% endraw %}{{ b }}", (("b",),)),
        ("{{ rows | map(attribute='name') | list }}", (("rows",),)),
        ("{{ rows | selectattr('n', 'gt', least) | list }}", (("rows",), ("least",))),
    ],
)
def test_dotted_reads_are_listed_without_names_the_template_sets(text, paths):
    found = scan(text)
    assert found.paths == paths
    assert found.names == {path[0] for path in paths}
    assert found.problems == ()


@pytest.mark.parametrize(
    ("text", "defaulted"),
    [
        ("{{ a | default('-') }}", {"a"}),
        ("{{ a.b.c | d }}", {"a"}),
        ("{{ a | default('-') }} {{ a }}", set()),
        ("{% if a is defined %}{{ a }}{% endif %}", {"a"}),
        ("{{ a if a is defined else '-' }}", {"a"}),
        ("{{ (a | upper) | default('-') }}", set()),
        ("{{ a | default(b) }}", {"a"}),
        ("{{ a }}", set()),
    ],
)
def test_names_that_may_be_missing_are_known(text, defaulted):
    assert scan(text).defaulted == defaulted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ a", "does not parse"),
        ("{{ a }", "does not parse"),
        ("x\n{% if a %}", "line 2: does not parse"),
        ("{{ }}", "does not parse"),
        ("{{ ''.__class__.__mro__ }}", "__class__"),
        ("{{ cycler.__init__.__globals__ }}", "__globals__"),
        ("{{ range(10**9) | list }}", "'range()' is a call"),
        ("{{ d.items() }}", "use the filter `| items`"),
        ("{{ x | tojsn }}", "unknown filter 'tojsn'; did you mean 'tojson'?"),
        ("{{ x | attr('y') }}", "unknown filter 'attr'"),
        ("{{ x | safe }}", "unknown filter 'safe'"),
        ("{{ x | random }}", "unknown filter 'random'"),
        ("{{ x | map('attr', 'y') }}", "unknown filter 'attr'"),
        ("{{ x is callable }}", "unknown test 'callable'"),
        ("{{ x | replace('a') }}", "'replace' needs `new`"),
        ("{{ x | upper(1) }}", "takes at most 0"),
        ("{{ x | round(digits=2) }}", "no parameter 'digits'"),
        ("{{ x | default(1, default_value=2) }}", "twice"),
        ("{{ x | join(*y) }}", "must be written out"),
        ("{% include 'x' %}", "{% include %}"),
        ("{% import 'x' as y %}", "{% import %}"),
        ("{% from 'x' import y %}", "import"),
        ("{% extends 'x' %}", "{% extends %}"),
        ("{% block x %}{% endblock %}", "{% block %}"),
        ("{% macro f() %}{% endmacro %}", "{% macro %}"),
        ("{% filter upper %}x{% endfilter %}", "{% filter %}"),
        ("{% call f() %}{% endcall %}", "{% call %}"),
        ("{% autoescape true %}{% endautoescape %}", "{% autoescape %}"),
        ("{% for x in y recursive %}{% endfor %}", "recursive"),
        ("{% set ns.x = 1 %}", "only names can be set"),
        ("{% do x %}", "does not parse"),
        ("{{ " + "(" * 2000 + "1" + ")" * 2000 + " }}", "nested too deeply"),
        ("{{ " + "not " * 2000 + "1 }}", "nested too deeply"),
        ("{% if 1 %}" * 300 + "{% endif %}" * 300, "nested too deeply"),
        ("{{ " + "9" * 5000 + " }}", "too many digits"),
        ("{{ 1e999 }}", "too large"),
        ("{{ '\\ud800' }}", "surrogate"),
    ],
)
def test_what_the_sandbox_does_not_have_is_a_problem(text, words):
    """K02"""
    found = scan(text)
    assert any(words in problem for problem in found.problems), found.problems


def test_all_problems_are_told_with_their_lines():
    assert scan("{{ a | uper }}\n{{ b | lowr }}").problems == (
        "line 1: unknown filter 'uper'; did you mean 'upper'?",
        "line 2: unknown filter 'lowr'; did you mean 'lower'?",
    )


@pytest.mark.parametrize(
    ("text", "single"),
    [
        ("{{ a }}", True),
        ("{{ a.b | upper }}", True),
        ("{{- a -}}", True),
        ("{{ a }} ", False),
        (" {{ a }}", False),
        ("{{ a }}\n", False),
        ("{{ a }}{{ b }}", False),
        ("{% if a %}{{ a }}{% endif %}", False),
    ],
)
def test_exactly_one_expression_is_told_from_text(text, single):
    assert scan(text).single_expression is single


def test_plain_templates_need_no_template_engine():
    code = (
        "import sys\n"
        "from tuvl.templating.render import compile_template\n"
        "from tuvl.templating.scan import scan\n"
        "assert scan('a {{ b.c }}').names == {'b'}\n"
        "assert compile_template('a {{ b.c }}', where='x').render({'b': {'c': 1}}) == 'a 1'\n"
        "assert not [name for name in sys.modules if name.startswith('jinja2')]\n"
        "assert scan('{{ b | upper }}').names == {'b'}\n"
        "assert 'jinja2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
