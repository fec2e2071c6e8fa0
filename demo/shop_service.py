"""A small shop on this machine: orders, refunds and the queue of tickets for people.

It stands in for the real order service of the example project. It holds everything in memory, needs nothing but
Python, and answers the same way every time it is started. Run it with `python demo/shop_service.py`; `SHOP_PORT`
chooses the port (8791 by default).

    GET  /health
    GET  /orders/A-1001?email=…     404 when the order is not that customer's
    POST /orders/A-1001/refunds     {"amount_cents", "reason"}; wants an Idempotency-Key header
    POST /queue                     {"ticket_id", "order_id", "reason"}; wants an Idempotency-Key header
    GET  /ledger                    what was refunded and queued so far
"""

import json
import os
import re
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

DEFAULT_PORT = 8791
MAX_BODY = 65_536
CUSTOMER_OF_MANY = "procurement@example.com"

Json = dict[str, object]
Answer = tuple[HTTPStatus, Json]


def first_orders() -> dict[str, Json]:
    """Return the orders as they are when the shop opens."""
    orders = [
        order("A-1001", "mara@example.com", "Kettle, 1.7 l", 4_500, delivered_days_ago=0),
        order("A-2001", "jonas@example.com", "Laptop, 14 inch", 189_900, delivered_days_ago=49),
        order("A-4001", "ines@example.com", "Headphones", 12_900, delivered_days_ago=3, hold="under fraud review"),
    ]
    for number in range(3_001, 3_007):
        item = f"Office chair, lot {number - 3_000}"
        orders.append(order(f"A-{number}", CUSTOMER_OF_MANY, item, 64_000, delivered_days_ago=12))
    return {str(entry["id"]): entry for entry in orders}


def order(
    number: str, email: str, item: str, total_cents: int, *, delivered_days_ago: int, hold: str | None = None
) -> Json:
    """Make one order."""
    return {
        "id": number,
        "email": email,
        "item": item,
        "total_cents": total_cents,
        "refunded_cents": 0,
        "delivered_days_ago": delivered_days_ago,
        "hold": hold,
    }


class Shop:
    """The state of the shop; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders = first_orders()
        self._refunds: list[Json] = []
        self._queue: list[Json] = []
        self._answered: dict[str, Answer] = {}

    def read_order(self, number: str, email: str | None) -> Answer:
        """Return an order, if it is that customer's."""
        with self._lock:
            found = self._orders.get(number)
            if found is None or found["email"] != email:
                return HTTPStatus.NOT_FOUND, {"error": f"this customer has no order {number}"}
            return HTTPStatus.OK, {key: value for key, value in found.items() if key != "email"}

    def refund(self, number: str, body: Json, key: str | None) -> Answer:
        """Refund part of an order, once for each idempotency key."""
        with self._lock:
            return self._once(key, lambda: self._refund(number, body))

    def enqueue(self, body: Json, key: str | None) -> Answer:
        """Put a ticket into the queue, once for each idempotency key."""
        with self._lock:
            return self._once(key, lambda: self._enqueue(body))

    def ledger(self) -> Answer:
        """Return what was refunded and queued."""
        with self._lock:
            return HTTPStatus.OK, {"refunds": list(self._refunds), "queue": list(self._queue)}

    def _once(self, key: str | None, act: Callable[[], Answer]) -> Answer:
        if not key:
            return HTTPStatus.BAD_REQUEST, {"error": "an Idempotency-Key header is required"}
        if key in self._answered:
            return HTTPStatus.OK, self._answered[key][1]
        answer = act()
        if answer[0] is HTTPStatus.CREATED:
            self._answered[key] = answer
        return answer

    def _refund(self, number: str, body: Json) -> Answer:
        found = self._orders.get(number)
        if found is None:
            return HTTPStatus.NOT_FOUND, {"error": f"no order {number}"}
        amount = body.get("amount_cents")
        left = int(str(found["total_cents"])) - int(str(found["refunded_cents"]))
        if not isinstance(amount, int) or isinstance(amount, bool) or not 0 < amount <= left:
            return HTTPStatus.CONFLICT, {"error": f"amount_cents must be from 1 to {left}"}
        found["refunded_cents"] = int(str(found["refunded_cents"])) + amount
        refund: Json = {
            "refund_id": f"R-{len(self._refunds) + 1}",
            "order_id": number,
            "amount_cents": amount,
            "reason": body.get("reason"),
        }
        self._refunds.append(refund)
        return HTTPStatus.CREATED, refund

    def _enqueue(self, body: Json) -> Answer:
        entry: Json = {"position": len(self._queue) + 1, **body}
        self._queue.append(entry)
        return HTTPStatus.CREATED, {"position": entry["position"]}


class ShopHandler(BaseHTTPRequestHandler):
    """HTTP around a `Shop`."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # header and body leave together, so that no client waits for the second half
    server: "ShopServer"

    def do_GET(self) -> None:
        """Answer reads."""
        url = urlsplit(self.path)
        if found := re.fullmatch(r"/orders/([^/]+)", url.path):
            email = parse_qs(url.query).get("email", [None])[0]
            self._answer(*self.server.shop.read_order(found[1], email))
        elif url.path == "/ledger":
            self._answer(*self.server.shop.ledger())
        elif url.path == "/health":
            self._answer(HTTPStatus.OK, {"status": "open"})
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "no such page"})

    def do_POST(self) -> None:
        """Answer writes."""
        body = self._body()
        key = self.headers.get("Idempotency-Key")
        if body is None:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": "the body must be a JSON object"})
        elif found := re.fullmatch(r"/orders/([^/]+)/refunds", self.path):
            self._answer(*self.server.shop.refund(found[1], body, key))
        elif self.path == "/queue":
            self._answer(*self.server.shop.enqueue(body, key))
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "no such page"})

    def _body(self) -> Json | None:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 < length <= MAX_BODY:
            self.close_connection = True
            return None
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            return None
        return body if isinstance(body, dict) else None

    def _answer(self, status: HTTPStatus, body: Json) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet: the demo prints what matters."""


class ShopServer(ThreadingHTTPServer):
    """A shop on a loopback port; port 0 takes any free one."""

    daemon_threads = True
    # A second shop on the same port must fail at once, not share it.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int) -> None:
        self.shop = Shop()
        super().__init__(("127.0.0.1", port), ShopHandler)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self.server_port


def main() -> int:
    """Serve until interrupted."""
    port = int(os.environ.get("SHOP_PORT") or DEFAULT_PORT)
    try:
        server = ShopServer(port)
    except OSError as error:
        print(f"shop: port {port} of 127.0.0.1 cannot be used: {error.strerror}", file=sys.stderr)
        return 1
    print(f"shop: open at http://127.0.0.1:{server.port} (Ctrl-C closes it)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("shop: closed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
