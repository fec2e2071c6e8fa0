"""The shop of the example project, over HTTP, and the nodes that know its rules."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from types import SimpleNamespace

import pytest

from demo.shop_service import ShopServer
from nodes.orders import assess_order
from nodes.policy import SECTIONS, search_policy
from tests.example.project import open_shop


@pytest.fixture
def shop() -> Iterator[ShopServer]:
    with open_shop() as server:
        yield server


def ask(
    shop: ShopServer, path: str, body: Mapping[str, object] | bytes | None = None, *, key: str | None = None
) -> tuple[int, dict]:
    raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{shop.port}{path}", data=raw)
    if key:
        request.add_header("Idempotency-Key", key)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_order_is_shown_to_its_customer_only(shop: ShopServer) -> None:
    status, order = ask(shop, "/orders/A-1001?email=mara%40example.com")
    assert (status, order["item"]) == (200, "Kettle, 1.7 l")
    assert "email" not in order
    assert ask(shop, "/orders/A-1001?email=jonas%40example.com")[0] == 404
    assert ask(shop, "/orders/A-1001")[0] == 404


def test_refund_counts_once_for_each_key(shop: ShopServer) -> None:
    body = {"amount_cents": 1_000, "reason": "damaged"}
    first = ask(shop, "/orders/A-1001/refunds", body, key="a")
    assert first[0] == 201
    assert ask(shop, "/orders/A-1001/refunds", body, key="a") == (200, first[1])
    assert ask(shop, "/orders/A-1001/refunds", body, key="b")[1]["refund_id"] == "R-2"
    assert len(ask(shop, "/ledger")[1]["refunds"]) == 2


@pytest.mark.parametrize("amount", [0, -1, 4_501, 1.5, "100", True, None])
def test_refund_of_no_sensible_amount_is_refused(shop: ShopServer, amount: object) -> None:
    status, answer = ask(shop, "/orders/A-1001/refunds", {"amount_cents": amount}, key="a")
    assert (status, answer["error"]) == (409, "amount_cents must be from 1 to 4500")


def test_write_without_a_key_is_refused(shop: ShopServer) -> None:
    assert ask(shop, "/queue", {"ticket_id": "T-1"})[0] == 400


@pytest.mark.parametrize("body", [b"not json", b"[1]", b""], ids=["text", "list", "nothing"])
def test_body_that_is_no_object_is_refused(shop: ShopServer, body: bytes) -> None:
    assert ask(shop, "/queue", body, key="a")[0] == 400


def test_queue_counts_its_tickets(shop: ShopServer) -> None:
    assert ask(shop, "/queue", {"ticket_id": "T-1"}, key="1") == (201, {"position": 1})
    assert ask(shop, "/queue", {"ticket_id": "T-2"}, key="2") == (201, {"position": 2})


@pytest.mark.parametrize(
    ("order", "refundable"),
    [
        ({"total_cents": 4_500, "refunded_cents": 0, "delivered_days_ago": 30}, 4_500),
        ({"total_cents": 4_500, "refunded_cents": 4_000, "delivered_days_ago": 0}, 500),
        ({"total_cents": 50_000, "refunded_cents": 0, "delivered_days_ago": 1}, 10_000),
        ({"total_cents": 4_500, "refunded_cents": 0, "delivered_days_ago": 31}, 0),
        ({"total_cents": 4_500, "refunded_cents": 0, "delivered_days_ago": None}, 0),
    ],
    ids=["last day", "partly refunded", "above the ceiling", "a day late", "not delivered"],
)
def test_assessment_allows_what_the_rules_allow(order: dict, refundable: int) -> None:
    assessment = assess_order({"order": order})["assessment"]
    assert assessment["refundable_cents"] == refundable
    assert assessment["on_hold"] is False


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("item arrived damaged", "damaged-goods"),
        ("wrong items delivered", "wrong-item"),
        ("WARRANTY on electronics", "warranty"),
    ],
)
def test_policy_search_finds_the_section_that_fits_best(query: str, best: str) -> None:
    sections = search_policy(SimpleNamespace(params={"query": query}))["sections"]
    assert sections[0] == {"section": best, "text": SECTIONS[best]}
    assert len(sections) == 2
