"""The worst case of a workflow as one JSON document; text and markdown are made from it, so that all three agree."""

from collections.abc import Mapping, Sequence

from tuvl.analysis.amount import Amount
from tuvl.analysis.envelope import AgentWorst, Envelope, Worst
from tuvl.analysis.spend import Spend
from tuvl.dataclass import dataclass
from tuvl.values import JsonObject, JsonValue

FIGURES = ("model_calls", "tool_calls", "input_tokens", "output_tokens", "total_tokens", "cost_usd", "seconds")
"""Keys of a figure, in the order in which they are shown."""

_GATED = {"max_cost_usd": "cost_usd", "max_tokens": "total_tokens", "max_seconds": "seconds"}


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound that the worst case must keep to: `--max-cost-usd` and its kin."""

    document: JsonObject
    passed: bool


def bounds_document(found: Envelope, gates: Sequence[Gate], *, file: str, assumptions: Sequence[str]) -> JsonObject:
    """Return the document."""
    pairs = zip(found.proved.agents, found.expected.agents, strict=True)
    return {
        "workflow": found.workflow,
        "file": file,
        "proved": _of_run(found.proved),
        "expected": _of_run(found.expected),
        "agents": [_of_agent(proved, expected) for proved, expected in pairs],
        "assumptions": list(assumptions),
        "gates": [gate.document for gate in gates],
        "passed": all(gate.passed for gate in gates),
    }


def gates_of(found: Envelope, limits: Mapping[str, float | None]) -> tuple[Gate, ...]:
    """Hold the proved worst case against the limits that are given."""
    gates = []
    for name, limit in limits.items():
        if limit is None:
            continue
        figure = _GATED[name]
        proved, expected = _amount(found.proved, figure), _amount(found.expected, figure)
        passed = not proved.exceeds(limit)
        document: JsonObject = {
            "gate": name,
            "limit": limit,
            "figure": figure,
            "proved": _shown(proved, figure),
            "expected": _shown(expected, figure),
            "passed": passed,
        }
        gates.append(Gate(document, passed))
    return tuple(gates)


def failed_gates(gates: Sequence[Gate]) -> tuple[Gate, ...]:
    """Those that are not shown to hold."""
    return tuple(gate for gate in gates if not gate.passed)


def _amount(worst: Worst, figure: str) -> Amount:
    return worst.seconds if figure == "seconds" else _field(worst.spend, figure)


def _field(spend: Spend, figure: str) -> Amount:
    amounts = {
        "model_calls": spend.model_calls,
        "tool_calls": spend.tool_calls,
        "input_tokens": spend.input_tokens,
        "output_tokens": spend.output_tokens,
        "total_tokens": spend.total_tokens,
        "cost_usd": spend.cost_usd,
    }
    return amounts[figure]


def _of_run(worst: Worst) -> JsonObject:
    return {figure: _shown(_amount(worst, figure), figure) for figure in FIGURES}


def _of_agent(proved: AgentWorst, expected: AgentWorst) -> JsonObject:
    return {
        "step": proved.place,
        "mode": proved.mode,
        "model": proved.model,
        "times": proved.times,
        "proved": _of_one(proved),
        "expected": _of_one(expected),
    }


def _of_one(agent: AgentWorst) -> JsonObject:
    amounts = {figure: _field(agent.spend, figure) for figure in FIGURES[:-1]} | {"seconds": agent.seconds}
    return {figure: _shown(amount, figure) for figure, amount in amounts.items()}


def _shown(amount: Amount, figure: str) -> JsonObject:
    value: JsonValue = None
    if amount.value is not None:
        value = round(amount.value, 6) if figure in ("cost_usd", "seconds") else int(amount.value)
    return {
        "state": amount.state,
        "value": value,
        "bound_by": list(amount.by) if value else [],
        "needs": list(amount.needs),
        "unknown": list(amount.lacks),
    }
