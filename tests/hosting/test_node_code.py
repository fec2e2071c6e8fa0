"""A process that performs runs for a long time performs each with the code of its own definition."""

from tuvl.hosting.requests import StartRequest

WORKFLOW = """\
kind: Workflow
metadata: { name: worded, description: Say a word. }
spec:
  steps:
    - { id: say, kind: Functional, runner: say }
"""
NODE = """\
from said_beside import WORD
from tuvl import node

@node("say")
def say(ctx):
    return {"own": "first", "beside": WORD}
"""


async def test_a_run_started_after_an_edit_has_the_new_code_in_a_process_that_has_run_the_old_one(site):
    nodes = site.folder / "nodes"
    nodes.mkdir(exist_ok=True)
    (site.folder / "workflows" / "worded.yaml").write_text(WORKFLOW, encoding="utf-8")
    said = []
    async with site.host() as host:
        for word in ("first", "second"):
            (nodes / "saying.py").write_text(NODE.replace("first", word), encoding="utf-8")
            (nodes / "said_beside.py").write_text(f"WORD = {word!r}\n", encoding="utf-8")
            run_id = await host.start(StartRequest(workflow="worded"))
            document = await host.wait(run_id, 30)
            assert document is not None
            said.append(document["context"])
    assert said == [{"own": word, "beside": word} for word in ("first", "second")]
