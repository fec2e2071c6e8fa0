"""Projects that are mostly right: workflows of every kind of step, then damaged a little."""

from collections.abc import Iterator
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.check.project_files import workflow
from tuvl.values import JsonValue, copy_json, dump_json

Json: TypeAlias = dict[str, Any]

FILES = {
    "tuvl.yaml": "kind: ProjectConfig\nspec: { default_model: default }\n",
    "llms/default.yaml": "kind: AgentModel\nmetadata: { name: default }\n"
    "spec: { provider: scripted, replies: [hello] }\n",
    "llms/remote.yaml": "kind: AgentModel\nmetadata: { name: remote }\nspec: { provider: openai, model: gpt-5, "
    "api_key: '${SOME_KEY}' }\n",
    "artifacts/ask.md": "---\nname: ask\ntype: prompt\ntemplate: true\n---\nAnswer {{ text }}.\n",
    "artifacts/desk.md": "---\nname: desk\ntype: steering\n---\nBe kind.\n",
    "artifacts/skill.md": "---\nname: shop\ntype: skill\ndescription: how to look\n---\nLook.\n",
    "artifacts/clean.yaml": "kind: Artifact\nmetadata: { name: clean }\n"
    "spec: { type: guardrail, checks: [{ check: pii_mask }] }\n",
    "artifacts/server.yaml": "kind: Artifact\nmetadata: { name: clock }\nspec: { type: mcp, command: mcp-clock }\n",
    "models/order.yaml": "kind: ModelDefinition\nmetadata: { name: Order }\n"
    "spec: { tablename: orders, fields: [{ name: id, type: integer, primary_key: true }, "
    "{ name: note, type: string }] }\n",
    "nodes/own.py": "from tuvl import node\n\n\n"
    '@node("weigh", reads=["text"], writes=["weight"], signals=["default", "heavy"], effects="read")\n'
    "def weigh(ctx):\n    return {}\n",
    "workflows/inner.yaml": workflow("inner"),
}
ODD: tuple[JsonValue, ...] = (
    None, True, 0, -1, 1.5, "", "x", "END", "{{ x", "{{ nothing.there }}", "{{ text | upper }}", "artifact://x@1",
    "artifact://desk@1", [], [None], {}, {"x": None}, "_private", 10**12, "default", "inner", "Order", "END", "error",
)  # fmt: skip
"""What is put in the place of an honest value."""


def _template(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["{{ text }}", "plain", "{{ text | default('x') }}", "a {{ text }} b", "{{ first }}"]))


def _functional(draw: st.DrawFn) -> Json:
    runner = draw(st.sampled_from(["set", "log", "wait", "weigh"]))
    given = {"set": {"values": {draw(st.sampled_from(["first", "more"])): _template(draw)}}, "log": {"message": "hi"}}
    given |= {"wait": {"seconds": 1}, "weigh": {"params": {"of": _template(draw)}}}
    return {"kind": "Functional", "runner": runner, **given[runner]}


def _api_call(draw: st.DrawFn) -> Json:
    http: Json = {"url": f"https://api.example/{draw(st.sampled_from(['x', '{{ text }}']))}"}
    http["method"] = draw(st.sampled_from(["GET", "POST"]))
    return {"kind": "APICall", "http": http, "response": {"output_key": "reply"}}


def _router(draw: st.DrawFn) -> Json:
    form = draw(
        st.sampled_from(
            [
                {"when": [{"if": "{{ text == 'a' }}", "signal": "left"}]},
                {"match": {"field": "text", "cases": {"a": "left"}}},
                {"condition": {"field": "text", "operator": "eq", "value": "a"}},
            ]
        )
    )
    return {"kind": "Router", **form}


def _agent(draw: st.DrawFn) -> Json:
    agent: Json = {"outcome": {"write": "said"}, "model": draw(st.sampled_from(["default", "remote"]))}
    if draw(st.booleans()):
        agent["prompt"] = draw(st.sampled_from(["Answer {{ text }}.", "artifact://ask@1"]))
        return {"kind": "Agent", "mode": "completion", "agent": agent}
    agent |= {"steering": "artifact://desk@1", "max_iterations": draw(st.integers(1, 5)), "token_budget": 5000}
    agent["tools"] = [{"ref": "tool", "description": "Look something up."}]
    agent["outcome"]["enum"] = ["done"]
    if draw(st.booleans()):
        agent |= {"skills": ["artifact://shop@1"], "guardrails": {"input": ["artifact://clean@1"]}}
    return {"kind": "Agent", "mode": "autonomous", "agent": agent}


