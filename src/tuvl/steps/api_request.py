"""An APICall's templates and settings → the one request that is sent."""

import base64
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from tuvl.errors import StepError
from tuvl.http.address import AddressPolicy
from tuvl.http.message import CREDENTIAL_HEADERS, HttpRequest
from tuvl.plan.model import ApiCallPlan
from tuvl.redaction import register_secret
from tuvl.spec.kinds import HttpAuth
from tuvl.spec.variables import expand
from tuvl.steps.base import StepScope
from tuvl.values import JsonObject, JsonValue, dump_json

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})

_KEY = "idempotency-key"

_CONTENT_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "body": "text/plain; charset=utf-8",
}


def policy_of(plan: ApiCallPlan) -> AddressPolicy:
    """Return the project's rules on where calls may go."""
    return AddressPolicy(allow_hosts=plan.allow_hosts, deny_private=plan.deny_private, only_hosts=plan.only_hosts)


def build_request(plan: ApiCallPlan, scope: StepScope, policy: AddressPolicy) -> HttpRequest:
    """Render everything; raises `TemplateError`, `ConfigError` or `StepError`, and then nothing was sent."""
    values = scope.values
    http = plan.spec.http
    url = _with_query(plan.url.render(values, covers=policy.covers), plan.query.render(values))
    headers = _headers(plan.headers.render(values))
    body = _body(plan, values)
    if body is not None and plan.body_kind is not None:
        _default(headers, "content-type", _CONTENT_TYPES[plan.body_kind])
    if plan.idempotency_key is not None:
        _default(headers, _KEY, plan.idempotency_key.render_text(values).strip())
    credentials = _credentials(http.auth, scope) if http.auth is not None else {}
    for name, value in credentials.items():
        _replace(headers, name, value)
    kept_back = CREDENTIAL_HEADERS.union(map(str.lower, credentials))
    return HttpRequest(method=http.method, url=url, headers=headers, body=body, credentials=kept_back)


def asked_for(plan: ApiCallPlan, values: Mapping[str, JsonValue]) -> JsonObject:
    """Return what a call asks of whom, without its credentials; raises as `build_request` does."""
    url = _with_query(plan.url.render(values, covers=policy_of(plan).covers), plan.query.render(values))
    headers = {name.lower(): value for name, value in _headers(plan.headers.render(values)).items()}
    if plan.idempotency_key is not None:
        _default(headers, _KEY, plan.idempotency_key.render_text(values).strip())
    body = _body(plan, values)
    return {
        "method": plan.spec.http.method,
        "url": url,
        "body": None if body is None else body.decode("utf-8", "surrogatepass"),
        "key": headers.get(_KEY),
    }


def may_repeat(plan: ApiCallPlan) -> bool:
    """Whether sending the request twice does no more than sending it once."""
    return plan.spec.http.method in IDEMPOTENT or plan.idempotency_key is not None


def _with_query(url: str, rendered: JsonValue) -> str:
    if not isinstance(rendered, dict) or not rendered:
        return url
    pairs: list[str] = []
    for name, value in rendered.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:  # null is off
                pairs.append(f"{quote(name, safe='')}={quote(_text(item, f'query {name!r}'), safe='')}")
    if not pairs:
        return url
    base, hash_sign, fragment = url.partition("#")
    joint = "" if base.endswith(("?", "&")) else "&" if "?" in base else "?"
    return f"{base}{joint}{'&'.join(pairs)}{hash_sign}{fragment}"


def _headers(rendered: JsonValue) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in (rendered if isinstance(rendered, dict) else {}).items():
        if value is not None:
            headers[name] = _text(value, f"header {name!r}").strip(" \t")
    return headers


def _body(plan: ApiCallPlan, values: Mapping[str, JsonValue]) -> bytes | None:
    if plan.body is None or plan.body_kind is None:
        return None
    rendered = plan.body.render(values)
    if plan.body_kind == "json":
        return dump_json(rendered).encode()
    if plan.body_kind == "form":
        fields = rendered if isinstance(rendered, dict) else {}
        pairs = {name: _text(value, f"form {name!r}") for name, value in fields.items() if value is not None}
        return urlencode(pairs).encode()
    return (rendered if isinstance(rendered, str) else dump_json(rendered)).encode()


def _text(value: JsonValue, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        kind = "a list" if isinstance(value, list) else "a mapping"
        raise StepError(f"{where} is {kind}; it takes text, a number or a boolean", type="invalid_request")
    return dump_json(value)


def _default(headers: dict[str, str], name: str, value: str) -> None:
    if not any(given.lower() == name for given in headers):
        headers[name] = value


def _replace(headers: dict[str, str], name: str, value: str) -> None:
    for given in [given for given in headers if given.lower() == name.lower()]:
        del headers[given]
    headers[name] = value


def _credentials(auth: HttpAuth, scope: StepScope) -> Mapping[str, str]:
    if auth.bearer is not None:
        return {"authorization": f"Bearer {_secret(auth.bearer, 'http.auth.bearer', scope)}"}
    if auth.basic is not None:
        user = _expanded(auth.basic.username, "http.auth.basic.username", scope)
        pair = f"{user}:{_secret(auth.basic.password, 'http.auth.basic.password', scope)}"
        token = base64.b64encode(pair.encode()).decode()
        register_secret(token)
        return {"authorization": f"Basic {token}"}
    if auth.header is not None:
        return {auth.header.name: _secret(auth.header.value, "http.auth.header.value", scope)}
    return {}


def _secret(text: str, field: str, scope: StepScope) -> str:
    value = _expanded(text, field, scope)
    register_secret(value)
    return value


def _expanded(text: str, field: str, scope: StepScope) -> str:
    where = f"step {scope.step.id!r} field {field!r}"
    value = expand(text, environ=scope.services.environ, where=where)
    return value.strip() if isinstance(value, str) else str(value)
