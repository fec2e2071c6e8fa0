"""MCP steps → `McpPlan`: the server's artifact resolved, nothing of the environment read."""

from tuvl.artifacts.reference import SCHEME
from tuvl.errors import ConfigError
from tuvl.http.address import AddressPolicy
from tuvl.mcp.endpoint import McpServer
from tuvl.plan.model import McpPlan
from tuvl.plan.project import PlanProject
from tuvl.spec.artifact import RemoteServer, StdioServer
from tuvl.spec.kinds import McpStep
from tuvl.templating.render import compile_tree


def compile_mcp(step: McpStep, project: PlanProject) -> McpPlan:
    """Compile a call to a server's tool; raises `ConfigError` or `TemplateError`."""
    where = f"step {step.id!r} field 'mcp.server'"
    name, spec = project.structured(step.mcp.server, site="mcp.server", where=where)
    if not isinstance(spec, StdioServer | RemoteServer):
        raise ConfigError(f"{where}: {step.mcp.server!r} does not say how a server is reached")
    settings = project.settings
    return McpPlan(
        server=McpServer(
            reference=f"{SCHEME}{name}",
            spec=spec,
            folder=str(project.index.root),
            policy=AddressPolicy(
                allow_hosts=settings.http.allow_hosts,
                deny_private=settings.http.deny_private,
                only_hosts=settings.policy.allow_hosts,
            ),
        ),
        tool=step.mcp.tool,
        timeout_s=step.mcp.timeout,
        arguments=compile_tree(dict(step.mcp.arguments), where=f"step {step.id!r} field 'mcp.arguments'"),
        response=step.response,
    )
