"""TV501 behind a router that asks whether a key is there: what its branch proves, and what it does not."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, workflow
from tuvl.analysis.presence import shown_present
from tuvl.analysis.steps import StepView, WorkflowView
from tuvl.errors import TemplateError
from tuvl.templating.render import compile_template

HEAD = """
input:
  type: object
  additionalProperties: false
  required: [text, flag]
  properties: { text: { type: string }, nick: { type: string }, flag: { type: boolean } }
"""
NOTE = '{ id: note, kind: Functional, runner: log, message: "{{ nick }}" }'


def told(folder: Path, steps: str, head: str = HEAD) -> list[str]:
    """The ways to steps that read `nick`, as they are shown."""
    return [message.rpartition(": ")[2] for message in messages(check(folder, workflow(steps, head)), "TV501")]


def routed(test: str, yes: str, no: str) -> str:
    return f"""
        - id: r
          kind: Router
          when: [{{ if: "{{{{ {test} }}}}", signal: "yes" }}]
          routes: {{ "yes": {yes}, default: {no}, error: END }}
        - {NOTE}
    """


PROVES = [
    "nick is defined",
    "(nick is defined)",
    "not (nick is undefined)",
    "nick is defined and nick != ''",
    "flag and nick is defined",
    "nick is defined and (nick == 'a' or flag)",
    "(nick is defined and nick == 'a') or (text == 'b' and nick == 'c')",
    "(nick | default('')) != ''",
    "nick | default('') | length > 0",
    "nick | default(none) is not none",
    "(nick | default(none)) != none",
    "nick | default(false) == 'a'",
    "nick | default('nobody') not in ['nobody', '']",
    "not not (nick is defined)",
    "true if nick is defined else false",
    "nick.first is defined",
    "(nick is defined) == true",
]
"""What is true of a nick that is there alone."""
PROVES_NOTHING = [
    "nick is not defined or nick == 'a'",
    "nick is defined or flag",
    "flag or nick is defined",
    "nick | default('x') != ''",
    "text is defined",
    "(nick | default(text)) != ''",
    "nick is defined or true",
    "'a' if flag else nick is defined",
    "(nick | default('')) == ''",
]


@pytest.mark.parametrize("test", PROVES)
def test_key_that_the_branch_proves_is_there_behind_it(tmp_path: Path, test: str) -> None:
    assert told(tmp_path, routed(test, "note", "END")) == []


@pytest.mark.parametrize("test", PROVES)
def test_other_branch_proves_nothing(tmp_path: Path, test: str) -> None:
    assert told(tmp_path, routed(test, "END", "note")) == ["r → note"]


@pytest.mark.parametrize("test", PROVES)
def test_asking_the_other_way_round_proves_it_on_the_other_branch(tmp_path: Path, test: str) -> None:
    assert told(tmp_path, routed(f"not ({test})", "END", "note")) == []


@pytest.mark.parametrize("test", PROVES_NOTHING)
def test_condition_that_holds_without_the_key_proves_nothing(tmp_path: Path, test: str) -> None:
    assert told(tmp_path, routed(test, "note", "END")) == ["r (yes) → note"]


@pytest.mark.parametrize("test", [*PROVES, *PROVES_NOTHING])
@pytest.mark.parametrize("others", [{"text": "b", "flag": True}, {"text": "b", "flag": False}, {"text": ""}])
def test_signal_of_which_a_key_is_proven_is_not_given_without_it(test: str, others: dict[str, str | bool]) -> None:
    source = f"{{{{ {test} }}}}"
    step = {"id": "r", "kind": "Router", "when": [{"if": source, "signal": "yes"}]}
    view: StepView = WorkflowView({"spec": {"steps": [step]}}).by_id["r"]
    proven = {signal for signal, keys in shown_present(view).items() if "nick" in keys}
    try:
        found = compile_template(source, where="test").render(dict(others))
    except TemplateError:
        return
    assert {True: "yes", False: "default"}.get(found) not in proven  # type: ignore[call-overload]  # or another value


class TestConditions:
    @pytest.mark.parametrize(
        ("operator", "there", "missing"), [("is_not_empty", "true", "false"), ("is_empty", "false", "true")]
    )
    def test_operator_that_asks_for_it_proves_it_on_one_branch(
        self, tmp_path: Path, operator: str, there: str, missing: str
    ) -> None:
        router = f"id: r, kind: Router, condition: {{ field: nick, operator: {operator} }}"
        for signal, other, ways in ((there, missing, []), (missing, there, [f"r ({missing}) → note"])):
            steps = f'- {{ {router}, routes: {{ "{signal}": note, "{other}": END, error: END }} }}\n- {NOTE}'
            assert told(tmp_path, steps) == ways

    def test_part_of_it_that_is_not_empty_proves_the_whole(self, tmp_path: Path) -> None:
        steps = f"""
            - id: r
              kind: Router
              condition: {{ field: nick.first, operator: is_not_empty }}
              routes: {{ "true": note, "false": END, error: END }}
            - {NOTE}
        """
        assert told(tmp_path, steps, HEAD.replace("nick: { type: string }", "nick: {}")) == []

    def test_way_by_error_proves_nothing(self, tmp_path: Path) -> None:
        steps = routed("nick is defined", "END", "END").replace("error: END", "error: note")
        assert told(tmp_path, steps) == ["r (error) → note"]


class TestCases:
    STEPS = """
        - id: r
          kind: Router
          when:
            - {{ if: "{{{{ {first} }}}}", signal: one }}
            - {{ if: "{{{{ {second} }}}}", signal: {signal} }}
          routes: {{ one: {one}, two: {two}, default: {rest}, error: END }}
        - {note}
    """

    def steps(self, first: str, second: str, *, to: str, signal: str = "two") -> str:
        ways = {name: "note" if name == to else "END" for name in ("one", "two", "rest")}
        return self.STEPS.format(first=first, second=second, signal=signal, note=NOTE, **ways)

    def test_case_that_takes_every_run_without_it_proves_it_for_all_that_follow(self, tmp_path: Path) -> None:
        for to in ("two", "rest"):
            assert told(tmp_path, self.steps("nick is not defined", "flag", to=to)) == []
        assert told(tmp_path, self.steps("nick is not defined", "flag", to="one")) == ["r (one) → note"]

    def test_case_before_it_that_needs_no_key_proves_nothing(self, tmp_path: Path) -> None:
        assert told(tmp_path, self.steps("text == 'a'", "nick is defined", to="one")) == ["r (one) → note"]
        assert told(tmp_path, self.steps("text == 'a'", "nick is defined", to="two")) == []

    def test_signal_that_two_cases_give_proves_what_both_do(self, tmp_path: Path) -> None:
        both = self.steps("nick is defined", "nick | default('') == 'a'", to="one", signal="one")
        assert told(tmp_path, both) == []
        other = self.steps("nick is defined", "text == 'a'", to="one", signal="one")
        assert told(tmp_path, other) == ["r (one) → note"]


def test_branches_that_join_again_prove_nothing(tmp_path: Path) -> None:
    steps = f"""
        - id: r
          kind: Router
          condition: {{ field: nick, operator: is_not_empty }}
          routes: {{ "true": greet, "false": join, error: END }}
        - {{ id: greet, kind: Functional, runner: log, message: "Hello {{{{ nick }}}}.", routes: {{ default: join }} }}
        - {{ id: join, kind: Functional, runner: log, message: done, routes: {{ default: note }} }}
        - {NOTE}
    """
    assert told(tmp_path, steps) == ["r (false) → join → note"]


def test_default_that_the_other_branch_sets_makes_up_for_it(tmp_path: Path) -> None:
    steps = f"""
        - id: r
          kind: Router
          when: [{{ if: "{{{{ nick is defined }}}}", signal: known }}]
          routes: {{ known: note, default: invent, error: END }}
        - {{ id: invent, kind: Functional, runner: set, values: {{ nick: you }}, routes: {{ default: note }} }}
        - {NOTE}
    """
    assert told(tmp_path, steps) == []


def test_question_for_a_key_that_can_never_be_there_hides_nothing(tmp_path: Path) -> None:
    steps = routed("nik is defined", "note", "END").replace("{{ nick }}", "{{ nik }}")
    (message,) = messages(check(tmp_path, workflow(steps, HEAD)), "TV501")
    assert "reads 'nik' in `message`, which nothing on the way there writes" in message


def test_output_behind_the_branch_that_proves_it_is_there(tmp_path: Path) -> None:
    stop = "        - { id: stop, kind: Functional, runner: fail, message: no }\n"
    steps = routed("nick is defined", "note", "stop").replace("error: END", "error: stop")
    found = check(tmp_path, workflow(steps.rstrip(" ") + stop, HEAD + "output: nick"))
    assert messages(found, "TV505") == messages(found, "TV501") == []
