"""What means the same is no change of authority, however it is written; what does not stays one."""

from pathlib import Path
from typing import Any

import pytest

from tests.changes.test_origins_of_values import (
    ASK,
    LOAD,
    NODE,
    PAY,
    ROUTER,
    Step,
    changed,
    codes,
    files,
    sets,
    told,
)

WORK: Step = {"id": "work", "kind": "Functional", "runner": "work", "routes": {"error": "END"}}
TOOL: Step = {
    "id": "helper",
    "kind": "Agent",
    "mode": "autonomous",
    "agent": {
        "steering": "Help {{ id }}.",
        "conversation": {"id": "c-{{ id }}"},
        "tools": [{"ref": "pay", "description": "Pays.", "approval": "{{ n > 5 }}", "parameters": {"type": "object"}}],
    },
    "routes": {"default": "END", "error": "END", "aborted": "END", "max_iterations": "END"},
}
SHOWN = {
    "id": "shown",
    "kind": "Router",
    "when": [{"if": "{{ n > 5 }}", "signal": "big"}],
    "routes": {"default": "ask"},
}
RECORDS: Step = {
    "id": "drop",
    "kind": "ModelOp",
    "model": "Order",
    "operation": "delete",
    "filters": {"id": "{{ id }}"},
}


def tight(value: Any) -> Any:
    """The same with no blank at the ends of expressions, and other quotes."""
    if isinstance(value, str):
        return value.replace("{{ ", "{{").replace(" }}", "}}").replace("n > 5", "(n>5)")
    if isinstance(value, dict):
        return {key: tight(each) for key, each in value.items()}
    return [tight(each) for each in value] if isinstance(value, list) else value


FLOWS: list[tuple[str, tuple[Step, ...]]] = [
    ("write after a router", (ROUTER, ASK, PAY)),
    ("value that decides", (sets("n", n="{{ n + 1 }}"), ROUTER, ASK, PAY)),
    ("router by an expression", (SHOWN, ASK, PAY)),
    ("question", (ASK, PAY)),
    ("approval and conversation", (TOOL, PAY)),
    ("records", (ASK, RECORDS)),
    ("who may answer", ({**ASK, "auth": {"assignee_user": "{{ id }}"}}, PAY)),
    ("host header", (ASK, {**PAY, "http": {**PAY["http"], "headers": {"Host": "{{ id }}.pay.example"}}})),
    ("host", (ASK, {**PAY, "http": {**PAY["http"], "url": "https://{{ id }}.pay.example/p"}})),
]


@pytest.mark.parametrize("steps", [each[1] for each in FLOWS], ids=[each[0] for each in FLOWS])
def test_template_written_otherwise_is_told_as_the_same(tmp_path: Path, steps: tuple[Step, ...]) -> None:
    found = told(tmp_path, files(*steps), files(*tight(list(steps))))
    assert [change.code for change in found] == ["spelled-otherwise"]


CHILD = """\
kind: Workflow
metadata: { name: child }
spec:
  input: { type: object, properties: { n: { type: integer } } }
  steps:
    - { id: send, kind: APICall, http: { url: "https://pay.example/p", method: POST, json: { to: "{{ n }}" } } }
"""


@pytest.mark.parametrize(
    ("text", "other", "code"),
    [
        ("{{ n }}", "{{n}}", "spelled-otherwise"),
        ("id: send,", "id: pay_out,", "step-renamed"),
        ("{{ n }}", "{{ n * 9 }}", "approval-weakened"),
    ],
)
def test_workflow_inside_that_is_the_same_in_other_words_does_the_same(
    tmp_path: Path, text: str, other: str, code: str
) -> None:
    inside: Step = {"id": "pay", "kind": "Workflow", "workflow": "child", "input": {"n": "{{ n }}"}}
    states = [files(ASK, inside, **{"child.yaml": each}) for each in (CHILD, CHILD.replace(text, other))]
    found = {change.code for change in told(tmp_path, states[0], states[1])}
    assert found == {code} | ({"field-changed"} if code == "approval-weakened" else set())


def test_template_of_a_renamed_step_may_be_written_otherwise(tmp_path: Path) -> None:
    other = {**tight(PAY), "id": "pay_out"}
    ask = {**ASK, "routes": {**ASK["routes"], "true": "pay_out"}}
    assert [change.code for change in told(tmp_path, files(ASK, PAY), files(ask, other))] == ["step-renamed"]


