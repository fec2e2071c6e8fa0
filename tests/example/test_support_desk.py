"""The example project from end to end: its files, its shop, and the command line, without a network."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from demo.run_demo import TICKETS, Ticket, moved, seen_in
from demo.shop_service import ShopServer
from tests.cli.cli_support import tuvl
from tests.example.project import ROOT, copy_example, open_shop
from tests.support.ports import kept_port

TUVL = Path(sys.executable).with_name("tuvl")
WORKFLOW = "workflows/triage_ticket.yaml"


@dataclass
class Desk:
    """A copy of the project with its shop."""

    folder: Path
    shop: ShopServer

    def tuvl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return tuvl(*arguments, cwd=self.folder, stdin=stdin)

    def run(self, ticket: dict[str, str], *flags: str) -> tuple[int, dict]:
        answer = self.tuvl("run", WORKFLOW, "--input", "-", *flags, stdin=json.dumps(ticket))
        assert answer.stdout, answer.stderr
        return answer.returncode, json.loads(answer.stdout)

    @property
    def ledger(self) -> dict:
        return self.shop.shop.ledger()[1]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_shop() as shop:
        copy_example(tmp_path / "desk", port=shop.port)
        yield Desk(tmp_path / "desk", shop)


def ticket(**changes: str) -> dict[str, str]:
    given = json.loads((ROOT / "demo/inputs/resolved.json").read_text(encoding="utf-8"))
    return {**given, **changes}


def path_of(result: dict) -> list[str]:
    return [step["id"] for step in result["steps"]]


def test_project_has_no_finding_of_any_weight(desk: Desk) -> None:
    answer = desk.tuvl("validate", "--strict", "--format", "json")
    assert answer.returncode == 0
    report = json.loads(answer.stdout)
    assert report["findings"] == []
    assert report["summary"]["files"] >= 8


def test_repository_root_validates_as_the_project_it_is() -> None:
    answer = subprocess.run(
        [TUVL, "validate", "--strict"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False, timeout=100
    )
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize("expected", TICKETS, ids=lambda case: case.input)
def test_ticket_of_the_demo_takes_the_path_that_the_demo_promises(desk: Desk, expected: Ticket) -> None:
    before = desk.ledger
    answer = desk.tuvl("run", WORKFLOW, "--input", f"demo/inputs/{expected.input}.json")
    result = json.loads(answer.stdout)
    assert answer.returncode == 0
    assert " ".join(f"{step['id']}:{step['signal']}" for step in result["steps"]) == expected.path
    assert result["output"]["handled_by"] == expected.handled_by
    assert result["usage"]["total_tokens"] == expected.tokens
    assert result["usage"]["estimated"] is False
    assert seen_in(result, moved(before, desk.ledger))["shop"] == expected.shop


def test_ticket_that_runs_twice_is_refunded_once(desk: Desk) -> None:
    for _ in range(2):
        code, result = desk.run(ticket())
        assert (code, result["output"]["handled_by"]) == (0, "assistant")
    assert len(desk.ledger["refunds"]) == 1


def test_note_of_the_assistant_stays_on_the_ticket_and_tool_results_do_not(desk: Desk) -> None:
    _, result = desk.run(ticket())
    context = result["context"]
    assert context["notes"] == ["Refunded 45.00 for a cracked kettle, delivered today, photo attached."]
    assert context["resolution"]["refunded_cents"] == 4_500
    assert not {"sections", "refund", "args"} & context.keys()


def test_budget_stop_tells_what_the_assistant_did_until_then(desk: Desk) -> None:
    given = json.loads((desk.folder / "demo/inputs/over_budget.json").read_text(encoding="utf-8"))
    _, result = desk.run(given)
    assert (result["error"]["type"], result["error"]["detail"]["limit"]) == ("budget_exceeded", "token_budget")
    assert result["error"]["step"] == "triage"
    assert {entry["step"] for entry in result["trace"]} == {"triage"}


def test_order_on_hold_goes_to_a_person_without_a_model_call(desk: Desk) -> None:
    code, result = desk.run(ticket(ticket_id="T-9", order_id="A-4001", email="ines@example.com"))
    assert code == 0
    assert result["usage"]["llm_calls"] == 0
    assert path_of(result)[-4:] == ["because_order_held", "queue_for_person", "holding_reply", "respond"]
    assert desk.ledger["queue"][0]["reason"] == "The order is on hold: under fraud review."


@pytest.mark.parametrize(
    "changes", [{"order_id": "A-9999"}, {"email": "someone@example.com"}], ids=["no such order", "someone else's order"]
)
def test_order_that_is_not_the_customers_goes_to_a_person_without_a_model_call(
    desk: Desk, changes: dict[str, str]
) -> None:
    code, result = desk.run(ticket(**changes))
    assert code == 0
    assert result["usage"]["llm_calls"] == 0
    assert result["output"]["handled_by"] == "person"
    assert result["error"]["step"] == "load_order"


def test_ticket_that_nobody_was_told_of_is_a_failed_run(desk: Desk) -> None:
    desk.shop.shutdown()
    desk.shop.server_close()
    with kept_port(desk.shop.port):
        code, result = desk.run(ticket())
    assert (code, result["status"], result["error"]["step"]) == (1, "failed", "queue_for_person")


def test_ticket_that_the_input_schema_refuses_is_misuse_and_runs_nothing(desk: Desk) -> None:
    answer = desk.tuvl("run", WORKFLOW, "--input", "-", stdin=json.dumps(ticket(order_id="1001")))
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "order_id" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_same_files_run_with_a_model_behind_a_server(desk: Desk) -> None:
    with ModelServer(KETTLE_REPLIES) as server:
        preset = (
            "kind: AgentModel\nmetadata: { name: local }\nspec:\n  provider: openai_compatible\n  model: any\n"
            f"  api_base: http://127.0.0.1:{server.server_port}/v1\n  api_key: none\n"
            "  price: { input_per_mtok: 1.0, output_per_mtok: 1.0 }\n"
        )
        (desk.folder / "llms" / "local.yaml").write_text(preset, encoding="utf-8")
        allow(desk, f"127.0.0.1:{server.server_port}")
        code, result = desk.run(ticket(), "--model", "default=local")
    assert (code, result["output"]["reply"]) == (0, "Dear customer, your money is on its way.")
    assert desk.ledger["refunds"][0]["amount_cents"] == 4_500
    offered = {tool["function"]["name"] for tool in server.requests[0]["tools"]}
    assert offered == {"lookup_order", "search_policy", "issue_refund", "add_note"}


def allow(desk: Desk, host: str) -> None:
    """Let the policy of the project allow one more host, as whoever owns it has to before a model is called there."""
    config = desk.folder / "tuvl.yaml"
    before, policy = config.read_text(encoding="utf-8").split("policy:")
    config.write_text(
        f"{before}policy:{policy.replace('allow_hosts: [', f'allow_hosts: [{host!r}, ')}", encoding="utf-8"
    )


KETTLE_REPLIES = (
    {
        "content": None,
        "tool_calls": [
            {
                "id": "call-1",
                "type": "function",
                "function": {"name": "issue_refund", "arguments": '{"amount_cents": 4500, "reason": "damaged"}'},
            }
        ],
    },
    {"content": '{"outcome": "resolved", "result": {"summary": "Refunded.", "refunded_cents": 4500}}'},
    {"content": "Dear customer, your money is on its way."},
)


class ModelServer(ThreadingHTTPServer):
    """Answers chat completions with given messages, in order, and keeps the requests."""

    daemon_threads = True

    def __init__(self, messages: tuple[dict, ...]) -> None:
        self.messages = list(messages)
        self.requests: list[dict] = []
        super().__init__(("127.0.0.1", 0), ModelHandler)

    def __enter__(self) -> "ModelServer":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class ModelHandler(BaseHTTPRequestHandler):
    wbufsize = -1
    server: ModelServer

    def do_POST(self) -> None:
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", **self.server.messages.pop(0)}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        raw = json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "any",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        pass
