"""Runs over gRPC, by a real client: what HTTP does, with the same services, documents and rights underneath."""

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from grpc import StatusCode
from grpc_health.v1 import health_pb2

import tuvl.rpc
from tests.rpc.rpc_support import SERVICE, Client, calling, refused
from tests.server.server_support import QUESTION, events_of, shop
from tests.support.gates import opened, reached
from tuvl.events.types import Event, StepStarted
from tuvl.rpc import runs_pb2 as pb
from tuvl.rpc.door import address_of
from tuvl.rpc.runs_service import runs_handlers
from tuvl.rpc.statuses import CODES, refusal_of
from tuvl.server.problems import Problem
from tuvl.server.tokens import id_of
from tuvl.testing.clock import ManualClock
from tuvl.values import dump_json

ADA = '{"name": "Ada"}'
SRC = Path(tuvl.rpc.__file__).parents[2]


def start(workflow: str = "quick", input: str = ADA, **more: object) -> pb.StartRequest:
    return pb.StartRequest(workflow=workflow, input_json=input, **more)


def gated(gate: str, **more: object) -> pb.StartRequest:
    return start("gated", json.dumps({"gate": gate}), **more)


async def ended(client: Client, run_id: str) -> pb.Run:
    """Wait for the end of a run; that of a durable one is told, and on the list a moment before or after."""
    async with asyncio.timeout(30):
        while True:
            async for _ in client.Watch(pb.WatchRequest(run_id=run_id)):
                pass
            run = await client.Get(pb.GetRequest(run_id=run_id))
            if run.status not in {"queued", "running"}:
                return run


