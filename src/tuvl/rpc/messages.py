"""Between the messages of gRPC and the documents of the server, which have one form wherever they go."""

from tuvl.rpc import runs_pb2 as pb
from tuvl.server.problems import Problem, read_json
from tuvl.server.sent_events import SentEvent
from tuvl.values import JsonObject, dump_json


def object_of(text: str, field: str) -> JsonObject:
    """Read a field that holds a JSON object; empty is one without fields. Raises `Problem`."""
    try:
        value = read_json(text.encode()) if text else {}
    except Problem:
        value = None
    if not isinstance(value, dict):
        raise Problem(422, "input-refused", f"{field} must hold a JSON object")
    return value


def event_of(event: SentEvent) -> pb.Event:
    """Return an event as it goes out."""
    wire, seq = event.wire, event.wire["seq"]
    return pb.Event(
        id=event.id or "",
        run_id=str(wire["run_id"]),
        type=event.type,
        seq=seq if isinstance(seq, int) else None,
        json=dump_json(wire),
    )


def run_of(shown: JsonObject) -> pb.Run:
    """Return a run on record."""
    return pb.Run(
        run_id=str(shown["run_id"]),
        workflow=str(shown["workflow"]),
        status=str(shown["status"]),
        json=dump_json(shown),
    )


def begun_of(shown: JsonObject) -> pb.StartResponse:
    """Return what a detached start has led to: where the run stands that was begun by it, or by one before."""
    run_id, workflow, status = (str(shown[name]) for name in ("run_id", "workflow", "status"))
    return pb.StartResponse(run_id=run_id, workflow=workflow, status=status)


def started_of(run_id: str, workflow: str, document: JsonObject) -> pb.StartResponse:
    """Return what a start has led to: a result document."""
    return pb.StartResponse(
        run_id=run_id, workflow=workflow, status=str(document["status"]), result_json=dump_json(document)
    )
