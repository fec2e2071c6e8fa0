"""Templates that say the same in other words: blanks, quotes, brackets that change nothing."""

from collections.abc import Iterator
from typing import Any

from tuvl.analysis.steps import StepView, WorkflowView, items
from tuvl.analysis.templates import rendered_sites
from tuvl.templating.syntax import parse_template
from tuvl.values import KeyPath


def with_spelling(old: WorkflowView, new: WorkflowView) -> WorkflowView:
    """Return the old state with its templates as the new one writes them, where that is the same; else `old` itself."""
    other = {
        site: text
        for name, before in old.by_id.items()
        if (after := new.by_id.get(name)) is not None and before.data != after.data
        for site, text in _respelled(before, after)
    }
    if not other:
        return old
    steps = [_with(step, ("spec", "steps", index), other) for index, step in enumerate(items(old.spec.get("steps")))]
    return WorkflowView({**old.data, "spec": {**old.spec, "steps": steps}})


def _respelled(before: StepView, after: StepView) -> Iterator[tuple[KeyPath, str]]:
    start = len(after.path)
    texts = {site.path[start:]: site.text for site in rendered_sites(after)}
    for site in rendered_sites(before):
        text = texts.get(site.path[len(before.path) :])
        if text is not None and text != site.text and "{" in text and _means(text) == _means(site.text):
            yield site.path, text


def _means(text: str) -> str:
    """What a template says; one that cannot be read says what is written."""
    parsed = parse_template(text)
    return text if parsed.problems else f"\0{parsed.body!r}"


def _with(value: Any, path: KeyPath, other: dict[KeyPath, str]) -> Any:
    if isinstance(value, str):
        return other.get(path, value)
    if isinstance(value, dict):
        return {key: _with(each, (*path, key), other) for key, each in value.items()}
    return (
        [_with(each, (*path, index), other) for index, each in enumerate(value)] if isinstance(value, list) else value
    )
