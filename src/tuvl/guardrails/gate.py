"""The gates of one agent run: each text passes the guards of its site, in order, or ends the run."""

from collections.abc import Sequence

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.guardrails.guard import Guard, GuardServices, Objection, Post, Site
from tuvl.guardrails.guards.llm_judge import LlmJudge
from tuvl.guardrails.register import guard_for
from tuvl.plan.guards import GuardrailPlan, GuardrailSites
from tuvl.spec.signals import Reserved

VIOLATION = Reserved.GUARDRAIL_VIOLATION


@dataclass(frozen=True, slots=True)
class Posted:
    """A guard, and where it stands."""

    post: Post
    guard: Guard


@dataclass(slots=True)
class GuardedGates:
    """Looks at the user text, at each tool result in full, and at the final answer."""

    _input: tuple[Posted, ...]
    _tools: tuple[Posted, ...]
    _output: tuple[Posted, ...]
    _services: GuardServices

    @classmethod
    def of(cls, sites: GuardrailSites, services: GuardServices) -> "GuardedGates":
        """Make the gates of one agent run; raises `ConfigError` for a judge whose model cannot be made."""
        return cls(
            _posted(sites.input, "input", services),
            _posted(sites.tools, "tools", services),
            _posted(sites.output, "output", services),
            services,
        )

    async def input(self, text: str) -> str:
        """Look at the assembled user text, before anything is sent; judges without a price are refused first."""
        for posted in (*self._input, *self._tools, *self._output):
            if isinstance(posted.guard, LlmJudge):
                self._services.require_price(posted.guard.model)
        return await _pass(self._input, text)

    async def observation(self, text: str) -> str:
        """Look at the whole text of a tool result."""
        return await _pass(self._tools, text)

    async def output(self, text: str) -> str:
        """Look at the final answer, before it is read and anything is written."""
        return await _pass(self._output, text)


def _posted(plans: Sequence[GuardrailPlan], site: Site, services: GuardServices) -> tuple[Posted, ...]:
    found: list[Posted] = []
    for plan in plans:
        post = Post(artifact=plan.artifact, site=site)
        found += [Posted(post, guard_for(check, services, post)) for check in plan.checks]
    return tuple(found)


async def _pass(guards: Sequence[Posted], text: str) -> str:
    for posted in guards:
        try:
            text = await posted.guard.look(text)
        except Objection as objection:
            raise _violation(posted, objection) from objection
    return text


def _violation(posted: Posted, objection: Objection) -> StepError:
    check, post = posted.guard.check, posted.post
    return StepError(
        f"guardrail {post.artifact!r} refused the {_WORDS[post.site]}: check {check!r}, {objection}",
        type=VIOLATION.value,
        signal=VIOLATION.value,
        detail={"artifact": post.artifact, "check": check, "site": post.site},
    )


_WORDS = {"input": "input", "tools": "result of a tool", "output": "answer"}
