"""The description of the API, and an adversary that asks whatever it allows, and more.

`make soak` lets schemathesis do the same at length.
"""

import asyncio
import os
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.server_support import QUESTION, problem, serving, shop
from tests.support.gates import opened

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 200 if os.environ.get("TUVL_SOAK") else 8
JUNK = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.just([{}])
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="/?#\\"), min_size=1, max_size=30)


async def test_every_path_is_described_with_its_scheme_and_its_problems(tmp_path):
    async with serving(shop(tmp_path)) as server:
        described = (await server.anyone().get("/openapi.json")).json()
        assert described["openapi"].startswith("3.1")
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                assert operation["summary"], (method, path)
                if path in {"/healthz", "/readyz"}:
                    assert "security" not in operation
                    continue
                public = path == "/hooks/open"
                assert operation.get("security") == (None if public else [{"token": []}]), (method, path)
                for status in ("400", "401", "403", "413", "429", "503"):
                    content = operation["responses"][status]["content"]
                    assert list(content) == ["application/problem+json"], (method, path, status)
        assert "/login" not in described["paths"]
        assert (await server.anyone().get("/docs")).status_code != 200


async def test_no_parameter_is_described_as_one_that_may_be_null_and_events_are_described_one_by_one(tmp_path):
    """Neither a header nor a query can say `null`; and a stream as a whole is no text that anybody gets."""
    async with serving(shop(tmp_path)) as server:
        described = (await (await server.client()).get("/openapi.json")).json()
        operations = [operation for methods in described["paths"].values() for operation in methods.values()]
        named = [each for operation in operations for each in operation.get("parameters", ())]
        assert [each["name"] for each in named if {"type": "null"} in each["schema"].get("anyOf", [])] == []
        contents = [said.get("content", {}) for operation in operations for said in operation["responses"].values()]
        streams = [content["text/event-stream"] for content in contents if "text/event-stream" in content]
        assert len(streams) >= 4
        assert all(set(stream) == {"itemSchema"} for stream in streams)


async def test_triggers_are_described_to_those_who_may_start_them_and_public_ones_to_all(tmp_path):
    async with serving(shop(tmp_path)) as server:
        everybody = (await server.anyone().get("/openapi.json")).json()["paths"]
        assert "/api/greet" not in everybody, "whoever has no token does not learn which paths there are"
        (name,) = [each for each in everybody["/hooks/open"]["get"]["parameters"] if each["in"] == "query"]
        assert (name["name"], name["required"]) == ("name", True)
        client = await server.client()
        described = (await client.get("/openapi.json")).json()
        greet = described["paths"]["/api/greet"]["post"]
        assert greet["requestBody"]["content"]["application/json"]["schema"]["required"] == ["name"]
        for sent in (
            {"json": {"name": "Ada"}},
            {"json": {"name": "Ada"}, "headers": {"Prefer": "respond-async"}},
            {"json": {"name": "Ada"}, "headers": {"Accept": "text/event-stream"}},
            {"content": "name=Ada"},
            {"json": {}},
            {"json": []},
            {"content": "{", "headers": {"Content-Type": "application/json"}},
        ):
            check(await client.post("/api/greet", **sent), greet, described)
        problem(await server.anyone(Authorization="Bearer x").get("/openapi.json"), 401, "unauthorized")


async def test_each_answer_to_a_start_is_one_that_is_described(tmp_path):
    project = shop(tmp_path)
    project.workflow(QUESTION, name="asking")
    async with serving(project, durable=True) as server:
        client = await server.client()
        described = (await client.get("/openapi.json")).json()
        start = described["paths"]["/api/runs"]["post"]
        good = {"workflow": "quick", "input": {"name": "Ada"}}
        answers = [
            (await client.post("/api/runs", json=good), 200),
            (await client.post("/api/runs", json={**good, "mode": "detached"}), 202),
            (await client.post("/api/runs", json={**good, "mode": "stream"}), 200),
            (await client.post("/api/runs", json=good, headers={"Prefer": "respond-async"}), 202),
            (await client.post("/api/runs", json={"workflow": "asking"}), 202),
            (await client.post("/api/runs", json={"workflow": "guarded"}), 404),
            (await client.post("/api/runs", json={"workflow": "nothing"}), 404),
            (await client.post("/api/runs", json={"workflow": "quick"}), 422),
            (await client.post("/api/runs", content="{"), 415),
            (await client.post("/api/runs", content="{", headers={"Content-Type": "application/json"}), 400),
        ]
        for answer, status in answers:
            assert answer.status_code == status, answer.text
            check(answer, start, described)


