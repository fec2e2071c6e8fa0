"""A supervised agent in a project of a test, and what its run left."""

import json
from pathlib import Path

from tests.agent.loop_support import Model, ask, say
from tests.engine.agent_support import agent_project
from tests.engine.run_support import Project
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import TraceFilter
from tuvl.engine.result import RunResult

PASS, FAIL = say('{"pass": true}'), say('{"pass": false, "reason": "it repeats itself"}')


def look(*questions: str, tokens: int = 10):
    """A reply that asks the tool `look` these questions."""
    return ask(*(("look", {"q": each}, f"c{number}") for number, each in enumerate(questions, 1)), tokens=tokens)


def supervised(root: Path, *replies: object, rules=(), judge=None, verdicts=(), watches=("agent",), **more) -> Project:
    """Write a project whose agent is watched; the judge's model answers with `verdicts`."""
    supervisor = {"watches": list(watches), "rules": list(rules)}
    if judge is not None:
        supervisor["judge"] = {"model": "judge", "criteria": "It gets on.", **judge}
    if "steer_message" in more:
        supervisor["steer_message"] = more.pop("steer_message")
    spec = {"supervisor": supervisor, **more.pop("spec", {})}
    project = agent_project(root, *replies, spec=spec, **more)
    project.chat_models["judge"] = Model(list(verdicts), name="test/judge")
    return project.model("never used", name="judge")


def judge_of(project: Project) -> Model:
    """The judge's model; it keeps the requests."""
    model = project.chat_models["judge"]
    assert isinstance(model, Model)
    return model


def interventions(result: RunResult) -> list[tuple[str, str, int]]:
    """What the trace tells of interventions: action, by, iteration."""
    return [
        (entry["action"], entry["by"], entry["iteration"])
        for entry in result.trace or ()
        if entry["type"] == "intervention"
    ]


async def recorded(project: Project, run_id: str, type: str = "intervention") -> list[dict]:
    """What the store of runs keeps of a type."""
    access = StoreAccess(str(project.root), project.settings.database_url)
    try:
        entries = await access.store.trace(run_id, TraceFilter())
    finally:
        await access.aclose()
    return [entry for entry in json.loads(json.dumps(entries)) if entry["type"] == type]
