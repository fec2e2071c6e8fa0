"""Every place that binds a name: what comes to stand there is followed, and what a type closes stays clean."""

from pathlib import Path

import pytest

from tests.check.checking import check, messages, of, workflow

INPUT = """
context: T
input:
  type: object
  additionalProperties: false
  required: [text, lang, n, words, rows, langs]
  properties:
    text: { type: string }
    lang: { enum: [en, de] }
    n: { type: integer }
    words: { type: array, items: { type: string } }
    langs: { type: array, items: { enum: [en, de] } }
    rows:
      type: array
      items: { type: object, properties: { lang: { enum: [en, de] }, note: { type: string } } }
"""
RECORD = """
kind: ModelDefinition
metadata: { name: T }
spec: { tablename: t, fields: [{ name: a, type: integer, primary_key: true }, { name: b, type: text }] }
"""
ENDS = "error: END, aborted: END, timeout: END, parse_error: END"
LOAD = '- { id: load, kind: APICall, http: { url: "https://a.example/" }, response: { output_key: page } }'
SUB = """
kind: Workflow
metadata: { name: sub }
spec:
  input: { type: object, additionalProperties: false, properties: { q: { type: string } } }
  output: got
  steps:
    - { id: s, kind: Functional, runner: set, values: { got: "WHAT" } }
"""
ANSWERS = """
kind: Workflow
metadata: { name: answers }
spec:
  input: { type: object, additionalProperties: false, properties: {} }
  output: got
  steps:
    - { id: s, kind: Functional, runner: set, values: { got: "x" } }
    - { id: a, kind: Agent, mode: completion, agent: { model: own/x, prompt: Hi., outcome: OUTCOME } }
"""


def asks(shown: str) -> str:
    agent = f'{{ model: own/x, prompt: Hi., system: "In {shown}" }}'
    return f"- {{ id: ask, kind: Agent, mode: completion, agent: {agent}, routes: {{ default: END, {ENDS} }} }}"


def answers(outcome: str, *, id: str = "first") -> str:
    agent = f"{{ model: own/x, prompt: Hi., outcome: {outcome} }}"
    return f"- {{ id: {id}, kind: Agent, mode: completion, agent: {agent}, routes: {{ {ENDS} }} }}"


def works(tools: str, *, routes: str = "", id: str = "first") -> str:
    agent = f"{{ model: own/x, steering: Work., tools: [{tools}] }}"
    ends = f"max_iterations: END, error: END, aborted: END {routes}"
    return f"- {{ id: {id}, kind: Agent, mode: autonomous, agent: {agent}, routes: {{ {ends} }} }}"


def each(items: str, body: str, *, more: str = "") -> str:
    return f'- {{ id: list, kind: ForEach, items: "{items}", as: it, step: {body}, output_key: all, {more} }}'


def instructed(tmp_path: Path, *steps: str, head: str = INPUT, **files: str) -> list[tuple[str, str]]:
    """What is told of untrusted instructions: how it weighs, and the message."""
    others = {f"workflows/{name}.yaml": text for name, text in files.items()} | {"models/t.yaml": RECORD}
    report = check(tmp_path, workflow("\n".join(steps), head) | others)
    assert [one.message for one in report.findings if one.code < "TV300"] == []
    return [(str(one.severity), one.message) for one in of(report, "TV710")]


CALL = '- { id: call, kind: APICall, http: { url: "https://a.example/" }, response: { output_key: lang } }'
CLOSED = "additionalProperties: false, properties: { score: { type: integer } }"

