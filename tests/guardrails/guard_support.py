"""Builders for tests of guardrails and hooks: a project whose agent is guarded, and its artifacts."""

import asyncio
import json
from pathlib import Path

from tests.engine.run_support import Project
from tuvl.events.types import Event


class Until:
    """A sink that tells the loop when the first event of a type has come; sinks run in threads of their own."""

    def __init__(self, type: str) -> None:
        self.come = asyncio.Event()
        self._type = type
        self._loop = asyncio.get_running_loop()

    def accept(self, event: Event) -> None:
        if event.body.type == self._type:
            self._loop.call_soon_threadsafe(self.come.set)


class GuardedProject(Project):
    """A project with one agent `agent`, one tool `look`, and structured artifacts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.node('from tuvl import node\n\n@node("look")\ndef look(ctx):\n    return {"found": 1}\n')

    def structured(self, name: str, *, version: int = 1, **spec: object) -> "GuardedProject":
        (self.root / "artifacts").mkdir(exist_ok=True)
        document = {"kind": "Artifact", "metadata": {"name": name, "version": version}, "spec": spec}
        (self.root / "artifacts" / f"{name}-{version}.yaml").write_text(json.dumps(document), encoding="utf-8")
        return self

    def guardrail(self, name: str, *checks: dict, version: int = 1) -> "GuardedProject":
        return self.structured(name, version=version, type="guardrail", checks=list(checks))

    def hook(self, name: str, on: str, action: str, **more: object) -> "GuardedProject":
        return self.structured(name, type="hook", on=on, action=action, **more)

    def looking(self, body: str) -> "GuardedProject":
        """Say what the tool does: the body of a function of `ctx`."""
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        self.node(f'from tuvl import node\n\n@node("look")\ndef look(ctx):\n{lines}\n')
        return self

    def agent(
        self,
        *,
        mode: str = "autonomous",
        hooks: tuple[str, ...] = (),
        more: str = "",
        workflow: dict | None = None,
        **fields: object,
    ) -> "GuardedProject":
        block: dict[str, object] = {"model": "default"}
        if mode == "autonomous":
            block |= {"steering": "Work.", "tools": [{"ref": "look", "description": "Looks."}]}
        else:
            block |= {"prompt": "Answer {{ text }}"}
        signals = ("default", "error", "aborted", "guardrail_violation", "max_iterations", "budget_exceeded")
        step = {"id": "agent", "kind": "Agent", "mode": mode, "agent": block | fields}
        step |= {"hooks": list(hooks), "routes": dict.fromkeys(signals, "END")}
        steps = [f"- {json.dumps(step)}"]
        steps += ["- { id: look, kind: Functional, runner: look }"] if mode == "autonomous" else []
        self.workflow("\n".join(steps) + "\n" + more, **(workflow or {}))
        return self
