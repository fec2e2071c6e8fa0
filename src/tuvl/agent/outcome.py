"""`OutcomeContract`: an accepted answer becomes exactly one declared exit, anything else is a `BadAnswer`."""

from tuvl.agent.answer import UnreadableAnswerError, read_object
from tuvl.agent.exits import Exit
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.plan.model import OutcomePlan
from tuvl.spec.signals import DEFAULT
from tuvl.values import JsonObject, JsonValue, shorten

RECEIVED_MAX_CHARS = 500
"""How much of a refused answer is kept in `_last_error_detail`."""


class BadAnswer(StepError):
    """An answer outside the contract; the model may be asked again, `answer_retries` times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeContract:
    """What an agent may answer, and where the answer goes."""

    plan: OutcomePlan

    def finalize_autonomous(self, text: str) -> Exit:
        """Read the final answer of the tool loop; raises `BadAnswer`."""
        if not text.strip():
            raise BadAnswer("the model ended with an empty reply", type="empty_response")
        if not self.plan.enum:
            result = self._free_result(text)
            return Exit(signal=DEFAULT, writes={self.plan.write: self._checked(result, text)})
        payload = self._object(text)
        outcome = self._declared(payload, text)
        return Exit(signal=outcome, writes={self.plan.write: self._checked(_result_of(payload), text)})

    def finalize_completion(self, text: str) -> Exit:
        """Read the reply of a single call; raises `BadAnswer`."""
        if not text.strip():
            raise BadAnswer("the model ended with an empty reply", type="empty_response")
        if self.plan.format == "text" and not self.plan.enum:
            return Exit(signal=DEFAULT, writes={self.plan.write: self._checked(text.strip(), text)})
        payload = self._object(text, type="parse_error", signal="parse_error")
        signal = self._declared(payload, text) if self.plan.enum else DEFAULT
        self._checked(payload, text)
        return Exit(signal=signal, writes=self._merged(payload, text))

    def _merged(self, payload: JsonObject, text: str) -> dict[str, JsonValue]:
        given = {key: value for key, value in payload.items() if key != "outcome"}
        fields = {self.plan.map.get(key, key): value for key, value in given.items()}
        if len(fields) < len(given):
            message = "two fields of the answer go to one context key, by their names and `outcome.map`"
            raise self._bad(message, text, type="parse_error", signal="parse_error")
        reserved = sorted(key for key in fields if key.startswith("_"))
        if reserved:
            message = f"the answer sets the reserved key {shorten(reserved[0], 64)!r}"
            raise self._bad(message, text, type="parse_error", signal="parse_error")
        if self.plan.write_whole:
            fields[self.plan.write] = payload
        return fields

    def _free_result(self, text: str) -> JsonValue:
        try:
            return _result_of(read_object(text))
        except UnreadableAnswerError:
            return text.strip()

    def _object(self, text: str, *, type: str = "invalid_outcome", signal: str = "error") -> JsonObject:
        try:
            return read_object(text)
        except UnreadableAnswerError as error:
            raise self._bad(f"the answer cannot be read: {error}", text, type=type, signal=signal) from None

    def _declared(self, payload: JsonObject, text: str) -> str:
        outcome = payload.get("outcome")
        if isinstance(outcome, str) and outcome in self.plan.enum:
            return outcome
        allowed = ", ".join(self.plan.enum)
        got = "has no 'outcome'" if "outcome" not in payload else f"has the outcome {shorten(repr(outcome), 80)}"
        raise self._bad(f"the answer {got}; declared are: {allowed}", text, type="invalid_outcome")

    def _checked(self, result: JsonValue, text: str) -> JsonValue:
        violations = self.plan.schema.violations(result) if self.plan.schema else []
        if violations:
            raise self._bad(f"the result breaks outcome.schema: {violations[0]}", text, type="invalid_result")
        return result

    def _bad(self, message: str, text: str, *, type: str, signal: str = "error") -> BadAnswer:
        detail: JsonObject = {"received": shorten(text, RECEIVED_MAX_CHARS)}
        if self.plan.enum:
            detail["allowed"] = list(self.plan.enum)
        return BadAnswer(message, type=type, signal=signal, detail=detail)


def _result_of(payload: JsonObject) -> JsonValue:
    if "result" in payload:
        return payload["result"]
    return {key: value for key, value in payload.items() if key != "outcome"}
