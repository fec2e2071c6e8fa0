"""`--input`, `--set` and `--principal`."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuvl.cli.inputs import apply_settings, read_input, read_principal
from tuvl.errors import UsageError
from tuvl.principal import Principal
from tuvl.values import JsonObject, JsonValue

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "count": {"type": "integer"},
        "customer": {"type": "object", "properties": {"zip": {"type": "string"}}},
    },
}


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_no_input_is_an_empty_context() -> None:
    assert read_input(None) == {}


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", '{"a": [1, "ü"]}'), ("a.yaml", "a: [1, ü]"), ("a", "a: [1, ü]")]
)
def test_input_is_json_or_yaml(tmp_path: Path, name: str, content: str) -> None:
    assert read_input(written(tmp_path, name, content)) == {"a": [1, "ü"]}


def test_input_comes_from_stdin_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a: 1")))
    assert read_input("-") == {"a": 1}


@pytest.mark.parametrize(
    ("content", "kind"),
    [("[1]", "a list"), ("7", "a number"), ("words", "a text"), ("true", "a boolean"), ("null", "empty")],
)
def test_input_that_is_no_mapping_is_refused(tmp_path: Path, content: str, kind: str) -> None:
    with pytest.raises(UsageError, match=f"is {kind}; an input is a mapping"):
        read_input(written(tmp_path, "input.yaml", content))


@pytest.mark.parametrize("content", [b'{"a": ', b"a: [1", b"\xff\xfe\xfa", b""])
def test_input_that_cannot_be_read_is_one_usage_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(UsageError, match=r"input\.json"):
        read_input(written(tmp_path, "input.json", content))


def test_input_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json', which does not exist"):
        read_input(str(tmp_path / "nowhere.json"))
    with pytest.raises(UsageError, match="which is a folder"):
        read_input(str(tmp_path))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("key=3", 3),
        ("key=true", True),
        ("key=null", None),
        ('key=["a", 1]', ["a", 1]),
        ('key="3"', "3"),
        ("key=Ann", "Ann"),
        ("key=", ""),
        ("key=a=b: c", "a=b: c"),
        ("key=007", "007"),
        ("key=NaN", "NaN"),
        ("key={broken", "{broken"),
    ],
)
def test_set_value_is_json_where_it_reads_as_json_else_text(setting: str, value: JsonValue) -> None:
    data: JsonObject = {}
    apply_settings(data, [setting], None)
    assert data == {"key": value}


def test_set_takes_text_as_it_stands_where_the_schema_declares_a_string() -> None:
    data: JsonObject = {}
    apply_settings(data, ["id=42", "count=42", "customer.zip=10115", "customer.age=7"], SCHEMA)
    assert data == {"id": "42", "count": 42, "customer": {"zip": "10115", "age": 7}}


def test_set_goes_over_the_input_and_the_last_one_wins() -> None:
    data: JsonObject = {"a": {"b": 1, "c": 2}}
    apply_settings(data, ["a.b=3", "a.b=4", "d=5"], None)
    assert data == {"a": {"b": 4, "c": 2}, "d": 5}


@pytest.mark.parametrize("setting", ["novalue", "=1", "a..b=1", ".a=1", "a.=1"])
def test_set_of_another_form_is_refused(setting: str) -> None:
    with pytest.raises(UsageError, match="not of the form key=value"):
        apply_settings({}, [setting], None)


def test_set_does_not_go_through_a_value_that_is_no_mapping() -> None:
    with pytest.raises(UsageError, match=r"'a\.b\.c' goes through 'a\.b', which is a list"):
        apply_settings({"a": {"b": []}}, ["a.b.c=1"], None)


@pytest.mark.parametrize("setting", ["key=1e999", r'key="\ud800"', "key=\udcff", "key=" + "[" * 100 + "]" * 100])
def test_set_value_that_json_cannot_hold_is_refused(setting: str) -> None:
    with pytest.raises(UsageError, match="the value of --set 'key'"):
        apply_settings({}, [setting], None)


def test_without_a_principal_file_the_run_acts_for_the_local_operator() -> None:
    assert read_principal(None) == Principal(id="local", scopes=frozenset({"*"}))


def test_principal_from_a_file_has_the_scopes_it_lists_and_no_others(tmp_path: Path) -> None:
    full = "id: ann\ntenant: acme\ngroups: [billing]\nscopes: [orders.read, orders.write]\n"
    assert read_principal(written(tmp_path, "full.yaml", full)) == Principal(
        id="ann",
        tenant="acme",
        groups=frozenset({"billing"}),
        scopes=frozenset({"orders.read", "orders.write"}),
    )
    assert read_principal(written(tmp_path, "bare.json", '{"id": "ann"}')).scopes == frozenset()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "is a list; write a mapping"),
        ("{}", "needs an `id`"),
        ("id: 7", "needs an `id`"),
        ("id: ''", "needs an `id`"),
        ("{id: a, scope: [x]}", r"no field 'scope'; did you mean 'scopes'\?"),
        ("{id: a, admin: true}", "no field 'admin'; it has id, tenant, groups, scopes"),
        ("{id: a, scopes: '*'}", "`scopes` of the principal .* must be a list"),
        ("{id: a, groups: [1]}", "`groups` of the principal .* must hold non-empty texts"),
        ("{id: a, tenant: 1}", "`tenant` of the principal .* must be a text or null"),
    ],
)
def test_principal_of_another_form_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_principal(written(tmp_path, "principal.yaml", content))
