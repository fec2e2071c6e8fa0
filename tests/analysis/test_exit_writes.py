"""What a step leaves in the context on each exit: what the analysis says is what a run does."""

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from tuvl.analysis.exit_writes import LAST_ERROR, exit_writes
from tuvl.analysis.signals import possible_signals
from tuvl.analysis.steps import WorkflowView
from tuvl.analysis.surroundings import ALONE
from tuvl.plan.compile import compile_workflow
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import Settings
from tuvl.source.document import parse_text
from tuvl.spec.signals import ERROR, Reserved
from tuvl.spec.workflow import Step


def kinds(shape: object) -> set[str]:
    """Kinds of the steps in a union of their contracts."""
    if isinstance(shape, type):
        return set(get_args(shape.model_fields["kind"].annotation))  # type: ignore[attr-defined]
    return set().union(*(kinds(each) for each in get_args(shape) if get_args(each) or isinstance(each, type)))


KINDS = sorted(kinds(Step))


def only_step(**fields: Any) -> WorkflowView:
    return WorkflowView({"metadata": {"name": "w"}, "spec": {"steps": [{"id": "a", **fields}]}})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["completion", "autonomous"])
def test_failure_of_every_kind_of_step_says_why(kind: str, mode: str) -> None:
    view = only_step(kind=kind, mode=mode, runner="set")
    step = view.by_id["a"]
    possible = possible_signals(step, view.spec, ALONE)
    assert possible.may_be(ERROR)
    for signal in (ERROR, Reserved.ABORTED):
        if possible.may_be(signal):
            assert exit_writes(step, view, ALONE).on(signal).sure >= LAST_ERROR


def test_kinds_that_are_looked_at_are_all_there_are() -> None:
    assert len(KINDS) == 10
    assert "HumanInTheLoop" in KINDS


def test_question_that_nobody_answers_in_time_says_nothing_and_an_answer_is_set_by_its_key() -> None:
    view = only_step(kind="HumanInTheLoop", output_key="said", timeout_s=9)
    writes = exit_writes(view.by_id["a"], view, ALONE)
    assert writes.on("timeout").sure == frozenset()
    assert not writes.on("timeout").maybe & LAST_ERROR
    assert writes.on("default").sure == {"said"}
    # A choice may be named like them.
    assert writes.on("timeout").maybe == writes.on("aborted").maybe == {"said"}


def test_outcome_of_a_loop_that_is_named_like_a_failure_of_a_single_call_is_no_failure() -> None:
    agent = {"outcome": {"enum": ["timeout"], "write": "said"}}
    view = only_step(kind="Agent", mode="autonomous", agent=agent)
    assert exit_writes(view.by_id["a"], view, ALONE).on("timeout").sure == {"said"}
    view = only_step(kind="Agent", mode="completion", agent={})
    assert exit_writes(view.by_id["a"], view, ALONE).on("timeout").sure == LAST_ERROR


FAILING = {
    "Functional": "kind: Functional, runner: fail, message: No.",
    "APICall": 'kind: APICall, http: { url: "http://127.0.0.1:1/{{ n / 0 }}" }',
    "Router": "kind: Router, match: { field: gone }",
    "Response": "kind: Response, source: gone",
    "HumanInTheLoop": 'kind: HumanInTheLoop, ui: { title: "{{ n / 0 }}" }',
    "ForEach": "kind: ForEach, items: '{{ gone }}', step: each",
}


@pytest.mark.parametrize("kind", FAILING)
def test_run_finds_what_is_said_of_a_failed_step(kind: str, tmp_path: Path) -> None:
    text = f"""
kind: Workflow
metadata: {{ name: w }}
spec:
  input: {{ type: object, properties: {{ n: {{ type: integer }} }} }}
  steps:
    - {{ id: a, {FAILING[kind]}, routes: {{ default: END, error: why }} }}
    - {{ id: why, kind: Functional, runner: set, values: {{
          why: "{{{{ _last_error }}}}", type: "{{{{ _last_error_type }}}}",
          of: "{{{{ _last_error_step }}}}", more: "{{{{ _last_error_detail }}}}" }} }}
    - {{ id: each, kind: Functional, runner: log, message: Hello }}
"""
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "w.yaml").write_text(text, encoding="utf-8")
    index = ProjectIndex(tmp_path)

    async def once() -> dict[str, Any]:
        engine = Engine(index, settings=Settings(), environ={})
        try:
            (document,) = parse_text(text.encode(), file="workflows/w.yaml").documents
            plan = compile_workflow(document, index)
            return dict((await engine.run(plan, {"n": 1})).context)
        finally:
            await engine.aclose()

    context = asyncio.run(once())
    assert context["of"] == "a"
    assert context["why"]
    assert context["type"]
