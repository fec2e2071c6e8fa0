"""Builders for tests of APICall: one step against one server, and the scope it runs in."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from tests.support.clock import SkippingClock
from tests.support.http_server import HttpServer
from tuvl.http.client import HttpClient
from tuvl.http.url import compile_url
from tuvl.plan.model import ApiCallPlan, StepPlan
from tuvl.spec.kinds import ApiCallStep
from tuvl.steps.api_call import run_api_call
from tuvl.steps.base import StepResult, StepScope
from tuvl.templating.render import compile_template, compile_tree
from tuvl.values import to_json


def plan_of(step: dict, **policy) -> ApiCallPlan:
    spec = ApiCallStep.model_validate({"id": "fetch", "kind": "APICall", **step})
    http = spec.http
    bodies = {"json": http.json_, "form": http.form, "body": http.body}
    kind = next((name for name, value in bodies.items() if value is not None), None)
    return ApiCallPlan(
        spec=spec,
        url=compile_url(http.url, where="step 'fetch' field 'http.url'"),
        headers=compile_tree(dict(http.headers), where="headers"),
        query=compile_tree(to_json(http.query), where="query"),
        body=None if kind is None else compile_tree(to_json(bodies[kind]), where="body"),
        body_kind=kind,
        idempotency_key=None if spec.idempotency_key is None else compile_template(spec.idempotency_key, where="key"),
        **policy,
    )


@dataclass
class Api:
    """A server, a client and a clock; `call` runs one step."""

    server: HttpServer
    http: HttpClient
    clock: SkippingClock = field(default_factory=SkippingClock)
    environ: dict = field(default_factory=dict)

    async def call(
        self, path="/orders", *, values=None, response=None, policy=None, idempotency_key=None, **http
    ) -> StepResult:
        """`path` may be a whole URL; the server's own address is allowed unless a policy is given."""
        url = path if "//" in path else f"{self.server.origin}{path}"
        step = {"http": {"url": url, **http}, "response": response or {"output_key": "got"}}
        if idempotency_key is not None:
            step["idempotency_key"] = idempotency_key
        action = plan_of(step, **(policy or {"allow_hosts": ("127.0.0.1",)}))
        plan = StepPlan(id="fetch", kind="APICall", action=action, routes={}, next=None, effects="read")
        services = SimpleNamespace(http=self.http, clock=self.clock, environ=self.environ)
        return await run_api_call(StepScope(step=plan, services=services, values=values or {}))
