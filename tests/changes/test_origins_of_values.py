"""Where the values behind a decision, or behind what a person approved, come from: another maker is told."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.changes.test_change_classes import compared
from tuvl.changes import provenance
from tuvl.changes.asked_about import VALUES
from tuvl.changes.change import GRAVE, Change
from tuvl.changes.producers import _SENT

Step = dict[str, Any]
ROUTER: Step = {
    "id": "size",
    "kind": "Router",
    "condition": {"field": "n", "operator": "gt", "value": 50},
    "routes": {"true": "ask", "false": "pay", "error": "END"},
}
ASK: Step = {
    "id": "ask",
    "kind": "HumanInTheLoop",
    "ui": {"title": "Pay {{ n }}?", "display_context": ["n"]},
    "human_feedback": [{"name": "ok", "type": "boolean"}],
    "signal_from": "ok",
    "output_key": "answer",
    "routes": {"true": "pay", "false": "END", "error": "END"},
}
PAY: Step = {
    "id": "pay",
    "kind": "APICall",
    "idempotency_key": "{{ id }}",
    "http": {"url": "https://pay.example/p", "method": "POST", "json": {"amount": "{{ n }}", "to": "acc-1"}},
    "routes": {"default": "END", "error": "END"},
}
LOAD: Step = {
    "id": "load",
    "kind": "APICall",
    "http": {"url": "https://shop.example/orders/{{ id }}"},
    "response": {"output_key": "order", "extract": [{"path": "total", "as": "total"}]},
    "routes": {"error": "END"},
}
NODE = """\
from tuvl import node


@node("work", reads=["id"], writes=["n"], effects="read")
def work(ctx):
    return {}
