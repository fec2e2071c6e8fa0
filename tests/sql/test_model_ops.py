"""ModelOp steps: the five operations, filters, relations, constraints, masks and rights, on both databases."""

import json

import pytest

from tests.sql.conftest import Database
from tests.sql.records_support import Records, add, failure, op, refused
from tuvl.principal import Principal

ORDER_FIELDS: list[dict[str, object]] = [
    {"name": "id", "type": "integer", "primary_key": True},
    {"name": "customer_id", "type": "integer", "required": True},
    {"name": "total", "type": "numeric"},
]
TO_ORDERS = {"name": "orders", "model": "Order", "foreign_key": "customer_id", "type": "one_to_many"}
TO_CUSTOMER = {"name": "customer", "model": "Customer", "foreign_key": "customer_id"}


def shop(tmp_path, database: Database | None = None) -> Records:
    project = Records(tmp_path, database).customers(relations=[TO_ORDERS])
    return project.data_model("Order", ORDER_FIELDS, relations=[TO_CUSTOMER])


async def test_a_record_is_created_read_changed_listed_and_deleted(database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).customers()
    project.steps(
        add("new", email="a@b.c", name="Ada"),
        op("seen", "read", record_id="{{ new_result.id }}"),
        op("changed", "update", record_id="{{ new_result.id }}", payload={"name": "Ada L.", "balance": "3.10"}),
        op("all", "list", output="found"),
        op("gone", "delete", record_id="{{ new_result.id }}"),
        op("left", "list"),
    )
    context = (await project.run()).context
    fresh = {"id": 1, "email": "a@b.c", "name": "Ada", "iban": None, "tier": "gold", "balance": None}
    assert context["new_result"] == context["seen_result"] == fresh
    assert context["changed_result"] == {**fresh, "name": "Ada L.", "balance": "3.10"}
    assert context["found"] == [context["changed_result"]]
    assert context["gone_result"] == {"deleted": True, "id": 1}
    assert context["left_result"] == []


@pytest.mark.parametrize("operation", ["read", "update", "delete"])
async def test_a_record_that_is_not_there_fails_the_step(operation: str, database: Database, tmp_path) -> None:
    fields = {"payload": {"name": "x"}} if operation == "update" else {}
    project = Records(tmp_path, database).customers().steps(op("x", operation, record_id=77, **fields))
    assert failure(await project.run()) == ("not_found", "data model 'Customer' has no record with this 'id'")


async def test_an_id_that_came_as_text_finds_a_whole_number_key(tmp_path) -> None:
    project = Records(tmp_path).customers().steps(add("a", email="x"), op("b", "read", record_id="{{ id }}"))
    assert (await project.run({"id": "1"})).context["b_result"]["email"] == "x"
    assert failure(await project.run({"id": "one"}))[0] in {"constraint", "invalid_record_id"}


FILTERS: list[tuple[dict[str, object], list[str]]] = [
    ({"name": "Ada"}, ["a"]),
    ({"name": None}, ["d"]),
    ({"name": {"neq": "Ada"}}, ["b", "c", "d"]),
    ({"name": {"neq": None}}, ["a", "b", "c"]),
    ({"balance": {"gte": 2, "lt": "10"}}, ["b"]),
    ({"balance": {"gt": "2"}}, ["c"]),
    ({"balance": {"lte": "2"}}, ["a", "b"]),
    ({"name": {"in": ["Ada", "Bob", None]}}, ["a", "b", "d"]),
    ({"name": {"in": []}}, []),
    ({"name": {"not_in": ["Ada"]}}, ["b", "c", "d"]),
    ({"name": {"not_in": ["Ada", None]}}, ["b", "c"]),
    ({"name": {"not_in": []}}, ["a", "b", "c", "d"]),
    ({"name": {"contains": "d"}}, ["a"]),
    ({"name": {"contains": "%"}}, ["c"]),
    ({"name": {"starts_with": "B"}}, ["b"]),
    ({"name": {"starts_with": "b"}}, []),
    ({"name": {"is_null": True}}, ["d"]),
    ({"name": {"is_null": False}, "email": {"neq": "a"}}, ["b", "c"]),
    ({"tier": "it's"}, ["b"]),
    ({"iban": "DE02"}, ["b"]),
]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_filters_find_the_same_records_on_every_database(database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).customers()
    project.steps(
        add("a", email="a", name="Ada", balance="1", iban="DE01"),
        add("b", email="b", name="Bob", balance="2.0", iban="DE02", tier="it's"),
        add("c", email="c", name="50%", balance="10"),
        add("d", email="d"),
        *(op(f"f{number}", "list", filters=given) for number, (given, _) in enumerate(FILTERS)),
    )
    context = (await project.run()).context
    found = [[row["email"] for row in context[f"f{number}_result"]] for number in range(len(FILTERS))]
    assert found == [wanted for _, wanted in FILTERS]


