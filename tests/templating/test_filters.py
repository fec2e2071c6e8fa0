"""The closed set of filters and tests: what each returns, and that the pure ones agree with Jinja's own."""

import json

import jinja2
import pytest

from tuvl.templating.filters import FILTERS, LANGUAGE_FILTERS, TEST_TABLE
from tuvl.templating.render import compile_template

VALUES = {
    "s": "hello big-world of Things",
    "html": "<p>a &amp; b</p>",
    "n": -3.14159,
    "i": 42,
    "l": [3, 1, 2, 3],
    "w": ["b", "A", "c", "a"],
    "rows": [{"k": "x", "n": 2}, {"k": "y", "n": 1}, {"k": "x", "n": 3}],
    "d": {"b": 1, "a": 2},
    "lines": "one\n\ntwo",
    "t": True,
    "z": None,
}

SAME_AS_JINJA = """
s | upper
s | capitalize
s | title
'  x ' | trim
'--x-' | trim('-')
s | replace('l', 'L')
s | replace('l', 'L', 1)
'ab' | center(7)
lines | indent
lines | indent(2, true)
lines | indent('> ', first=true, blank=true)
s | truncate(12)
s | truncate(12, true)
s | truncate(12, killwords=true, end='…', leeway=0)
s | wordwrap(10)
s | wordcount
html | striptags
'a b/c?d=é' | urlencode
d | urlencode
n | abs
n | round
n | round(2)
n | round(2, 'ceil')
n | round(1, 'floor')
'12' | int
'12.7' | int
'x' | int
'x' | int(7)
'ff' | int(0, 16)
'1.5' | float
'x' | float(2.5)
i | filesizeformat
1500000 | filesizeformat
1500000 | filesizeformat(true)
l | first
l | last
l | length
s | length
l | sum
rows | sum(attribute='n')
rows | sum('n', 10)
l | min
l | max
rows | max(attribute='n')
l | sort
l | sort(true)
w | sort
w | sort(case_sensitive=true)
rows | sort(attribute='n')
l | unique | list
w | unique | list
rows | unique(attribute='k') | list
l | reverse | list
'abc' | reverse
'abc' | list
w | join(', ')
rows | join('-', attribute='k')
d | list
d | dictsort
d | dictsort(by='value')
d | dictsort(reverse=true)
d | items | list
l | batch(3) | list
l | batch(3, 0) | list
l | slice(3) | list
l | slice(3, 0) | list
rows | groupby('k')
rows | map(attribute='k') | list
rows | map(attribute='q', default='-') | list
w | map('upper') | list
w | map('replace', 'a', 'b') | list
l | select('gt', 1) | list
l | select | list
l | reject('odd') | list
rows | selectattr('n', 'ge', 2) | list
rows | rejectattr('k', 'equalto', 'x') | list
'%s has %05.1f' | format(s, n)
i is even
i is odd
i is divisibleby 7
i is integer
n is float
n is number
s is string
d is mapping
l is sequence
t is true
t is boolean
z is none
s is lower
i is eq 42
i is in [1, 42]
3 in l
'big' in s
'a' in d
'q' not in d
1 < 2 < 3
1 < 2 > 3
i // 5
i % 5
2 ** 8
-i
i / 5
l + [4]
'ab' * 3
'a' ~ 1 ~ 'b'
z or 'x'
i and s
l[1:3]
'yes' if t else 'no'
""".strip().splitlines()


@pytest.mark.parametrize("expression", SAME_AS_JINJA)
def test_pure_filters_and_operators_agree_with_jinja(expression):
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    expected = environment.compile_expression(expression, undefined_to_none=False)(**VALUES)
    found = compile_template("{{ " + expression + " }}", where="x").render(VALUES)
    assert json.loads(json.dumps(expected)) == found


def render(expression: str):
    return compile_template("{{ " + expression + " }}", where="x").render(VALUES)


def test_filters_of_our_own():
    assert render("'Größe & Höhe!  v2 ' | slug") == "grosse-hohe-v2"
    assert render("'abc' | sha256") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert render("d | tojson") == '{"b":1,"a":2}'
    assert render("d | tojson(indent=1)") == '{\n "b": 1,\n "a": 2\n}'
    assert render("'<a href=\"x\">' | escape") == "&lt;a href=&quot;x&quot;&gt;"
    assert render("z | string") == "null"


FILTER_NAMES = """
abs batch capitalize center count d default dictsort e escape filesizeformat first float format groupby indent int
items join last length list lower map max min reject rejectattr replace reverse round select selectattr sha256 slice
slug sort string striptags sum title tojson trim truncate unique upper urlencode wordcount wordwrap
"""
TEST_NAMES = """
!= < <= == > >= boolean divisibleby eq equalto even false float ge greaterthan gt in integer iterable le lessthan lower
lt mapping ne none number odd sequence string true upper
"""


def test_the_sets_are_closed():
    assert sorted({*FILTERS, *LANGUAGE_FILTERS}) == FILTER_NAMES.split()
    assert sorted(TEST_TABLE) == TEST_NAMES.split()
