"""Which signals the cases of a router give, for all that is known of what they look at."""

from collections.abc import Iterator

from tuvl.analysis.expression_truth import ANYTHING, Reads, Results, results
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.spec.signals import DEFAULT

_TRUE: Results = frozenset({"true"})
_FALSE: Results = frozenset({"false"})


def signals_of_cases(step: StepView, reads: Reads) -> set[str]:
    """Signals that `when:` can give: up to the first case that is true whatever comes, or can only fail."""
    signals: set[str] = set()
    for signal, found in _cases(step, reads):
        if "true" in found:
            signals.add(signal)
        if "false" not in found:
            return signals
    return {*signals, DEFAULT}


def _cases(step: StepView, reads: Reads) -> Iterator[tuple[str, Results]]:
    for case in map(mapping, items(step.data.get("when"))):
        test = case.get("if")
        if isinstance(test, bool):
            found = _TRUE if test else _FALSE
        else:
            found = results(test, reads) if isinstance(test, str) else ANYTHING
        yield text(case.get("signal")) or DEFAULT, found