async def test_lists_are_bounded_and_sorted_with_empty_values_last(database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).customers()
    project.steps(
        *(add(f"n{i}", email=str(i), name=name) for i, name in enumerate(["b", None, "a", "b"])),
        op("up", "list", order_by="name"),
        op("down", "list", order_by=["-name", "-id"]),
        op("two", "list", limit=2),
    )
    context = (await project.run()).context
    names = {step: [(row["name"], row["id"]) for row in context[f"{step}_result"]] for step in ("up", "down", "two")}
    assert names["up"] == [("a", 3), ("b", 1), ("b", 4), (None, 2)]
    assert names["down"] == [("b", 4), ("b", 1), ("a", 3), (None, 2)]
    assert names["two"] == [("b", 1), (None, 2)]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"nmae": "x"}, "has no field 'nmae'; did you mean 'name'?"),
        ({"name": {"equals": "x"}}, "'equals' of field 'name' is no operator"),
        ({"name": {"start_with": "x"}}, "did you mean 'starts_with'?"),
        ({"name": ["a"]}, "to match any of several values write {in: [...]}"),
        ({"name": 7}, "field 'name' takes a text"),
        ({"name": {"in": "a"}}, "something else than a list"),
        ({"name": {"is_null": "yes"}}, "true or false"),
        ({"balance": {"contains": "1"}}, "which is for texts"),
        ({"balance": {"gt": None}}, "ask with 'is_null'"),
        ({"iban": {"starts_with": "D"}}, "a secure field can be compared for equality only"),
        ({"iban": {"gt": "D"}}, "a secure field can be compared for equality only"),
    ],
    ids=str,
)
async def test_a_filter_that_means_nothing_fails_the_step_and_says_why(filters, said, tmp_path) -> None:
    project = Records(tmp_path).customers()
    # As data, so that it is met when the step runs, as with a model's arguments.
    project.steps({**op("x", "list"), "filters": {name: f"{{{{ given['{name}'] }}}}" for name in filters}})
    if any(name not in {"name", "balance", "iban"} for name in filters):
        assert said in refused(project)
        return
    _, message = failure(await project.run({"given": filters}))
    assert said in message


async def test_related_records_are_included_on_both_sides(database: Database, tmp_path) -> None:
    project = shop(tmp_path, database)
    project.steps(
        add("ada", email="a"),
        add("bob", email="b"),
        op("o1", "create", "Order", payload={"customer_id": "{{ ada_result.id }}", "total": "1"}),
        op("o2", "create", "Order", payload={"customer_id": "{{ ada_result.id }}", "total": "2"}),
        op("all", "list", include=["orders"]),
        op("one", "read", "Order", record_id="{{ o1_result.id }}", include=["customer"]),
    )
    context = (await project.run()).context
    assert [[order["total"] for order in row["orders"]] for row in context["all_result"]] == [["1", "2"], []]
    assert context["one_result"]["customer"]["email"] == "a"


async def test_a_relation_in_a_circle_makes_its_tables_and_keeps_its_keys(database: Database, tmp_path) -> None:
    fields = [
        {"name": "id", "type": "integer", "primary_key": True},
        {"name": "partner_id", "type": "integer"},
    ]
    project = Records(tmp_path, database)
    for name, other in (("Left", "Right"), ("Right", "Left")):
        relation = {"name": "partner", "model": other, "foreign_key": "partner_id", "type": "one_to_one"}
        project.data_model(name, fields, relations=[relation])
    project.steps(
        op("l", "create", "Left", payload={}),
        op("r", "create", "Right", payload={"partner_id": 1}),
        op("bad", "create", "Right", payload={"partner_id": 9}),
    )
    result = await project.run()
    assert failure(result)[0] == "constraint"
    assert result.error is not None
    assert result.error.step == "bad"
    assert result.error.detail["constraint"] == "foreign_key"


async def test_an_included_model_must_be_one_the_workflow_may_touch(tmp_path) -> None:
    project = shop(tmp_path)
    project.steps(op("all", "list", include=["orders"]), context=["Customer"])
    assert "data model 'Order' is not in the workflow's `context:`" in refused(project)