"""
CHILD = (
    "kind: Workflow\nmetadata: { name: child }\nspec:\n  steps:\n    - { id: a, kind: Functional, runner: set, values: "
)
MODEL = "kind: AgentModel\nmetadata: { name: m }\nspec: { provider: scripted, replies: [x] }\n"


def sets(name: str, **values: Any) -> Step:
    return {"id": name, "kind": "Functional", "runner": "set", "values": values}


def files(*steps: Step, **others: str) -> dict[str, str]:
    integer = {"type": "integer"}
    given = {"type": "object", "required": ["n", "id"], "properties": {"n": integer, "id": {"type": "string"}}}
    flow = {"kind": "Workflow", "metadata": {"name": "w"}, "spec": {"input": given, "steps": [*steps]}}
    return {
        "tuvl.yaml": "kind: ProjectConfig\nspec: { default_model: m }\n",
        "llms/m.yaml": MODEL,
        "w.yaml": yaml.safe_dump(flow, sort_keys=False),
        "nodes/work.py": NODE,
        "child.yaml": f"{CHILD}{{ x: 1 }} }}\n  output: x\n",
        **others,
    }


def told(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> list[Change]:
    return [change for change, _ in compared(tmp_path, old, new)]


def codes(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> set[str]:
    return {change.code for change in told(tmp_path, old, new) if change.cls in GRAVE}


def call(**response: Any) -> Step:
    return {"id": "extra", "kind": "APICall", "http": {"url": "https://shop.example/x"}, "response": response}


AGENT = {"prompt": "Say a number."}
MAKERS: list[tuple[str, Step]] = [
    ("set", sets("extra", n=0)),
    ("extract", call(extract=[{"path": "n", "as": "n"}])),
    ("output_key", call(output_key="n")),
    ("node", {"id": "extra", "kind": "Functional", "runner": "work"}),
    ("node that says nothing", {"id": "extra", "kind": "Functional", "runner": "nowhere", "effects": "read"}),
    ("answer", {"id": "extra", "kind": "Agent", "mode": "completion", "agent": {**AGENT, "outcome": {"write": "n"}}}),
    (
        "JSON answer",
        {"id": "extra", "kind": "Agent", "mode": "completion", "agent": {**AGENT, "outcome": {"format": "json"}}},
    ),
    ("sub-workflow", {"id": "extra", "kind": "Workflow", "workflow": "child", "output_key": "n"}),
    ("records", {"id": "extra", "kind": "ModelOp", "model": "Order", "operation": "count", "output": "n"}),
    ("list", {"id": "extra", "kind": "ForEach", "items": [1], "as": "it", "step": "inner", "output_key": "n"}),
    ("person", {**ASK, "id": "extra", "output_key": "n", "signal_from": None, "routes": {}}),
    (
        "server",
        {"id": "extra", "kind": "MCP", "mcp": {"server": "artifact://s", "tool": "t"}, "response": {"output_key": "n"}},
    ),
]
INNER = sets("inner", x="{{ it }}")


@pytest.mark.parametrize("maker", [each[1] for each in MAKERS], ids=[each[0] for each in MAKERS])
def test_new_maker_of_a_value_that_decides_is_a_way_past_the_person(tmp_path: Path, maker: Step) -> None:
    old = files(LOAD, ROUTER, ASK, PAY, INNER)
    new = files(LOAD, {key: value for key, value in maker.items() if value is not None}, ROUTER, ASK, PAY, INNER)
    assert "approval-weakened" in codes(tmp_path, old, new)
    found = [change for change in told(tmp_path / "again", old, new) if change.step == "size" and change.cls in GRAVE]
    assert any(change.may and "'extra'" in change.message and change.after == "pay" for change in found)


@pytest.mark.parametrize("maker", [each[1] for each in MAKERS], ids=[each[0] for each in MAKERS])
def test_new_maker_of_what_a_person_approved_is_told_with_the_way(tmp_path: Path, maker: Step) -> None:
    ask = {**ASK, "routes": {**ASK["routes"], "true": "extra"}}
    between = {key: value for key, value in maker.items() if value is not None}
    between["routes"] = {"default": "pay", **({"true": "pay", "false": "pay"} if maker["kind"] == "Router" else {})}
    old, new = files(ASK, PAY, INNER), files(ask, between, PAY, INNER)
    found = [change for change in told(tmp_path, old, new) if change.code == "approval-weakened"]
    assert found
    if maker["kind"] != "HumanInTheLoop":
        assert [(change.step, change.after) for change in found] == [("pay", "ask (true) → extra → pay")]


def changed(step: Step, *path: str, to: object) -> Step:
    head, *rest = path
    return {**step, head: changed(step[head], *rest, to=to) if rest else to}


PRE: Step = {**ROUTER, "id": "pre", "routes": {"true": "s", "false": "size", "error": "END"}}
TIMES, TO_OTHERS = ({"amount": "{{ n * 9 }}", "to": "acc-1"}, {"amount": "{{ n }}", "to": "{{ id }}"})
READ = changed(LOAD, "http", "url", to="https://pay.example/z")
BY_TOTAL = changed(ROUTER, "condition", "field", to="total")
OTHERWISE: list[tuple[str, dict[str, str], dict[str, str]]] = [
    (
        "value of a set",
        files(sets("s", n="{{ n }}"), ROUTER, ASK, PAY),
        files(sets("s", n="{{ n / 9 }}"), ROUTER, ASK, PAY),
    ),
    (
        "path of an extract",
        files(LOAD, BY_TOTAL, ASK, PAY),
        files(changed(LOAD, "response", "extract", to=[{"path": "tax", "as": "total"}]), BY_TOTAL, ASK, PAY),
    ),
    (
        "address of a reply",
        files(LOAD, BY_TOTAL, ASK, PAY),
        files(changed(LOAD, "http", "url", to="https://shop.example/tiny/{{ id }}"), BY_TOTAL, ASK, PAY),
    ),
    (
        "what a reply is asked by",
        files(LOAD, BY_TOTAL, ASK, PAY),
        files(sets("s", id="1"), LOAD, BY_TOTAL, ASK, PAY),
    ),
    (
        "code of a node",
        files(dict(MAKERS)["node"], ROUTER, ASK, PAY),
        files(dict(MAKERS)["node"], ROUTER, ASK, PAY, **{"nodes/work.py": NODE.replace("{}", "{'n': 0}")}),
    ),
    (
        "inside of a workflow",
        files(dict(MAKERS)["sub-workflow"], ROUTER, ASK, PAY),
        files(dict(MAKERS)["sub-workflow"], ROUTER, ASK, PAY, **{"child.yaml": f"{CHILD}{{ x: 2 }} }}\n  output: x\n"}),
    ),
    (
        "order of two sets",
        files(sets("s", n="{{ n * 2 }}"), sets("t", n="{{ n + 1 }}"), ROUTER, ASK, PAY),
        files(sets("t", n="{{ n + 1 }}"), sets("s", n="{{ n * 2 }}"), ROUTER, ASK, PAY),
    ),
    (
        "a decision between two origins",
        files(PRE, sets("s", n=1), ROUTER, ASK, PAY),
        files(changed(PRE, "condition", "value", to=9), sets("s", n=1), ROUTER, ASK, PAY),
    ),
    ("amount of a write", files(ASK, PAY), files(ASK, changed(PAY, "http", "json", to=TIMES))),
    ("target of a write", files(ASK, PAY), files(ASK, changed(PAY, "http", "json", to=TO_OTHERS))),
    (
        "what the person is shown",
        files(sets("s", x="{{ n }}"), changed(ASK, "ui", to={"title": "Pay {{ x }}?"}), PAY),
        files(sets("s", x="5"), changed(ASK, "ui", to={"title": "Pay {{ x }}?"}), PAY),
    ),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in OTHERWISE], ids=[each[0] for each in OTHERWISE])
def test_value_that_is_made_otherwise_is_told_where_a_person_depends_on_it(
    tmp_path: Path, old: dict[str, str], new: dict[str, str]
) -> None:
    assert "approval-weakened" in codes(tmp_path, old, new)


SHOWS: Step = {**changed(ASK, "ui", to={"title": "Pay to {{ x }}?"})}
SENDS: Step = changed(PAY, "http", "json", to={"to": "{{ x }}"})
SORTS: Step = {
    "id": "sort",
    "kind": "Agent",
    "mode": "completion",
    "agent": {"prompt": "Sort.", "outcome": {"format": "json", "enum": ["safe", "unclear"], "write": "sorted"}},
    "routes": {"safe": "pay", "unclear": "ask", "error": "END", "aborted": "END"},
}


@pytest.mark.parametrize(
    ("sorting", "asking", "way"),
    [
        (ROUTER, SHOWS, "x → size (false) → pay"),
        (SORTS, SHOWS, "x → sort (safe) → pay"),
        ({**ROUTER, "routes": {"true": "ask", "false": "END", "error": "END"}},
         {**SHOWS, "timeout_s": 60, "routes": {**SHOWS["routes"], "timeout": "pay"}},
         "x → size (true) → ask (timeout) → pay"),
    ],
    ids=["router", "answer", "nobody answers"],
)  # fmt: skip
def test_value_that_a_person_sees_is_told_where_another_way_leads_to_the_write_unasked(
    tmp_path: Path, sorting: Step, asking: Step, way: str
) -> None:
    old, new = (files(sets("x", x=value), sorting, asking, SENDS) for value in ("acc-{{ id }}", "acc-1"))
    found = [change for change in told(tmp_path, old, new) if change.code == "approval-weakened"]
    assert [(change.step, change.after) for change in found] == [("pay", way)]
    assert "where nobody is asked: step 'x' makes 'x' otherwise" in found[0].message


TOOL: Step = {
    "id": "helper",
    "kind": "Agent",
    "mode": "autonomous",
    "agent": {
        "steering": "Help.",
        "tools": [{"ref": "pay", "description": "Pays.", "approval": "{{ n > 5 }}", "parameters": {"type": "object"}}],
    },
    "routes": {"default": "END", "error": "END", "aborted": "END", "max_iterations": "END"},
}


def test_expression_that_decides_an_approval_by_another_value_is_weaker(tmp_path: Path) -> None:
    assert "approval-weakened" in codes(tmp_path, files(TOOL, PAY), files(sets("s", n=0), TOOL, PAY))


def test_tool_that_does_another_thing_with_approved_arguments_is_told(tmp_path: Path) -> None:
    other = changed(PAY, "http", "json", to=TIMES)
    assert "approval-weakened" in codes(tmp_path, files(TOOL, PAY), files(TOOL, other))


def test_write_whose_key_of_repetition_is_another_may_be_made_twice(tmp_path: Path) -> None:
    assert "write-repeatable" in codes(tmp_path, files(LOAD, PAY), files(LOAD, sets("s", id="{{ order }}"), PAY))


NOTHING: list[tuple[str, dict[str, str], dict[str, str]]] = [
    (
        "read step at the end",
        files(ASK, PAY),
        files(ASK, {**PAY, "routes": {"error": "END"}}, READ),
    ),
    (
        "read step between",
        files(ASK, PAY),
        files(
            {**ASK, "routes": {**ASK["routes"], "true": "load"}},
            {**READ, "routes": {"default": "pay", "error": "END"}},
            PAY,
        ),
    ),
    ("value before the question", files(ASK, PAY), files(sets("s", n="{{ n * 9 }}"), ASK, PAY)),
    (
        "prompt",
        files({**dict(MAKERS)["answer"], "id": "a"}, ROUTER, ASK, PAY),
        files({**changed(dict(MAKERS)["answer"], "agent", "prompt", to="Say one."), "id": "a"}, ROUTER, ASK, PAY),
    ),
    ("blanks", files(ASK, PAY), files(ASK, changed(PAY, "http", "json", to={"amount": "{{n}}", "to": "acc-1"}))),
    ("nobody is asked", files(LOAD, PAY), files(LOAD, changed(PAY, "http", "json", to={"amount": 1}))),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in NOTHING], ids=[each[0] for each in NOTHING])
def test_what_no_decision_depends_on_widens_nothing(tmp_path: Path, old: dict[str, str], new: dict[str, str]) -> None:
    assert codes(tmp_path, old, new) == set()
    assert told(tmp_path / "same", old, old) == []


def test_too_many_origins_are_followed_by_keys_alone_and_still_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        provenance.Effort, "__init__", lambda self: (setattr(self, "left", 2), setattr(self, "loose", False))[0]
    )
    old, new = files(LOAD, ROUTER, ASK, PAY), files(LOAD, sets("s", n=0), ROUTER, ASK, PAY)
    assert "approval-weakened" in codes(tmp_path, old, new)
    assert codes(tmp_path / "none", old, files(LOAD, sets("s", other=0), ROUTER, ASK, PAY)) == set()


def test_everything_that_a_step_sends_is_held_against_what_was_asked_about() -> None:
    """A kind of step that acts, or makes values, says in which fields; a new one has to."""
    from tuvl.analysis.templates import _BUILT_IN, _RENDERED

    apart = {("ui", "title"), ("ui", "instruction"), *VALUES}
    for kind, fields in _RENDERED.items():
        for field in fields:
            assert field in apart or any(field[: len(sent)] == sent for sent in _SENT.get(kind, ())), (kind, field)
    for fields in _BUILT_IN.values():
        assert {(field,) for field in fields} <= set(_SENT["Functional"])


KEYS = st.sampled_from(["n", "id", "total", "x"])


@st.composite
def flows(draw: st.DrawFn) -> list[Step]:
    """Workflows of a few steps that lead anywhere."""
    kinds = draw(
        st.lists(st.sampled_from(["set", "router", "ask", "pay", "load", "agent", "list"]), min_size=1, max_size=7)
    )
    names = [f"s{number}" for number in range(len(kinds))]
    target = st.sampled_from([*names, "END"])
    steps: list[Step] = []
    for name, kind in zip(names, kinds, strict=True):
        key, other, to = draw(KEYS), draw(KEYS), draw(target)
        match kind:
            case "set":
                steps.append({**sets(name, **{key: f"{{{{ {other} }}}}"}), "routes": {"default": to}})
            case "router":
                routes = {"true": to, "false": draw(target), "error": "END"}
                steps.append({**changed(ROUTER, "condition", "field", to=key), "id": name, "routes": routes})
            case "ask":
                routes = {"true": to, "false": draw(target), "error": "END"}
                steps.append({**changed(ASK, "ui", to={"title": f"{{{{ {key} }}}}"}), "id": name, "routes": routes})
            case "pay":
                step = changed(PAY, "http", "json", to={"a": f"{{{{ {key} }}}}"})
                steps.append({**step, "id": name, "routes": {"default": to, "error": "END"}})
            case "agent":
                agent = {"prompt": f"{{{{ {other} }}}}", "outcome": {"write": key}}
                steps.append(
                    {"id": name, "kind": "Agent", "mode": "completion", "agent": agent, "routes": {"default": to}}
                )
            case "list":
                steps.append(
                    {"id": name, "kind": "ForEach", "items": f"{{{{ {key} }}}}", "step": draw(st.sampled_from(names))}
                )
            case _:
                steps.append({**LOAD, "id": name, "routes": {"default": to, "error": "END"}})
    return steps


@given(steps=flows())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_workflow_is_the_same_as_itself_and_a_read_step_at_its_end_widens_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    last = {
        "id": "last",
        "kind": "APICall",
        "http": {"url": "https://shop.example/x"},
        "response": {"output_key": "zz"},
    }
    fixed = [*steps[:-1], {**steps[-1], "routes": {"default": "END", **steps[-1].get("routes", {})}}]
    old = files(*fixed)
    assert told(tmp_path_factory.mktemp("same"), old, old) == []
    ends = {signal: "last" if to == "END" else to for signal, to in fixed[-1]["routes"].items() if signal != "error"}
    new = files(*fixed[:-1], {**fixed[-1], "routes": {**fixed[-1]["routes"], **ends}}, last)
    grave = {change.code for change in told(tmp_path_factory.mktemp("more"), old, new) if change.cls in GRAVE}
    assert grave <= {"host-added", "exit-removed"}


BODIES: list[tuple[str, Step, Step]] = [
    ("values", sets("one", verdict="{{ it }}"), sets("one", other="{{ it }}")),
    ("output_key", {**LOAD, "id": "one"}, {**LOAD, "id": "one", "response": {"output_key": "other"}}),
    (
        "part of a reply",
        {**LOAD, "id": "one", "response": {"extract": [{"path": "a.b", "as": "verdict"}]}},
        {**LOAD, "id": "one", "response": {"extract": [{"path": "a.c", "as": "verdict"}]}},
    ),
    (
        "key of a workflow",
        {"id": "one", "kind": "Workflow", "workflow": "child", "output_key": "verdict"},
        {"id": "one", "kind": "Workflow", "workflow": "child", "output_key": "other"},
    ),
]


@pytest.mark.parametrize(("old", "new"), [each[1:] for each in BODIES], ids=[each[0] for each in BODIES])
def test_body_of_a_list_that_gives_another_item_may_turn_the_decision_by_the_list(
    tmp_path: Path, old: Step, new: Step
) -> None:
    each = {"id": "each", "kind": "ForEach", "items": [1], "as": "it", "step": "one", "output_key": "said"}
    router = {
        "id": "size",
        "kind": "Router",
        "when": [{"if": "{{ {'verdict': 'no'} in said }}", "signal": "stop"}],
        "routes": {"default": "pay", "stop": "END", "error": "END"},
    }
    found = told(tmp_path, files(each, router, PAY, old), files(each, router, PAY, new))
    assert [change.step for change in found if change.code == "write-reached"] == ["size"]