TOLD = {
    "item": ([each("{{ words }}", "ask"), asks("{{ it }}")], "'words' of the input → list → ask"),
    "item below args": ([each("{{ words }}", "ask"), asks("{{ args.it }}")], "'words' of the input → list → ask"),
    "part of an item": ([each("{{ rows }}", "ask"), asks("{{ it.note }}")], "'rows' of the input → list → ask"),
    "item of a reply": ([LOAD, each("{{ page.all }}", "ask"), asks("{{ it.a }}")], "the reply in 'page' of APICall"),
    "item of a filtered list": ([each("{{ words | sort }}", "ask"), asks("{{ it }}")], "'words' of the input → list"),
    "item of a list in a list": (
        [
            each("{{ rows }}", "inner"),
            '- { id: inner, kind: ForEach, items: "{{ it.note }}", as: one, step: ask }',
            asks("{{ one }}"),
        ],
        "'rows' of the input → list → inner → ask",
    ),
    "outer item in an inner list": (
        [
            each("{{ words }}", "inner"),
            "- { id: inner, kind: ForEach, items: [1], as: one, step: ask }",
            asks("{{ it }}"),
        ],
        "'words' of the input → list → inner → ask",
    ),
    "item with the name of a clean key": (
        [each("{{ words }}", "ask", more="").replace("as: it", "as: lang"), asks("{{ lang }}")],
        "'words' of the input → list → ask",
    ),
    "result of a body that shows another key": (
        [
            each("{{ langs }}", "body"),
            asks("{{ all }}"),
            '- { id: body, kind: Functional, runner: set, values: { got: "{{ text }}" } }',
        ],
        "'text' of the input → list → ask",
    ),
    "result of a list in a list": (
        [
            each("{{ langs }}", "inner"),
            asks("{{ all }}"),
            "- { id: inner, kind: ForEach, items: [1], step: call }",
            '- { id: call, kind: APICall, http: { url: "https://a.example/" }, response: { output_key: r } }',
        ],
        "the reply in 'all' of ForEach → list → ask",
    ),
    "input of a workflow in its output": (
        [
            "- { id: run, kind: Workflow, workflow: sub, input: { q: '{{ text }}' }, output_key: out }",
            asks("{{ out }}"),
        ],
        "'text' of the input → run → ask",
    ),
    "extracted part of a reply": (
        [
            '- { id: load, kind: APICall, http: { url: "https://a.example/" },'
            " response: { extract: [{ path: a, as: got }] } }",
            asks("{{ got }}"),
        ],
        "the reply in 'got' of APICall → load → ask",
    ),
    "key that a JSON answer may overwrite": (
        [answers("{ format: json }"), asks("{{ lang }}")],
        "the answer in 'lang' of Agent → first → ask",
    ),
    "key that a JSON answer with other fields may overwrite": (
        [answers("{ format: json, schema: { properties: { score: { type: integer } } } }"), asks("{{ lang }}")],
        "the answer in 'lang' of Agent → first → ask",
    ),
    "key that nothing but a JSON answer may bring": (
        [answers("{ format: json }"), asks("{{ foo }}")],
        "the answer in 'foo' of Agent → first → ask",
    ),
    "key that an answer with declared outcomes may overwrite": (
        [answers("{ enum: [a] }").replace("routes: {", "routes: { a: ask,"), asks("{{ lang }}")],
        "the answer in 'lang' of Agent",
    ),
    "field of an answer under the name of a clean key": (
        [
            answers(
                "{ format: json, map: { l: lang }, schema: { additionalProperties: false, properties: { l: {} } } }"
            ),
            asks("{{ lang }}"),
        ],
        "the answer in 'lang' of Agent → first → ask",
    ),
    "copy of a key that an answer may overwrite": (
        [
            answers("{ format: json }"),
            '- { id: copy, kind: Functional, runner: set, values: { tongue: "{{ lang }}" } }',
            asks("{{ tongue }}"),
        ],
        "the answer in 'lang' of Agent → first → copy → ask",
    ),
    "reply that a tool writes, on an end without an answer": (
        [
            works("{ ref: call, writes_context: true }").replace("max_iterations: END", "max_iterations: ask"),
            asks("{{ lang }}"),
            CALL,
        ],
        "the reply in 'lang' of Agent → first",
    ),
    "record that a tool writes with fields of the model's choice": (
        [
            works("{ ref: record, writes_context: true }").replace("max_iterations: END", "max_iterations: ask"),
            asks("{{ lang }}"),
            "- { id: record, kind: ModelOp, model: T, operation: create, payload: { a: 1 }, output: lang }",
        ],
        "the answer in 'lang' of Agent → first",
    ),
    "what a person types": (
        [
            "- { id: person, kind: HumanInTheLoop, ui: { title: Hi }, output_key: said,"
            " human_feedback: [{ name: why }] }",
            asks("{{ said.why }}"),
        ],
        "what a person types in 'said' of HumanInTheLoop → person → ask",
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_text_from_outside_is_told_under_whatever_name_it_comes(tmp_path: Path, case: str) -> None:
    steps, way = TOLD[case]
    ((severity, message),) = instructed(tmp_path, *steps, sub=SUB.replace("WHAT", "{{ q }}"))
    assert severity == "error"
    assert way in message


CLEAN = {
    "closed item": [each("{{ langs }}", "ask"), asks("{{ it }}")],
    "closed item below args": [each("{{ langs }}", "ask"), asks("{{ args.it }}")],
    "closed part of an item": [each("{{ rows }}", "ask"), asks("{{ it.lang }}")],
    "item that stands in the file": ["- { id: list, kind: ForEach, items: [a], as: it, step: ask }", asks("{{ it }}")],
    "item in the place of a stranger's text": [
        each("{{ langs }}", "ask").replace("as: it", "as: text"),
        asks("{{ text }}"),
    ],
    "closed part of an item that a step has copied": [
        '- { id: copy, kind: Functional, runner: set, values: { list2: "{{ rows }}" } }',
        each("{{ list2 }}", "ask"),
        asks("{{ it.lang }}"),
    ],
    "results of a body that gives closed values": [
        each("{{ langs }}", "body"),
        asks("{{ all }}"),
        '- { id: body, kind: Functional, runner: set, values: { got: "{{ it }} {{ n }}" } }',
    ],
    "key beside a JSON answer that is closed": [
        answers(f"{{ format: json, schema: {{ {CLOSED} }} }}"),
        asks("{{ lang }} {{ score }}"),
    ],
    "key beside a JSON answer whose other fields are closed": [
        answers("{ format: json, schema: { additionalProperties: { type: integer } } }"),
        asks("{{ lang }}"),
    ],
    "key beside an answer that goes to one key": [answers("{ format: text, write: said }"), asks("{{ lang }}")],
    "closed field of an open answer": [
        answers("{ format: json, schema: { properties: { score: { type: integer } } } }"),
        asks("{{ score }}"),
    ],
    "key that is set again after the answer": [
        answers("{ format: json }"),
        "- { id: again, kind: Functional, runner: set, values: { lang: en } }",
        asks("{{ lang }}"),
    ],
    "closed part of an input before an answer that may overwrite it": [
        asks("{{ rows.0.lang }}").replace("default: END", "default: first"),
        answers("{ format: json }"),
    ],
    "choice of a person beside what is typed": [
        "- { id: person, kind: HumanInTheLoop, ui: { title: Hi }, output_key: said,"
        " human_feedback: [{ name: why }, { name: ok, type: boolean }, { name: to, type: choice, choices: [a, b] }] }",
        asks("{{ said.ok }} {{ said.to }}"),
    ],
    "output of a workflow with words of its own": [
        "- { id: run, kind: Workflow, workflow: sub, input: { q: '{{ lang }}' }, output_key: out }",
        asks("{{ out }}"),
    ],
}


@pytest.mark.parametrize("case", CLEAN)
def test_value_that_nobody_outside_writes_is_clean_under_whatever_name(tmp_path: Path, case: str) -> None:
    assert instructed(tmp_path, *CLEAN[case], sub=SUB.replace("WHAT", "{{ q }}")) == []


@pytest.mark.parametrize(
    ("outcome", "count"),
    [
        ("{ format: json }", 1),
        ("{ format: json, schema: { properties: { got: { type: integer } } } }", 0),
        (f"{{ format: json, schema: {{ {CLOSED} }} }}", 0),
        ("{ write: got }", 1),
    ],
)
def test_output_that_an_answer_inside_may_overwrite_is_a_strangers(tmp_path: Path, outcome: str, count: int) -> None:
    run = "- { id: run, kind: Workflow, workflow: answers, input: {}, output_key: out }"
    assert len(instructed(tmp_path, run, asks("{{ out }}"), answers=ANSWERS.replace("OUTCOME", outcome))) == count


class TestUnasked:
    OPEN = "input: { type: object, properties: { n: { type: integer } } }"
    BRANCH = """
- { id: fork, kind: Router, condition: { field: n, operator: gt, value: 1 }, routes: { "true": say, "false": ask } }
- { id: say, kind: Functional, runner: set, values: { tone: kind } }
"""

    def test_key_that_the_input_may_bring_past_the_step_that_sets_it_is_a_warning(self, tmp_path: Path) -> None:
        ((severity, message),) = instructed(tmp_path, self.BRANCH, asks("{{ tone | default('kind') }}"), head=self.OPEN)
        assert severity == "warning"
        assert message.endswith("the input → fork (false) → ask")

    def test_input_that_takes_no_other_keys_cannot_bring_it(self, tmp_path: Path) -> None:
        closed = self.OPEN.replace("properties:", "additionalProperties: false, properties:")
        assert instructed(tmp_path, self.BRANCH, asks("{{ tone | default('kind') }}"), head=closed) == []

    def test_key_that_is_set_on_every_way_is_clean(self, tmp_path: Path) -> None:
        say = "- { id: say, kind: Functional, runner: set, values: { tone: kind } }"
        assert instructed(tmp_path, say, asks("{{ tone }}"), head=self.OPEN) == []


def test_answers_of_which_nothing_is_known_reach_an_agent_that_acts(tmp_path: Path) -> None:
    head = "input: { type: object, additionalProperties: false, properties: { n: { type: integer } } }"
    parameters = "parameters: { type: object, additionalProperties: false, properties: { b: { type: string } } }"
    acts = works(f"{{ ref: send, {parameters} }}", id="acts")
    send = '- { id: send, kind: APICall, http: { url: "https://m.example/", method: POST, json: "{{ args }}" } }'
    steps = "\n".join([answers("{ format: json }"), acts, send])
    (message,) = messages(check(tmp_path, workflow(steps, head)), "TV702")
    assert "the answer of Agent → first → acts → send" in message
    closed = steps.replace("format: json", f"format: json, schema: {{ {CLOSED} }}")
    assert messages(check(tmp_path, workflow(closed, head)), "TV702") == []
