"""What is wrong with an `Agent` step beyond the shape of its fields."""

import re
from collections.abc import Iterator, Mapping

from tuvl.analysis.fault import Fault
from tuvl.analysis.references import ARTIFACT_SCHEME, tool_entries
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.spec.signals import RESERVED_EXITS

GUARDRAIL_SITES = ("input", "tools", "output")

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def undescribed_tools(step: StepView, steps: Mapping[str, StepView]) -> Iterator[Fault]:
    """Tools of which the model would know nothing but the name."""
    for index, ref, entry in tool_entries(step):
        target = steps.get(ref)
        if target is None or _said(entry.get("description")) or _said(target.data.get("description")):
            continue
        yield Fault(
            (*step.path, "agent", "tools", index, "ref"),
            f"tool {ref!r} of step {step.id!r} has no description",
            f"add `description:` to step {ref!r}, or to this entry: what it does, and when to use it",
        )


def _said(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def refused_tool_names(step: StepView, steps: Mapping[str, StepView]) -> Iterator[Fault]:
    """Tools under names that model providers refuse: other characters, too long, or one name twice."""
    seen: set[str] = set()
    for index, ref, _ in tool_entries(step):
        path = (*step.path, "agent", "tools", index, "ref")
        if ref in seen:
            yield Fault(
                path,
                f"step {step.id!r} offers the tool {_shown(ref)} twice; providers refuse two tools of one name",
                "remove one of the entries",
            )
        elif ref in steps and _TOOL_NAME.fullmatch(ref) is None:
            why = f"is {len(ref)} characters long" if len(ref) > 64 else "holds other characters"
            yield Fault(
                path,
                f"tool name {_shown(ref)} of step {step.id!r} {why}; providers take 1 to 64 of `a-z A-Z 0-9 _ -`",
                "give the step an id of these characters",
            )
        seen.add(ref)


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")


def bad_outcomes(step: StepView) -> Iterator[Fault]:
    """Values of `outcome.enum` that are reserved, repeated, empty, or no text; fields that `outcome.map` lets meet."""
    seen: set[str] = set()
    for index, value in enumerate(items(mapping(step.agent.get("outcome")).get("enum"))):
        path = (*step.path, "agent", "outcome", "enum", index)
        if not isinstance(value, str) or not value:
            shown = "an empty text" if value == "" else f"{value!r}, which is not text"
            yield Fault(path, f"outcome number {index + 1} of step {step.id!r} is {shown}", "write a name in quotes")
        elif value in RESERVED_EXITS:
            yield Fault(
                path,
                f"outcome {value!r} of step {step.id!r} is an exit that the engine itself takes",
                f"choose another name; `routes:` may map {value!r} without it being declared",
            )
        elif value in seen:
            yield Fault(path, f"outcome {value!r} of step {step.id!r} is declared twice", "remove one of them")
        else:
            seen.add(value)
    yield from _meeting_fields(step)


def _meeting_fields(step: StepView) -> Iterator[Fault]:
    """Fields of the answer that `outcome.map` sends to one context key: one of them would be lost."""
    known: dict[str, str] = {}
    for field, key in mapping(mapping(step.agent.get("outcome")).get("map")).items():
        if not isinstance(key, str):
            continue
        if key in known:
            yield Fault(
                (*step.path, "agent", "outcome", "map", field),
                f"the answer's fields {known[key]!r} and {field!r} of step {step.id!r} both go to context key {key!r}",
                "give each field a key of its own",
            )
        known.setdefault(key, field)


def bad_guardrails(step: StepView) -> Iterator[Fault]:
    """Guardrails at a site that is none, and entries that name no artifact."""
    guardrails = step.agent.get("guardrails")
    for site, entries in mapping(guardrails).items():
        path = (*step.path, "agent", "guardrails", site)
        if site not in GUARDRAIL_SITES:
            yield Fault(
                path,
                f"guardrail site {site!r} of step {step.id!r} is none of {', '.join(GUARDRAIL_SITES)}",
                "move the entries to one of these sites",
                at_key=True,
            )
        elif site == "tools" and step.mode == "completion":
            yield Fault(
                path,
                f"step {step.id!r} has guardrails on tools, but a completion calls none",
                "remove `tools:`, or use `mode: autonomous`",
                at_key=True,
            )
        if not isinstance(entries, list):
            yield Fault(
                path,
                f"the guardrails at {site!r} of step {step.id!r} are no list",
                "write a list: `[artifact://<name>@<version>]`",
            )
        for index, entry in enumerate(items(entries)):
            if text(entry) is None or not entry.startswith(ARTIFACT_SCHEME):
                yield Fault(
                    (*path, index),
                    f"guardrail number {index + 1} at {site!r} of step {step.id!r} is no artifact reference",
                    "write `artifact://<name>@<version>` of a `type: guardrail` artifact",
                )
