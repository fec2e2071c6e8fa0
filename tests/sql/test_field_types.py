"""Every field type keeps its values, on SQLite and PostgreSQL alike."""

from pathlib import Path

import pytest

from tests.sql.conftest import Database
from tests.sql.records_support import Records, failure, op, refused
from tuvl.check.runner import check_paths

VALUES: dict[str, list[object]] = {
    "string": ["Grüße", "", 'it\'s "quoted" %_\\'],
    "text": ["line\nline", "日本語 🎈"],
    "varchar": ["x" * 300],
    "integer": [0, -(2**31), 2**31 - 1],
    "bigint": [2**63 - 1, -(2**63)],
    "smallint": [-(2**15), 2**15 - 1],
    "numeric": ["0.10", "123456789012345678901234567890.123456789012345678", "-0.000000000000000001", "1000"],
    "float": [0.1, -1e300, 2.0],
    "boolean": [True, False],
    "uuid": ["5a345752-e994-42ae-aa66-5c3f347e2c01"],
    "date": ["2024-02-29", "0001-01-01"],
    "timestamp": ["2030-01-31T12:00:00", "2030-01-31T12:00:00.123456"],
    "timestamptz": ["2030-01-31T12:00:00+00:00", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"],
    "jsonb": [{"a": [1, None, {"b": "ü"}], "big": 2**60}, [1.5, True], "text", 7, {}],
    "bytea": ["", "AAECAwT/"],
}
CASES = [(type_, value) for type_, values in VALUES.items() for value in values]


def kept(type_: str, **field: object) -> list[dict[str, object]]:
    return [{"name": "id", "type": "integer", "primary_key": True}, {"name": "value", "type": type_, **field}]


@pytest.mark.parametrize("type_", VALUES)
async def test_what_is_written_is_what_is_read(type_: str, database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).data_model("Thing", kept(type_))
    values = VALUES[type_]
    steps = [
        op(f"w{number}", "create", "Thing", payload={"value": f"{{{{ given.{number} }}}}"})
        for number in range(len(values))
    ]
    project.steps(*steps, op("empty", "create", "Thing", payload={}), op("read", "list", "Thing", order_by="id"))
    result = await project.run({"given": values})
    assert result.status == "completed", result.error
    assert [row["value"] for row in result.context["read_result"]] == [*values, None]
    # What a write returns is what a read returns.
    assert [result.context[f"w{number}_result"]["value"] for number in range(len(values))] == values


async def test_a_moment_comes_back_in_utc(database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).data_model("Thing", kept("timestamptz"))
    project.steps(op("w", "create", "Thing", payload={"value": "2030-01-01T01:30:00+02:00"}))
    result = await project.run()
    assert result.context["w_result"]["value"] == "2029-12-31T23:30:00+00:00"


async def test_a_number_given_to_a_numeric_field_means_its_shortest_text(database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).data_model("Thing", kept("numeric"))
    project.steps(op("w", "create", "Thing", payload={"value": "{{ given }}"}))
    assert (await project.run({"given": 0.1})).context["w_result"]["value"] == "0.1"


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("string", 7),
        ("text", "nul \x00"),
        ("integer", True),
        ("integer", 2**31),
        ("integer", "7"),
        ("integer", 7.0),
        ("smallint", 2**15),
        ("bigint", 2**63),
        ("numeric", "NaN"),
        ("numeric", "1e600"),
        ("numeric", "twelve"),
        ("numeric", True),
        ("float", "0.5"),
        ("float", 10**400),
        ("boolean", 1),
        ("boolean", "true"),
        ("uuid", "5a345752"),
        ("date", "2030-02-30"),
        ("date", "20300101"),
        ("timestamp", "2030-01-31T12:00:00+00:00"),
        ("timestamptz", "2030-01-31T12:00:00"),
        ("timestamptz", "0001-01-01T00:00:00+14:00"),
        ("timestamptz", "9999-12-31T23:59:59-14:00"),
        ("timestamptz", "0000-01-01T00:00:00+00:00"),
        ("date", "0000-01-01"),
        ("jsonb", {"a": "nul \x00"}),
        ("bytea", "not base64!"),
        ("enum", "c"),
    ],
    ids=str,
)
async def test_a_value_of_another_type_is_refused_without_being_quoted(type_: str, value: object, tmp_path) -> None:
    field = {"enum_values": ["a", "b"]} if type_ == "enum" else {}
    project = Records(tmp_path).data_model("Thing", kept(type_, **field))
    project.steps(op("w", "create", "Thing", payload={"value": "{{ given }}"}))
    type_of_error, message = failure(await project.run({"given": value}))
    assert type_of_error == "invalid_payload"
    assert "field 'value' of data model 'Thing' takes " in message
    assert "\x00" not in message
    assert "twelve" not in message


