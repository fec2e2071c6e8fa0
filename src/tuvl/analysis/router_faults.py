"""Conditions of routers that can never be decided, as far as their own text tells."""

from collections.abc import Iterator

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import StepView, items, mapping
from tuvl.analysis.type_names import article, said
from tuvl.analysis.value_ranges import kind_of
from tuvl.templating.plain import is_template
from tuvl.templating.result import result_types

_ORDERED = ("gt", "gte", "lt", "lte")


def undecidable_conditions(step: StepView) -> Iterator[Fault]:
    """An `if` that gives no boolean whatever is in the context, and a value that the operator never compares with."""
    if step.kind != "Router":
        return
    for index, case in enumerate(items(step.data.get("when"))):
        test = mapping(case).get("if")
        types = result_types(test, lambda _: None) if isinstance(test, str) else None
        if types is not None and "boolean" not in types:
            hint = "compare something: `{{ key == 'value' }}`"
            yield Fault(
                (*step.path, "when", index, "if"),
                f"`if: {test}` of step {step.id!r} gives {said(types)}, never true or false",
                hint if is_template(str(test)) else f"an expression stands in braces: `{{{{ {test} }}}}`",
            )
    condition = mapping(step.data.get("condition"))
    operator, value = condition.get("operator"), condition.get("value")
    kind = kind_of(value)
    wanted = None
    if operator in _ORDERED and kind not in ("number", "string"):
        wanted = "a number or a text"
    elif operator == "in" and kind not in ("array", "object", "string"):
        wanted = "a list, a mapping or a text"
    if wanted is not None and "value" in condition:
        yield Fault(
            (*step.path, "condition", "value"),
            f"step {step.id!r} can never decide by {operator!r} and {article(kind)}",
            f"give {wanted} as `value`",
        )
