"""What is refused before it counts, and what callers without a token share: answers, queries, keys."""

import asyncio
import json
from itertools import permutations

import pytest

from tests.server.server_support import QUICK, events_of, serving, shop
from tests.server.test_durable_over_http import settled
from tests.support.gates import opened, reached
from tuvl.principal import Principal
from tuvl.server.routes.queries import input_of
from tuvl.server.starting import Order

ASK = """
- id: ask
  kind: HumanInTheLoop
  ui: {title: Sure?}
  human_feedback: [{name: verdict, type: string, required: true}, {name: amount, type: number}]
- {id: done, kind: Functional, runner: set, values: {heard: "{{ ask_result.verdict }}"}}
"""


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ('{"verdict": "ok", "amount": NaN}', "answer"),
        ('{"verdict": "ok", "amount": 1e400}', "answer"),
        ('{"verdict": "\\ud800"}', "answer"),
        ('{"verdict": "  "}', "empty"),
        (json.dumps({"verdict": "a" * 2_000_000, "amount": 1}), "max_context_bytes"),
    ],
    ids=["nan", "infinite", "surrogate", "empty", "large"],
)
async def test_an_answer_that_the_run_could_not_take_is_refused_and_a_good_one_counts_afterwards(tmp_path, value, why):
    project = shop(tmp_path)
    project.workflow(ASK, name="asking", limits={"max_context_bytes": 1_000_000})
    async with serving(project, durable=True, max_body_bytes=5_000_000) as server:
        client = await server.client()
        run_id = (await client.post("/api/runs", json={"workflow": "asking"})).json()["run_id"]
        (wait,) = (await client.get("/api/waits")).json()["waits"]
        path = f"/api/runs/{run_id}/answer"
        body = f'{{"digest": "{wait["digest"]}", "value": {value}}}'
        refused = await client.post(path, content=body, headers={"content-type": "application/json"})
        assert refused.status_code in (400, 422), refused.text
        assert why in refused.text
        good = await client.post(path, json={"digest": wait["digest"], "value": {"verdict": "ok", "amount": 1.5}})
        assert good.status_code == 200, good.text


OPEN_STEPS = """
- {id: mint, kind: Functional, runner: mint}
"""
MINT = """
import secrets
from pathlib import Path
from tuvl import node

@node("mint")
async def mint(ctx):
    coupon = secrets.token_hex(8)
    with Path("MINTED").open("a") as minted:
        minted.write(coupon + "\\n")
    return {"coupon": coupon}
"""


@pytest.mark.parametrize("durable", [False, True], ids=["plain", "durable"])
@pytest.mark.parametrize("wanted", [{}, {"Accept": "text/event-stream"}, {"Prefer": "respond-async"}], ids=str)
async def test_a_stranger_who_uses_the_key_of_another_starts_nothing_and_learns_nothing_of_the_result(
    tmp_path, durable, wanted
):
    project = shop(tmp_path)
    minted = tmp_path / "minted"
    project.node(MINT.replace("MINTED", str(minted)), file="mint.py")
    project.workflow(OPEN_STEPS, name="coupons", durable=durable, trigger={"path": "/hooks/coupon", "public": True})
    async with serving(project, durable=durable) as server:
        body, headers = {"mail": "ada@example.org"}, {"Idempotency-Key": "1", **wanted}
        first = await server.anyone().post("/hooks/coupon", json=body, headers=headers)
        run_id = first.headers["location"].rpartition("/")[2]
        assert (await settled(await server.client(), run_id))["status"] == "completed"
        again = await server.anyone().post("/hooks/coupon", json=body, headers=headers)
        assert again.status_code == 202, again.text
        assert again.json() == {"run_id": run_id, "workflow": "coupons", "status": "completed"}
        (coupon,) = minted.read_text().split()
        assert coupon not in again.text


WAYS = ({}, {"Accept": "text/event-stream"}, {"Prefer": "respond-async"})


