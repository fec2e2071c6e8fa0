from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_UNSPECIFIED: _ClassVar[Action]
    ACTION_PAUSE: _ClassVar[Action]
    ACTION_RESUME: _ClassVar[Action]
    ACTION_STEER: _ClassVar[Action]
    ACTION_ABORT: _ClassVar[Action]
ACTION_UNSPECIFIED: Action
ACTION_PAUSE: Action
ACTION_RESUME: Action
ACTION_STEER: Action
ACTION_ABORT: Action

class StartRequest(_message.Message):
    __slots__ = ("workflow", "input_json", "detached", "durable", "timeout_s", "trace", "idempotency_key")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    DETACHED_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    input_json: str
    detached: bool
    durable: bool
    timeout_s: float
    trace: bool
    idempotency_key: str
    def __init__(self, workflow: _Optional[str] = ..., input_json: _Optional[str] = ..., detached: _Optional[bool] = ..., durable: _Optional[bool] = ..., timeout_s: _Optional[float] = ..., trace: _Optional[bool] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class StartResponse(_message.Message):
    __slots__ = ("run_id", "workflow", "status", "result_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RESULT_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    workflow: str
    status: str
    result_json: str
    def __init__(self, run_id: _Optional[str] = ..., workflow: _Optional[str] = ..., status: _Optional[str] = ..., result_json: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "run_id", "type", "seq", "json")
    ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    run_id: str
    type: str
    seq: int
    json: str
    def __init__(self, id: _Optional[str] = ..., run_id: _Optional[str] = ..., type: _Optional[str] = ..., seq: _Optional[int] = ..., json: _Optional[str] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("run_id", "workflow", "status", "json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    workflow: str
    status: str
    json: str
    def __init__(self, run_id: _Optional[str] = ..., workflow: _Optional[str] = ..., status: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("workflow", "status", "principal", "limit")
    WORKFLOW_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    workflow: str
    status: str
    principal: str
    limit: int
    def __init__(self, workflow: _Optional[str] = ..., status: _Optional[str] = ..., principal: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("run_id", "after")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    after: str
    def __init__(self, run_id: _Optional[str] = ..., after: _Optional[str] = ...) -> None: ...

class ListWaitsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Wait(_message.Message):
    __slots__ = ("run_id", "kind", "digest", "json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    kind: str
    digest: str
    json: str
    def __init__(self, run_id: _Optional[str] = ..., kind: _Optional[str] = ..., digest: _Optional[str] = ..., json: _Optional[str] = ...) -> None: ...

class ListWaitsResponse(_message.Message):
    __slots__ = ("waits",)
    WAITS_FIELD_NUMBER: _ClassVar[int]
    waits: _containers.RepeatedCompositeFieldContainer[Wait]
    def __init__(self, waits: _Optional[_Iterable[_Union[Wait, _Mapping]]] = ...) -> None: ...

class AnswerRequest(_message.Message):
    __slots__ = ("run_id", "digest", "value_json")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    digest: str
    value_json: str
    def __init__(self, run_id: _Optional[str] = ..., digest: _Optional[str] = ..., value_json: _Optional[str] = ...) -> None: ...

class AnswerResponse(_message.Message):
    __slots__ = ("run_id", "by", "at")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    by: str
    at: str
    def __init__(self, run_id: _Optional[str] = ..., by: _Optional[str] = ..., at: _Optional[str] = ...) -> None: ...

class AbortRequest(_message.Message):
    __slots__ = ("run_id", "reason")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    reason: str
    def __init__(self, run_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class AbortResponse(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class ForkRequest(_message.Message):
    __slots__ = ("run_id", "at", "idempotency_key")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    at: str
    idempotency_key: str
    def __init__(self, run_id: _Optional[str] = ..., at: _Optional[str] = ..., idempotency_key: _Optional[str] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class TraceRequest(_message.Message):
    __slots__ = ("run_id", "step", "tool")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    step: str
    tool: str
    def __init__(self, run_id: _Optional[str] = ..., step: _Optional[str] = ..., tool: _Optional[str] = ...) -> None: ...

class TraceResponse(_message.Message):
    __slots__ = ("entries_json",)
    ENTRIES_JSON_FIELD_NUMBER: _ClassVar[int]
    entries_json: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, entries_json: _Optional[_Iterable[str]] = ...) -> None: ...

class ControlRequest(_message.Message):
    __slots__ = ("run_id", "action", "message")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    action: Action
    message: str
    def __init__(self, run_id: _Optional[str] = ..., action: _Optional[_Union[Action, str]] = ..., message: _Optional[str] = ...) -> None: ...

class ControlResponse(_message.Message):
    __slots__ = ("run_id", "directive", "outcome", "note")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    DIRECTIVE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    directive: str
    outcome: str
    note: str
    def __init__(self, run_id: _Optional[str] = ..., directive: _Optional[str] = ..., outcome: _Optional[str] = ..., note: _Optional[str] = ...) -> None: ...