@pytest.mark.parametrize("template", ["{{n}} ", "{{ n | int }}", "{{ -n }}", "{{ 'n' }}", "{{ n", "{{ n or 1 }}"])
def test_template_that_says_something_else_is_told(tmp_path: Path, template: str) -> None:
    other = changed(PAY, "http", "json", to={"amount": template, "to": "acc-1"})
    assert "approval-weakened" in codes(tmp_path, files(ASK, PAY), files({**ASK, "routes": {**ASK["routes"]}}, other))


def node(body: str, before: str = "") -> dict[str, str]:
    """Files of the nodes, with the body of a function whose value a router reads."""
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    head, _, _ = NODE.partition("    return")
    return {"nodes/work.py": head.replace("\n\n\n@node", f"\n{before}\n\n@node") + indented}


def steps() -> tuple[Step, ...]:
    return LOAD, WORK, ROUTER, ASK, PAY


SAME: list[tuple[str, str, str]] = [
    ("docstring", '"""Sum."""\nreturn {"n": 1}', '"""Sum up."""\nreturn {"n": 1}'),
    ("docstring that is new", 'return {"n": 1}', '"""Sum up."""\nreturn {"n": 1}'),
    ("inner docstring", 'if 1:\n    def f():\n        """A."""\nf()', 'if 1:\n    def f():\n        """B."""\nf()'),
    ("key in a docstring", 'return {"n": 1}', '"""Not of total."""\nreturn {"n": 1}'),
    ("loop variable", 'return {"n": sum(a for a in ctx["id"])}', 'return {"n": sum(b for b in ctx["id"])}'),
    ("variable", 'x = 1\ny = 2\nreturn {"n": x - y}', 'y = 1\nx = 2\nreturn {"n": y - x}'),
    ("key of the same name", 'n = ctx["id"]\nreturn {"n": n}', 'a = ctx["id"]\nreturn {"n": a}'),
    ("key that is asked for", 'n = ctx.get("n", 1)\nreturn {"n": n}', 'a = ctx.get("n", 1)\nreturn {"n": a}'),
    ("key in a condition", 'n = 1\nif "n" in ctx:\n    return {}', 'a = 1\nif "n" in ctx:\n    return {}'),
    ("text that is given back", 'n = 1\nreturn {"n": f"n is {n}"}', 'a = 1\nreturn {"n": f"n is {a}"}'),
    ("failure", 'n = 1\nraise ValueError(f"no n: {n}")', 'a = 1\nraise ValueError(f"no n: {a}")'),
    ("log", 'n = 1\nlog.info("n is %s", n)', 'a = 1\nlog.info("n is %s", a)'),
    (
        "exception",
        "try:\n    pass\nexcept OSError as a:\n    print(a)",
        "try:\n    pass\nexcept OSError as b:\n    print(b)",
    ),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in SAME], ids=[each[0] for each in SAME])
def test_code_in_other_words_is_the_same_code(tmp_path: Path, old: str, new: str) -> None:
    found = told(tmp_path, files(*steps(), **node(old)), files(*steps(), **node(new)))
    assert [change.code for change in found] == ["spelled-otherwise"]


OTHER: list[tuple[str, str, str]] = [
    ("variables the other way round", 'x = 1\ny = 2\nreturn {"n": x - y}', 'x = 1\ny = 2\nreturn {"n": y - x}'),
    ("variable of the file", 'a = [x for x in ()]\nreturn {"n": x}', 'a = [y for y in ()]\nreturn {"n": y}'),
    ("outermost list", "return {'n': [x for x in x]}", "return {'n': [y for y in y]}"),
    ("names that are read", 'a = 1\nreturn {"n": len(locals()["a"])}', 'b = 1\nreturn {"n": len(locals()["a"])}'),
    ("names that a query reads", 'a = [1]\nreturn sql("from a")', 'b = [1]\nreturn sql("from a")'),
    ("name that a table has", 'a = [1]\nreturn table("a")', 'b = [1]\nreturn table("a")'),
    ("query of a variable", 'a = [1]\nq = "from a"\nreturn sql(q)', 'b = [1]\nq = "from a"\nreturn sql(q)'),
    (
        "query of a function inside",
        'a = [1]\ndef q():\n    return "from a"\nreturn sql(q())',
        'b = [1]\ndef q():\n    return "from a"\nreturn sql(q())',
    ),
    ("query of a message", 'a = [1]\nraise sql("from a")', 'b = [1]\nraise sql("from a")'),
    (
        "name of Python that means something else",
        'from x import print\na = 1\nprint("from a")',
        'from x import print\nb = 1\nprint("from a")',
    ),
    (
        "tools in a class",
        'class A:\n    def f(self):\n        """A."""\noffer(A())',
        'class A:\n    def f(self):\n        """B."""\noffer(A())',
    ),
    ("global", "global n\nn = 1", "global m\nm = 1"),
    ("keyword", "def f(a):\n    return a\nreturn f(a=1)", "def f(b):\n    return b\nreturn f(a=1)"),
    ("attribute of a class", "class A:\n    a = 1\nreturn A.a", "class A:\n    b = 1\nreturn A.a"),
    ("import", "import json\nreturn json", "import os\nreturn os"),
    ("docstring that is read", '"""A."""\nreturn {"n": work.__doc__}', '"""B."""\nreturn {"n": work.__doc__}'),
    ("docstring of what is handed on", 'def f():\n    """A."""\nreturn f', 'def f():\n    """B."""\nreturn f'),
    ("model", 'class A(Base):\n    """A."""\nreturn A()', 'class A(Base):\n    """B."""\nreturn A()'),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in OTHER], ids=[each[0] for each in OTHER])
