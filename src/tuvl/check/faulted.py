"""Checks whose facts the compiler shares: they turn the faults that analysis found into findings."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tuvl.analysis.fault import Fault
from tuvl.check.finding import Finding
from tuvl.check.rule import Rule, Subject


class FaultRule(Rule):
    """A check whose errors are exactly what the compiler refuses."""

    def report(self, faults: Iterable[Fault], subject: Subject) -> Iterator[Finding]:
        """Make the findings of faults."""
        for fault in faults:
            found = self.finding(
                subject,
                fault.path,
                fault.message,
                hint=fault.hint,
                at_key=fault.at_key,
                replacement=fault.replacement,
            )
            yield replace(found, final=True) if fault.final else found
