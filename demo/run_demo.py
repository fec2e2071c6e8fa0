"""The demo: validate and test the example project, start its shop, run three tickets offline, check what came out.

Run it with `make demo`, or as `python -m demo.run_demo` with the Python that tuvl is installed for. It fails loudly
when a result differs from what stands here.
"""

import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demo.shop_service import DEFAULT_PORT, ShopServer

ROOT = Path(__file__).resolve().parent.parent
TUVL = Path(sys.executable).with_name("tuvl.exe" if os.name == "nt" else "tuvl")
WORKFLOW = "workflows/triage_ticket.yaml"
INPUTS = "demo/inputs"


@dataclass(frozen=True)
class Ticket:
    """One ticket and what must come of it; `path` is every step with the signal it left on."""

    input: str
    story: str
    path: str
    handled_by: str
    llm_calls: int
    tool_calls: int
    tokens: int
    cost: str
    shop: str


TICKETS = (
    Ticket(
        input="resolved",
        story="a kettle that arrived cracked",
        path="load_order:default assess:default held_or_not:default triage:resolved write_reply:default "
        "answered:default respond:default",
        handled_by="assistant",
        llm_calls=4,
        tool_calls=3,
        tokens=4_857,
        cost="$0.0111",
        shop="refunded 45.00 on A-1001",
    ),
    Ticket(
        input="escalated",
        story="a laptop after seven weeks, and a lawyer",
        path="load_order:default assess:default held_or_not:default triage:escalated because_escalated:default "
        "queue_for_person:default holding_reply:default respond:default",
        handled_by="person",
        llm_calls=3,
        tool_calls=2,
        tokens=4_326,
        cost="$0.0095",
        shop="T-502 waits for a person",
    ),
    Ticket(
        input="over_budget",
        story="six orders in one ticket",
        path="load_order:default assess:default held_or_not:default triage:budget_exceeded "
        "because_out_of_bounds:default queue_for_person:default holding_reply:default respond:default",
        handled_by="person",
        llm_calls=2,
        tool_calls=6,
        tokens=13_020,
        cost="$0.0304",
        shop="T-503 waits for a person",
    ),
)


class DemoFailedError(Exception):
    """The demo did not show what it promises."""


def main() -> int:
    """Run the demo; 0 when everything came out as it should."""
    try:
        validate()
        test()
        with shop() as server:
            for number, ticket in enumerate(TICKETS, 1):
                show(number, ticket, server)
    except DemoFailedError as error:
        print(f"\ndemo FAILED: {error}", file=sys.stderr)
        return 1
    print(NEXT)
    return 0


def validate() -> None:
    """Close the gate for mistakes before anything runs."""
    print(title("tuvl validate --strict"))
    answer = tuvl("validate", "--strict")
    print(indent(answer.stdout + answer.stderr))
    if answer.returncode:
        raise DemoFailedError("the example project has findings")


def test() -> None:
    """Run the scenarios of the project, which need no shop."""
    print(title("tuvl test --min-coverage 100"))
    answer = tuvl("test", "--min-coverage", "100")
    print(indent(answer.stdout + answer.stderr))
    if answer.returncode:
        raise DemoFailedError("a scenario of the example project does not pass, or a route is not covered")


