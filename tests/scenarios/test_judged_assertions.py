"""`expect.judge`: what a model says of a run is told apart, and fails nothing."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.check.checking import check, messages
from tests.scenarios.scenario_support import REPLIES, STUBS, Command, project
from tuvl.scenarios.judging import JudgedVerdict

JUDGE = "kind: AgentModel\nmetadata: {{ name: {name} }}\nspec: {{ provider: scripted, replies: {replies} }}\n"
KIND = "[{ when: { contains: fine }, json: { pass: true, reason: short and kind } }, { json: { pass: false } }]"


def scenario(*judge: str, expect: str = "status: completed") -> str:
    listed = "".join(f"      - {{ {entry} }}\n" for entry in judge)
    return f"{REPLIES}{STUBS}  expect:\n    {expect}\n    judge:\n{listed}"


def judge_model(folder: Path, replies: str, name: str = "judge") -> None:
    (folder / "llms" / f"{name}.yaml").write_text(JUDGE.format(name=name, replies=replies), encoding="utf-8")


@pytest.fixture
def tuvl_test(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capfd)


def judged(command: Command, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = command("--format", "json", *words).json["judged"]
    return found


KINDLY = "name: kind, criteria: It is kind., over: context.answer"


def test_without_a_model_it_is_skipped_and_says_so(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=scenario(KINDLY))
    told = tuvl_test()
    assert told.code == 0
    assert told.out.splitlines() == [
        "passed  tests/good.yaml:2: good (ticket)",
        "judged  tests/good.yaml:16:9: good: kind: skipped",
        "    no model: it names none, and `tuvl test` was given no --judge-model",
    ]
    assert told.err.splitlines() == [
        "1 scenario: 1 passed",
        "1 judged assertion, apart from the result: 1 skipped",
    ]


def test_verdict_and_reason_are_told_apart_from_the_scenario(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=scenario(KINDLY))
    judge_model(tmp_path, KIND)
    told = tuvl_test("--judge-model", "judge")
    assert told.code == 0
    assert told.out.splitlines()[1:] == [
        "judged  tests/good.yaml:16:9: good: kind: met, asked of judge",
        "    short and kind",
    ]


@pytest.mark.parametrize(
    ("replies", "verdict", "reason"),
    [
        ("[{ json: { pass: false, reason: rude } }]", "unmet", "rude"),
        ("[{ json: { pass: true } }]", "met", None),
        ("[I think it is fine.]", "unanswered", "what it said cannot be read as a verdict"),
        ('[{ json: { pass: "yes" } }]', "unanswered", "what it said cannot be read as a verdict"),
        (
            "[{ error: { type: authentication, message: no key } }]",
            "unanswered",
            "the model could not be asked (authentication): no key",
        ),
    ],
    ids=["unmet", "met", "prose", "odd", "outage"],
)
def test_no_verdict_changes_the_exit_code(
    tuvl_test: Command, tmp_path: Path, replies: str, verdict: JudgedVerdict, reason: str | None
) -> None:
    project(tmp_path, good=scenario(f"{KINDLY}, model: judge"))
    judge_model(tmp_path, replies)
    told = tuvl_test("--format", "json")
    assert told.code == 0
    assert told.json["summary"]["passed"] == 1
    assert [(each["verdict"], each["reason"]) for each in told.json["judged"]] == [(verdict, reason)]


def test_model_of_the_command_line_goes_before_that_of_the_scenario(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=scenario(f"{KINDLY}, model: strict"))
    judge_model(tmp_path, KIND)
    judge_model(tmp_path, "[{ json: { pass: false } }]", "strict")
    assert [each["verdict"] for each in judged(tuvl_test)] == ["unmet"]
    assert [each["verdict"] for each in judged(tuvl_test, "--judge-model", "judge")] == ["met"]


@pytest.mark.parametrize(
    ("over", "seen"),
    [
        ("context.answer", "\nfine\n"),
        ("context.marks.all.1", "\n2\n"),
        ("context", '"answer":"fine"'),
        ("output", '"answer":"fine"'),
        ("trace", '"tool":"mark"'),
    ],
)
def test_what_it_is_over_reaches_the_judge_marked_as_untrusted(
    tuvl_test: Command, tmp_path: Path, over: str, seen: str
) -> None:
    project(tmp_path, good=scenario(f'name: any, criteria: Any., over: "{over}", model: judge'))
    for told in (seen, "<untrusted-", "</untrusted-"):
        judge_model(
            tmp_path, f"[{{ when: {json.dumps(told)}, json: {{ pass: true }} }}, {{ json: {{ pass: false }} }}]"
        )
        assert [each["verdict"] for each in judged(tuvl_test)] == ["met"], told


@pytest.mark.parametrize("over", ["context.nothing", "context.answer.first", "context.order.gone"])
def test_what_is_not_there_is_not_judged(tuvl_test: Command, tmp_path: Path, over: str) -> None:
    project(tmp_path, good=scenario(f"name: any, criteria: Any., over: {over}, model: judge"))
    judge_model(tmp_path, KIND)
    (found,) = judged(tuvl_test)
    assert (found["verdict"], found["reason"]) == ("skipped", f"the run left nothing at `{over}`")


def test_failed_scenario_fails_whatever_the_judge_says(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, bad=scenario(f"{KINDLY}, model: judge", expect="status: failed"))
    judge_model(tmp_path, KIND)
    told = tuvl_test("--format", "json")
    assert told.code == 1
    assert [each["verdict"] for each in told.json["judged"]] == ["met"]


def test_scenario_that_does_not_run_is_not_judged(tuvl_test: Command, tmp_path: Path) -> None:
    models = "  models: { other: { replies: [a] } }\n"
    project(tmp_path, broken=f"{models}  expect:\n    judge: [{{ name: a, criteria: b }}]\n")
    told = tuvl_test("--format", "json")
    assert told.code == 1
    assert [(each["verdict"], each["reason"]) for each in told.json["judged"]] == [
        ("skipped", "the scenario did not run")
    ]


def test_judges_stand_in_a_suite_of_their_own_without_a_failure(tuvl_test: Command, tmp_path: Path) -> None:
    project(
        tmp_path, good=scenario(f"{KINDLY}, model: judge", "name: short, criteria: Short., over: trace, model: judge")
    )
    judge_model(
        tmp_path, '[{ json: { pass: true, reason: kind } }, { json: { pass: false, reason: "<long> \\u0001" } }]'
    )
    root = ElementTree.fromstring(tuvl_test("--format", "junit").out)
    own, apart = root.findall("testsuite")
    assert (root.get("tests"), root.get("failures"), own.get("tests")) == ("1", "0", "1")
    assert (apart.get("name"), apart.get("tests"), apart.get("failures"), apart.get("skipped")) == (
        "judged by a model",
        "2",
        "0",
        "1",
    )
    kind, short = apart.findall("testcase")
    assert kind.find("skipped") is None
    skipped = short.find("skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("not met: <long>")
    assert {each.get("name"): each.get("value") for each in short.iter("property")} == {
        "verdict": "unmet",
        "over": "trace",
        "model": "judge",
    }


def test_model_that_is_not_there_is_misuse_on_the_command_line_and_told_in_a_scenario(
    tuvl_test: Command, tmp_path: Path
) -> None:
    project(tmp_path, good=scenario(f"{KINDLY}, model: jugde"))
    judge_model(tmp_path, KIND)
    told = tuvl_test("--judge-model", "jugde")
    assert told.code == 2
    assert told.err == (
        "tuvl: --judge-model names 'jugde', which is no AgentModel of this project; did you mean 'judge'?\n"
    )
    (found,) = judged(tuvl_test)
    assert found["verdict"] == "unanswered"
    assert "there is no AgentModel 'jugde'" in found["reason"]


def test_policy_of_the_project_holds_for_judges(tuvl_test: Command, tmp_path: Path) -> None:
    policy = "kind: ProjectConfig\nspec:\n  policy: { allow_models: [default, openai_compatible/*] }\n"
    project(tmp_path, good=scenario(f"{KINDLY}, model: vendor/judge"))
    (tmp_path / "tuvl.yaml").write_text(policy, encoding="utf-8")
    told = tuvl_test()
    assert told.code == 1
    assert "TV219 judge 1 calls model 'vendor/judge', which is none that" in told.out
    project(tmp_path, good=scenario(KINDLY))
    (tmp_path / "tuvl.yaml").write_text(policy, encoding="utf-8")
    (found,) = judged(tuvl_test, "--judge-model", "vendor/judge")
    assert found["verdict"] == "unanswered"
    assert "`policy.allow_models` allows" in found["reason"]


def test_criteria_may_be_an_artifact_of_type_steering(tuvl_test: Command, tmp_path: Path) -> None:
    project(tmp_path, good=scenario('name: a, criteria: "artifact://tone@1", over: context.answer, model: judge'))
    prose = tmp_path / "artifacts" / "tone.md"
    prose.parent.mkdir()
    prose.write_text("---\nname: tone\ntype: steering\n---\nIt is kind.\n", encoding="utf-8")
    judge_model(tmp_path, KIND)
    assert [each["verdict"] for each in judged(tuvl_test)] == ["met"]


@pytest.mark.parametrize(
    ("entry", "code", "said"),
    [
        ("name: a, criteria: b, model: jugde", "TV206", "judge number 1 names the model 'jugde'"),
        ('name: a, criteria: "artifact://tone@1"', "TV204", "artifact 'tone' is not in this project"),
        ("name: a, criteria: b, over: reply", "TV102", "`output`, `trace`, `context`, or `context.` and a dot path"),
        ("name: a", "TV103", "`criteria` is missing"),
        ("name: a, criterion: b, criteria: b", "TV101", "'criterion'"),
    ],
    ids=["model", "artifact", "over", "missing", "unknown"],
)
def test_mistakes_of_a_judged_assertion_are_found(tmp_path: Path, entry: str, code: str, said: str) -> None:
    project(tmp_path, good=scenario(entry))
    judge_model(tmp_path, KIND)
    found = messages(check(tmp_path, {}), code)
    assert len(found) == 1
    assert said in found[0]
