"""Functional steps with a node of the project: a Python function, called with a context of its own."""

import asyncio
import inspect
from collections.abc import Callable, Mapping

from tuvl.errors import StepError
from tuvl.plan.model import ExecutionPlan, FunctionalPlan
from tuvl.spec.signals import DEFAULT
from tuvl.steps.base import StepResult, StepScope
from tuvl.steps.node_context import Batch, BlockingBatch, NodeContext
from tuvl.steps.node_loader import LoadedNode, described, line_in, load_node
from tuvl.steps.threads import run_in_thread
from tuvl.tools.batch import ALONE, place_in_batch
from tuvl.values import JsonObject


async def run_functional(scope: StepScope) -> StepResult:
    """Call the node: an async one here, another one in a thread."""
    action = scope.step.action
    if not isinstance(action, FunctionalPlan):
        raise TypeError(f"step {scope.step.id!r} has no node")
    params = action.params.render(scope.values)
    node = await _node(action)
    ctx = NodeContext(
        scope.values,
        params=params,
        args=scope.args,
        principal=scope.services.principal,
        abort=scope.services.control.abort_signal,
        batch=_batch(scope, waits=not node.is_async),
        open_session=_session_opener(scope, waits=not node.is_async),
    )
    if node.is_async:
        returned = await _await_node(node, node.function(ctx))
    else:
        returned = await run_in_thread(lambda: _call_node(node, ctx))
        if inspect.isawaitable(returned):
            returned = await _await_node(node, returned)
    return _read_returned(node, returned)


def _batch(scope: StepScope, *, waits: bool) -> Batch | BlockingBatch:
    place = ALONE if scope.args is None else place_in_batch()
    return BlockingBatch(place) if waits else Batch(place)


def _session_opener(scope: StepScope, *, waits: bool) -> Callable[[], object] | None:
    data, writes = scope.data, scope.step.effects == "write"
    if data is None:
        return None
    if waits:
        loop = asyncio.get_running_loop()
        return lambda: data.blocking_session(loop, writes=writes)
    return lambda: data.node_session(writes=writes)


_loaded: dict[tuple[str, str, str], LoadedNode] = {}
"""Nodes imported so far; like the modules they come from, they are the process's."""


def load_nodes(plan: ExecutionPlan) -> None:
    """Import all nodes of a plan, also those of workflows that it runs as steps; raises `StepError`."""
    for one in plan.with_nested():
        for step in one.steps.values():
            if isinstance(step.action, FunctionalPlan):
                _load(step.action)


async def _node(action: FunctionalPlan) -> LoadedNode:
    node = _loaded.get(_key(action))
    if node is not None:
        return node
    # In a thread: the file may import for seconds, and other runs go on meanwhile.
    return await run_in_thread(lambda: _load(action))


def _load(action: FunctionalPlan) -> LoadedNode:
    key = _key(action)
    node = _loaded.get(key)
    if node is None:
        node = load_node(action.file, action.runner, source=action.source, code=action.code)
        _loaded[key] = node
    return node


def _key(action: FunctionalPlan) -> tuple[str, str, str]:
    return action.file, action.runner, action.code


async def _await_node(node: LoadedNode, work: object) -> object:
    if not inspect.isawaitable(work):
        return work
    try:
        return await work
    except StepError:
        raise
    except (Exception, SystemExit) as error:
        # A node is a guest: whatever it raises fails its step and no more, `sys.exit()` included.
        raise _failed(node, error) from error


def _call_node(node: LoadedNode, ctx: NodeContext) -> object:
    try:
        return node.function(ctx)
    except StepError:
        raise
    except BaseException as error:
        # As above; in a thread of its own a cancellation, too, can only be the node's.
        raise _failed(node, error) from error


def _failed(node: LoadedNode, error: BaseException) -> StepError:
    line = line_in(error, node.file)
    if getattr(error, "connection_invalidated", False) is True:
        message = f"node {node.name!r}: the connection to the database was lost; what was done is unknown"
        return StepError(message, type="database_broken")
    detail: JsonObject = {"node": node.name, "exception": type(error).__name__, "line": line}
    where = f" (line {line})" if line else ""
    return StepError(f"node {node.name!r} raised {described(error)}{where}", type="node_error", detail=detail)


def _read_returned(node: LoadedNode, returned: object) -> StepResult:
    delta: object = returned
    signal: object = DEFAULT
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise _bad_return(node, f"a tuple of {len(returned)}")
        delta, signal = returned
    elif isinstance(returned, str):
        delta, signal = None, returned
    if not isinstance(signal, str) or not signal:
        raise _bad_return(node, f"a signal of type {type(signal).__name__!r}" if signal else "an empty signal")
    if delta is None:
        return StepResult(signal=signal)
    if not isinstance(delta, Mapping):
        raise _bad_return(node, f"a value of type {type(delta).__name__!r}")
    # The engine makes JSON of it, whatever the node put in.
    return StepResult(signal=str(signal), delta=dict(delta))


def _bad_return(node: LoadedNode, what: str) -> StepError:
    return StepError(
        f"node {node.name!r} returned {what}; a node returns a dict (context keys), a str (signal) or (dict, str)",
        type="bad_result",
        detail={"node": node.name},
    )