def _other(draw: st.DrawFn) -> Json:
    return draw(
        st.sampled_from(
            [
                {"kind": "Response", "mapping": {"text": "text"}},
                {"kind": "MCP", "mcp": {"server": "artifact://clock@1", "tool": "now", "arguments": {}}},
                {"kind": "ModelOp", "model": "Order", "operation": "list"},
                {"kind": "ModelOp", "model": "Order", "operation": "create", "payload": {"note": "{{ text }}"}},
                {"kind": "Workflow", "workflow": "inner", "input": {}},
                {"kind": "ForEach", "items": "{{ things }}", "step": "tool", "max_items": 3},
                {"kind": "HumanInTheLoop", "ui": {"title": "Well?"}},
            ]
        )
    )


def _step(draw: st.DrawFn, number: int, count: int) -> Json:
    kind = draw(st.sampled_from([_functional, _functional, _api_call, _router, _agent, _agent, _other]))
    step: Json = {"id": f"s{number}", **copy_json(kind(draw))}
    following = "END" if number + 1 == count else f"s{number + 1}"
    targets = st.sampled_from([following, following, following, "END", f"s{draw(st.integers(0, count - 1))}"])
    signals = {"Router": ["left", "default", "true", "false"], "Agent": ["error", "aborted", "timeout"]}
    names = signals.get(step["kind"], draw(st.sampled_from([[], ["default"], ["default", "error"]])))
    if step.get("mode") == "autonomous":
        names = ["done", "max_iterations", "budget_exceeded", "error", "aborted"]
    if step["kind"] == "Router":
        names = ["true", "false"] if "condition" in step else ["left", "default"]
    step["routes"] = {name: draw(targets) for name in names}
    return step


@st.composite
def honest(draw: st.DrawFn) -> Json:
    """A workflow that is right, as far as a draw can tell."""
    count = draw(st.integers(1, 4))
    steps = [_step(draw, number, count) for number in range(count)]
    tool = {"id": "tool", "kind": "APICall", "http": {"url": "https://api.example/{{ args.q | default('x') }}"}}
    properties = {"text": {"type": "string"}, "first": {"type": "string"}, "things": {"type": "array"}}
    schema: Json = {"type": "object", "properties": properties, "required": list(properties)}
    spec: Json = {"input": schema, "context": "Order", "steps": [*steps, tool]}
    if draw(st.booleans()):
        spec["limits"] = {"max_steps": draw(st.integers(1, 50)), "timeout_s": 60}
    return {"kind": "Workflow", "metadata": {"name": "made"}, "spec": spec}


def places(value: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key path of a value, its own first."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*path, index))


@st.composite
def made(draw: st.DrawFn) -> Json:
    """A workflow that is right, or damaged in a place or two."""
    data = draw(honest())
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        _damage(draw, data)
    return data


def _damage(draw: st.DrawFn, data: Json) -> None:
    path = draw(st.sampled_from([path for path in places(data) if len(path) > 1 and path[0] == "spec"]))
    above: Any = data
    for part in path[:-1]:
        above = above[part]
    match draw(st.sampled_from(["odd", "odd", "drop", "add", "swap"])):
        case "odd":
            above[path[-1]] = copy_json(draw(st.sampled_from(ODD)))
        case "drop":
            del above[path[-1]]
        case "add" if isinstance(above, dict):
            above[draw(st.sampled_from(["extra", "timeout_s", "routes", "retry", "output", "hooks", "danger"]))] = (
                copy_json(draw(st.sampled_from(ODD)))
            )
        case "swap" if isinstance(above, dict) and len(above) > 1:
            other = draw(st.sampled_from(sorted(above)))
            above[path[-1]], above[other] = above[other], above[path[-1]]
        case _:
            pass


def written(data: Json) -> str:
    """The workflow as a file."""
    return dump_json(data)