def test_code_that_does_something_else_is_told_with_the_step_that_runs_it(tmp_path: Path, old: str, new: str) -> None:
    found = told(tmp_path, files(*steps(), **node(old)), files(*steps(), **node(new)))
    weaker = [change for change in found if change.code == "approval-weakened"]
    assert weaker
    assert "since step 'work' makes 'n' otherwise," in weaker[0].message
    assert "node-changed" in {change.code for change in found}


IMPORTS = "from work_sums import total\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('def total(ids):\n    """A."""\n    return [a for a in ids]\n',
         'def total(ids):\n    """B."""\n    return [b for b in ids]\n', "spelled-otherwise"),
        ('def total(ids):\n    return 1\n', 'def total(ids):\n    return 2\n', "node-changed"),
        ('@tool\ndef total(ids):\n    """A."""\n', '@tool\ndef total(ids):\n    """B."""\n', "node-changed"),
    ],
)  # fmt: skip
def test_imported_code_is_compared_in_the_same_way(tmp_path: Path, old: str, new: str, said: str) -> None:
    own = node('return {"n": total(ctx["id"])}', IMPORTS)
    states = [files(*steps(), **own, **{"nodes/work_sums.py": text}) for text in (old, new)]
    found = {change.code for change in told(tmp_path, states[0], states[1])}
    assert said in found
    assert ("approval-weakened" in found) == (said == "node-changed")


def test_docstring_of_a_function_that_another_file_hands_on_counts(tmp_path: Path) -> None:
    own = node('return {"n": offer(total)}', IMPORTS)
    states = [
        files(*steps(), **own, **{"nodes/work_sums.py": f'def total(ids):\n    """{text}."""\n'}) for text in ("A", "B")
    ]
    assert "approval-weakened" in codes(tmp_path, states[0], states[1])


EACH: Step = {
    "id": "each",
    "kind": "ForEach",
    "items": "{{ [n] }}",
    "as": "one",
    "step": "pay",
    "routes": {"error": "END"},
}
ASK_EACH: Step = {**ASK, "routes": {**ASK["routes"], "true": "each"}}


def body(amount: str) -> Step:
    pay = {key: value for key, value in PAY.items() if key != "routes"}
    return {**pay, "http": {**PAY["http"], "json": {"amount": amount}}}


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("{{ one }}", "{{ rec }}"),
        ("{{ args.one }}", "{{ args.rec }}"),
        ("{{ one.sum + one.one }}", "{{ rec.sum + rec.one }}"),
    ],
)
def test_item_of_a_list_that_is_called_otherwise_everywhere_is_the_same(tmp_path: Path, was: str, now: str) -> None:
    states = [files(ASK_EACH, EACH, body(was)), files(ASK_EACH, {**EACH, "as": "rec"}, body(now))]
    assert [change.code for change in told(tmp_path, states[0], states[1])] == ["spelled-otherwise"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("{{ one }}", "{{ n }}"),
        ("{{ one }}", "{{ one }}"),
        ("{{ one ~ rec }}", "{{ rec ~ rec }}"),
        ("{{ one ~ 'one' }}", "{{ rec ~ 'rec' }}"),
        ("{{ args }}", "{{ args }}"),
        ("one {{ one }}", "rec {{ rec }}"),
    ],
)
def test_list_whose_body_reads_something_else_by_another_name_is_told(tmp_path: Path, was: str, now: str) -> None:
    states = [files(ASK_EACH, EACH, body(was)), files(ASK_EACH, {**EACH, "as": "rec"}, body(now))]
    assert "approval-weakened" in {change.code for change in told(tmp_path, states[0], states[1])}
