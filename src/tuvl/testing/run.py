"""One call that runs a workflow file in a test, with the models it should meet."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.engine.result import RunResult
from tuvl.errors import UsageError
from tuvl.events.sink import Sink
from tuvl.llm.messages import ChatModel
from tuvl.plan.model import ModelPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.runtime import Engine
from tuvl.settings import Settings
from tuvl.values import JsonObject


async def run_workflow(
    workflow: Path,
    input: JsonObject | None = None,
    *,
    models: Mapping[str, ChatModel] | None = None,
    control: RunControl | None = None,
    sinks: Sequence[Sink] = (),
    principal: Principal | None = None,
    timeout_s: float | None = None,
    clock: Clock | None = None,
) -> RunResult:
    """Run the first workflow of a file, in the project it lies in; the result has the trace of every agent.

    Args:
        workflow: The YAML file.
        input: The initial context.
        models: Name that agents call a model by → the model to use; one not named here is made as ever.
        control: Pauses, steers and aborts the run.
        sinks: Get its events.
        principal: Whom it runs for; the local operator by default.
        timeout_s: Tightens the workflow's own limit.
        clock: Time, e.g. a `ManualClock`.

    Raises:
        UsageError: The file cannot be read or holds no workflow, or the input does not fit.
        ConfigError: The workflow does not compile.
    """
    project = ProjectIndex(find_root(workflow))
    loaded = project.load(workflow)
    document = next((each for each in loaded.documents if each.kind == "Workflow"), None) if loaded else None
    if document is None:
        raise UsageError(f"{project.relative(workflow)!r} holds no `kind: Workflow`")
    engine = Engine(
        project, settings=Settings(), environ={}, clock=clock, chat_models=None if models is None else _given(models)
    )
    try:
        return await engine.run(
            engine.plan(document),
            input or {},
            control=control,
            sinks=sinks,
            principal=principal,
            timeout_s=timeout_s,
            trace=True,
        )
    finally:
        await engine.aclose()


def _given(models: Mapping[str, ChatModel]) -> Callable[[ModelPlan], ChatModel | None]:
    return lambda plan: models.get(plan.name)
