"""Killed at any entry, a run that goes on has used what it would have used: each call on record counts once."""

import asyncio
import contextlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agent.loop_support import ask, say
from tests.durable.test_record import Rows
from tests.engine.run_support import Project
from tests.guardrails.guard_support import GuardedProject
from tuvl.agent.stored import RequestDigest
from tuvl.durable.record import DurableJournal
from tuvl.engine.result import RunResult
from tuvl.errors import ModelError
from tuvl.llm.messages import ModelReply, ModelRequest, Price

SOAK = bool(os.environ.get("TUVL_SOAK"))
LANES = [1, 2, 3, 4] if SOAK else [1, 3]


@pytest.fixture(autouse=True)
async def dead_processes_say_nothing() -> None:
    """Let the loop not complain of tasks of a process that is gone: nobody hears what became of them."""
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)


class Killed(BaseException):
    """The process is gone."""


class Mortal(Rows):
    """Rows of a process that dies after so many of them, and lets others go first now and then."""

    def __init__(self, kept: dict[str, Any], lasts: int | None, chance: random.Random) -> None:
        super().__init__()
        self.kept = kept
        self._left = lasts
        self._chance = chance

    async def put(self, name: str, row: Any) -> None:
        await wavering(self._chance)
        if self._left == 0:
            raise Killed
        if self._left is not None:
            self._left -= 1
        await super().put(name, row)


async def wavering(chance: random.Random) -> None:
    for _ in range(chance.randrange(6)):
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Asked:
    """What a model is asked."""

    said: str
    attempt: int
    """How often it was asked so in this process."""
    on_record: int
    """How many such requests are on record."""

    @property
    def cost(self) -> int:
        return 10 + sum(self.said.encode()) % 17


class Wavering:
    """Answers after a while, what it was asked tells; each request costs something of its own."""

    name = "test/wavering"
    price = Price(input_per_mtok=1.0, output_per_mtok=2.0)

    def __init__(self, chance: random.Random, answer: "Answer", kept: dict[str, Any]) -> None:
        self._chance = chance
        self._answer = answer
        self._kept = kept
        self._asked: Counter[str] = Counter()

    async def complete(self, request: ModelRequest) -> ModelReply:
        said = json.dumps([message.content for message in request.messages])
        self._asked[said] += 1
        await wavering(self._chance)
        digest = RequestDigest().of(request)
        on_record = sum(row.get("asked") == digest for row in self._kept.values())
        return self._answer(request, Asked(said, self._asked[said], on_record))

    async def aclose(self) -> None:
        return None


Answer = Callable[[ModelRequest, Asked], ModelReply]


def at_once(request: ModelRequest, asked: Asked) -> ModelReply:
    return say("ok", tokens=asked.cost)


def at_the_second_attempt(request: ModelRequest, asked: Asked) -> ModelReply:
    if asked.attempt == 1:
        raise ModelError("the line broke", type="connection", retryable=True)
    return say("ok", tokens=asked.cost)


def in_json_at_the_second_request(request: ModelRequest, asked: Asked) -> ModelReply:
    return say("{" if asked.on_record == 0 else '{"a": 1}', tokens=asked.cost)


def after_tools(request: ModelRequest, asked: Asked) -> ModelReply:
    """Three calls in each of two turns, then an answer; what is asked inside of them is answered at once."""
    turns = sum(message.role == "assistant" for message in request.messages)
    if not request.tools or turns == 2:
        return say("done", tokens=asked.cost)
    calls = [("sub", {"n": f"{turns}.{n}"}, f"c{turns}.{n}") for n in range(3)]
    return ask(*calls, tokens=asked.cost)


def with_notes(request: ModelRequest, asked: Asked) -> ModelReply:
    """Four calls one after the other, each with a long result; what is asked for notes gives some."""
    if not request.tools:
        return say("notes", tokens=asked.cost)
    results = sum(message.role == "tool" for message in request.messages) + 2 * asked.said.count("notes")
    if results >= 6:
        return say("done", tokens=asked.cost)
    return ask(("look", {"n": results}, f"c{results}"), tokens=asked.cost)


def verdicts(request: ModelRequest, asked: Asked) -> ModelReply:
    return say('{"pass": true}', tokens=asked.cost)


