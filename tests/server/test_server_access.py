"""Who gets in: API tokens and JSON Web Tokens, scopes, and one refusal for everything else."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.server.server_support import problem, serving, shop
from tests.support.http_server import Answer
from tests.support.http_server import serving as http_server
from tuvl.data.run_records import StoreAccess
from tuvl.server.tokens import digest_of, id_of, is_same, new_token
from tuvl.settings import JwtSettings, Settings
from tuvl.testing.clock import ManualClock

GREETED = {"workflow": "quick", "input": {"name": "Ada"}}
SHARED = "a secret that everybody knows, and so nobody"
OURS = [
    ("GET", "/api/runs"),
    ("POST", "/api/runs"),
    ("GET", "/api/runs/x"),
    ("GET", "/api/runs/x/trace"),
    ("GET", "/api/runs/x/events"),
    ("POST", "/api/runs/x/answer"),
    ("POST", "/api/runs/x/abort"),
    ("POST", "/api/runs/x/fork"),
    ("POST", "/api/runs/x/renew"),
    ("GET", "/api/waits"),
    ("GET", "/api/workflows"),
    ("GET", "/api/agents"),
    ("GET", "/api/agents/x"),
    ("POST", "/api/agents/x/pause"),
    ("POST", "/api/agents/x/resume"),
    ("POST", "/api/agents/x/steer"),
    ("POST", "/api/agents/x/abort"),
    ("GET", "/metrics"),
    ("DELETE", "/api/runs/x"),
    ("GET", "/api/nothing"),
    ("GET", "/api/runs/../runs"),
]


@pytest.fixture(scope="module")
def rsa_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


async def test_every_path_of_the_api_is_closed_without_a_token_whatever_the_body(tmp_path):
    async with serving(shop(tmp_path)) as server:
        nobody = server.anyone()
        for method, path in OURS:
            for body in (b"", b"{", b'{"workflow": "quick"}'):
                answer = await nobody.request(method, path, content=body, headers={"Content-Type": "application/json"})
                problem(answer, 401, "unauthorized")
                assert answer.headers["www-authenticate"] == 'Bearer realm="tuvl"'


async def test_all_tokens_that_open_nothing_are_refused_in_the_same_words(tmp_path):
    async with serving(shop(tmp_path)) as server:
        good, expired, revoked = await server.token(), await server.token(lasts_s=-1), await server.token()
        store = server.services.registry.access.store.access
        assert await store.revoke_token(id_of(revoked) or "", datetime.now(UTC))
        assert not await store.revoke_token(id_of(revoked) or "", datetime.now(UTC))
        stranger = new_token().text
        mixed = good[:18] + stranger[18:]
        tokens = [expired, revoked, stranger, mixed, "x", "tuvl_", good[:-1], good + "x", "a.b.c", "ü", good.upper()]
        answers = []
        for text in tokens:
            header = {"Authorization": f"Bearer {text}".encode()}
            answers.append(await server.anyone().get("/api/runs", headers=header))
        answers.append(await server.anyone(Authorization=f"Basic {good}").get("/api/runs"))
        assert {(answer.status_code, answer.content) for answer in answers} == {(401, answers[0].content)}
        twice = [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {stranger}")]
        assert (await server.anyone().get("/api/runs", headers=twice)).status_code == 401
        assert (await server.anyone(Authorization=f"bearer {good}").get("/api/runs")).status_code == 200


async def test_each_path_asks_for_its_scope(tmp_path):
    needed = {
        "runs:start": [("POST", "/api/runs"), ("POST", "/api/greet")],
        "runs:read": [("GET", "/api/runs"), ("GET", "/api/workflows"), ("GET", "/api/waits")],
        "runs:control": [("POST", f"/api/runs/x/{deed}") for deed in ("answer", "abort", "fork", "renew")],
        "agent:observe": [("GET", "/api/agents"), ("GET", "/api/agents/x")],
        "agent:control": [("POST", "/api/agents/x/pause"), ("POST", "/api/agents/x/abort")],
        "metrics:read": [("GET", "/metrics")],
    }
    async with serving(shop(tmp_path)) as server:
        for scope, paths in needed.items():
            others = [each for each in needed if each != scope]
            without, only = await server.client(*others), await server.client(scope)
            for method, path in paths:
                body = {"digest": "d", "value": {}, "at": "s"} if "/x/" in path else GREETED
                answer = await without.request(method, path, json=body if method == "POST" else None)
                problem(answer, 403, "scope-missing")
                assert f'scope="{scope}"' in answer.headers["www-authenticate"]
                answer = await only.request(method, path, json=body if method == "POST" else None)
                assert answer.status_code not in {401, 403}


async def test_a_token_that_is_revoked_while_it_is_used_opens_nothing_after_a_second(tmp_path):
    clock = ManualClock()
    async with serving(shop(tmp_path), clock=clock) as server:
        token = await server.token()
        client = server.anyone(Authorization=f"Bearer {token}")
        assert (await client.get("/api/runs")).status_code == 200
        elsewhere = StoreAccess(str(tmp_path), None)
        requests = [asyncio.create_task(client.get("/api/runs")) for _ in range(20)]
        await elsewhere.store.access.revoke_token(id_of(token) or "", datetime.now(UTC))
        await elsewhere.aclose()
        assert {(await each).status_code for each in requests} == {200}
        await clock.advance(1)
        assert (await client.get("/api/runs")).status_code == 401
        forged = server.anyone(Authorization=f"Bearer {token[:-1]}{'A' if token[-1] != 'A' else 'B'}")
        assert (await forged.get("/api/runs")).status_code == 401


async def test_it_is_kept_when_a_token_was_used_and_not_at_every_request(tmp_path):
    clock = ManualClock()
    async with serving(shop(tmp_path), clock=clock) as server:
        token = await server.token()
        client = server.anyone(Authorization=f"Bearer {token}")
        store, id = server.services.registry.access.store.access, id_of(token) or ""

        async def used():
            await server.services.authenticator.aclose()
            row = await store.token(id)
            return None if row is None else row.used_at

        assert await used() is None
        await client.get("/api/runs")
        first = await used()
        assert first == clock.now()
        await clock.advance(30)
        await client.get("/api/runs")
        assert await used() == first
        await clock.advance(31)
        await client.get("/api/runs")
        assert await used() == clock.now()


def test_of_a_token_only_a_digest_is_kept_and_nothing_else_fits_it():
    made, other = new_token(), new_token()
    assert made.text != other.text
    assert made.digest == digest_of(made.text)
    assert made.text not in made.digest
    assert is_same(made.text, made.digest)
    assert not is_same(other.text, made.digest)
    assert not is_same(made.text, None)


def signed(key, *, kid="k1", algorithm="RS256", **claims):
    said = {
        "sub": "anna",
        "iss": "https://signer.test/",
        "aud": "tuvl",
        "exp": datetime.now(UTC) + timedelta(minutes=5),
        "scope": "runs:read runs:start",
        "tenant": "acme",
        "groups": ["clerks"],
        **claims,
    }
    said = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(said, key, algorithm=algorithm, headers={} if kid is None else {"kid": kid})


def public(key, *, kid="k1", **more):
    make = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((made for kind, made in make.items() if isinstance(key, kind)), OKPAlgorithm)
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig", **more}


def trusting(jwks: str) -> Settings:
    return Settings(jwt=JwtSettings(jwks=jwks, issuer="https://signer.test/", audience="tuvl"))


async def test_a_signed_token_is_its_principal_with_tenant_groups_and_scopes(tmp_path, rsa_key):
    keys = tmp_path / "jwks.json"
    keys.write_text(json.dumps({"keys": [public(rsa_key)]}))
    async with serving(shop(tmp_path), settings=trusting(str(keys))) as server:
        client = server.anyone(Authorization=f"Bearer {signed(rsa_key)}")
        run_id = (await client.post("/api/runs", json=GREETED)).json()["run_id"]
        shown = (await client.get(f"/api/runs/{run_id}")).json()
        assert (shown["principal"], shown["tenant"]) == ("anna", "acme")
        problem(await client.get("/api/agents"), 403, "scope-missing")
        caller = await server.services.authenticator.of_token(signed(rsa_key, scp=["refunds"], scope=None))
        assert caller is not None
        assert (caller.principal.groups, caller.principal.scopes) == ({"clerks"}, {"refunds"})


async def test_signed_tokens_that_are_not_quite_right_open_nothing(tmp_path, rsa_key):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    keys = tmp_path / "jwks.json"
    shared = {
        "kty": "oct",
        "k": base64.urlsafe_b64encode(SHARED.encode()).decode().rstrip("="),
        "kid": "shared",
        "alg": "HS256",
    }
    keys.write_text(json.dumps({"keys": [public(rsa_key), shared]}))
    long_ago, soon = datetime.now(UTC) - timedelta(minutes=2), datetime.now(UTC) + timedelta(minutes=2)
    none = signed(None, algorithm="none")
    bad = {
        "another key": signed(other),
        "no such key": signed(rsa_key, kid="k9"),
        "expired": signed(rsa_key, exp=long_ago),
        "not yet": signed(rsa_key, nbf=soon),
        "another issuer": signed(rsa_key, iss="https://signer.test"),
        "another audience": signed(rsa_key, aud="other"),
        "no expiry": signed(rsa_key, exp=None),
        "no subject": signed(rsa_key, sub=None),
        "empty subject": signed(rsa_key, sub=""),
        "subject that no database keeps": signed(rsa_key, sub="an\0na"),
        "subject of two lines": signed(rsa_key, sub="anna\nroot"),
        "subject that is written backwards": signed(rsa_key, sub="\u202eanna"),
        "subject without an end": signed(rsa_key, sub="a" * 5000),
        "tenant that no database keeps": signed(rsa_key, tenant="ac\0me"),
        "odd tenant": signed(rsa_key, tenant=["a"]),
        "no algorithm": none,
        "shared secret": signed(SHARED, kid="shared", algorithm="HS256"),
        "another algorithm of the key": signed(rsa_key, algorithm="PS256"),
        "no key named": signed(rsa_key, kid=None, sub=None),
        "very long": signed(rsa_key, pad="x" * 9000),
    }
    async with serving(shop(tmp_path), settings=trusting(str(keys))) as server:
        for why, token in bad.items():
            assert await server.services.authenticator.of_token(token) is None, why
        late = signed(rsa_key, exp=datetime.now(UTC) - timedelta(seconds=10))
        assert await server.services.authenticator.of_token(late) is not None, "within the leeway"


async def test_every_scope_at_once_is_not_a_signers_to_give(tmp_path, rsa_key):
    keys = tmp_path / "jwks.json"
    keys.write_text(json.dumps({"keys": [public(rsa_key)]}))
    async with serving(shop(tmp_path), settings=trusting(str(keys))) as server:
        caller = await server.services.authenticator.of_token(signed(rsa_key, scope="* runs:read"))
        assert caller is not None
        assert caller.principal.scopes == {"runs:read"}


@pytest.mark.parametrize(("kind", "algorithm"), [("ec", "ES256"), ("ed", "EdDSA")])
async def test_keys_of_other_kinds_sign_too(tmp_path, kind, algorithm):
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else ed25519.Ed25519PrivateKey.generate()
    keys = tmp_path / "jwks.json"
    keys.write_text(json.dumps({"keys": [public(key)]}))
    async with serving(shop(tmp_path), settings=trusting(str(keys))) as server:
        for kid in ("k1", None):
            token = signed(key, algorithm=algorithm, kid=kid)
            assert await server.services.authenticator.of_token(token) is not None


async def test_keys_are_fetched_once_and_again_when_the_signer_has_a_new_one(tmp_path, rsa_key):
    newer = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    clock = ManualClock()
    async with http_server() as signer:
        signer.queue(Answer({"keys": [public(rsa_key)]}))
        settings = trusting(f"{signer.origin}/jwks")
        async with serving(shop(tmp_path), settings=settings, clock=clock) as server:
            of_token = server.services.authenticator.of_token
            found = await asyncio.gather(*(of_token(signed(rsa_key)) for _ in range(10)))
            assert all(found)
            assert len(signer.requests) == 1
            assert await of_token(signed(newer, kid="k2")) is None
            assert len(signer.requests) == 1, "not again so soon"
            await clock.advance(11)
            signer.queue(Answer({"keys": [public(rsa_key), public(newer, kid="k2")]}))
            assert await of_token(signed(newer, kid="k2")) is not None
            assert len(signer.requests) == 2
            await clock.advance(301)
            signer.queue(Answer(status=500))
            assert await of_token(signed(rsa_key)) is not None, "a signer that is away locks nobody out"
            assert len(signer.requests) == 3


async def test_without_any_keys_signed_tokens_cannot_be_checked_and_others_can(tmp_path, rsa_key):
    async with serving(shop(tmp_path), settings=trusting(str(tmp_path / "nowhere.json"))) as server:
        answer = await server.anyone(Authorization=f"Bearer {signed(rsa_key)}").get("/api/runs")
        problem(answer, 503, "keys-unreachable")
        assert (await (await server.client()).get("/api/runs")).status_code == 200
