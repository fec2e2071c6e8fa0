"""Files that no honest author writes, of any size: what the gate must answer in a time that grows with the file."""

import json
from collections.abc import Callable, Mapping

NAMES = ("kind: Workflow", "metadata: { name: monster }")


def workflow(steps: str, *, spec: str = "") -> str:
    """Write a workflow around steps that are written already."""
    return "\n".join((*NAMES, "spec:", spec, "  steps:", steps, ""))


def _each(line: Callable[[int], str], count: int) -> str:
    return "\n".join(line(number) for number in range(count))


def chain(size: int) -> str:
    """Write so many steps, each of which reads what the one before wrote."""
    return workflow(
        _each(
            lambda n: f"    - {{ id: s{n}, kind: Functional, runner: set, values: {{ k{n}: '{{{{ k{n - 1} }}}}' }} }}",
            size,
        ),
        spec="  input: { type: object, properties: { k-1: { type: string } } }",
    )


def cycle(size: int) -> str:
    """Write so many steps in one circle without a way out."""
    return workflow(
        _each(
            lambda n: (
                f"    - {{ id: s{n}, kind: Functional, runner: set, values: {{ k: 1 }}, "
                f"routes: {{ default: s{(n + 1) % size} }} }}"
            ),
            size,
        )
    )


def tangle(size: int) -> str:
    """Write so many routers, each with a route to a neighbour and one far away."""
    return workflow(
        _each(
            lambda n: (
                f"    - {{ id: r{n}, kind: Router, when: [{{ if: '{{{{ a > {n} }}}}', signal: far }}], "
                f"routes: {{ far: r{(n * 7 + 3) % size}, default: r{(n + 1) % size} }} }}"
            ),
            size,
        )
    )


def agents(size: int) -> str:
    """Write so many agents in a circle, each with a tool of its own."""

    def agent(n: int) -> str:
        return (
            f"    - id: a{n}\n      kind: Agent\n      mode: autonomous\n"
            f"      agent: {{ model: m, tools: [{{ ref: t{n} }}], max_iterations: 3, "
            f"outcome: {{ enum: [x, y], write: o{n} }} }}\n"
            f"      routes: {{ x: a{(n + 1) % size}, y: END, max_iterations: END, error: END, aborted: END }}\n"
            f"    - {{ id: t{n}, kind: APICall, http: {{ url: 'https://a.example/{{{{ q }}}}' }} }}"
        )

    return workflow(_each(agent, size))


def tools(size: int) -> str:
    """Write one agent with so many tools."""
    entries = _each(lambda n: f"          - {{ ref: t{n}, description: Tool number {n}. }}", size)
    steps = _each(
        lambda n: f"    - {{ id: t{n}, kind: APICall, http: {{ url: 'https://a.example/{{{{ q{n} }}}}' }} }}", size
    )
    agent = (
        "    - id: a\n      kind: Agent\n      mode: autonomous\n      agent:\n        model: m\n"
        f"        max_iterations: 3\n        tools:\n{entries}\n        outcome: {{ enum: [x], write: o }}\n"
        "      routes: { x: END }\n"
    )
    return workflow(agent + steps)


def lists(size: int) -> str:
    """Write so many lists, each of which is gone through for each item of the one around it."""
    steps = _each(
        lambda n: f"    - {{ id: s{n}, kind: ForEach, items: '{{{{ xs }}}}', step: s{n + 1}, max_items: 3 }}", size
    )
    return workflow(f"{steps}\n    - {{ id: s{size}, kind: Functional, runner: set, values: {{ k: 1 }} }}")


def _one_value(text: str) -> str:
    return workflow(f"    - {{ id: s, kind: Functional, runner: set, values: {{ k: {json.dumps(text)} }} }}")


def long_template(size: int) -> str:
    """Write one template of so many expressions."""
    return _one_value("{{ a.b | default(1) }} " * size)


def template_of_statements(size: int) -> str:
    """Write one template of so many assignments, each of which reads the one before."""
    return _one_value("".join(f"{{% set x{n} = x{n - 1} ~ y %}}" for n in range(size)))


def nested_template(size: int) -> str:
    """Write one template of brackets inside each other."""
    return _one_value("{{ " + "(" * size + "a" + ")" * size + " }}")


def many_templates(size: int) -> str:
    """Write one step that sets so many values."""
    values = _each(lambda n: f'        k{n}: "{{{{ a{n} + b{n} | length }}}}"', size)
    return workflow(f"    - id: s\n      kind: Functional\n      runner: set\n      values:\n{values}")