EACH = """
- id: each
  kind: ForEach
  items: "{{ [1, 2, 3] }}"
  as: item
  step: one
  concurrency: LANES
  output_key: got
"""

ONE = """
- id: one
  kind: Agent
  mode: completion
  agent: { model: default, prompt: "say {{ item }} {{ n | default(0) }}", MORE }
- { id: last, kind: Agent, mode: completion, agent: { model: judge, prompt: last } }
"""

INNER = (
    """
- { id: first, kind: Agent, mode: completion, agent: { model: default, prompt: "first {{ n }}" } }
"""
    + EACH
    + ONE.replace("MORE", "")
)

NESTED = (
    EACH.replace("one", "sub")
    + """
- { id: last, kind: Agent, mode: completion, agent: { model: judge, prompt: last } }
- { id: sub, kind: Workflow, workflow: inner, input: { n: "{{ item }}" }, output_key: out }
"""
)

LOOP = """
- id: one
  kind: Agent
  mode: autonomous
  agent:
    model: default
    steering: Work.
    tool_concurrency: LANES
    tools:
      - ref: TOOL
        description: Works.
        parameters: { type: object, properties: { n: { type: string } }, required: [n] }
    MORE
"""

TOOLS = (
    LOOP.replace("TOOL", "sub").replace("MORE", "")
    + """
- { id: sub, kind: Workflow, workflow: inner, input: { n: "{{ args.n }}" }, output_key: out }
"""
)

LOOPS = (
    EACH
    + LOOP.replace("TOOL", "look")
    + """
- { id: look, kind: Functional, effects: read, runner: look }
"""
)

GUARDED = 'guardrails: { input: ["artifact://fair@1"], tools: ["artifact://fair@1"], output: ["artifact://fair@1"] }'

CASES: dict[str, tuple[str, Answer]] = {
    "lanes": (EACH + ONE.replace("MORE", ""), at_once),
    "retries": (EACH + ONE.replace("MORE", "retry: { attempts: 2, backoff: 0.0001 }"), at_the_second_attempt),
    "answers that cannot be read": (
        EACH + ONE.replace("MORE", "outcome: { write: r, format: json }, retry: { attempts: 2, on: [parse_error] }"),
        in_json_at_the_second_request,
    ),
    "nested lists and workflows": (NESTED, at_once),
    "tools beside each other": (TOOLS, after_tools),
    "judges": (LOOPS.replace("MORE", GUARDED), with_notes),
    "summaries": (LOOPS.replace("MORE", "compaction: { max_tokens: 250, recent_tail: 1 }"), with_notes),
}


def project_of(
    root: Path, steps: str, answer: Answer, lanes: int, chance: random.Random, kept: dict[str, Any], **spec: object
) -> Project:
    project = GuardedProject(root)
    project.guardrail("fair", {"check": "llm_judge", "model": "judge", "criteria": "It is fair."})
    project.looking('return {"found": "much " * 20}')
    project.workflow(steps.replace("LANES", str(lanes)), **spec)
    project.workflow(INNER.replace("LANES", str(lanes)), name="inner")
    project.model("never used", price={"input_per_mtok": 1, "output_per_mtok": 2}).model("never used", name="judge")
    project.chat_models["default"] = Wavering(chance, answer, kept)
    project.chat_models["judge"] = Wavering(chance, verdicts, kept)
    return project


