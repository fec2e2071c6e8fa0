"""APICall: one HTTP request, made again only where that is harmless, and its reply as context keys."""

from tuvl.errors import StepError
from tuvl.http.fault import HttpFault
from tuvl.http.message import HttpReply, HttpRequest
from tuvl.http.retry_after import parse_retry_after
from tuvl.plan.model import ApiCallPlan
from tuvl.redaction import redact
from tuvl.steps.api_reply import delta_of, expected, read_value
from tuvl.steps.api_request import build_request, may_repeat, policy_of
from tuvl.steps.base import StepFailure, StepResult, StepScope
from tuvl.values import JsonObject, dump_json, shorten, truncate

LONGEST_WAIT_S = 30.0
"""Cap of one wait between attempts, whatever the server asks for."""

STATUS_KEY = "_api_status_code"

_ERROR_BODY_CHARS = 2000


async def run_api_call(scope: StepScope) -> StepResult:
    """Run one APICall; raises `StepError` or `TemplateError` when there is no reply, and returns what replied."""
    plan = scope.step.action
    assert isinstance(plan, ApiCallPlan)
    policy = policy_of(plan)
    request = build_request(plan, scope, policy)
    attempts = plan.spec.http.retry.attempts if may_repeat(plan) else 1
    for attempt in range(1, attempts + 1):
        last = attempt == attempts
        floor = 0.0
        try:
            reply = await scope.services.http.send(
                request,
                policy=policy,
                max_bytes=plan.spec.http.max_response_bytes,
                timeout_s=plan.spec.http.timeout,
                follow_redirects=plan.spec.http.follow_redirects,
            )
        except HttpFault as fault:
            if last or not _worth_another(plan, fault.kind):
                raise _no_reply(plan, request, fault) from fault
        else:
            if last or expected(reply.status, plan.spec.response.expect_status) or not _worth_another(plan, reply):
                return _result(plan, reply)
            now = scope.services.clock.now()
            floor = parse_retry_after(reply.headers.get("retry-after"), now=now) or 0.0
        await scope.services.clock.sleep(_wait_s(plan, attempt, floor))
    raise AssertionError("an API call has at least one attempt")


def _worth_another(plan: ApiCallPlan, outcome: HttpReply | str) -> bool:
    wanted = plan.spec.http.retry.on
    if isinstance(outcome, HttpReply):
        return expected(outcome.status, wanted)
    # A connection that was lost is as much a matter of connecting as one that never was.
    kind = "connect" if outcome == "lost" else outcome
    return kind in wanted


def _wait_s(plan: ApiCallPlan, attempt: int, floor: float) -> float:
    # The exponent is bounded: a thousand attempts must not overflow a float.
    backoff = plan.spec.http.retry.backoff * 2.0 ** min(attempt - 1, 30)
    return min(max(backoff, floor), LONGEST_WAIT_S)


def _no_reply(plan: ApiCallPlan, request: HttpRequest, fault: HttpFault) -> StepError:
    """Say what happened; whether the server acted is unknown when a request that changes things got no answer."""
    message = f"{_label(plan)}: {fault.message}"
    detail: JsonObject = {}
    unknown = fault.sent and fault.kind in {"timeout", "lost"} and request.method not in {"GET", "HEAD", "OPTIONS"}
    if unknown:
        message += "; the server may have acted on it, so the effect is unknown"
        detail["effect"] = "unknown"
    kind = {"connect": "connection", "lost": "connection"}.get(fault.kind, fault.kind)
    return StepError(redact(message), type=kind, detail=detail)


def _result(plan: ApiCallPlan, reply: HttpReply) -> StepResult:
    keys = {STATUS_KEY: reply.status}
    value = read_value(reply)
    if not expected(reply.status, plan.spec.response.expect_status):
        text = value if isinstance(value, str) else "" if value is None else dump_json(value)
        detail: JsonObject = {"status": reply.status, "body": truncate(redact(text), _ERROR_BODY_CHARS)[0]}
        reason = f" {shorten(reply.reason, 60)}" if reply.reason else ""
        message = redact(f"{_label(plan)} answered {reply.status}{reason}")
        failure = StepFailure(type="http_status", message=message, detail=detail)
        return StepResult(signal="error", engine_keys=keys, failure=failure)
    try:
        return StepResult(delta=delta_of(value, plan.spec.response), engine_keys=keys)
    except StepError as error:
        failure = StepFailure(type=error.type, message=f"{_label(plan)}: {error.message}", cause=error)
        return StepResult(signal="error", engine_keys=keys, failure=failure)


def _label(plan: ApiCallPlan) -> str:
    """Name the call as the author wrote it: what was put into the URL stays out of messages."""
    return f"{plan.spec.http.method} {plan.url.label}"
