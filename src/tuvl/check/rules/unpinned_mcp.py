"""TV805 unpinned-mcp."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuvl.analysis.server_packages import unpinned_packages
from tuvl.analysis.steps import mapping
from tuvl.artifacts.reference import SCHEME
from tuvl.check.finding import Finding, Severity
from tuvl.check.shipment import Shipment, ShipRule

if TYPE_CHECKING:
    from tuvl.locking.tools import UsedTool


class UnpinnedMcp(ShipRule):
    """A workflow calls a tool of an MCP server that may be another one tomorrow.

    Its schema is not in `tuvl.lock`, or its server is fetched in whatever version is newest when it is started.

    A model is told of a tool what its server says of it, and does what it is told. A server that changes overnight
    changes the workflow, with no line of the project touched, and whoever publishes its package decides what runs.
    """

    code = "TV805"
    name = "unpinned-mcp"
    severity = Severity.WARNING

    def visit_shipment(self, shipment: Shipment) -> Iterator[Finding]:
        """Look at the servers that the workflows call."""
        from tuvl.locking.lock import Section  # see `Shipment.of`
        from tuvl.locking.tools import tools_of

        used = [tool for document in shipment.workflows for tool in tools_of(document, shipment.project)]
        if shipment.lock is not None:
            locked = shipment.lock.section(Section.TOOLS)
            yield from (self._not_locked(tool) for tool in used if tool.key not in locked)
        for server in dict.fromkeys(tool.server for tool in used):
            yield from self._fetched(server, shipment)

    def _not_locked(self, tool: "UsedTool") -> Finding:
        from tuvl.locking.lock import LOCK_NAME

        return self.finding(
            tool.document,
            tool.path,
            f"tool {tool.tool!r} of server {tool.server!r} is not in {LOCK_NAME}, so it may change unseen",
            hint="`tuvl lock` asks the server for it",
        )

    def _fetched(self, server: str, shipment: Shipment) -> Iterator[Finding]:
        artifact = shipment.project.resolve(f"{SCHEME}{server}")
        if artifact is not None:
            for fault in unpinned_packages(mapping(artifact.document.data)):
                yield self.finding(artifact.document, fault.path, fault.message, hint=fault.hint)
