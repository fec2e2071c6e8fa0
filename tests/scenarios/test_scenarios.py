"""`tuvl test`: what passes, what fails and where, and that nothing reaches outside."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.cli_support import tuvl
from tests.scenarios.scenario_support import HEAD, REPLIES, STUBS, Command, project

GOOD = REPLIES + STUBS + "  expect: { status: completed }\n"


@pytest.fixture
def tuvl_test(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capfd)


def test_scenario_that_holds_passes_without_a_network_or_a_key(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=GOOD)
    told = tuvl_test()
    assert told.code == 0
    assert told.out == "passed  tests/good.yaml:2: good (ticket)\n"
    assert told.err == "1 scenario: 1 passed\n"
    assert not (tmp_path / "nodes" / "marked.txt").exists()
    assert not (tmp_path / ".tuvl").exists()


@pytest.mark.parametrize(
    ("expect", "field", "expected", "actual"),
    [
        ("status: failed", "expect.status", "failed", "completed"),
        ("signal: unsure", "expect.signal", "unsure", "done"),
        ("error_type: timeout", "expect.error_type", "timeout", "nothing"),
        ("context: { answer: bad }", "expect.context.answer", '"bad"', '"fine"'),
        ("context: { marks: { all: [1, 3] } }", "expect.context.marks.all[1]", "3", "2"),
        ("context: { marks: { all: [1] } }", "expect.context.marks.all", "[1]", "[1,2]"),
        ("context: { order: { id: true } }", "expect.context.order.id", "true", "1"),
        (
            "context: { marks: { first: a } }",
            "expect.context.marks.first",
            '"a"',
            "no such key; there are last, all",
        ),
        ("output: done", "expect.output", '"done"', None),
        ("steps: [load, again]", "expect.steps[1]", "load → [again]", "load → [agent]"),
        ("steps: [load]", "expect.steps", "load → [the end]", "load → [agent]"),
        ("calls: []", "expect.calls", "[the end]", "[mark]"),
        ("calls: [mark, mark]", "expect.calls[1]", "mark → [mark]", "mark → [the end]"),
        (
            "calls: [{ tool: mark, arguments: { text: ho } }]",
            "expect.calls[0].arguments.text",
            '"ho"',
            '"hi"',
        ),
        ("max_llm_calls: 1", "expect.max_llm_calls", "at most 1", "2"),
        ("max_tool_calls: 0", "expect.max_tool_calls", "at most 0", "1"),
        ("max_cost_usd: 0.5", "expect.max_cost_usd", "at most 0.5", None),
        ("max_tokens: 500", "expect.max_tokens", "at most 500", None),
    ],
)
def test_expectation_that_does_not_hold_is_told_with_its_line(
    tuvl_test: Command, tmp_path: Path, expect: str, field: str, expected: str, actual: str | None
) -> None:
    project(tmp_path, bad=REPLIES + STUBS + "  expect:\n    " + expect + "\n")
    told = tuvl_test("--format", "json")
    assert told.code == 1
    (scenario,) = told.json["scenarios"]
    assert scenario["verdict"] == "failed"
    (problem,) = scenario["problems"]
    line = next(
        number
        for number, text in enumerate((tmp_path / "tests/bad.yaml").read_text().splitlines(), 1)
        if text.strip() == expect
    )
    assert (problem["file"], problem["line"], problem["message"]) == ("tests/bad.yaml", line, field)
    assert problem["expected"] == expected
    if actual is not None:
        assert problem["actual"] == actual


def test_values_are_compared_as_a_subset(tuvl_test: Command, tmp_path: Path) -> None:
    expect = "  expect: { context: { marks: { last: hi } }, calls: [mark], steps: [load, agent], max_llm_calls: 2 }\n"
    project(tmp_path, good=REPLIES + STUBS + expect)
    assert tuvl_test().code == 0


def test_call_without_a_stub_fails_the_scenario_and_names_the_step(tuvl_test: Command, tmp_path: Path) -> None:
    """The workflow routes the failure, and would look well without the refusal."""
    project(tmp_path, open="  expect: { status: failed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "step 'load' calls an API and has no stub" in told.out


def test_node_that_writes_is_not_run_without_leave(tuvl_test: Command, tmp_path: Path) -> None:
    stubs = "  stubs: { load: {} }\n"
    project(tmp_path, open=REPLIES + stubs + "  expect: { status: completed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "step 'mark' may write" in told.out
    assert not (tmp_path / "nodes" / "marked.txt").exists()


@pytest.mark.parametrize("allowed", ["true", "[mark]"])
def test_node_that_is_allowed_runs_and_what_it_prints_stays_off_stdout(
    tuvl_test: Command, tmp_path: Path, allowed: str
) -> None:
    text = REPLIES + f"  stubs: {{ load: {{}} }}\n  allow_effects: {allowed}\n  expect: {{ status: completed }}\n"
    project(tmp_path, run=text)
    told = tuvl_test()
    assert (told.code, told.out) == (0, "passed  tests/run.yaml:2: run (ticket)\n")
    assert (tmp_path / "nodes" / "marked.txt").read_text() == "hi"


def test_model_without_replies_is_refused_and_named(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, open=STUBS + "  expect: { status: failed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "model 'default' has no replies" in told.out


def test_model_that_nothing_calls_breaks_the_scenario(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, open="  models: { defult: { replies: [x] } }\n" + STUBS + "  expect: { status: failed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "BROKEN" in told.out
    assert "did you mean 'default'?" in told.out


def test_stubs_of_a_list_come_one_after_another_and_the_last_one_stays(tuvl_test: Command, tmp_path: Path) -> None:
    calls = "        - tool_calls: [{ name: mark, arguments: { text: %s } }]\n"
    models = "  models:\n    default:\n      replies:\n" + calls % "a" + calls % "b"
    models += "        - json: { outcome: done, result: fine }\n"
    stubs = "  stubs:\n    load: {}\n    mark: [{ delta: { marks: 1 } }, { delta: { marks: 2 } }]\n"
    project(tmp_path, good=models + stubs + "  expect: { context: { marks: 2 } }\n")
    assert tuvl_test().code == 0


def test_stub_with_an_error_leaves_on_its_route_and_shows_its_type(tuvl_test: Command, tmp_path: Path) -> None:
    stubs = "  stubs: { load: { error: no such order, error_type: http_status } }\n"
    expect = "  expect: { status: failed, steps: [load, give_up] }\n"
    project(tmp_path, good=stubs + expect)
    assert tuvl_test().code == 0


def test_scripts_are_found_beside_the_scenario(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good="  models: { default: { script: r.json } }\n" + STUBS + "  expect: { signal: unsure }\n")
    (tmp_path / "tests" / "r.json").write_text('[{"json": {"outcome": "unsure", "result": "x"}}]')
    assert "expect.signal" in tuvl_test().out
    (tmp_path / "tests" / "r.json").unlink()
    told = tuvl_test()
    assert (told.code, "cannot be used: no such file" in told.out) == (1, True)


def test_scenario_with_mistakes_is_broken_and_the_others_run(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=GOOD, bad="  stubs: { laod: {} }\n  expect: { status: completed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "TV202 stub 'laod' is no step of workflow 'ticket' (did you mean 'load'?)" in told.out
    assert told.err == "2 scenarios: 1 passed, 1 could not be run\n"


def test_select_runs_the_named_ones_only(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, one=GOOD, two=GOOD)
    assert tuvl_test("--select", "two").out == "passed  tests/two.yaml:2: two (ticket)\n"
    told = tuvl_test("--select", "tow")
    assert told.code == 2
    assert "there are: one, two" in told.err


def test_paths_name_files_folders_and_workflows(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, one=GOOD, two=GOOD)
    both = "passed  tests/one.yaml:2: one (ticket)\npassed  tests/two.yaml:2: two (ticket)\n"
    assert tuvl_test("tests").out == both
    assert tuvl_test("workflows/ticket.yaml").out == both
    assert tuvl_test("tests/one.yaml").out == both.splitlines(keepends=True)[0]
    assert tuvl_test("nowhere").code == 2
    assert tuvl_test("llms/default.yaml").code == 2


def test_disabled_scenario_is_left_out(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, one=GOOD)
    path = tmp_path / "tests" / "one.yaml"
    path.write_text("enabled: false\n" + path.read_text())
    told = tuvl_test()
    assert (told.code, told.out) == (2, "")
    assert "there are no scenarios" in told.err


def test_runs_give_the_same_report_each_time(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, b=GOOD, a=GOOD, c="  expect: { status: completed }\n")
    first = tuvl_test("--coverage")
    assert first == tuvl_test("--coverage")
    assert [line.split()[1] for line in first.out.splitlines() if "(ticket)" in line] == [
        "tests/a.yaml:2:",
        "tests/b.yaml:2:",
        "tests/c.yaml:2:",
    ]


def test_junit_counts_failures_and_errors_apart(tuvl_test: Command, tmp_path: Path) -> None:
    bad = REPLIES + STUBS + '  expect: { context: { answer: "\\x01<&" } }\n'
    project(tmp_path, good=GOOD, bad=bad, broken="  stubs: { x: {} }\n  expect: {}\n")
    told = tuvl_test("--format", "junit", "--output", "report.xml")
    assert (told.code, told.out) == (1, "")
    root = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    cases = {case.get("name"): case for case in root.iter("testcase")}
    failure = cases["bad"].find("failure")
    assert failure is not None
    assert "expect.context.answer" in (failure.text or "")
    assert cases["broken"].find("error") is not None
    assert len(cases["good"]) == 0


def test_coverage_names_what_no_scenario_took(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=GOOD)
    told = tuvl_test("--coverage", "--format", "json")
    (workflow,) = told.json["coverage"]["workflows"]
    missing = {(each["step"], each["signal"], each["exit"]) for each in workflow["uncovered"]}
    assert missing == {
        ("load", "error", False),
        ("agent", "unsure", True),
        ("agent", "max_iterations", True),
        ("agent", "error", True),
        ("agent", "budget_exceeded", True),
        ("again", "default", False),
    }
    assert (workflow["routes"], workflow["exits"]) == (8, 5)
    assert tuvl_test("--min-coverage", "25").code == 0
    told = tuvl_test("--min-coverage", "26")
    assert told.code == 1
    assert "25.0 % of the routes are covered, --min-coverage asks for 26 %" in told.err
    assert tuvl_test("--min-coverage", "101").code == 2


def test_generated_scenarios_validate_pass_and_cover_every_exit(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path)
    made = tuvl_test("--generate")
    assert made.code == 0
    names = {path.stem for path in (tmp_path / "tests").iterdir()}
    assert names == {
        f"ticket-agent-{exit}" for exit in ("done", "unsure", "max_iterations", "error", "budget_exceeded")
    }
    told = tuvl_test("--coverage", "--format", "json")
    assert told.code == 0
    assert [each for each in told.json["coverage"]["workflows"][0]["uncovered"] if each["exit"]] == []
    before = {path: path.read_bytes() for path in (tmp_path / "tests").iterdir()}
    again = tuvl_test("--generate")
    assert "nothing to write" in again.err
    assert {path: path.read_bytes() for path in (tmp_path / "tests").iterdir()} == before


def test_generate_overwrites_nothing(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=GOOD)
    mine = tmp_path / "tests" / "ticket-agent-unsure.yaml"
    mine.write_text("# mine\n")
    told = tuvl_test("--generate")
    assert "'tests/ticket-agent-unsure.yaml' exists already" in told.err
    assert mine.read_text() == "# mine\n"


def test_generate_goes_round_a_loop_with_one_stub_a_visit(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path)
    path = tmp_path / "workflows" / "ticket.yaml"
    text = path.read_text().replace(
        "values: { retried: true }\n      routes: { default: END }",
        "values: { retried: true }\n      routes: { default: agent }",
    )
    path.write_text(text)
    assert tuvl_test("--generate").code == 0
    stub = (tmp_path / "tests" / "ticket-agent-unsure.yaml").read_text()
    assert '"agent": [{"signal": "unsure"}, {"signal": "done"}]' in stub
    assert tuvl_test().code == 0


def test_generate_says_when_no_input_can_be_made_up(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path)
    path = tmp_path / "workflows" / "ticket.yaml"
    schema = '{ type: object, required: [id], properties: { id: { type: string, pattern: "^T-[0-9]+$" } } }'
    path.write_text(path.read_text().replace("spec:\n", f"spec:\n  input: {schema}\n", 1))
    told = tuvl_test("--generate")
    assert "no input could be made up" in told.err
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "one.yaml").write_text(HEAD % "one" + "  input: { id: T-1 }\n" + GOOD)
    assert tuvl_test("--generate").code == 0
    assert '"id": "T-1"' in (tmp_path / "tests" / "ticket-agent-unsure.yaml").read_text()


def test_input_that_does_not_fit_breaks_the_scenario(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, one="  input: { id: 1 }\n" + GOOD)
    path = tmp_path / "workflows" / "ticket.yaml"
    schema = "{ type: object, properties: { id: { type: string } } }"
    path.write_text(path.read_text().replace("spec:\n", f"spec:\n  input: {schema}\n", 1))
    told = tuvl_test()
    assert told.code == 1
    assert "BROKEN" in told.out
    assert "tests/one.yaml:5:10: the input does not fit workflow 'ticket': id: must be of type" in told.out


def test_steps_of_a_workflow_inside_are_stubbed_by_their_workflow(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "workflows" / "outer.yaml").write_text(
        "kind: Workflow\nmetadata: { name: outer }\nspec:\n  steps:\n"
        "    - { id: inside, kind: Workflow, workflow: ticket, output_key: told, routes: { default: END } }\n"
    )
    (tmp_path / "tests").mkdir()
    text = "kind: WorkflowTest\nmetadata: { name: o }\nspec:\n  workflow: outer\n"
    (tmp_path / "tests" / "o.yaml").write_text(text + "  expect: { status: completed }\n")
    assert "step 'ticket/load' calls an API" in tuvl_test().out
    stubs = "  stubs: { ticket/load: {}, ticket/mark: {} }\n"
    (tmp_path / "tests" / "o.yaml").write_text(
        text + REPLIES + stubs + "  expect: { calls: [mark], error_type: null }\n"
    )
    told = tuvl_test()
    assert (told.code, told.out.startswith("passed")) == (0, True), told.out


def test_judge_is_scripted_like_any_model_and_refused_without(tuvl_test: Command, tmp_path: Path) -> None:
    judged = REPLIES + "    judge: { replies: [{ json: { pass: false, reason: rude } }] }\n" + STUBS
    expect = "  expect: { status: failed, steps: [load, agent, give_up] }\n"
    project(tmp_path, judged=judged + expect, open=REPLIES + STUBS + "  expect: {}\n")
    guard = "kind: Artifact\nmetadata: { name: polite, version: 1 }\n"
    guard += "spec: { type: guardrail, checks: [{ check: llm_judge, model: judge, criteria: Be polite. }] }\n"
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "artifacts" / "polite.yaml").write_text(guard)
    (tmp_path / "llms" / "judge.yaml").write_text(
        (tmp_path / "llms/default.yaml").read_text().replace("default", "judge")
    )
    path = tmp_path / "workflows" / "ticket.yaml"
    text = path.read_text().replace(
        "max_iterations: 3", "max_iterations: 3\n        guardrails: { output: [artifact://polite@1] }"
    )
    path.write_text(text.replace("routes: { done: END,", "routes: { guardrail_violation: give_up, done: END,"))
    told = tuvl_test()
    assert told.code == 1
    assert "passed  tests/judged.yaml" in told.out, told.out
    assert "model 'judge' has no replies" in told.out


@pytest.mark.parametrize(("approve", "ran"), [("all", True), ("none", False)])
def test_calls_that_need_approval_get_the_standing_answer(
    tuvl_test: Command, tmp_path: Path, approve: str, ran: bool
) -> None:
    expect = f"  approve: {approve}\n  expect: {{ context: {{ marks: {{ last: hi }} }} }}\n"
    project(tmp_path, one=REPLIES + STUBS + expect)
    path = tmp_path / "workflows" / "ticket.yaml"
    path.write_text(
        path.read_text().replace("writes_context: true", "writes_context: true\n            approval: required")
    )
    assert tuvl_test().code == (0 if ran else 1)


def test_scenario_that_takes_too_long_is_cut_off(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, one="  timeout_s: 0.05\n" + GOOD.replace("status: completed", "error_type: timeout"))
    path = tmp_path / "workflows" / "ticket.yaml"
    waits = "- { id: rest, kind: Functional, runner: wait, seconds: 60, routes: { default: load } }"
    path.write_text(path.read_text().replace("  steps:\n", f"  steps:\n    {waits}\n", 1))
    told = tuvl_test()
    assert (told.code, told.out.startswith("passed")) == (0, True), told.out


def test_scenarios_of_the_example_pass_and_take_every_route(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).resolve().parents[2])
    told = Command(capfd)("--min-coverage", "100")
    assert told.code == 0, told.out + told.err


def test_node_that_ignores_its_end_holds_up_no_other_scenario(tmp_path: Path) -> None:
    text = REPLIES + "  stubs: { load: {} }\n  allow_effects: [mark]\n  expect: { calls: [mark] }\n"
    project(tmp_path, a=text, b=GOOD)
    (tmp_path / "nodes" / "mark.py").write_text(
        "import asyncio\n\nfrom tuvl import node\n\n\n"
        '@node("mark", writes=["marks"], signals=["default"], effects="write")\n'
        "async def mark(ctx):\n    while True:\n        try:\n            await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError:\n            pass\n"
    )
    path = tmp_path / "workflows" / "ticket.yaml"
    path.write_text(path.read_text().replace("writes_context: true", "timeout_s: 0.05\n            on_timeout: report"))
    told = tuvl("test", cwd=tmp_path)
    assert (told.returncode, told.stderr) == (0, "2 scenarios: 2 passed\n")
    assert told.stdout.count("passed") == 2


def test_scenario_that_fails_tells_the_error_of_its_run(tuvl_test: Command, tmp_path: Path) -> None:
    replies = "  models: { default: { replies: [{ error: { type: server_error, message: down for a while } }] } }\n"
    project(tmp_path, bad=replies + STUBS + "  expect: { signal: default, status: completed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "    the run's error: step 'give_up': Nobody could help. (failed)\n" in told.out
    (scenario,) = tuvl_test("--format", "json").json["scenarios"]
    assert (scenario["error"]["type"], scenario["error"]["step"]) == ("failed", "give_up")
    assert "the run's error: step 'give_up': Nobody could help." in tuvl_test("--format", "junit").out


def test_scenario_that_took_too_long_says_so(tuvl_test: Command, tmp_path: Path) -> None:
    slow = "  models: { default: { replies: [{ text: x, delay_s: 60 }] } }\n  timeout_s: 0.3\n"
    project(tmp_path, slow=slow + STUBS + "  expect: { status: completed }\n")
    told = tuvl_test()
    assert told.code == 1
    assert "did not finish within 0.3 s (timeout); the scenario's `timeout_s` says so" in told.out