@pytest.mark.parametrize(
    ("payload", "kind", "said"),
    [
        ({"email": "taken"}, "constraint", "another record has that value already"),
        ({"name": "no mail"}, "invalid_payload", "needs a value for 'email'"),
        ({"email": None}, "invalid_payload", "needs a value for 'email'"),
        ({"email": "x", "tier": "bronze"}, "invalid_payload", "takes one of 'gold', \"it's\""),
        ({"email": "x", "iban": "***"}, "invalid_payload", "was given the mask of a secure value"),
    ],
    ids=str,
)
async def test_a_record_that_breaks_a_rule_is_not_kept(payload, kind, said, database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).customers()
    project.steps(
        add("first", email="taken"),
        op("x", "create", payload="{{ given }}", routes={"error": "all"}),
        op("all", "list"),
    )
    result = await project.run({"given": payload})
    found, message = failure(result)
    assert found == kind
    assert said in message
    assert "taken" not in message
    assert len(result.context["all_result"]) == 1


async def test_an_unknown_field_is_named_with_the_meant_one(tmp_path) -> None:
    project = Records(tmp_path).customers().steps(op("x", "create", payload="{{ given }}"))
    found, message = failure(await project.run({"given": {"emial": "x"}}))
    assert found == "unknown_field"
    assert "no field 'emial'; did you mean 'email'?" in message
    project.steps(add("x", emial="x"))
    assert "did you mean 'email'?" in refused(project)


async def test_the_key_of_a_record_cannot_be_changed(tmp_path) -> None:
    project = Records(tmp_path).customers()
    project.steps(add("a", email="x"), op("b", "update", record_id=1, payload={"id": 2}))
    assert failure(await project.run()) == (
        "invalid_payload",
        "payload: field 'id' is the key of data model 'Customer' and cannot be changed",
    )


async def test_secure_values_leave_the_database_masked_and_nowhere_else_in_the_result(database, tmp_path) -> None:
    project = Records(tmp_path, database).customers()
    project.steps(
        add("a", email="x", iban="{{ iban }}"),
        op("b", "list", filters={"iban": "{{ iban }}"}),
        {"id": "c", "kind": "Functional", "runner": "set", "values": {"note": "pay to {{ iban }}"}},
    )
    result = await project.run({"iban": "DE89370400440532013000"}, trace=True)
    assert len(result.context["b_result"]) == 1
    assert result.context["b_result"][0]["iban"] == "***"
    assert result.context["note"] == "pay to ***"
    assert "DE89" not in json.dumps(result.to_json())


async def test_a_masked_record_written_back_keeps_its_secure_value(tmp_path) -> None:
    project = Records(tmp_path).customers()
    project.steps(
        add("a", email="x", iban="DE89370400440532013000"),
        op("b", "read", record_id=1),
        op("c", "update", record_id=1, payload="{{ b_result }}"),
        op("d", "list", filters={"iban": "DE89370400440532013000"}),
    )
    result = await project.run()
    assert result.status == "completed"
    assert len(result.context["d_result"]) == 1


ACCESS = {
    "read_scope": "customers:read",
    "write_scope": "customers:write",
    "write_groups": ["sales", "support"],
    "delete_scope": "customers:delete",
}


@pytest.mark.parametrize(
    ("operation", "scopes", "groups", "needs"),
    [
        ("list", set(), set(), "the scope 'customers:read'"),
        ("list", {"customers:read"}, set(), None),
        ("create", {"customers:read"}, {"sales"}, "the scope 'customers:write'"),
        ("create", {"customers:write"}, set(), "to be in the group 'sales' or 'support'"),
        ("create", {"customers:write"}, {"support"}, None),
        ("delete", {"customers:write"}, {"sales"}, "the scope 'customers:delete'"),
        ("delete", {"*"}, set(), None),
    ],
)
async def test_records_are_touched_with_the_rights_of_the_principal_only(
    operation: str, scopes: set[str], groups: set[str], needs: str | None, tmp_path
) -> None:
    project = Records(tmp_path).customers(access=ACCESS).steps(add("seed", email="x"))
    await project.run()
    fields = {"create": {"payload": {"email": "y"}}, "delete": {"record_id": 1}}.get(operation, {})
    project.steps(op("x", operation, **fields))
    result = await project.run(principal=Principal(id="eve", scopes=frozenset(scopes), groups=frozenset(groups)))
    if needs is None:
        assert result.error is None
    else:
        act = {"list": "read", "create": "write"}.get(operation, operation)
        assert failure(result) == (
            "access_denied",
            f"principal 'eve' may not {act} records of 'Customer': it needs {needs}",
        )


