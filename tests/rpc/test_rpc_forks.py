"""Durable runs over gRPC that begin from another one's record, and that go on with newer files."""

import json

from grpc import StatusCode

from tests.rpc.rpc_support import calling, refused
from tests.rpc.test_rpc_runs import ended, start
from tests.server.server_support import QUESTION, shop
from tuvl.rpc import runs_pb2 as pb


async def test_a_durable_run_is_forked_with_the_rights_that_a_start_needs(tmp_path):
    project = shop(tmp_path)
    project.workflow(QUESTION, name="asks", meta={"required_scope": "refunds"})
    async with calling(project, durable=True) as rpc:
        anna = await rpc.client("runs:start", "runs:read", "runs:control", "refunds", id="anna")
        run = await anna.Start(start("asks", ""))
        (wait,) = (await anna.ListWaits(pb.ListWaitsRequest())).waits
        await anna.Answer(pb.AnswerRequest(run_id=run.run_id, digest=wait.digest, value_json='{"refund": true}'))
        assert (await ended(anna, run.run_id)).status == "completed"
        fork = pb.ForkRequest(run_id=run.run_id, at="ask")
        for scopes, kind in ((("runs:control",), "scope-missing"), (("runs:control", "runs:start"), "right-missing")):
            async with refused(StatusCode.PERMISSION_DENIED, kind):
                await (await rpc.client("runs:read", *scopes, id="bob")).Fork(fork)
        forked = await anna.Fork(fork)
        assert (forked.run_id != run.run_id, forked.workflow) == (True, "asks")
        assert (await ended(anna, forked.run_id)).status == "suspended"


async def test_a_durable_run_that_waits_goes_on_with_the_files_that_a_later_server_has(tmp_path):
    project = shop(tmp_path)
    project.workflow(QUESTION, name="asks")
    async with calling(project, durable=True) as rpc:
        anna = await rpc.client("runs:start", "runs:read", "runs:control", id="anna")
        run = await anna.Start(start("asks", ""))
        told = await anna.Renew(pb.RenewRequest(run_id=run.run_id))
        assert (told.run_id, told.status) == (run.run_id, "suspended"), "it has these files"
    project.workflow(QUESTION.replace("{heard:", "{newer:"), name="asks")
    async with calling(project, durable=True) as rpc:
        anna = await rpc.client("runs:start", "runs:read", "runs:control", id="anna")
        await anna.Renew(pb.RenewRequest(run_id=run.run_id))
        assert (await ended(anna, run.run_id)).status == "suspended"
        (wait,) = (await anna.ListWaits(pb.ListWaitsRequest())).waits
        await anna.Answer(pb.AnswerRequest(run_id=run.run_id, digest=wait.digest, value_json='{"refund": true}'))
        assert json.loads((await ended(anna, run.run_id)).json)["result"]["context"]["newer"] is True
        async with refused(StatusCode.FAILED_PRECONDITION, "has-ended"):
            await anna.Renew(pb.RenewRequest(run_id=run.run_id))
