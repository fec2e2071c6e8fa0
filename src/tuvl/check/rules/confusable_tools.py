"""TV413 confusable-tools."""

import re
from collections.abc import Iterator
from itertools import combinations

from tuvl.analysis.parameters import ToolUse, tool_uses
from tuvl.analysis.steps import StepView, mapping
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.values import dump_json

MOST_TOOLS = 20
NEARLY_SAME = 0.9
"""Part of the words that two descriptions must share to be nearly the same."""
LARGEST_PART = 10
"""The tools may take one tenth of the model's window."""
CHARACTERS_A_TOKEN = 4

_WORD = re.compile(r"\w+")
_POSSESSIVE = re.compile(r"['’]s\b")
_EMPTY_WORDS = frozenset({"a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "the", "this", "to", "with"})


class ConfusableTools(Rule):
    """Two tools have the same or nearly the same description; or the tools are too many, or too large.

    A model chooses by name and description. With two that say the same it chooses by chance; with more than 20 it
    chooses worse; and definitions above a tenth of the context window are paid for in every single request.
    """

    code = "TV413"
    name = "confusable-tools"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Compare the tools of the agent."""
        uses = tuple(tool_uses(step, subject.graph.workflow))
        for use, other in _look_alikes(uses):
            same = "the same" if use.description.split() == other.description.split() else "nearly the same"
            yield self.finding(
                subject,
                (*use.path, "ref"),
                f"tools {other.ref!r} and {use.ref!r} have {same} description",
                hint="say in each what it does that the other does not, and when to use which",
            )
        tools = (*step.path, "agent", "tools")
        if len(uses) > MOST_TOOLS:
            yield self.finding(
                subject,
                tools,
                f"step {step.id!r} has {len(uses)} tools; beyond {MOST_TOOLS} models choose worse",
                hint="split the work over several agents, or narrow the tools with `tool_surface`",
                at_key=True,
            )
        yield from self._too_large(step, uses, subject)

    def _too_large(self, step: StepView, uses: tuple[ToolUse, ...], subject: Subject) -> Iterator[Finding]:
        window = _window(step, subject)
        if window is None:
            return
        size = sum(len(use.ref) + len(use.description) + len(dump_json(use.parameters)) for use in uses)
        tokens = size // CHARACTERS_A_TOKEN
        if tokens * LARGEST_PART > window:
            yield self.finding(
                subject,
                (*step.path, "agent", "tools"),
                f"the tools of step {step.id!r} take about {tokens} tokens of each request; "
                f"a tenth of the model's window is {window // LARGEST_PART}",
                hint="shorten descriptions and schemas, or offer fewer tools",
                at_key=True,
            )


def _window(step: StepView, subject: Subject) -> int | None:
    name = step.agent.get("model") or mapping(subject.project.config.get("spec")).get("default_model")
    preset = subject.project.preset(name) if isinstance(name, str) and "/" not in name else None
    window = mapping(mapping(preset.data).get("spec")).get("context_window") if preset is not None else None
    return window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else None


def _look_alikes(uses: tuple[ToolUse, ...]) -> Iterator[tuple[ToolUse, ToolUse]]:
    """Each tool that looks like one before it, with the first such one."""
    words = [(use, _words(use.description)) for use in uses if use.description.strip()]
    if len(words) > 4 * MOST_TOOLS:  # far too many anyway: only equal ones, which needs no comparing in pairs
        first: dict[frozenset[str], ToolUse] = {}
        for use, said in words:
            if first.setdefault(said, use) is not use:
                yield use, first[said]
        return
    reported: set[str] = set()
    for (other, said), (use, also_said) in combinations(words, 2):
        if use.ref == other.ref or use.ref in reported or not said or not also_said:
            continue
        if len(said & also_said) >= NEARLY_SAME * len(said | also_said):
            reported.add(use.ref)
            yield use, other


def _words(description: str) -> frozenset[str]:
    said = _POSSESSIVE.sub("", description.lower())
    return frozenset(word for word in _WORD.findall(said) if word not in _EMPTY_WORDS)