async def test_an_include_needs_the_right_to_read_the_other_model(tmp_path) -> None:
    project = Records(tmp_path).customers(relations=[TO_ORDERS])
    project.data_model("Order", ORDER_FIELDS, access={"read_scope": "orders:read"})
    project.steps(op("x", "list", include=["orders"]))
    assert failure(await project.run(principal=Principal(id="eve", scopes=frozenset())))[0] == "access_denied"


async def test_a_refused_access_is_a_result_the_model_reads(tmp_path) -> None:
    project = Records(tmp_path).customers(access={"read_scope": "customers:read"})
    project.model({"tool_calls": [{"name": "find", "arguments": {}}]}, "I may not look.")
    agent = {
        "id": "agent",
        "kind": "Agent",
        "mode": "autonomous",
        "agent": {"model": "default", "steering": "Look.", "tools": [{"ref": "find", "description": "Find."}]},
    }
    project.steps(agent, {**op("find", "list"), "description": "Find."})
    result = await project.run(principal=Principal(id="eve", scopes=frozenset()), trace=True)
    assert result.status == "completed"
    assert result.trace is not None
    answer = next(entry for entry in result.trace if entry["type"] == "tool_result")
    assert "access_denied" in str(answer["content"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"drop": "name"}, "column 'name' is in the table and not in the model"),
        ({"add": {"name": "age", "type": "integer"}}, "column 'age' is in the model and not in the table"),
        ({"set": {"name": "balance", "type": "boolean"}}, "column 'balance' holds"),
        ({"set": {"name": "name", "type": "text", "required": True}}, "column 'name' may be empty in the table"),
        ({"set": {"name": "name", "type": "text", "unique": True}}, "column 'name' is unique in the model"),
        ({"set": {"name": "tier", "type": "enum", "enum_values": ["gold"]}}, "column 'tier' takes"),
        ({"set": {"name": "id", "type": "integer"}}, "the primary key of the table is 'id'"),
    ],
    ids=str,
)
async def test_a_drifted_table_is_an_error_that_names_the_columns(change, said, database: Database, tmp_path) -> None:
    project = Records(tmp_path, database).customers().steps(add("a", email="x"), op("b", "list"))
    assert (await project.run()).status == "completed"
    fields = [
        dict(field) for field in json.loads((tmp_path / "models" / "Customer.yaml").read_text())["spec"]["fields"]
    ]
    if "drop" in change:
        fields = [field for field in fields if field["name"] != change["drop"]]
    if "add" in change:
        fields.append(change["add"])
    if "set" in change:
        fields = [change["set"] if field["name"] == change["set"]["name"] else field for field in fields]
    project.data_model("Customer", fields).steps(op("b", "list"))
    found, message = failure(await project.run())
    assert found == "table_drift"
    assert said in message
    assert "Nothing was changed" in message
    # And the table still fits the model as it was.
    assert (await project.customers().steps(op("b", "list")).run()).status == "completed"


@pytest.mark.parametrize(
    ("fields", "spec", "said"),
    [
        ([{"name": "id", "type": "integer"}], {}, "it needs exactly one"),
        ([{"name": "id", "type": "integer", "primary_key": True}] * 2, {}, "2 fields named 'id'"),
        (
            [{"name": "id", "type": "uuid", "primary_key": True, "default": "x"}],
            {},
            "the default of field 'id' is none",
        ),
        (
            [{"name": "id", "type": "integer", "primary_key": True}],
            {"relations": [{"name": "o", "model": "Nope", "foreign_key": "id"}]},
            "leads to data model 'Nope', which is not defined",
        ),
    ],
    ids=["no key", "twice", "default", "relation"],
)
def test_a_data_model_that_makes_no_sense_refuses_the_run(fields, spec, said, tmp_path) -> None:
    project = Records(tmp_path).data_model("Thing", fields, **spec).steps(op("x", "read", "Thing", record_id=1))
    assert said in refused(project)


def test_a_data_source_or_version_that_is_not_there_refuses_the_run(tmp_path) -> None:
    project = Records(tmp_path).customers(datasource="nope").steps(op("x", "list"))
    assert "is on data source 'nope', which is not defined" in refused(project)
    project.customers().steps(op("x", "list"), context={"models": [{"name": "Customer", "version": "v9"}]})
    assert "has no `schema_version: v9`" in refused(project)
    project.steps(op("x", "list"), context={"models": [{"name": "Customer", "version": "v1"}]})
    assert not project.plan().refusals
