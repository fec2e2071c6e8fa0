"""What a run is started with: checked whole before anything runs."""

import pytest

from tests.engine.run_support import Project, Seen
from tuvl.errors import InputError, UsageError
from tuvl.principal import Principal

STEPS = "- { id: a, kind: Functional, runner: set, values: { ran: true } }"
SCHEMA = {
    "type": "object",
    "required": ["ticket_id"],
    "properties": {"ticket_id": {"type": "string"}, "amount": {"type": "number", "maximum": 10}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "'ticket_id'|\"ticket_id\""),
        ({"ticket_id": 7}, "ticket_id: must be of type"),
        ({"ticket_id": "T-1", "amount": 11}, "amount: must be at most 10"),
        ({"ticket_id": "T-1", "amuont": 1}, "unknown keys"),
        ({"ticket_id": "T-1", "_last_error": "x"}, "'_last_error' is reserved"),
        ({"ticket_id": "\ud800"}, "lone surrogate"),
        ({"ticket_id": "T-1", "amount": float("nan")}, "nan"),
        ({"ticket_id": "x" * 500}, "504|51[0-9]|bytes"),
    ],
)
async def test_input_that_does_not_fit_is_refused_with_the_place_and_nothing_runs(tmp_path, given, said):
    project = Project(tmp_path, STEPS, input=SCHEMA, limits={"max_context_bytes": 400})
    seen = Seen()
    with pytest.raises(InputError, match=said) as refused:
        await project.run(given, sinks=[seen])
    assert "'flow'" in str(refused.value)
    assert seen.events == []


async def test_every_violation_is_named_and_no_value_is_shown(tmp_path):
    project = Project(tmp_path, STEPS, input=SCHEMA)
    with pytest.raises(InputError) as refused:
        await project.run({"ticket_id": 12345, "amount": 99999})
    assert "ticket_id" in str(refused.value)
    assert "amount" in str(refused.value)
    assert "12345" not in str(refused.value)
    assert "99999" not in str(refused.value)


async def test_the_caller_keeps_its_input(tmp_path):
    given = {"order": {"lines": ["tea"]}}
    result = await Project(tmp_path, STEPS).run(given)
    result.context["order"]["lines"].append("spoilt")
    assert given == {"order": {"lines": ["tea"]}}


@pytest.mark.parametrize(("field", "kind"), [("required_scope", "scope"), ("required_group", "group")])
async def test_a_workflow_runs_only_for_those_it_asks_for(tmp_path, field, kind):
    project = Project(tmp_path, STEPS)
    path = tmp_path / "workflows" / "flow.yaml"
    path.write_text(path.read_text().replace('{"name": "flow"}', f'{{"name": "flow", "{field}": "desk"}}'))
    with pytest.raises(UsageError, match=f"needs the {kind} 'desk'"):
        await project.run(principal=Principal(id="eve", scopes=frozenset({"other"})))
    allowed = Principal(id="ann", scopes=frozenset({"desk"}), groups=frozenset({"desk"}))
    assert (await project.run(principal=allowed)).status == "completed"
    assert (await project.run()).status == "completed"  # the local operator