def mutual_schemas(size: int) -> str:
    """Write a schema of so many definitions that refer to each other and to the whole."""
    definitions = {
        f"d{n}": {
            "type": "object",
            "properties": {
                "next": {"$ref": f"#/$defs/d{(n + 1) % size}"},
                "far": {"$ref": f"#/$defs/d{(n * 3 + 1) % size}"},
                "all": {"$ref": "#"},
            },
        }
        for n in range(size)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": definitions}
    return workflow(
        "    - { id: s, kind: Functional, runner: set, values: { k: '{{ next.far.all }}' } }",
        spec=f"  input: {json.dumps(schema)}",
    )


def doubling_schemas(size: int) -> str:
    """Write a schema that stands for two to the power of so many, written out."""
    definitions = {
        f"d{n}": {"type": "object", "allOf": [{"$ref": f"#/$defs/d{(n + 1) % size}"}] * 2} for n in range(size)
    }
    schema = json.dumps({"type": "object", "$ref": "#/$defs/d0", "$defs": definitions})
    return workflow(
        "    - id: a\n      kind: Agent\n      mode: autonomous\n"
        f"      agent: {{ model: m, tools: [{{ ref: t, parameters: {schema} }}], max_iterations: 3, "
        f"outcome: {{ enum: [x], write: o, schema: {schema} }} }}\n"
        "    - { id: t, kind: Functional, runner: set, values: { a: 1 } }"
    )


def deep_schema(size: int) -> str:
    """Write a schema so many levels deep."""
    schema = '{"type":"object","properties":{"a":' * size + '{"type":"string"}' + "}}" * size
    return workflow("    - { id: s, kind: Functional, runner: set, values: { k: 1 } }", spec=f"  input: {schema}")


def large_enum(size: int) -> str:
    """Write a schema that allows so many values."""
    values = json.dumps([f"v{n}" for n in range(size)])
    return workflow(
        "    - { id: s, kind: Functional, runner: set, values: { k: '{{ p }}' } }",
        spec=f"  input: {{ type: object, properties: {{ p: {{ enum: {values} }} }} }}",
    )


def aliases(size: int) -> str:
    """Write so many lists, each of which holds the one before twice."""
    lines = _each(lambda n: f"    a{n}: &a{n} [{f'*a{n - 1}, *a{n - 1}' if n else 'x'}]", size)
    return "\n".join((*NAMES, "spec:", "  input:", lines, ""))


def merges(size: int) -> str:
    """Write so many mappings, each of which merges the one before."""
    lines = _each(lambda n: f"    a{n}: &a{n} {{ {f'<<: *a{n - 1}, ' if n else ''}k{n}: 1 }}", size)
    return "\n".join((*NAMES, "spec:", "  input:", lines, ""))


def long_scalar(size: int) -> str:
    """Write one text of so many characters."""
    return _one_value("x" * size)


def documents(size: int) -> str:
    """Write so many workflows into one file, every second one with a name that is taken."""
    step = "    - { id: s, kind: Functional, runner: set, values: { k: 1 } }"
    return "---\n".join(workflow(step).replace("monster", f"monster{n // 2}") for n in range(size))


def broken_documents(size: int) -> str:
    """Write so many documents that are no YAML."""
    return "---\n".join(["kind: Workflow\nmetadata: [\n"] * size)


def unknown_fields(size: int) -> str:
    """Write so many fields that do not exist, each of which is nearly one that does."""
    return "\n".join((*NAMES, "spec:", _each(lambda n: f"  stepz{n}: 1", size), ""))


def unknown_targets(size: int) -> str:
    """Write so many routes to steps that do not exist, each of which is nearly one that does."""
    return workflow(
        _each(
            lambda n: (
                f"    - {{ id: step{n}, kind: Functional, runner: set, values: {{ k: 1 }}, "
                f"routes: {{ default: stap{n} }} }}"
            ),
            size,
        )
    )


def unknown_names(size: int) -> str:
    """Write so many references to models and prompts that do not exist."""
    return workflow(
        _each(
            lambda n: (
                f"    - {{ id: a{n}, kind: Agent, mode: completion, agent: {{ model: m{n}, "
                f"prompt: 'artifact://p{n}@1', outcome: {{ write: o }} }} }}"
            ),
            size,
        )
    )


def suppressions(size: int) -> str:
    """Write so many findings with so many comments that hide them."""
    return workflow(
        _each(
            lambda n: (
                f"    - {{ id: s{n}, kind: Functional, runner: set, values: {{ k: 1 }}, "
                "routes: { other: END } } # tuvl: ignore[TV303] it is meant so"
            ),
            size,
        )
    )


MONSTERS: Mapping[str, tuple[Callable[[int], str], int]] = {
    "steps in a row": (chain, 10_000),
    "steps in one circle": (cycle, 10_000),
    "tangled routers": (tangle, 4_000),
    "agents": (agents, 1_000),
    "tools of one agent": (tools, 1_000),
    "lists in lists": (lists, 2_000),
    "1 MB of template": (long_template, 45_000),
    "statements of one template": (template_of_statements, 10_000),
    "brackets of one template": (nested_template, 10_000),
    "templates of one step": (many_templates, 10_000),
    "schemas that mean each other": (mutual_schemas, 4_000),
    "schemas that double": (doubling_schemas, 400),
    "levels of a schema": (deep_schema, 8_000),
    "values of an enum": (large_enum, 200_000),
    "aliases that double": (aliases, 10_000),
    "merges": (merges, 4_000),
    "5 MB of text": (long_scalar, 5_000_000),
    "documents": (documents, 1_000),
    "broken documents": (broken_documents, 2_000),
    "unknown fields": (unknown_fields, 10_000),
    "unknown targets": (unknown_targets, 4_000),
    "unknown names": (unknown_names, 2_000),
    "comments that hide": (suppressions, 4_000),
}
"""What it is → how it is written, and the size that is measured."""
