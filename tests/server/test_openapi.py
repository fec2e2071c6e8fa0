"""The description of the API, and an adversary that asks whatever it allows, and more."""

import asyncio
import os

import requests
from hypothesis import HealthCheck, given, settings

from tests.server.server_support import opened, serving, shop

EXAMPLES = 300 if os.environ.get("TUVL_SOAK") else 6
STARTS = ("/api/runs", "/api/greet")


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
                assert operation["security"] == [{"token": []}], (method, path)
                for status in ("400", "401", "403", "413", "429", "503"):
                    content = operation["responses"][status]["content"]
                    assert list(content) == ["application/problem+json"], (method, path, status)
        assert "/login" not in described["paths"]
        assert (await server.anyone().get("/docs")).status_code != 200


async def test_whatever_the_description_allows_gets_an_answer_that_it_describes(tmp_path):
    import schemathesis  # its import takes half a second
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance, unsupported_method

    async with serving(shop(tmp_path)) as server:
        opened("g")
        headers = {"Authorization": f"Bearer {await server.token()}"}

        def attack() -> int:
            schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
            session = requests.Session()
            session.trust_env = False
            asked = 0
            for result in schema.get_all_operations():
                operation = result.ok()
                case = operation.as_strategy() | operation.as_strategy(generation_mode=NEGATIVE)

                @settings(
                    max_examples=EXAMPLES,
                    derandomize=True,
                    database=None,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                )
                @given(case=case)
                def ask(case) -> None:
                    nonlocal asked
                    asked += 1
                    answer = case.call(headers=headers, session=session, timeout=30)
                    case.validate_response(
                        answer,
                        headers=headers,
                        # Ids of runs and names of workflows that fit the description need not be there.
                        excluded_checks=[positive_data_acceptance, negative_data_rejection],
                    )
                    assert answer.status_code < 500
                    assert "Traceback" not in answer.text

                ask()
            return asked

        from schemathesis.generation import GenerationMode

        NEGATIVE = GenerationMode.NEGATIVE
        assert unsupported_method
        asked = await asyncio.to_thread(attack)
        assert asked > 20