async def test_decimals_are_compared_and_sorted_exactly(database: Database, tmp_path) -> None:
    """Binary fractions cannot tell these apart, and texts would sort 9 after 10."""
    values = ["10", "9", "-1.5", "-1.55", "0", "0.1", "9.00000000000000000000001", "-100", "100.10"]
    project = Records(tmp_path, database).data_model("Thing", kept("numeric"))
    steps = [op(f"w{number}", "create", "Thing", payload={"value": value}) for number, value in enumerate(values)]
    project.steps(
        *steps,
        op("all", "list", "Thing", order_by="value"),
        op("above", "list", "Thing", filters={"value": {"gt": "9"}}, order_by="-value"),
        op("same", "list", "Thing", filters={"value": "100.1"}),
        op("some", "list", "Thing", filters={"value": {"in": ["0.10", "-100.0"]}}, order_by="value"),
    )
    context = (await project.run()).context
    read = {name: [row["value"] for row in context[f"{name}_result"]] for name in ("all", "above", "same", "some")}
    assert read["all"] == ["-100", "-1.55", "-1.5", "0", "0.1", "9", "9.00000000000000000000001", "10", "100.10"]
    assert read["above"] == ["100.10", "10", "9.00000000000000000000001"]
    assert read["same"] == ["100.10"]
    assert read["some"] == ["-100", "0.1"]


@pytest.mark.parametrize("key", ["integer", "bigint", "smallint"])
async def test_whole_number_keys_are_given_by_the_database(key: str, database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).data_model("Thing", [{"name": "id", "type": key, "primary_key": True}])
    project.steps(op("a", "create", "Thing", payload={}), op("b", "create", "Thing", payload={"id": None}))
    context = (await project.run()).context
    assert [context["a_result"]["id"], context["b_result"]["id"]] == [1, 2]


async def test_a_uuid_key_is_made_when_none_is_given(database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).data_model("Thing", [{"name": "id", "type": "uuid", "primary_key": True}])
    project.steps(op("a", "create", "Thing", payload={}), op("b", "read", "Thing", record_id="{{ a_result.id }}"))
    context = (await project.run()).context
    assert context["b_result"] == context["a_result"]
    assert len(context["a_result"]["id"]) == 36


FAR = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]


@pytest.mark.parametrize(
    ("type_", "condition"),
    [
        *(("timestamptz", {operator: moment}) for operator in ("eq", "gt") for moment in FAR),
        ("timestamptz", {"in": FAR}),
        ("integer", {"eq": 10**30}),
        ("text", {"contains": "nul \x00"}),
        ("text", {"in": [f"{number}" for number in range(10_001)]}),
        ("integer", {"in": list(range(10_001))}),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_filter_that_no_database_can_take_is_refused_by_its_field(
    type_: str, condition: object, tmp_path: Path
) -> None:
    project = Records(tmp_path).data_model("Thing", kept(type_))
    project.steps(op("r", "list", "Thing", filters={"value": "{{ given }}"}))
    type_of_error, message = failure(await project.run({"given": condition}))
    assert type_of_error == "bad_filter"
    assert message.startswith("filters: field 'value' ")


@pytest.mark.parametrize("record_id", ["9" * 30, "9" * 5000, 10**30, "nul \x00"], ids=["30", "5000", "number", "nul"])
@pytest.mark.parametrize("type_", ["integer", "bigint", "text"])
async def test_a_key_that_no_database_can_take_is_refused_by_its_name(
    type_: str, record_id: object, tmp_path: Path
) -> None:
    project = Records(tmp_path).data_model("Thing", [{"name": "id", "type": type_, "primary_key": True}])
    project.steps(op("r", "read", "Thing", record_id="{{ given }}"))
    type_of_error, message = failure(await project.run({"given": record_id}))
    if type_ == "text" and isinstance(record_id, str) and "\x00" not in record_id:
        assert type_of_error == "not_found"
        return
    assert type_of_error == "invalid_record_id"
    assert message.startswith("record_id: the key 'id' of data model 'Thing' takes ")


@pytest.mark.parametrize("limit", [1_000_001, 2**63, 10**20])
def test_a_limit_beyond_all_measure_is_refused_at_validate_and_at_run(limit: int, tmp_path: Path) -> None:
    project = Records(tmp_path).data_model("Thing", kept("text"))
    project.steps(op("r", "list", "Thing", limit=limit))
    assert "spec.steps[0].limit" in refused(project)
    report = check_paths([tmp_path / "workflows" / "flow.yaml"])
    found = [finding.message for finding in report.findings if finding.code == "TV102"]
    assert len(found) == 1
    assert found[0].startswith("`limit` of step 'r' must be a whole number from 1 to 1000000, not the number ")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("PRAGMA query_only=ON", "the database cannot be written: its file or its folder is read-only"),
        ("ALTER TABLE things RENAME TO others", "the database refused the statement (SQLITE_ERROR)"),
    ],
)
async def test_what_a_database_refuses_is_no_database_that_cannot_be_reached(
    statement: str, said: str, tmp_path: Path
) -> None:
    project = Records(tmp_path).data_model("Thing", kept("text"))
    project.node(
        f"""
from sqlalchemy import text
from tuvl import node

@node("spoil")
async def spoil(ctx):
    await ctx.session.execute(text({statement!r}))
"""
    )
    project.steps(
        op("first", "create", "Thing", payload={"value": "a"}),
        {"id": "spoil", "kind": "Functional", "runner": "spoil"},
        op("second", "create", "Thing", payload={"value": "b"}),
    )
    _, message = failure(await project.run())
    assert message == f"data model 'Thing': {said}"