@pytest.mark.parametrize("with_token", [True, False], ids=["token", "stranger"])
@pytest.mark.parametrize("durable", [False, True], ids=["plain", "with the extra"])
@pytest.mark.parametrize("ways", list(permutations(WAYS)), ids=lambda ways: ", ".join(map(str, ways)))
async def test_who_asks_again_with_a_key_and_waits_in_another_way_starts_nothing(tmp_path, ways, durable, with_token):
    async with serving(shop(tmp_path), durable=durable) as server:
        seeing = await server.client()
        caller = seeing if with_token else server.anyone()
        runs = []
        for way in ways:
            answer = await caller.get("/hooks/open?name=Ada", headers={"Idempotency-Key": "k", **way})
            assert answer.status_code in (200, 202), answer.text
            runs.append(answer.headers["location"].rpartition("/")[2])
            async with seeing.stream("GET", f"/api/runs/{runs[0]}/events") as stream:
                assert (await events_of(stream))[-1]["status"] == "completed"
        assert len(set(runs)) == 1
        assert len((await seeing.get("/api/runs")).json()["runs"]) == 1


async def test_who_comes_again_and_waits_no_more_has_the_run_go_on_without_them(tmp_path):
    async with serving(shop(tmp_path)) as server:
        client = await server.client()
        body, headers = {"workflow": "gated", "input": {"gate": "left"}}, {"Idempotency-Key": "k"}
        waiting = asyncio.create_task(client.post("/api/runs", json=body, headers=headers))
        await reached("left")
        again = await (await server.client()).post("/api/runs", json={**body, "mode": "detached"}, headers=headers)
        (run,) = server.services.live._running.values()
        assert (again.status_code, again.json()["run_id"]) == (202, run.run_id)
        waiting.cancel()
        async with asyncio.timeout(20):
            while run.attached:
                await asyncio.sleep(0)
        opened("left")
        assert (await run.outcome())["status"] == "completed"


async def test_a_stranger_cannot_tell_whether_a_key_was_used_nor_keep_others_from_using_it(tmp_path):
    async with serving(shop(tmp_path)) as server:
        anyone, headers = server.anyone(), {"Idempotency-Key": "order-1"}
        first = await anyone.get("/hooks/open?name=Ada", headers=headers)
        other = await anyone.get("/hooks/open?name=Bob", headers=headers)
        assert [each.json()["output"]["greeting"] for each in (first, other)] == ["Hello Ada", "Hello Bob"]


async def test_callers_without_a_token_have_keys_of_their_own_by_their_address(tmp_path):
    async with serving(shop(tmp_path)) as server:
        offered = server.services.catalogue.named("open", Principal())
        public = Principal(id="public", scopes=frozenset())
        orders = [
            Order(offered=offered, input={}, mode="sync", principal=public, key="order-1", address=address)
            for address in ("10.0.0.1", "10.0.0.2")
        ]
        assert orders[0].key_digest != orders[1].key_digest


async def test_a_query_is_read_as_what_the_input_is_declared_to_be(tmp_path):
    project = shop(tmp_path)
    declared = {
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer"}, "name": {"type": "string"}},
    }
    project.workflow(QUICK, name="typed", input=declared, trigger={"path": "/hooks/n", "method": "GET", "public": True})
    async with serving(project) as server:
        answer = await server.anyone().get("/hooks/n?n=3&name=4")
        assert answer.status_code == 200, answer.text
        assert (answer.json()["context"]["n"], answer.json()["context"]["name"]) == (3, "4")
        assert (await server.anyone().get("/hooks/n?n=three&name=4")).status_code == 422


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("integer", "-12", -12),
        ("integer", "012", "012"),
        ("integer", "1.5", "1.5"),
        ("number", "1.5", 1.5),
        ("number", "1e999", "1e999"),
        ("number", "NaN", "NaN"),
        ("boolean", "true", True),
        ("boolean", "yes", "yes"),
        ("string", "12", "12"),
        (["string", "integer"], "12", "12"),
        (None, "12", "12"),
    ],
)
def test_words_of_a_query_are_read_only_as_what_they_plainly_are(kind, text, value):
    assert input_of([("x", text)], {"properties": {"x": {} if kind is None else {"type": kind}}}) == {"x": value}
    listed = {"properties": {"x": {"type": "array", "items": {} if kind is None else {"type": kind}}}}
    assert input_of([("x", text)], listed) == {"x": [value]}