def values(schema: dict, described: dict) -> st.SearchStrategy:
    """Values that fit a schema, as far as this API's description uses the language."""
    if "$ref" in schema:
        return values(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described)
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return st.one_of(*(values(each, described) for each in schema["anyOf"]))
    match schema.get("type"):
        case "string":
            return st.text(max_size=min(schema.get("maxLength", 20), 20), min_size=schema.get("minLength", 0))
        case "integer":
            return st.integers(schema.get("minimum", -5), schema.get("maximum", 5))
        case "number":
            return st.floats(0.1, 10)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "object":
            known = {name: values(each, described) for name, each in schema.get("properties", {}).items()}
            needed = schema.get("required", [])
            optional = {name: each for name, each in known.items() if name not in needed}
            fixed = {name: each for name, each in known.items() if name in needed}
            return (
                st.fixed_dictionaries(fixed, optional=optional) if known else st.dictionaries(st.text(max_size=5), JUNK)
            )
        case _:
            return JUNK


def requests(path: str, operation: dict, described: dict) -> st.SearchStrategy:
    """What the description allows, and what it does not: parameters and body as they go out."""
    named = {each["name"]: each for each in operation.get("parameters", ())}
    params = {
        name: (TEXT if each["in"] == "path" else values(each["schema"], described) | JUNK)
        for name, each in named.items()
        if each["in"] != "header"
    }
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    body = st.none() if content is None else values(content["schema"], described) | JUNK
    if path == "/api/runs" and content is not None:
        good = st.fixed_dictionaries({"workflow": st.just("quick"), "input": st.just({"name": "Ada"})})
        body = good | body
    return st.tuples(st.fixed_dictionaries(params), body)


def check(answer: httpx.Response, operation: dict, described: dict) -> None:
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    assert "Traceback" not in answer.text
    responses = operation["responses"]
    assert str(answer.status_code) in responses, (answer.status_code, answer.text)
    content = responses[str(answer.status_code)].get("content", {})
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in content, (kind, list(content))
    schema = content[kind].get("schema")
    if kind.endswith("json") and schema:
        jsonschema_rs.Draft202012Validator({**schema, "components": described["components"]}).validate(answer.json())


def attack(client: httpx.Client, method: str, path: str, described: dict) -> None:
    operation = described["paths"][path][method]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(request=requests(path, operation, described))
    def ask(request) -> None:
        params, body = request
        url, query = path, {}
        for name, value in params.items():
            if f"{{{name}}}" in path:
                url = url.replace(f"{{{name}}}", quote(value, safe=""))
            elif value != [{}]:
                query[name] = value
        check(client.request(method, url, params=query, json=body), operation, described)

    ask()


async def test_whatever_is_asked_gets_an_answer_that_the_description_knows(tmp_path):
    async with serving(shop(tmp_path)) as server:
        opened("g")
        described = (await server.anyone().get("/openapi.json")).json()
        headers = {"Authorization": f"Bearer {await server.token()}"}

        def attack_all() -> int:
            asked = [(method, path) for path, methods in described["paths"].items() for method in methods]
            with httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=30) as client:
                for method, path in asked:
                    attack(client, method, path, described)
            return len(asked)

        assert await asyncio.to_thread(attack_all) >= 19


if os.environ.get("TUVL_SOAK"):

    async def test_schemathesis_finds_nothing(tmp_path):
        schemathesis = ROOT / ".venv-schemathesis" / "bin" / "schemathesis"
        async with serving(shop(tmp_path), durable=True, run_timeout_s=5) as server:
            opened("g")
            # Tokens that open nothing are refused with 429 after a while, which is no mistake.
            server.services.failures._rate = None
            words = [str(schemathesis), "run", f"{server.url}/openapi.json", "--no-color", "--checks", "all"]
            words += [
                "--exclude-checks",
                "positive_data_acceptance",
                "-n",
                "60",
                "--phases",
                "coverage,fuzzing,stateful",
            ]
            words += ["--continue-on-failure", "--header", f"Authorization: Bearer {await server.token()}"]
            done = await asyncio.to_thread(
                subprocess.run, words, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False
            )
        assert done.returncode == 0, done.stdout + done.stderr
