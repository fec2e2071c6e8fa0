"""TV804 scripted-model."""

from collections.abc import Iterator

from tuvl.analysis.scripted import scripted_models
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Subject
from tuvl.check.shipment import Shipment, ShipRule


class ScriptedModel(ShipRule):
    """A workflow that is shipped calls a scripted model.

    A script gives the replies that were written for a test, whatever it is asked, and fails when they run out. Behind
    an address that customers use, that looks like an answer and is none.
    """

    code = "TV804"
    name = "scripted-model"
    severity = Severity.WARNING

    def visit_shipment(self, shipment: Shipment) -> Iterator[Finding]:
        """Look at the models of each workflow."""
        for document in shipment.workflows:
            subject = Subject(document, shipment.project)
            if subject.workflow is None:
                continue
            for fault in scripted_models(subject.workflow, shipment.project):
                yield self.finding(subject, fault.path, fault.message, hint=fault.hint)
