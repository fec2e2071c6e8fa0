"""Runs are started as the server was: by its files of then, and by its limits."""

import pytest

from tests.server.server_support import GATED, events_of, serving, shop
from tests.support.gates import opened, reached
from tuvl.errors import ConfigError

EDITED = {"workflow": "quick", "input": {"name": "Ada"}}
NODE = """
from served_help import HELP
from tuvl import node

@node("word")
def word(ctx):
    return {"word": "WORD", "help": HELP}
"""


async def test_files_that_change_while_serving_count_for_no_run_before_the_next_start(tmp_path):
    project = shop(tmp_path)
    project.node(NODE.replace("WORD", "first"), file="words.py")
    project.node('HELP = "first"', file="served_help.py")
    project.workflow("- {id: say, kind: Functional, runner: word}\n", name="worded")
    async with serving(project, durable=True) as server:
        client = await server.client()
        file = project.root / "workflows" / "quick.yaml"
        file.write_text(file.read_text(encoding="utf-8").replace("Hello", "EDITED"), encoding="utf-8")
        project.node(NODE.replace("WORD", "second"), file="words.py")
        project.node('HELP = "second"', file="served_help.py")
        for durable in (False, True, True):
            answer = await client.post("/api/runs", json={**EDITED, "durable": durable})
            assert answer.json()["context"]["greeting"] == "Hello Ada"
        for durable in (False, True):
            said = await client.post("/api/runs", json={"workflow": "worded", "durable": durable})
            assert said.json()["context"] == {"word": "first", "help": "first"}
    async with serving(project, durable=True) as server:
        client = await server.client()
        answer = await client.post("/api/runs", json={**EDITED, "durable": True})
        assert answer.json()["context"]["greeting"] == "EDITED Ada"


async def test_a_node_that_cannot_be_imported_is_told_when_the_server_starts_and_not_by_the_first_run(tmp_path):
    project = shop(tmp_path)
    project.node(NODE.replace("served_help", "nowhere_to_be_found"), file="words.py")
    project.workflow("- {id: say, kind: Functional, runner: word}\n", name="worded")
    with pytest.raises(ConfigError, match=r"workflow 'worded' cannot be served: 'words\.py' cannot be imported"):
        async with serving(project, durable=True):
            pass


async def test_a_workflow_of_which_one_goes_on_at_once_has_one_whatever_its_callers_say(tmp_path):
    project = shop(tmp_path)
    project.workflow(GATED, name="single", limits={"concurrency": 1})
    async with serving(project, durable=True) as server:
        client = await server.client()
        body = {"workflow": "single", "mode": "detached", "durable": False}
        first = (await client.post("/api/runs", json={**body, "input": {"gate": "line-1"}})).json()["run_id"]
        await reached("line-1")
        second = (await client.post("/api/runs", json={**body, "input": {"gate": "line-2"}})).json()["run_id"]
        opened("line-2")
        host = server.services.durable.host
        assert await host.wait(second, 0.5) is None, "it would have ended if it had begun"
        opened("line-1")
        for run_id in (first, second):
            async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
                assert (await events_of(stream))[-1]["status"] == "completed"
        listed = (await client.get("/api/workflows")).json()["workflows"]
        assert [each["durable"] for each in listed if each["name"] == "single"] == [True]
