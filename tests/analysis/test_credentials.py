"""What a credential is, is one notion: what is reported is masked, in the lock and in a diff alike."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.check.project_files import write
from tests.locking.lock_project import lock_of
from tuvl.analysis.credentials import masked_text, reads_as
from tuvl.analysis.literal_secrets import literal_secrets
from tuvl.changes.shown import value_text
from tuvl.locking.lock_file import lock_text
from tuvl.locking.masking import MASK, without_secrets

TOKEN = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"

IN_THE_CLEAR = {
    "password of a step": ({"http": {"auth": {"basic": {"username": "u", "password": "hunter2"}}}}, "hunter2"),
    "bearer of a step": ({"http": {"auth": {"bearer": "letmein"}}}, "letmein"),
    "argument after its option": ({"args": ["--token", TOKEN]}, TOKEN),
    "argument with its option": ({"args": ["--password=k7Qm2xV9pLzz"]}, "k7Qm2xV9pLzz"),
    "short password of an option": ({"args": ["--password", "hunter2"]}, "hunter2"),
    "variable of an argument": ({"args": ["-e", "DB_PASSWORD=hunter2"]}, "hunter2"),
    "environment": ({"env": {"PASSWORD": "hunter2"}}, "hunter2"),
    "environment, a token": ({"env": {"GITHUB_TOKEN": TOKEN}}, TOKEN),
    "environment, a short token": ({"env": {"TOKEN": "hunter2"}}, "hunter2"),
    "header": ({"headers": {"Authorization": f"Bearer {TOKEN}"}}, TOKEN),
    "password of a database": ({"connection": {"host": "h", "password": "hunter2"}}, "hunter2"),
    "words of a connection": ({"connection": "host=h password=hunter2"}, "hunter2"),
    "URL": ({"connection": "postgresql://me:hunter2@h/db"}, "hunter2"),
    "query of a URL": ({"url": f"https://h/x?api_key={TOKEN}&y=1"}, TOKEN),
    "shape": ({"prompt": "Use AKIAABCDEFGHIJKLMNOP."}, "AKIAABCDEFGHIJKLMNOP"),
    "key of a preset": ({"api_key": TOKEN}, TOKEN),
}


@pytest.mark.parametrize(("data", "secret"), IN_THE_CLEAR.values(), ids=list(IN_THE_CLEAR))
def test_credential_is_reported_locked_as_none_and_shown_as_none(data: dict, secret: str) -> None:
    (fault,) = literal_secrets({"kind": "X", "spec": data})
    assert secret not in fault.message
    assert secret not in json.dumps(without_secrets(data))
    assert secret not in value_text(data)


PLAIN = {
    "variable": {"env": {"PASSWORD": "${PASSWORD}", "TOKEN": "${TOKEN}"}},
    "template": {"http": {"auth": {"bearer": "{{ token }}"}}},
    "scheme and variable": {"headers": {"Authorization": "Bearer ${TOKEN}"}},
    "routes": {"routes": {"bad_password": "ask", "no_token": "END"}},
    "file of a secret": {"env": {"DB_PASSWORD_FILE": "/run/secrets/db1"}, "args": ["--token-file", "/run/secrets/t1"]},
    "package and version": {
        "args": ["-y", "@scope/server-x2@0.6.2", "mcp-server-time==2025.1.17", "gpt-4o-2024-11-20"]
    },
    "lists": {"args": [], "tools": [[], [1, None, True]]},
    "limits": {"max_tokens": 500, "token_budget": 9000},
    "code of a template": {"prompt": "{% set token=args.token %}{{ token }}"},
    "schema": {"properties": {"password": {"type": "string", "description": "The password."}}},
    "mapping": {"mapping": {"token": "user.token"}},
    "user name": {"auth": {"basic": {"username": "somebody", "password": "${PW}"}}},
}


@pytest.mark.parametrize("data", PLAIN.values(), ids=list(PLAIN))
def test_what_is_no_credential_is_neither_reported_nor_masked(data: dict) -> None:
    assert list(literal_secrets({"kind": "X", "spec": data})) == []
    assert without_secrets(data) == data


def test_short_word_is_a_token_only_where_a_server_is_given_it() -> None:
    words = {"query": {"token": "page12"}, "env": {"LEVEL": "info12", "API_KEY": "none", "TOKEN": "${T}"}}
    assert list(literal_secrets({"kind": "X", "spec": words})) == []


def test_placeholders_are_masked_and_not_reported() -> None:
    data = {"api_key": "not-needed", "env": {"PASSWORD": "change-me"}}
    assert list(literal_secrets(data)) == []
    assert without_secrets(data) == {"api_key": MASK, "env": {"PASSWORD": MASK}}


def test_default_of_a_variable_is_masked() -> None:
    data = {"api_key": "${KEY:k}", "args": ["--x=${DB_PASSWORD:pa55}"], "connection": "postgresql://me:${A:pa55}@h/db"}
    assert without_secrets(data) == {
        "api_key": f"${{KEY:{MASK}}}",
        "args": [f"--x=${{DB_PASSWORD:{MASK}}}"],
        "connection": f"postgresql://me:${{A:{MASK}}}@h/db",
    }


NAMES = st.sampled_from(["auth", "basic", "env", "args", "headers", "password", "token", "prompt", "routes", "API_KEY"])
TEXTS = st.one_of(
    st.sampled_from([TOKEN, "hunter2", "https://a:bcdefg1@h/?token=x1y2z3a4b5", "${A:b}", "PASSWORD=abc1", "AKIA" * 5]),
    st.text(alphabet="abcZ019=:/@${} -_.&?", max_size=40),
)


@given(st.lists(NAMES, max_size=4), TEXTS)
def test_whatever_reads_as_a_credential_is_masked(names: list[str], text: str) -> None:
    if reads_as(text, names) is not None:
        assert masked_text(text, names, "***") != text


@given(st.lists(NAMES, max_size=4), TEXTS)
def test_masking_twice_is_masking_once(names: list[str], text: str) -> None:
    once = masked_text(text, names, "***")
    assert masked_text(once, names, "***") == once


def test_lock_of_a_project_holds_none_of_what_a_diff_hides(tmp_path: Path) -> None:
    server = "kind: Artifact\nmetadata: { name: m, version: 1 }\n"
    server += f"spec: {{ type: mcp, transport: stdio, command: /x, args: [--token, {TOKEN}, --password=k7Qm2xV9pLzz], "
    server += "env: { PASSWORD: hunter2 } }\n"
    auth = "auth: { basic: { username: u, password: pw99 } }"
    step = f'{{ id: s, kind: APICall, http: {{ url: "https://x.example/a", {auth} }} }}'
    flow = f"kind: Workflow\nmetadata: {{ name: w }}\nspec:\n  steps:\n    - {step}\n"
    write(tmp_path, {"artifacts/m.yaml": server, "workflows/w.yaml": flow})
    text = lock_text(lock_of(tmp_path))
    for secret in (TOKEN, "k7Qm2xV9pLzz", "hunter2", "pw99"):
        assert secret not in text