@contextmanager
def shop() -> Iterator[ShopServer]:
    """Keep the shop open for a while."""
    try:
        server = ShopServer(DEFAULT_PORT)
    except OSError as error:
        raise DemoFailedError(
            f"the shop could not open port {DEFAULT_PORT} of 127.0.0.1 ({error.strerror}); "
            "stop what listens there (another demo?) and try again"
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def show(number: int, ticket: Ticket, server: ShopServer) -> None:
    """Run one ticket, print what happened, and compare it with what should."""
    arguments = ("run", WORKFLOW, "--input", f"{INPUTS}/{ticket.input}.json")
    before = server.shop.ledger()[1]
    print(title(f"{number}. {ticket.story}: tuvl {' '.join(arguments)}"))
    answer = tuvl(*arguments, "--events", "none")
    try:
        result = json.loads(answer.stdout)
    except ValueError:
        raise DemoFailedError(f"tuvl run printed no result:\n{answer.stdout}{answer.stderr}") from None
    seen = seen_in(result, moved(before, server.shop.ledger()[1]))
    for label, value in seen.items():
        print(textwrap.fill(value, 110, initial_indent=f"  {label:<9}", subsequent_indent=" " * 11))
    compare(ticket, answer.returncode, result, seen)


def seen_in(result: Mapping[str, object], shop_says: str) -> dict[str, str]:
    """Return what a person wants to see of a result, by label."""
    usage = mapping(result["usage"])
    output = mapping(result.get("output"))
    cost = usage["cost_usd"]
    price = "cost unknown" if cost is None else f"${cost:.4f}"
    error = mapping(result.get("error"))
    status = str(result["status"])
    return {
        "status": f"{status}, though step {error['step']!r} ended on {error['type']}" if error else status,
        "path": " → ".join(step_text(mapping(step)) for step in sequence(result["steps"])),
        "usage": f"{usage['llm_calls']} model calls, {usage['tool_calls']} tool calls, "
        f"{usage['total_tokens']:,} tokens, {price}",
        "output": f"handled by {output.get('handled_by')}: {output.get('reply')}",
        "shop": shop_says,
    }


def step_text(step: Mapping[str, object]) -> str:
    """Name a step, with its signal where that says something."""
    return str(step["id"]) if step["signal"] == "default" else f"{step['id']} ({step['signal']})"


def moved(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """Say what changed in the shop."""
    news = [
        f"refunded {int(str(refund['amount_cents'])) / 100:.2f} on {refund['order_id']}"
        for refund in map(mapping, sequence(after["refunds"])[len(sequence(before["refunds"])) :])
    ]
    news += [
        f"{ticket['ticket_id']} waits for a person"
        for ticket in map(mapping, sequence(after["queue"])[len(sequence(before["queue"])) :])
    ]
    return ", ".join(news) or "nothing"


def compare(ticket: Ticket, code: int, result: Mapping[str, object], seen: Mapping[str, str]) -> None:
    """Raise `DemoFailedError` with everything that is not as it should be."""
    usage = mapping(result["usage"])
    steps = [mapping(step) for step in sequence(result["steps"])]
    checks: Sequence[tuple[str, object, object]] = (
        ("exit code", code, 0),
        ("status", result["status"], "completed"),
        ("path", " ".join(f"{step['id']}:{step['signal']}" for step in steps), ticket.path),
        ("handled by", mapping(result.get("output")).get("handled_by"), ticket.handled_by),
        ("model calls", usage["llm_calls"], ticket.llm_calls),
        ("tool calls", usage["tool_calls"], ticket.tool_calls),
        ("tokens", usage["total_tokens"], ticket.tokens),
        ("cost", seen["usage"].rsplit(", ", 1)[1], ticket.cost),
        ("shop", seen["shop"], ticket.shop),
    )
    wrong = [f"  {name} is {is_!r}\n    expected {should!r}" for name, is_, should in checks if is_ != should]
    if wrong:
        reason = f"\n  error: {json.dumps(result.get('error'))}"
        raise DemoFailedError("\n".join([f"ticket {ticket.input!r} came out otherwise", *wrong]) + reason)


def tuvl(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in the project, without a terminal and without the settings of this shell."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TUVL_")}
    environ["PYTHONIOENCODING"] = "utf-8"
    try:
        return subprocess.run(
            [TUVL, *arguments],
            cwd=ROOT,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    except FileNotFoundError:
        raise DemoFailedError(f"there is no {TUVL.name} beside {sys.executable}; run `make demo`") from None


def mapping(value: object) -> Mapping[str, object]:
    """Return a mapping as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> Sequence[object]:
    """Return a list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def title(text: str) -> str:
    """Set a heading."""
    return f"\n{text}\n{'-' * min(len(text), 110)}"


def indent(text: str) -> str:
    """Set text two places in."""
    return textwrap.indent(text.strip(), "  ")


NEXT = """
All three came out as they should. What next:

  . .venv/bin/activate                              put tuvl on your path
  python demo/shop_service.py &                     open the shop for runs of your own
  tuvl run workflows/triage_ticket.yaml --input demo/inputs/resolved.json --trace
  tuvl run workflows/triage_ticket.yaml --input demo/inputs/resolved.json \\
      --model default=openai/gpt-4.1-mini           the same with a live model; wants OPENAI_API_KEY
  tuvl graph workflows/triage_ticket.yaml           the picture, as Mermaid
  tuvl init my-project                              a project of your own; docs/tutorial.md goes on from there
"""

if __name__ == "__main__":
    sys.exit(main())