def test_generated_code_is_that_of_the_description(tmp_path):
    words = ["-m", "grpc_tools.protoc", f"-I{SRC}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    subprocess.run([sys.executable, *words, str(tuvl.rpc.PROTO)], check=True, timeout=60)
    for name in ("runs_pb2.py", "runs_pb2.pyi"):
        made = (tmp_path / "tuvl" / "rpc" / name).read_text(encoding="utf-8")
        assert (SRC / "tuvl" / "rpc" / name).read_text(encoding="utf-8") == made, "run `make docs`"


async def test_every_call_of_the_description_is_answered_as_it_says(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        handlers = runs_handlers(rpc.services)
        assert {name: handler.response_streaming for name, handler in handlers.items()} == {
            method.name: method.server_streaming for method in SERVICE.methods
        }


async def test_a_run_is_started_shown_and_listed_with_the_documents_of_http(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        client = await rpc.client()
        answer = await client.Start(start())
        document = json.loads(answer.result_json)
        assert (answer.workflow, answer.status, document["output"]) == (
            "quick",
            "completed",
            {"name": "Ada", "greeting": "Hello Ada"},
        )
        shown = await client.Get(pb.GetRequest(run_id=answer.run_id))
        http = await rpc.server.client()
        assert json.loads(shown.json) == (await http.get(f"/api/runs/{answer.run_id}")).json()
        listed = await client.List(pb.ListRequest(workflow="quick", status="completed", limit=5))
        assert [json.loads(run.json) for run in listed.runs] == (await http.get("/api/runs")).json()["runs"]
        assert not (await client.List(pb.ListRequest(principal="somebody"))).runs
        metrics = (await http.get("/metrics")).text
        assert 'method="gRPC",route="/tuvl.v1.Runs/Start",status="OK"' in metrics


async def test_events_are_those_of_http_and_a_client_goes_on_behind_the_one_it_names(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        client, http = await rpc.client(), await rpc.server.client()
        call = client.StartAndWatch(gated("behind"))
        run_id = dict(await call.initial_metadata())["tuvl-run-id"]
        opened("behind")
        events = [event async for event in call]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert events[-1].type == "run_finished"
        assert {event.run_id for event in events} == {run_id}
        async with http.stream("GET", f"/api/runs/{run_id}/events") as stream:
            assert [{**json.loads(event.json), "id": event.id} for event in events] == await events_of(stream)
        behind = client.Watch(pb.WatchRequest(run_id=run_id, after=events[2].id))
        assert [event async for event in behind] == events[3:]
        rpc.services.live._ended.clear()
        (last,) = [event async for event in client.Watch(pb.WatchRequest(run_id=run_id))]
        assert (last.type, last.HasField("seq")) == ("run_finished", False)


@pytest.mark.parametrize("how", ["call", "deadline", "stream"])
async def test_a_client_that_leaves_ends_its_run_and_so_does_its_deadline(tmp_path, how):
    async with calling(shop(tmp_path)) as rpc:
        client, watcher = await rpc.client(), await rpc.client(id="watcher")
        if how == "stream":
            call = client.StartAndWatch(gated("left-stream"))
            await call.read()
            call.cancel()
        else:
            # Far enough away for the run to begin before it.
            call = client.Start(gated(f"left-{how}"), timeout=5.0 if how == "deadline" else None)
            await reached(f"left-{how}")
            if how == "call":
                call.cancel()
            else:
                async with refused(StatusCode.DEADLINE_EXCEEDED):
                    await call
        (run_id,) = {*rpc.services.live._running, *rpc.services.live._ended}
        shown = await ended(watcher, run_id)
        assert shown.status == "aborted"
        assert json.loads(shown.json)["error"]["message"] == "its client has left"


async def test_a_detached_run_goes_on_by_itself_and_is_controlled(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        client = await rpc.client()
        run = await client.Start(gated("alone", detached=True, durable=False))
        assert (run.status, run.result_json) == ("running", "")
        await reached("alone")
        told = await client.Control(pb.ControlRequest(run_id=run.run_id, action=pb.ACTION_ABORT, message="enough"))
        assert told.outcome in {"applied", "pending"}
        opened("alone")
        assert (await ended(client, run.run_id)).status == "aborted"
        async with refused(StatusCode.NOT_FOUND, "unknown-run"):
            await client.Control(pb.ControlRequest(run_id="nobody", action=pb.ACTION_PAUSE))
        async with refused(StatusCode.INVALID_ARGUMENT, "message-missing"):
            await client.Control(pb.ControlRequest(run_id=run.run_id, action=pb.ACTION_STEER))


async def test_starts_with_one_key_are_one_run_also_over_http(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        client, http = await rpc.client(), await rpc.server.client()
        answers = await asyncio.gather(*(client.Start(start(idempotency_key="k1")) for _ in range(5)))
        assert len({answer.run_id for answer in answers}) == 1
        body = {"workflow": "quick", "input": {"name": "Ada"}}
        assert (await http.post("/api/runs", json=body, headers={"Idempotency-Key": "k1"})).json()["run_id"] == answers[
            0
        ].run_id
        async with refused(StatusCode.INVALID_ARGUMENT, "key-reused"):
            await client.Start(start(input='{"name": "Eve"}', idempotency_key="k1"))
        rpc.services.live._ended.clear()
        again = await client.Start(start(idempotency_key="k1"))
        assert json.loads(again.result_json) == json.loads(answers[0].result_json)


async def test_who_may_not_is_refused_alike_and_the_runs_of_others_are_not_there(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        token = await rpc.server.token()
        for authorizations in ((), ("Bearer nonsense",), (token,), (f"Bearer {token}", f"Bearer {token}")):
            async with refused(StatusCode.UNAUTHENTICATED, "unauthorized") as errors:
                await rpc.anyone(*authorizations).List(pb.ListRequest())
            assert token not in errors[0].details()
        reader = await rpc.client("runs:read")
        async with refused(StatusCode.PERMISSION_DENIED, "scope-missing"):
            await reader.Start(start())
        async with refused(StatusCode.PERMISSION_DENIED, "scope-missing"):
            await reader.Control(pb.ControlRequest(run_id="r", action=pb.ACTION_PAUSE))
        async with refused(StatusCode.NOT_FOUND, "unknown-workflow"):
            await (await rpc.client()).Start(start("guarded"))
        own, other = await rpc.client(id="a", tenant="one"), await rpc.client(id="b", tenant="two")
        run = await own.Start(start())
        for id in (run.run_id, "0" * 32):
            async with refused(StatusCode.NOT_FOUND, "unknown-run") as errors:
                await other.Get(pb.GetRequest(run_id=id))
            assert errors[0].details() == "there is no such run"
            async with refused(StatusCode.NOT_FOUND, "unknown-run"):
                await other.Watch(pb.WatchRequest(run_id=id)).read()


WRONG = [
    ("Start", start("nowhere"), StatusCode.NOT_FOUND, "unknown-workflow"),
    ("Start", start(""), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Start", start(input="hunter2"), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Start", start(input='["hunter2"]'), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Start", start(input='{"name": 7}'), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Start", start(input='{"name": NaN}'), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Start", start(input='{"name": "\\ud800"}'), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Start", start(input="[" * 100_000), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Start", start(timeout_s=-1), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Start", start(timeout_s=float("nan")), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Start", start(idempotency_key="ü"), StatusCode.INVALID_ARGUMENT, "key-unreadable"),
    ("StartAndWatch", start(detached=True), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("StartAndWatch", start(input="{}"), StatusCode.INVALID_ARGUMENT, "input-refused"),
    ("Get", pb.GetRequest(), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Get", pb.GetRequest(run_id="x" * 201), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("List", pb.ListRequest(limit=501), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("List", pb.ListRequest(limit=-1), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("List", pb.ListRequest(status="odd"), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Watch", pb.WatchRequest(run_id="nobody", after="x"), StatusCode.NOT_FOUND, "unknown-run"),
    ("Answer", pb.AnswerRequest(run_id="r"), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Answer", pb.AnswerRequest(run_id="r", digest="d", value_json="1"), StatusCode.INVALID_ARGUMENT, None),
    ("Abort", pb.AbortRequest(run_id="nobody"), StatusCode.NOT_FOUND, "unknown-run"),
    ("Fork", pb.ForkRequest(run_id="nobody", at="x"), StatusCode.NOT_FOUND, "unknown-run"),
    ("Fork", pb.ForkRequest(run_id="nobody"), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Renew", pb.RenewRequest(run_id="nobody"), StatusCode.NOT_FOUND, "unknown-run"),
    ("Trace", pb.TraceRequest(run_id="nobody"), StatusCode.NOT_FOUND, "unknown-run"),
    ("Control", pb.ControlRequest(run_id="r"), StatusCode.INVALID_ARGUMENT, "request-refused"),
    ("Control", pb.ControlRequest(run_id="r", action=99), StatusCode.INVALID_ARGUMENT, "request-refused"),
]


async def test_wrong_messages_are_told_in_words_without_their_values(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        client = await rpc.client()
        for name, request, code, kind in WRONG:
            call = getattr(client, name)(request)
            async with refused(code, kind) as errors:
                await (call.read() if SERVICE.methods_by_name[name].server_streaming else call)
            assert errors[0].details(), (name, request)
            assert "hunter2" not in errors[0].details()


async def test_what_is_no_message_too_large_or_no_call_is_refused(tmp_path):
    async with calling(shop(tmp_path), max_body_bytes=2000) as rpc:
        client = await rpc.client()
        raw = client.channel.unary_unary("/tuvl.v1.Runs/Start")
        async with refused(StatusCode.INVALID_ARGUMENT, "unreadable"):
            await raw(b"\xff\xff\xff", metadata=client.metadata)
        for compression in (None, grpc.Compression.Gzip):
            async with refused(StatusCode.RESOURCE_EXHAUSTED, "too-large"):
                await raw(b"\x00" * 1_000_000, metadata=client.metadata, compression=compression)
        async with refused(StatusCode.RESOURCE_EXHAUSTED):
            await raw(b"\x00" * 6_000_000, metadata=client.metadata)
        for path in ("/tuvl.v1.Runs/Nothing", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"):
            async with refused(StatusCode.UNIMPLEMENTED):
                await client.channel.unary_unary(path)(b"", metadata=client.metadata)
        assert (await client.Start(start())).status == "completed"


async def test_calls_and_streams_beyond_the_limits_are_refused(tmp_path):
    async with calling(shop(tmp_path), rate=0.001, burst=2) as rpc:
        client = await rpc.client()
        await client.List(pb.ListRequest())
        await client.List(pb.ListRequest())
        async with refused(StatusCode.RESOURCE_EXHAUSTED, "too-often") as errors:
            await client.List(pb.ListRequest())
        assert int(dict(errors[0].trailing_metadata())["retry-after"]) > 0
    async with calling(shop(tmp_path / "other"), clients=1, concurrency=1) as rpc:
        client = await rpc.client()
        call = client.StartAndWatch(gated("only"))
        run_id = (await call.read()).run_id
        async with refused(StatusCode.UNAVAILABLE, "no-room"):
            await client.Watch(pb.WatchRequest(run_id=run_id)).read()
        async with refused(StatusCode.UNAVAILABLE, "no-room"):
            await client.Start(start())
        opened("only")
        assert [event.type async for event in _left_of(call)][-1] == "run_finished"


async def _left_of(call):
    while (event := await call.read()) is not grpc.aio.EOF:
        yield event


async def test_tokens_cannot_be_tried_for_ever(tmp_path):
    # Tries come back with time.
    async with calling(shop(tmp_path), clock=ManualClock()) as rpc:
        stranger = rpc.anyone("Bearer nonsense")
        codes: list[StatusCode] = []
        for _ in range(22):
            with pytest.raises(grpc.aio.AioRpcError) as refusal:
                await stranger.List(pb.ListRequest())
            codes.append(refusal.value.code())
        assert codes == [StatusCode.UNAUTHENTICATED] * 20 + [StatusCode.RESOURCE_EXHAUSTED] * 2


async def test_what_waits_for_a_person_is_listed_answered_once_and_aborted(tmp_path):
    project = shop(tmp_path)
    project.workflow(QUESTION, name="asks")
    async with calling(project, durable=True) as rpc:
        client = await rpc.client()
        run = await client.Start(start("asks", ""))
        assert run.status == "suspended"
        (wait,) = (await client.ListWaits(pb.ListWaitsRequest())).waits
        assert (wait.run_id, wait.kind, json.loads(wait.json)["digest"]) == (run.run_id, "question", wait.digest)
        async with refused(StatusCode.INVALID_ARGUMENT, "answer-invalid"):
            await client.Answer(pb.AnswerRequest(run_id=run.run_id, digest=wait.digest, value_json='{"refund": "x"}'))
        said = pb.AnswerRequest(run_id=run.run_id, digest=wait.digest, value_json='{"refund": true}')
        answered = await client.Answer(said)
        assert (answered.run_id, answered.by) == (run.run_id, "ci")
        assert (await ended(client, run.run_id)).status == "completed"
        async with refused(StatusCode.FAILED_PRECONDITION, "answer-already-answered"):
            await client.Answer(said)
        other = await client.Start(start("asks", "{}"))
        await client.Abort(pb.AbortRequest(run_id=other.run_id, reason="no"))
        async with asyncio.timeout(20):
            while (await client.Get(pb.GetRequest(run_id=other.run_id))).status != "aborted":
                pass
        async with refused(StatusCode.FAILED_PRECONDITION, "has-ended"):
            await client.Abort(pb.AbortRequest(run_id=other.run_id))


async def test_a_trace_is_for_those_who_may_observe_and_is_that_of_http(tmp_path):
    project = shop(tmp_path)
    project.model("Hello.", name="m")
    project.workflow(
        """
        - id: greet
          kind: Agent
          mode: autonomous
          agent: {model: m, steering: Greet., audit: true, tools: [{ref: look, description: Looks.}]}
          routes: {max_iterations: END, aborted: END}
        - {id: look, kind: Functional, runner: set, values: {found: 1}}
        """,
        name="audited",
    )
    async with calling(project) as rpc:
        client = await rpc.client()
        run = await client.Start(start("audited", "{}"))
        assert run.status == "completed"
        traced = await client.Trace(pb.TraceRequest(run_id=run.run_id, step="greet"))
        http = await rpc.server.client()
        over_http = (await http.get(f"/api/runs/{run.run_id}/trace")).json()["entries"]
        assert [json.loads(entry) for entry in traced.entries_json] == over_http != []
        assert not (await client.Trace(pb.TraceRequest(run_id=run.run_id, step="nobody"))).entries_json
        async with refused(StatusCode.PERMISSION_DENIED, "scope-missing"):
            await (await rpc.client("runs:read")).Trace(pb.TraceRequest(run_id=run.run_id))


async def test_health_follows_readiness_and_needs_no_token(tmp_path):
    async with calling(shop(tmp_path)) as rpc:
        call = rpc.anyone().channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        for service in ("", "tuvl.v1.Runs"):
            assert (await call(health_pb2.HealthCheckRequest(service=service))).status == 1
        async with refused(StatusCode.NOT_FOUND):
            await call(health_pb2.HealthCheckRequest(service="other"))
        rpc.services.starts.draining = True
        assert (await call(health_pb2.HealthCheckRequest())).status == 2
        async with refused(StatusCode.UNAVAILABLE, "closing"):
            await (await rpc.client()).Start(start())


async def test_a_mistake_of_ours_tells_nothing_of_itself(tmp_path, monkeypatch, caplog):
    async with calling(shop(tmp_path)) as rpc:

        async def broken(*_: object) -> None:
            raise RuntimeError("hunter2 at /srv")

        monkeypatch.setattr(rpc.services.reading, "runs", broken)
        async with refused(StatusCode.INTERNAL, "internal") as errors:
            await (await rpc.client()).List(pb.ListRequest())
        assert "hunter2" not in str(errors[0].details())
        assert "RuntimeError" in caplog.text


async def test_a_client_that_reads_nothing_for_too_long_is_let_go(tmp_path):
    async with calling(shop(tmp_path), client_patience_s=0.5) as rpc:
        client = await rpc.client()
        run = await client.Start(gated("unread", detached=True, durable=False))
        await reached("unread")
        call = client.Watch(pb.WatchRequest(run_id=run.run_id))
        await call.read()
        log, number = rpc.services.live._running[run.run_id].log, 100
        async with asyncio.timeout(20):
            while rpc.services.streams.open:
                # More than fits into what lies between the two.
                number += 1
                body = StepStarted(kind="Functional")
                log.accept(Event(run_id=run.run_id, seq=number, at=log._clock.now(), step_id="s" * 2000, body=body))
                await asyncio.sleep(0)
        async with refused(StatusCode.DEADLINE_EXCEEDED, "too-slow"):
            async for _ in _left_of(call):
                pass
        opened("unread")


async def test_a_stream_ends_soon_after_its_token_is_revoked(tmp_path):
    async with calling(shop(tmp_path), recheck_s=0.05) as rpc:
        owner = await rpc.client()
        run_id = (await owner.Start(gated("rpc-shut", detached=True))).run_id
        await reached("rpc-shut")
        token = await rpc.server.token("runs:read", id="spy")
        watching = rpc.anyone(f"Bearer {token}").Watch(pb.WatchRequest(run_id=run_id))
        await watching.initial_metadata()
        await rpc.services.registry.access.store.access.revoke_token(id_of(token) or "", datetime.now(UTC))
        async with asyncio.timeout(20), refused(StatusCode.UNAUTHENTICATED, "unauthorized"):
            async for event in watching:
                assert event.type != "run_finished"
        assert (await owner.Get(pb.GetRequest(run_id=run_id))).status == "running"
        opened("rpc-shut")


async def test_a_call_without_its_message_is_let_go_and_nothing_is_read_for_a_stranger(tmp_path):
    paths = ("/tuvl.v1.Runs/Start", "/grpc.health.v1.Health/Check")
    async with calling(shop(tmp_path / "hurried"), body_timeout_s=0.05) as rpc:
        client = await rpc.client()
        for path in paths:
            async with refused(StatusCode.DEADLINE_EXCEEDED, "too-slow"):
                await client.channel.stream_unary(path)(_never(), metadata=client.metadata)
    async with calling(shop(tmp_path / "patient"), body_timeout_s=600.0) as rpc:
        client, stranger = await rpc.client(), rpc.anyone()
        for path in paths:
            async with refused(StatusCode.INVALID_ARGUMENT, "unreadable"):
                await client.channel.stream_unary(path)(_nothing(), metadata=client.metadata)
        async with refused(StatusCode.UNAUTHENTICATED):
            await stranger.channel.stream_unary("/tuvl.v1.Runs/Start")(_never())


async def _never():
    await asyncio.Event().wait()
    yield b""


async def _nothing():
    for data in ():
        yield data


@pytest.mark.parametrize(
    ("peer", "address"),
    [("ipv4:10.0.0.7:50051", "10.0.0.7"), ("ipv6:%5B::1%5D:50051", "::1"), ("unix:/tmp/x", ""), ("", "")],
)
def test_the_address_of_a_caller_is_read_without_its_port(peer, address):
    assert address_of(peer) == address


def test_every_status_of_a_problem_has_a_code():
    for status, code in CODES.items():
        assert refusal_of(Problem(status, "k", "d")).code is code
    told = refusal_of(Problem(422, "k", "wrong", more={"errors": [{"at": "limit", "message": "too many"}]}))
    assert told.details == "wrong: limit: too many"
    assert dump_json(dict(told.trailing)) == '{"tuvl-problem":"k"}'
