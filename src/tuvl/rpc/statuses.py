"""What a failed call is answered with: the problems of the server in gRPC's terms, in one table."""

import logging
from collections.abc import Mapping

from grpc import StatusCode

from tuvl.dataclass import dataclass
from tuvl.errors import TuvlError
from tuvl.redaction import redact
from tuvl.server.problems import Problem, problem_of

CODES: Mapping[int, StatusCode] = {
    400: StatusCode.INVALID_ARGUMENT,
    401: StatusCode.UNAUTHENTICATED,
    403: StatusCode.PERMISSION_DENIED,
    404: StatusCode.NOT_FOUND,
    408: StatusCode.DEADLINE_EXCEEDED,
    409: StatusCode.FAILED_PRECONDITION,
    413: StatusCode.RESOURCE_EXHAUSTED,
    422: StatusCode.INVALID_ARGUMENT,
    429: StatusCode.RESOURCE_EXHAUSTED,
    500: StatusCode.INTERNAL,
    503: StatusCode.UNAVAILABLE,
}
"""Status of a problem over HTTP → code over gRPC. An `InputError` is the problem 422, a `UsageError` 400."""

KIND = "tuvl-problem"
"""Name in the trailing metadata under which programs find the kind of a problem."""

RETRY_AFTER = "retry-after"
"""Name in the trailing metadata for the seconds after which another attempt may help."""

_log = logging.getLogger("tuvl.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The end of a call that failed."""

    code: StatusCode
    details: str
    trailing: tuple[tuple[str, str], ...]


def refusal_of(error: Exception) -> Refusal:
    """Return what is said of an error; of one that nobody raised on purpose, nothing but that."""
    match error:
        case Problem():
            problem = error
        case TuvlError():
            problem = problem_of(error)
        case _:
            _log.error("a call failed: %s", redact(f"{type(error).__name__}: {error}"))
            problem = Problem(500, "internal", "the server made a mistake; its log says which")
    trailing = [(KIND, problem.kind)]
    after = (problem.headers or {}).get("Retry-After")
    if after is not None:
        trailing.append((RETRY_AFTER, after))
    code = CODES.get(problem.status_code, StatusCode.UNKNOWN)
    return Refusal(code=code, details=redact(_words(problem)), trailing=tuple(trailing))


def _words(problem: Problem) -> str:
    errors = problem.more.get("errors")
    found = errors if isinstance(errors, list) else []
    told = [f"{each['at']}: {each['message']}" for each in found if isinstance(each, dict)]
    return ": ".join([str(problem.detail), *(["; ".join(told)] if told else [])])
