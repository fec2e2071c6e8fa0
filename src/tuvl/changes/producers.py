"""What values are made of: the expressions of the steps that make them, as texts that can be held together."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, TypeAlias

from tuvl.analysis.exit_writes import exit_writes
from tuvl.analysis.parameters import writing_tools
from tuvl.analysis.references import tool_entries
from tuvl.analysis.signals import BUILT_IN_NODES, outcomes
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.node_code import code_of, imported_code
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT
from tuvl.values import canonical

ENGINE = "_"
"""Keys of the engine begin with it."""

_SENT: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "APICall": tuple(("http", part) for part in ("url", "method", "headers", "query", "json", "form", "body")),
    "MCP": (("mcp", "server"), ("mcp", "tool"), ("mcp", "arguments")),
    "ModelOp": tuple((part,) for part in ("model", "operation", "record_id", "payload", "filters", "include")),
    "Functional": (("runner",), ("params",), ("values",), ("message",), ("seconds",)),
    "Workflow": (("workflow",), ("input",)),
    "ForEach": (("items",), ("as",)),
}
"""Step kind → the fields that say what it sends, changes or asks for."""
_SHOWN: tuple[tuple[str, ...], ...] = (("human_feedback",), ("signal_from",))
_DECIDED: tuple[tuple[str, ...], ...] = (("condition",), ("match",), ("when",))
_BESIDE: Mapping[str, tuple[tuple[str, ...], ...]] = {"ModelOp": (("order_by",), ("limit",))}
"""What bears on the answer alone."""


Part: TypeAlias = Literal["does", "gives"]
"""What counts of a workflow that a step runs: what it does outside, and what it gives back."""


@dataclass(frozen=True)
class Producers:
    """The expressions of one state of a workflow; `inside` looks into the workflow that a step runs.

    Of what a step calls only what is `acting` counts; without it all that acts.
    """

    facts: WorkflowFacts
    inside: Callable[[StepView, Part], str]
    acting: frozenset[str] | None = None

    def sent(self, step: StepView) -> str:
        """What a step does outside: all it sends, with what it calls."""
        return canonical(dict(self._sent(step, frozenset())))

    def _sent(self, step: StepView, within: frozenset[str]) -> Iterator[tuple[str, Any]]:
        for path in _SENT.get(step.kind or "", ()):
            value = step.get(*path)
            if value not in (None, {}, []) and (path[-1], value) != ("method", "GET"):
                yield ".".join(path), value
        if step.kind == "Functional":
            yield "code", self.code(text(step.data.get("runner")) or "")
        elif step.kind == "Workflow":
            yield "does", self.inside(step, "does")
        for called in self._acting(step):
            if called.id not in within:
                yield f"calls {called.id}", dict(self._sent(called, within | {step.id, called.id}))

    def _acting(self, step: StepView) -> Iterator[StepView]:
        """Steps that a step calls, as far as these act: tools of an agent, the body of a list."""
        for called in called_by(step, self.facts):
            if step.kind == "ForEach" or self.counts(called):
                yield called

    def counts(self, step: StepView) -> bool:
        """Whether it counts what a step that others call does."""
        if self.acting is not None:
            return step.id in self.acting
        return self.facts.acts(step) or step.kind in ("Workflow", "ForEach")

    def made(self, step: StepView, key: str) -> str:
        """How a step makes a key, apart from the keys that it reads for that."""
        if key.startswith(ENGINE):
            return "engine"
        match step.kind:
            case "Functional" if step.data.get("runner") == "set":
                return canonical(mapping(step.data.get("values")).get(key))
            case "HumanInTheLoop":
                return canonical([step.get(*path) for path in _SHOWN])
            case "Workflow":
                return canonical([*(step.get(*path) for path in _SENT["Workflow"]), self.inside(step, "gives")])
            case "Agent":
                return canonical(self._answered(step, key))
            case "ForEach" if key in items_of(step):
                return canonical(step.data.get("items"))
            case "ForEach":
                body = self.facts.view.by_id.get(text(step.data.get("step")) or "")
                inner = self._each(body, key) if body is not None and body.kind != "ForEach" else {}
                return canonical([self.sent(step), inner])
            case _:
                response = mapping(step.data.get("response"))
                parts = [step.get(*path) for path in _BESIDE.get(step.kind or "", ())]
                return canonical([self.sent(step), _taken(response, key), parts])

    def _each(self, body: StepView, key: str) -> dict[str, Any]:
        """How the body of a list makes a key, and all that it writes, by the names under which the list collects it."""
        writes = exit_writes(body, self.facts.view, self.facts.index).on(DEFAULT)
        return {name: self.made(body, name) for name in sorted({key, *writes.sure, *writes.maybe})}

    def _answered(self, step: StepView, key: str) -> list[Any]:
        """Which part of a model's answer it is, or which tools may write it; what it is told counts as that."""
        outcome = mapping(step.agent.get("outcome"))
        parts = [name for name, target in mapping(outcome.get("map")).items() if target == key]
        tools = [self.made(use.step, key) for use in writing_tools(step, self.facts.view)]
        return [step.mode, outcome.get("format"), sorted(outcomes(step)), outcome.get("write") == key, parts, tools]

    def decided(self, step: StepView) -> str:
        """How a step decides, apart from the keys that it reads for that."""
        if step.kind == "Functional":
            return self.code(text(step.data.get("runner")) or "")
        return canonical([step.get(*path) for path in (*_DECIDED, *_SHOWN)])

    @cached_property
    def _codes(self) -> dict[str, tuple[str, str | None]]:
        return {}

    def code(self, runner: str) -> str:
        """The code of a node with all that it uses; empty for one that comes with tuvl, or is not there."""
        return self._code(runner)[0]

    def mentions(self, runner: str, key: str) -> bool:
        """Whether the code of a node says the name of a key, or may read any, as far as anybody can tell."""
        said = self._code(runner)[1]
        return said is None or key in said

    def _code(self, runner: str) -> tuple[str, str | None]:
        if runner not in self._codes:
            node = self.facts.index.nodes.declared.get(runner)
            if node is None or runner in BUILT_IN_NODES:
                self._codes[runner] = ("", None)
            else:
                source = self.facts.index.text_of(node.file) or ""
                code = code_of(source, runner)
                others = {name: each.plain for name, each in imported_code(self.facts.index, node).items()}
                own = [source] if code is None else [code.function, *code.used]
                said = [list(node.writes or ()), list(node.reads or ()), own, others]
                names = None if code is None or code.reads_any else "".join((*own, *others.values()))
                self._codes[runner] = (canonical(said), names)  # type: ignore[arg-type]
        return self._codes[runner]


def items_of(step: StepView) -> tuple[str, ...]:
    """The keys that are an item of a list while its body runs."""
    return (text(step.data.get("as")) or "item", "args")


def called_by(step: StepView, facts: WorkflowFacts) -> Iterator[StepView]:
    """Steps that a step calls as its body or its tools."""
    if step.kind == "ForEach":
        names = [text(step.data.get("step")) or ""]
    else:
        names = [ref for _, ref, _ in tool_entries(step)]
    for name in dict.fromkeys(names):
        called = facts.view.by_id.get(name)
        if called is not None:
            yield called


def _taken(response: Mapping[str, Any], key: str) -> list[Any]:
    """Which part of a reply a key is."""
    paths = [mapping(each).get("path") for each in items(response.get("extract")) if mapping(each).get("as") == key]
    return [response.get("output_key") == key, paths]
