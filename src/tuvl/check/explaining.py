"""The page of a check, made from its class."""

import inspect

from tuvl.check.crash import RULE_CRASHED
from tuvl.check.finding import Severity
from tuvl.check.rule import Phase, Rule
from tuvl.check.rules import (
    AGENT,
    ALL_RULES,
    BOUNDS,
    DATA_FLOW,
    FLOW,
    PRODUCTION,
    REFERENCES,
    SECURITY,
    SHAPE,
    SOURCE,
)
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.suggest import did_you_mean

FAMILIES: tuple[tuple[str, str, tuple[Rule, ...]], ...] = (
    ("Source", "the file as text", SOURCE),
    ("Shape", "documents against the language", SHAPE),
    ("References", "names that must mean something", REFERENCES),
    ("Flow", "how steps lead to each other", FLOW),
    ("Agent", "what an agent is told, may do and is bound by", AGENT),
    ("Data flow", "which keys are there when a step reads them", DATA_FLOW),
    ("Bounds", "what holds a run, and what it may cost at most", BOUNDS),
    ("Security", "what strangers' text and secrets can reach", SECURITY),
    ("Production", "what may mean something else tomorrow", PRODUCTION),
    ("The gate itself", "when a check fails", (RULE_CRASHED,)),
)
"""Title, what it is about, and rules of each family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What is said about one check: what it finds, why that hurts."""

    code: str
    name: str
    severity: Severity
    phase: Phase
    paragraphs: tuple[str, ...]


def _page(rule: Rule) -> Page:
    text = inspect.cleandoc(type(rule).__doc__ or "")
    paragraphs = tuple(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return Page(code=rule.code, name=rule.name, severity=rule.severity, phase=rule.phase, paragraphs=paragraphs)


DOCUMENTED: tuple[Page, ...] = tuple(_page(rule) for rule in (*ALL_RULES, RULE_CRASHED))
"""The pages of all checks, in the order of their codes."""


def page_of(word: str) -> Page:
    """Return the page of a check, by code or by name, in any case; raises `UsageError` when there is none."""
    for page in DOCUMENTED:
        if word.upper() == page.code or word.lower() == page.name:
            return page
    names = [page.code for page in DOCUMENTED] if word.upper().startswith("TV") else [p.name for p in DOCUMENTED]
    hint = did_you_mean(word.upper() if word.upper().startswith("TV") else word, names)
    raise UsageError(f"there is no check {word!r}; {hint or '`tuvl explain` lists them all'}")
