"""Projects to measure with, written to a folder."""

from pathlib import Path

MODEL = """\
kind: AgentModel
metadata: { name: bench }
spec:
  provider: scripted
  replies:
    - text: '{"outcome": "resolved", "result": "done"}'
      usage: { input_tokens: 100, output_tokens: 10 }
  price: { input_per_mtok: 1.0, output_per_mtok: 4.0 }
"""

STEERING = """\
---
name: desk
type: steering
version: 1
---
Find out what the customer needs, and decide.
"""

NODE = '''\
"""Nodes to measure with."""

from tuvl import node


@node("price", reads=["order"], writes=["total"], signals=["default"], effects="read")
def price(ctx):
    return {"total": 1}
'''

HEAD = """\
# A workflow of the size that people write: {name}.
kind: Workflow
metadata:
  name: {name}
  description: Resolve or escalate one support ticket.
spec:
  input:
    type: object
    additionalProperties: false
    required: [ticket_id, text, order]
    properties:
      ticket_id: {{ type: string }}
      text: {{ type: string }}
      order:
        type: object
        required: [id, amount]
        properties:
          id: {{ type: string }}
          amount: {{ type: number }}
  limits:
    max_steps: 50
    timeout_s: 300
    max_tokens: 50000
    max_cost_usd: 0.50
  steps:
    - id: price
      kind: Functional
      description: What the order costs.
      runner: price
      routes: {{ default: large_or_not }}

    - id: large_or_not
      kind: Router
      when:
        - {{ if: "{{{{ order.amount > 1000 }}}}", signal: large }}
      routes: {{ large: escalate, default: agent }}

    - id: agent
      kind: Agent
      mode: autonomous
      description: Resolve the ticket or say why not.
      agent:
        model: bench
        steering: artifact://desk@1
        context_injection: [text]
        tools:
"""

TOOL_ENTRY = """\
          - ref: look_{number}
            description: Look at record number {number} of the customer.
            parameters:
              type: object
              required: [key]
              properties:
                key: {{ type: string, maxLength: 40 }}
"""

MIDDLE = """\
        max_iterations: 6
        token_budget: 12000
        cost_budget_usd: 0.10
        max_wall_clock_s: 60
        outcome:
          enum: [resolved, escalated]
          write: resolution
      routes:
        resolved: answer
        escalated: escalate
        max_iterations: escalate
        budget_exceeded: escalate
        error: escalate
        aborted: escalate

    - id: answer
      kind: Functional
      runner: set
      values:
        handled_by: assistant
      routes: { default: respond }

    - id: escalate
      kind: Functional
      runner: set
      values:
        handled_by: person
      routes: { default: respond }

    - id: respond
      kind: Response
      mapping:
        ticket: ticket_id
        handled_by: handled_by
      routes: { default: END }
"""

TOOL_STEP = """
    - id: look_{number}
      kind: APICall
      http:
        url: "https://api.example.com/records/{number}/{{{{ args.key }}}}"
        timeout: 10
      response:
        output_key: record_{number}
"""


def workflow_text(name: str, *, tools: int = 4) -> str:
    """Write a workflow of about 140 lines, with the four tools it has by default."""
    numbers = range(1, tools + 1)
    return (
        HEAD.format(name=name)
        + "".join(TOOL_ENTRY.format(number=number) for number in numbers)
        + MIDDLE
        + "".join(TOOL_STEP.format(number=number) for number in numbers)
    )


def write_project(folder: Path, *, workflows: int) -> None:
    """Write a project with so many workflows of about 140 lines each."""
    write(folder / "llms" / "bench.yaml", MODEL)
    write(folder / "artifacts" / "desk.md", STEERING)
    write(folder / "nodes" / "price.py", NODE)
    for number in range(workflows):
        name = f"ticket_{number:03}"
        write(folder / "workflows" / f"{name}.yaml", workflow_text(name))


def write(path: Path, text: str) -> None:
    """Write a text file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
