"""Keys that a node may read without saying so: whatever they are made of counts."""

from pathlib import Path

import pytest

from tests.changes.test_origins_of_values import ASK, NODE, PAY, ROUTER, Step, codes, files, sets


def reading(code: str, more: str = "", *, total: str) -> dict[str, str]:
    """A workflow whose router reads what a node makes, which does not declare what that is made of."""
    node = NODE.replace('reads=["id"], ', "").replace("    return {}", code).replace("\n\n\n@", f"\n{more}\n\n@")
    work: Step = {"id": "work", "kind": "Functional", "runner": "work", "routes": {"error": "END"}}
    return files(sets("total", total=total), work, ROUTER, ASK, PAY, **{"nodes/work.py": node})


ANY = [
    ('    return {"n": max(ctx.values())}', ""),
    ('    return {"n": ctx["to" + "tal"]}', ""),
    ("    return {'n': [ctx[key] for key in ('to' + 'tal',)]}", ""),
    ('    other = ctx\n    return {"n": other}', ""),
    ('    return {"n": made(ctx)}', "from sums import made\n"),
    ('    return {"n": made(ctx)}', "def made(values):\n    return len(values)\n"),
    ('    return {"n": made(1, ctx)}', "def made(*values):\n    return values\n"),
    ('    return {"n": {**ctx}}', ""),
]
NAMED = [
    ('    return {"n": ctx["id"] if "id" in ctx else ctx.get("x", 0)}', ""),
    ('    return {"n": ctx[KEY]}', 'KEY = "id"\n'),
    ('    return {"n": made(1, ctx)}', 'def made(one, values):\n    return values["id"] or made(one, values)\n'),
]


@pytest.mark.parametrize(("code", "more"), ANY)
def test_node_that_looks_at_all_of_the_context_may_read_any_key(tmp_path: Path, code: str, more: str) -> None:
    assert "approval-weakened" in codes(tmp_path, reading(code, more, total="1"), reading(code, more, total="2"))


@pytest.mark.parametrize(("code", "more"), NAMED)
def test_node_that_names_its_keys_reads_no_others(tmp_path: Path, code: str, more: str) -> None:
    assert codes(tmp_path, reading(code, more, total="1"), reading(code, more, total="2")) == set()
