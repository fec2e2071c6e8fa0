"""What a step runner is given and what it returns."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Protocol

from tuvl.agent.ledger import Ledger
from tuvl.agent.limits import Bounds, Budget
from tuvl.agent.ports import Overseer
from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.data.model import SourcePlan
from tuvl.data.run_records import RunRecords
from tuvl.data.sessions import StepData
from tuvl.dataclass import dataclass
from tuvl.events.types import EventBody
from tuvl.hooks.emit import HookEmitter
from tuvl.http.client import HttpClient
from tuvl.journal import NO_JOURNAL, Journal
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.mcp.pool import McpPool
from tuvl.plan.model import ExecutionPlan, ModelPlan, StepPlan
from tuvl.principal import Principal
from tuvl.settings import Settings
from tuvl.tools.approval import Approvals
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFailure:
    """Why a step ended abnormally: what `_last_error*` and the result's `error` show."""

    type: str
    message: str
    detail: JsonObject = field(default_factory=dict)
    cause: BaseException | None = None
    """The original exception, for people who call tuvl from Python; never written anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """How a step ended: its signal, the public context keys it sets, and what else the engine keeps of it."""

    signal: str = "default"
    delta: Mapping[str, JsonValue] = field(default_factory=dict)
    engine_keys: Mapping[str, JsonValue] = field(default_factory=dict)
    """Keys with a leading `_` that the engine itself sets, e.g. `_api_status_code`."""
    failure: StepFailure | None = None
    output: JsonValue = None
    has_output: bool = False
    """A Response step sets `output`, which may be `null`."""
    trace: tuple[JsonObject, ...] = ()
    iteration_count: int | None = None
    handled: StepFailure | None = None
    """The last failure of a workflow inside the step, which a route of that one took care of."""


FATAL_TYPES = frozenset({"database_broken"})
"""Types of failures that end an agent under any policy: what its tool did is not known, and no call can mend it."""


class Dispatch(Protocol):
    """Runs one step of the plan as a tool, on a context of its own; handed to the agent by the engine."""

    async def __call__(
        self,
        ref: str,
        arguments: JsonObject,
        *,
        services: "RunServices | None" = None,
        trace: list[JsonObject] | None = None,
    ) -> StepResult:
        """Run the step `ref` with `arguments` laid over the public context. Never raises for a failed step.

        `services` takes the place of the run's, for a step that pays, or shows itself, elsewhere. `trace` gets what
        an agent does, as it happens.
        """
        ...


class StandIn(Protocol):
    """Stands in for the work of steps, where a workflow is tested."""

    def __call__(self, scope: "StepScope") -> StepResult | None:
        """Return what the step gives in place of its work; `None` lets it work. Raises `StepError` to fail it."""
        ...


class SubRun(Protocol):
    """Runs another workflow inside a step, within the limits and with the rights of the run around it."""

    async def __call__(self, scope: "StepScope", plan: ExecutionPlan, input: JsonObject) -> StepResult:
        """Run `plan` to its end; the result has its `output`, or its failure. Raises `StepError` if it cannot begin."""
        ...


class Oversight(Protocol):
    """Watches the agents of one run, as the supervisor of its workflow says."""

    def of_agent(self, scope: "StepScope", bounds: Bounds, ledger: Ledger) -> Overseer | None:
        """Return who watches this execution of an agent; `None` for one that is not watched."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunServices:
    """What one run shares between its steps."""

    run_id: str
    plan: ExecutionPlan
    settings: Settings
    clock: Clock
    control: RunControl
    principal: Principal
    meter: Meter
    emit: Callable[[str | None, EventBody], None]
    model_for: Callable[[ModelPlan], ChatModel]
    """The model of a plan, made on first use and kept; raises `ConfigError` when it cannot be made."""
    merge: Callable[[Mapping[str, JsonValue]], None]
    """Applies a delta to the run's public context at once; used for tools with `writes_context`."""
    dispatch: Dispatch
    http: HttpClient
    """Connections of APICall steps, kept between calls; owned by the runtime, which closes it."""
    mcp: McpPool
    """Sessions with MCP servers, one a server, kept for the run; owned by the runtime, which closes it."""
    environ: Mapping[str, str]
    """The environment that `${VAR}` in configuration fields is read from."""
    approvals: Approvals
    """Asks whoever may approve a tool call."""
    sub_run: SubRun
    take_steps: Callable[[str, int], None]
    """Counts so many executions of a step that are about to begin; raises `EngineError` when a bound forbids them."""
    budgets: tuple[Budget, ...]
    """What is left to spend, innermost first: the run's own budget, and those around the run."""
    current_values: Callable[[], Mapping[str, JsonValue]]
    """The context of the run as it is now."""
    records: RunRecords | None = None
    """What this run keeps in the store of runs; `None` keeps nothing."""
    hooks: HookEmitter | None = None
    """The hooks of the run; `None` when nothing is hooked."""
    oversight: Oversight | None = None
    """What watches the agents of the run; `None` when nothing does."""
    can_mark: Callable[[SourcePlan], Awaitable[bool]] | None = None
    """Whether what a step writes to a data source can be marked there, so that a write is known to have taken place."""
    stand_in: StandIn | None = None
    """Asked before each step works; `None` lets all of them work."""
    journal: Journal = NO_JOURNAL
    """The part of the run's durable record that is this step's."""
    path: str = ""
    """Where the steps of this run stand in the runs around it: `outer/`, `each[3]/`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScope:
    """One execution of one step.

    `values` is what templates and nodes see: the public context, for a tool call with the arguments laid over it
    (also as `args`), plus the engine keys a fallback step may read. Its values are shared: copy before changing.
    """

    step: StepPlan
    services: RunServices
    values: Mapping[str, JsonValue]
    args: JsonObject | None = None
    trace: list[JsonObject] = field(default_factory=list)
    """What an agent does, appended as it happens: it survives when the step is cut off by a deadline."""
    data: StepData | None = None
    """The database sessions of this step, in its own transaction; `None` in runs without databases."""

    @property
    def place(self) -> str:
        """The step's id with those of the steps around it, as events and traces name it: `outer/step`."""
        return self.services.path + self.step.id

    @property
    def public(self) -> JsonObject:
        """The part of `values` without engine keys; of a tool call also without `args`."""
        hidden = "args" if self.args is not None else None
        return {key: value for key, value in self.values.items() if not key.startswith("_") and key != hidden}


class StepRunner(Protocol):
    """Runs the steps of one kind. Raises `StepError` for a failed step; keeps nothing between runs."""

    async def __call__(self, scope: StepScope) -> StepResult:
        """Run one step."""
        ...