async def performed(project: Project, rows: Rows, run_id: str, *, again: bool = True) -> RunResult:
    """Run on a record, as one process of several."""
    engine = project.engine()
    try:
        journal = DurableJournal(rows, dict(rows.kept), again=again)
        return await engine.run(project.plan(), {}, journal=journal, run_id=run_id)
    finally:
        await engine.aclose()


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("case", CASES)
async def test_a_run_that_goes_on_has_used_what_it_would_have_used_without_a_crash(case, lanes, tmp_path):
    steps, answer = CASES[case]
    chance = random.Random(f"{case} {lanes}")

    async def lives(kept: dict[str, Any], lasts: int | None, run_id: str, *, again: bool = True) -> RunResult:
        project = project_of(tmp_path, steps, answer, lanes, chance, kept)
        return await performed(project, Mortal(kept, lasts, chance), run_id, again=again)

    whole: dict[str, Any] = {}
    expected = await lives(whole, None, "whole", again=False)
    assert expected.status == "completed", expected.error
    every = 1 if SOAK else max(1, len(whole) // 3)
    for lasts in range(chance.randrange(every), len(whole), every):
        kept: dict[str, Any] = {}
        with pytest.raises(Killed):
            await lives(kept, lasts, f"r{lasts}", again=False)
        with contextlib.suppress(Killed):  # and a second time, further on
            await lives(kept, chance.randrange(4), f"r{lasts}")
        result = await lives(kept, None, f"r{lasts}")
        assert result.status == "completed", result.error
        used, wanted = result.usage.to_json(), expected.usage.to_json()
        assert used.pop("cost_usd") == pytest.approx(wanted.pop("cost_usd"))
        assert used == wanted, f"killed after {lasts} entries"


def turn_after_turn(request: ModelRequest, asked: Asked) -> ModelReply:
    done = sum(message.role == "assistant" for message in request.messages)
    return ask(("look", {"n": str(done)}, f"c{done}"), tokens=10)


def turns_in(kept: dict[str, Any]) -> int:
    return sum("/turn." in name for name in kept)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("bound", [{"max_tokens": 60}, {"max_cost_usd": 55e-6}], ids=lambda bound: next(iter(bound)))
async def test_a_lane_that_comes_to_a_new_call_first_reckons_with_what_the_others_have_on_record(
    bound, lanes, tmp_path
):
    steps, chance = LOOPS.replace("MORE", ""), random.Random(lanes)

    async def lives(kept: dict[str, Any], run_id: str, *, again: bool = True) -> RunResult:
        project = project_of(tmp_path, steps, turn_after_turn, lanes, chance, kept, limits=bound)
        return await performed(project, Mortal(kept, None, chance), run_id, again=again)

    kept: dict[str, Any] = {}
    assert (await lives(kept, "r1", again=False)).error.type == "budget_exceeded"
    # As if the process had been killed before any lane could say how it ended.
    kept = {name: row for name, row in kept.items() if not name.endswith("]/end") and name != "each#1/end"}
    before = turns_in(kept)
    result = await lives(kept, "r1")
    assert result.error.type == "budget_exceeded"
    assert turns_in(kept) == before, "no lane asks anew"
    assert result.usage.llm_calls == before, "what a lane that was cut off had on record is counted"
    if lanes > 1:
        assert before >= 6


async def test_what_is_on_record_was_permitted_and_is_not_refused_when_others_pass_theirs_first(tmp_path):
    """All three were asked before any had an answer, and used up the budget together."""
    steps, chance = (EACH + ONE.replace("MORE", "")).partition("- { id: last")[0], random.Random(1)
    kept: dict[str, Any] = {}

    async def lives(run_id: str, *, again: bool = True) -> RunResult:
        project = project_of(tmp_path, steps, at_once, 3, chance, kept, limits={"max_tokens": 30})
        return await performed(project, Mortal(kept, None, chance), run_id, again=again)

    expected = await lives("r1", again=False)
    assert expected.status == "completed"
    for name in [name for name in kept if "/turn." not in name]:
        del kept[name]
    result = await lives("r1")
    assert (result.status, result.usage.total_tokens) == ("completed", expected.usage.total_tokens)


@pytest.mark.parametrize("bound", [8, 9], ids=["one too few", "just enough"])
async def test_steps_of_workflows_inside_count_after_a_crash_too(bound, tmp_path):
    steps, chance = NESTED.replace("[1, 2, 3]", "[1]"), random.Random(bound)

    async def lives(kept: dict[str, Any], lasts: int | None, run_id: str, *, again: bool = True) -> RunResult:
        project = project_of(tmp_path, steps, at_once, 2, chance, kept, limits={"max_steps": bound})
        return await performed(project, Mortal(kept, lasts, chance), run_id, again=again)

    whole: dict[str, Any] = {}
    expected = await lives(whole, None, "whole", again=False)
    assert expected.status == ("completed" if bound == 9 else "failed"), expected.error
    for lasts in range(len(whole)):
        kept: dict[str, Any] = {}
        with pytest.raises(Killed):
            await lives(kept, lasts, f"r{lasts}", again=False)
        result = await lives(kept, None, f"r{lasts}")
        assert (result.status, result.error and result.error.type) == (
            expected.status,
            expected.error and expected.error.type,
        ), f"killed after {lasts} entries"
