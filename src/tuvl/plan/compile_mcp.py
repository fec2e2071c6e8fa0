"""MCP steps → `McpPlan`: the server's artifact resolved, nothing of the environment read."""

from typing import NoReturn

from tuvl.artifacts.reference import SCHEME
from tuvl.errors import ConfigError
from tuvl.http.address import AddressPolicy
from tuvl.mcp.endpoint import McpServer
from tuvl.plan.model import McpPlan
from tuvl.plan.project import PlanProject
from tuvl.project.index import ProjectIndex
from tuvl.spec.artifact import RemoteServer, StdioServer
from tuvl.spec.kinds import McpStep
from tuvl.templating.render import compile_tree


def mcp_server(reference: str, project: PlanProject, *, where: str) -> McpServer:
    """Return the server that an artifact describes, under the project's address policy; raises `ConfigError`."""
    name, spec = project.structured(reference, site="mcp.server", where=where)
    if not isinstance(spec, StdioServer | RemoteServer):
        raise ConfigError(f"{where}: {reference!r} does not say how a server is reached")
    settings = project.settings
    return McpServer(
        reference=f"{SCHEME}{name}",
        spec=spec,
        folder=str(project.index.root),
        policy=AddressPolicy(
            allow_hosts=settings.http.allow_hosts,
            deny_private=settings.http.deny_private,
            only_hosts=settings.policy.allow_hosts,
        ),
    )


def server_in(index: ProjectIndex, reference: str) -> McpServer:
    """Return a server of a project, for whoever asks it something outside of a run; raises `ConfigError`."""
    return mcp_server(reference, PlanProject(index, {}, _no_workflow), where=reference)


def _no_workflow(name: str) -> NoReturn:
    raise ConfigError(f"workflow {name!r} is not compiled here")


def compile_mcp(step: McpStep, project: PlanProject) -> McpPlan:
    """Compile a call to a server's tool; raises `ConfigError` or `TemplateError`."""
    return McpPlan(
        server=mcp_server(step.mcp.server, project, where=f"step {step.id!r} field 'mcp.server'"),
        tool=step.mcp.tool,
        timeout_s=step.mcp.timeout,
        arguments=compile_tree(dict(step.mcp.arguments), where=f"step {step.id!r} field 'mcp.arguments'"),
        response=step.response,
    )
