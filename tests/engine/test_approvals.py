"""A tool call that needs a person's yes: the run waits, a no is read by the model, and nobody is hurried."""

import asyncio
from dataclasses import replace

import pytest

from tests.agent.loop_support import ask, say
from tests.engine.agent_support import agent_project, errors_told, module_of, told
from tests.engine.run_support import Seen
from tests.support.clock import LoopTime
from tuvl.control import RunControl
from tuvl.principal import Principal
from tuvl.tools.approval import ApprovalDecision, ApprovalRequest, StandingAnswer

PUT = ask(("put", {"amount": 120}))
DONE = say("done")


class Person:
    """Answers from a list; an event in it is waited for first."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            answer = True
        return ApprovalDecision(approved=answer is True, by="Ada", note=answer if isinstance(answer, str) else None)


def tool(ref: str = "put", approval: str = "required", **fields: object) -> dict:
    return {"ref": ref, "description": "d", "approval": approval, **fields}


def project(tmp_path, person: object, *replies: object, tools: object = None, **fields: object):
    subject = agent_project(tmp_path, *(replies or (PUT, DONE)), tools=tools or [tool()], **fields)
    subject.approvals = person
    return subject


async def test_approved_call_runs(tmp_path):
    person = Person(True)
    subject = project(tmp_path, person)
    result = await subject.run(trace=True, principal=Principal(id="mia"))
    assert told(result) == ['{"stored":true}']
    (request,) = person.asked
    assert (request.step_id, request.tool, request.call_id, request.iteration) == ("agent", "put", "c1", 1)
    assert (request.arguments, request.requested_by, request.run_id) == ({"amount": 120}, "mia", result.run_id)
    assert request.reason == "the tool needs approval"
    (answered,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert answered["approval"] == {"approved": True, "by": "Ada"}


@pytest.mark.parametrize("policy", ["report", "fail"])
async def test_refused_call_does_not_run_and_the_model_reads_why(tmp_path, policy):
    """Loop 82: under any policy."""
    subject = project(tmp_path, Person("too much"), tool_error_policy=policy)
    result = await subject.run(trace=True)
    assert result.signal == "default"
    assert told(result) == ['{"error":{"type":"approval_denied","message":"the call was not approved: too much"}}']
    (answered,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert answered["approval"] == {"approved": False, "by": "Ada"}


async def test_without_anybody_to_ask_every_call_is_refused(tmp_path):
    result = await project(tmp_path, None).run(trace=True)
    assert errors_told(result) == ["approval_denied"]


@pytest.mark.parametrize(
    ("approval", "arguments", "asked"),
    [
        ("{{ args.amount > 100 }}", {"amount": 101}, True),
        ("{{ args.amount > 100 }}", {"amount": 100}, False),
        ("{{ amount > limit }}", {"amount": 51}, True),
        ("{{ amount > limit }}", {"amount": 50}, False),
        # In doubt a person looks.
        ("{{ args.amount > 100 }}", {}, True),
        ("{{ args.amount > 100 }}", {"amount": "1"}, True),
        ("{{ args.amount }}", {"amount": "false"}, True),
        ("{{ args.amount }}", {"amount": None}, True),
        ("never", {"amount": 10_000}, False),
    ],
)
async def test_condition_says_which_calls_need_approval(tmp_path, approval, arguments, asked):
    person = Person(True)
    subject = project(tmp_path, person, ask(("put", arguments)), DONE, tools=[tool(approval=approval)])
    await subject.run({"limit": 50})
    assert (len(person.asked), len(module_of(subject).seen)) == (asked, 1)


async def test_condition_sees_the_context_as_it_is_when_the_call_is_made(tmp_path):
    nodes = """
        from tuvl import node

        @node("add")
        def add(ctx):
            return {"spent": ctx["spent"] + 60}
    """
    person = Person("enough")
    calls = [ask(("add", {}, f"c{number}")) for number in (1, 2)]
    tools = [tool("add", "{{ spent > 50 }}", writes_context=True)]
    subject = project(tmp_path, person, *calls, DONE, tools=tools, nodes=nodes)
    result = await subject.run({"spent": 0})
    assert (result.context["spent"], len(person.asked)) == (60, 1)


async def test_waiting_for_a_person_is_not_the_tool_s_time(tmp_path):
    """Loop 46."""

    time = LoopTime()

    class Slow(Person):
        async def ask(self, request):
            time.advance(600)  # longer than the tool may take: that is the point
            for _ in range(5):  # a deadline that runs meanwhile is over now
                await asyncio.sleep(0)
            return await super().ask(request)

    subject = project(tmp_path, Slow(True), tools=[tool(timeout_s=60)])
    assert told(await subject.run(trace=True)) == ['{"stored":true}']


async def test_waiting_for_a_person_is_the_agent_s_time(tmp_path):
    """Loop 46."""
    subject = project(tmp_path, Person(asyncio.Event()), max_wall_clock_s=0.05)
    result = await asyncio.wait_for(subject.run(), 10)
    assert result.error is not None
    assert (result.signal, result.error.detail["limit"]) == ("budget_exceeded", "max_wall_clock_s")


async def test_abort_while_waiting_is_immediate_and_the_call_is_known_not_to_have_run(tmp_path):
    control = RunControl()

    class Aborting(Person):
        async def ask(self, request):
            asyncio.get_running_loop().call_soon(control.abort, "changed my mind")
            return await super().ask(request)

    subject = project(tmp_path, Aborting(asyncio.Event()))
    result = await asyncio.wait_for(subject.run(control=control), 10)
    assert result.status == "aborted"
    assert result.trace is not None
    (entry,) = [entry for entry in result.trace if entry["type"] == "tool_result"]
    assert entry["unanswered"] == "not run: aborted"


async def test_events_of_an_approval_tell_who_and_never_what(tmp_path):
    seen = Seen()
    await project(tmp_path, Person(True)).run(sinks=[seen])
    bodies = [event.body for event in seen.events if event.body.type.startswith("approval")]
    assert [(body.type, body.tool, body.call_id) for body in bodies] == [
        ("approval_requested", "put", "c1"),
        ("approval_decided", "put", "c1"),
    ]
    assert (bodies[1].approved, bodies[1].by) == (True, "Ada")
    assert "120" not in repr((bodies[0], replace(bodies[1], duration_ms=0)))  # a duration may have any digits
    order = seen.types
    assert order.index("approval_decided") < order.index("tool_call_started")


async def test_call_with_bad_arguments_asks_nobody(tmp_path):
    person = Person()
    parameters = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    subject = project(tmp_path, person, ask(("put", {"amount": "much"})), DONE, tools=[tool(parameters=parameters)])
    result = await subject.run(trace=True)
    assert (errors_told(result), person.asked) == (["invalid_arguments"], [])


async def test_writing_call_does_not_overtake_one_that_waits_for_a_person(tmp_path):
    looked = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Waiting(Person):
        async def ask(self, request):
            await looked.wait()
            return await super().ask(request)

    class Looked:
        def accept(self, event):
            if event.body.type == "tool_call" and event.body.tool == "look":
                loop.call_soon_threadsafe(looked.set)

    calls = ask(("put", {"n": 1}, "c1"), ("put", {"n": 2}, "c2"), ("look", {"q": "x"}, "c3"))
    tools = [tool(approval="{{ args.n == 1 }}"), {"ref": "look", "description": "d"}]
    subject = project(tmp_path, Waiting(True), calls, DONE, tools=tools, tool_concurrency=3)
    await asyncio.wait_for(subject.run(sinks=[Looked()]), 10)
    assert module_of(subject).seen == [("look", {"q": "x"}), ("put", {"n": 1}), ("put", {"n": 2})]


POLICY = {"require_approval": {"effects": ["write"]}}


@pytest.mark.parametrize(
    "said", [{}, {"approval": "never"}, {"approval": "{{ false }}"}], ids=["nothing", "never", "if"]
)
async def test_policy_asks_for_approval_whatever_the_tool_says(tmp_path, said):
    person = Person(True)
    subject = project(tmp_path, person, tools=[{"ref": "put", "description": "d", **said}])
    subject.config(policy=POLICY)
    await subject.run()
    assert [request.reason for request in person.asked] == ["the project's policy asks for approval of such tools"]


async def test_policy_leaves_tools_of_other_effects_alone(tmp_path):
    nodes = """
        from tuvl import node

        @node("peek", effects="read")
        def peek(ctx):
            return {}
    """
    subject = project(tmp_path, Person(), ask(("peek", {})), DONE, tools=[tool("peek", "never")], nodes=nodes)
    subject.config(policy=POLICY)
    assert (await subject.run()).signal == "default"


async def test_standing_yes_is_a_yes(tmp_path):
    subject = project(tmp_path, StandingAnswer(approved=True, by="--approve all", note=None))
    assert told(await subject.run(trace=True)) == ['{"stored":true}']
