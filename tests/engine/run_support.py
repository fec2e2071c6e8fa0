"""Builders for tests of runs: a project in a folder, and one call that compiles and runs a workflow of it."""

import asyncio
import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.engine.result import RunResult
from tuvl.events.types import Event
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import Settings
from tuvl.values import JsonObject


class Seen:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def accept(self, event: Event) -> None:
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        return [event.body.type for event in self.events]


class OnEvent:
    """A sink that has something done on the event loop of the test when an event of a type comes."""

    def __init__(self, type: str, do: Callable[[], object]) -> None:
        self._type = type
        self._do = do
        self._loop = asyncio.get_running_loop()

    def accept(self, event: Event) -> None:
        if event.body.type == self._type:
            self._loop.call_soon_threadsafe(self._do)


class Project:
    """A project on disk, written piece by piece."""

    def __init__(self, root: Path, steps: str = "", **spec: object) -> None:
        self.root = root
        (root / "workflows").mkdir(parents=True, exist_ok=True)
        self.settings = Settings()
        self.environ: dict[str, str] = {}
        self.clock: Clock | None = None
        self.chat_models: dict[str, object] = {}
        """Name that agents call a model by → the model of a test."""
        self.approvals: object = None
        if steps:
            self.workflow(steps, **spec)

    def workflow(self, steps: str, *, name: str = "flow", meta: object = None, **spec: object) -> "Project":
        head = {"kind": "Workflow", "metadata": {"name": name, **(meta or {})}}
        lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
        lines += ["spec:", *(f"  {key}: {json.dumps(value)}" for key, value in spec.items()), "  steps:"]
        body = textwrap.indent(textwrap.dedent(steps).strip("\n"), "    ")
        (self.root / "workflows" / f"{name}.yaml").write_text("\n".join(lines) + "\n" + body + "\n", encoding="utf-8")
        return self

    def node(self, source: str, *, file: str = "stock.py") -> "Project":
        (self.root / "nodes").mkdir(exist_ok=True)
        (self.root / "nodes" / file).write_text(textwrap.dedent(source), encoding="utf-8")
        return self

    def config(self, **spec: object) -> "Project":
        document = {"kind": "ProjectConfig", "spec": spec}
        (self.root / "tuvl.yaml").write_text(json.dumps(document), encoding="utf-8")
        return self

    def model(self, *replies: JsonObject | str, name: str = "default", **spec: object) -> "Project":
        (self.root / "llms").mkdir(exist_ok=True)
        document = {
            "kind": "AgentModel",
            "metadata": {"name": name},
            "spec": {"provider": "scripted", "replies": list(replies), **spec},
        }
        (self.root / "llms" / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        return self

    def artifact(self, name: str, type: str, body: str, **front: object) -> "Project":
        (self.root / "artifacts").mkdir(exist_ok=True)
        lines = ["---", f"name: {name}", f"type: {type}", *(f"{key}: {json.dumps(v)}" for key, v in front.items())]
        text = "\n".join([*lines, "---", body])
        (self.root / "artifacts" / f"{name}-{front.get('version', 1)}.md").write_text(text, encoding="utf-8")
        return self

    def engine(self, **models: str) -> Engine:
        return self._engine(ProjectIndex(self.root), models)

    def _engine(self, index: ProjectIndex, models: dict[str, str]) -> Engine:
        return Engine(
            index,
            settings=self.settings,
            environ=self.environ,
            model_overrides=models,
            clock=self.clock,
            chat_models=lambda plan: self.chat_models.get(plan.name),
        )

    def plan(self, **models: str) -> ExecutionPlan:
        index = ProjectIndex(self.root)
        document = index.workflow("flow")
        assert document is not None
        return self._engine(index, models).plan(document)

    async def run(
        self,
        input: JsonObject | None = None,
        *,
        control: RunControl | None = None,
        sinks: Sequence[object] = (),
        timeout_s: float | None = None,
        trace: bool = False,
        principal: Principal | None = None,
    ) -> RunResult:
        """Run the workflow once; nothing may be left running afterwards."""
        before = asyncio.all_tasks()
        engine = self.engine()
        try:
            return await engine.run(
                self.plan(),
                input or {},
                control=control,
                sinks=sinks,
                timeout_s=timeout_s,
                trace=trace,
                principal=principal or Principal(),
                approvals=self.approvals,
            )
        finally:
            await engine.aclose()
            assert asyncio.all_tasks() == before, "a task outlived the run"


def ids(result: RunResult) -> list[str]:
    return [step.id for step in result.steps]
