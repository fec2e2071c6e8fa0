"""Items of a list that are called otherwise, in the list and in its body alike: the same in other words."""

import re
from typing import Any

from tuvl.analysis.references import step_references
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, items, text
from tuvl.analysis.templates import rendered_sites
from tuvl.templating.scan import scan

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def with_item_names(old: WorkflowView, new: WorkflowView) -> WorkflowView:
    """Return the old state with the names of items as the new one has them, where only they differ; else `old`."""
    other: dict[int, Any] = {}
    for name, before in old.by_id.items():
        after = new.by_id.get(name)
        if after is None or before.kind != "ForEach" or after.kind != "ForEach" or _called(before) == _called(after):
            continue
        body, now = (view.by_id.get(text(step.data.get("step")) or "") for view, step in ((old, before), (new, after)))
        if body is None or now is None or body.id != now.id or not _is_its_own(old, body):
            continue
        renamed = _renamed(body, _called(before), _called(after))
        if renamed is not None and renamed == now.data:
            other[before.index] = {**before.data, "as": _called(after)}
            other[body.index] = renamed
    if not other:
        return old
    steps = [other.get(index, step) for index, step in enumerate(items(old.spec.get("steps")))]
    return WorkflowView({**old.data, "spec": {**old.spec, "steps": steps}})


def _called(step: StepView) -> str:
    return text(step.data.get("as")) or "item"


def _is_its_own(workflow: WorkflowView, body: StepView) -> bool:
    """Whether nothing but one list runs a step."""
    routed = any(body.id in step.routes.values() for step in workflow.steps)
    return not routed and sum(each.target == body.id for each in step_references(workflow)) == 1


def _renamed(body: StepView, name: str, other: str) -> Any:
    """The body as it reads when the item has another name; `None` where something else may see the name."""
    sees_all = body.kind in ("Agent", "ForEach") or (
        body.kind == "Functional" and text(body.data.get("runner")) not in BUILT_IN_NODES
    )
    templates = {site.path[len(body.path) :]: site.text for site in rendered_sites(body)}
    for template in templates.values():
        paths = scan(template).paths
        quoted = any(re.search(rf"\b{re.escape(name)}\b", part) for part in _QUOTED.findall(template))
        if sees_all or quoted or "{%" in template or any(path[0] == other or path == ("args",) for path in paths):
            return None
    word = re.compile(rf"(?<![\w.])((?:args\.)?){re.escape(name)}\b")

    def within(expression: re.Match[str]) -> str:
        return word.sub(rf"\g<1>{other}", expression[0])

    return _with(body.data, (), {path: _EXPRESSION.sub(within, each) for path, each in templates.items()})


def _with(value: Any, path: tuple[str | int, ...], other: dict[tuple[str | int, ...], str]) -> Any:
    if isinstance(value, dict):
        return {key: _with(each, (*path, key), other) for key, each in value.items()}
    if isinstance(value, list):
        return [_with(each, (*path, index), other) for index, each in enumerate(value)]
    return other.get(path, value) if isinstance(value, str) else value
