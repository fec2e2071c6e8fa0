"""The plan of a run as people read it; made from the document of `--dry-run --format json`, so that both agree."""

from collections.abc import Iterator

from tuvl.analysis.steps import items, mapping
from tuvl.values import JsonObject, JsonValue, number_text

_ROLES = {"tool": "only as a tool", "helper": "only asked by an agent", "item_step": "only for items of a list"}
"""Role of a step that no route leads to → how it is called."""


def plan_text(plan: JsonObject) -> str:
    """Write a plan as text: nothing of it has run."""
    sections = [_head(plan), _steps(plan), _models(plan), _surroundings(plan)]
    return "\n".join(line for section in sections for line in section) + "\n"


def _head(plan: JsonObject) -> Iterator[str]:
    yield f"Plan of {plan['workflow']} ({plan['schema_version']}). Nothing was run or called."
    yield ""
    given = mapping(plan["input"])
    required = items(given.get("required"))
    optional = [name for name in items(given.get("properties")) if name not in required]
    yield _row("input", _list(required) + (f"; optional {_list(optional)}" if optional else ""))
    yield _row("limits", _bounds(plan["limits"]))
    yield _row("entry", str(plan["entry"]))


def _steps(plan: JsonObject) -> Iterator[str]:
    yield ""
    yield "Steps"
    for step in map(mapping, items(plan["steps"])):
        about = [str(step["kind"]), str(step["effects"])]
        about += [words for role, words in _ROLES.items() if step.get(role)]
        if step.get("workflow") is not None:
            about.append(f"runs {step['workflow']}")
        if step.get("body") is not None:
            about.append(f"{step['body']} for each of at most {step['max_items']} items")
        if step.get("timeout_s") is not None:
            about.append(f"{number_text(step['timeout_s'])} s")
        yield f"  {step['id']}  ({', '.join(about)})"
        yield from _agent(mapping(step.get("agent")))
        yield from _routes(step.get("routes"))


def _routes(routes: object) -> Iterator[str]:
    by_target: dict[object, list[str]] = {}
    for signal, target in mapping(routes).items():
        by_target.setdefault(target, []).append(signal)
    for target, signals in by_target.items():
        yield f"    {', '.join(signals)} → {target}"


def _agent(agent: object) -> Iterator[str]:
    data = mapping(agent)
    if not data:
        return
    attempts = data["attempts"]
    tries = "" if attempts == 1 else f", {attempts} attempts"
    yield f"    model   {data['model']}, {data['mode']}, {number_text(data['call_timeout_s'])} s a call{tries}"
    if "bounds" in data:
        yield f"    bounds  {_bounds(data['bounds'])}"
    for tool in map(mapping, items(data.get("tools"))):
        marks = [str(tool["kind"]), str(tool["effects"])]
        if tool["max_calls"] is not None:
            marks.append(f"at most {tool['max_calls']}×")
        if tool["writes_context"]:
            marks.append("writes the context")
        if tool["approval"] is not None:
            marks.append("asks for approval")
        yield f"    tool    {tool['name']} ({', '.join(marks)})"


def _models(plan: JsonObject) -> Iterator[str]:
    models = [mapping(model) for model in items(plan["models"])]
    if not models:
        return
    yield ""
    yield "Models"
    for model in models:
        about = "scripted" if model["scripted"] else f"{model['provider']}/{model['model']}"
        price = mapping(model["price"])
        cost = (
            f"${number_text(price['input_per_mtok'])} in, ${number_text(price['output_per_mtok'])} out a million tokens"
            if price
            else "no price of its own"
        )
        yield f"  {model['name']}  {about}, {cost}"


def _surroundings(plan: JsonObject) -> Iterator[str]:
    yield ""
    programs = items(plan["programs"])
    if programs:
        yield _row("programs", _list(programs))
    hosts = items(plan["hosts"])
    yield _row("hosts", _list(hosts))
    variables = [mapping(entry) for entry in items(plan["environment"])]
    yield _row("environment", "reads nothing" if not variables else "")
    for entry in variables:
        state = "set" if entry["set"] else "MISSING" if entry["needed"] else "not set, has a default"
        yield f"  {entry['name']}  {state}  ({entry['read_by']})"
    for reason in items(plan["refusals"]):
        yield _row("cannot run", str(reason))


def _bounds(limits: JsonValue) -> str:
    # Every bound that is on; a bound that is off is `null`, and a switch is no bound.
    return ", ".join(
        f"{name} {_figure(value)}"
        for name, value in mapping(limits).items()
        if value is not None and not isinstance(value, bool)
    )


def _figure(value: object) -> str:
    if isinstance(value, float):
        return number_text(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _list(names: list[JsonValue]) -> str:
    return ", ".join(map(str, names)) if names else "none"


def _row(name: str, value: str) -> str:
    return f"{name:<12}{value}".rstrip()
