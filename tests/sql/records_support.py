"""Builders for tests of records: a project with data models on a database, and workflows of ModelOp steps."""

import json
from pathlib import Path

import pytest

from tests.engine.run_support import Project
from tests.sql.conftest import Database
from tuvl.engine.result import RunResult
from tuvl.errors import ConfigError

CUSTOMER_FIELDS: list[dict[str, object]] = [
    {"name": "id", "type": "integer", "primary_key": True},
    {"name": "email", "type": "string", "required": True, "unique": True},
    {"name": "name", "type": "text"},
    {"name": "iban", "type": "string", "secure": True},
    {"name": "tier", "type": "enum", "enum_values": ["gold", "it's"], "default": "gold"},
    {"name": "balance", "type": "numeric"},
]


class Records(Project):
    """A project whose data models are on one database; without one, in the embedded file."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        super().__init__(root)
        self.models: list[str] = []
        self.source_name = None if database is None else "main"
        if database is not None:
            self.source("main", type=database.type, connection=database.connection)

    def source(self, name: str, **spec: object) -> "Records":
        (self.root / "datasources").mkdir(exist_ok=True)
        document = {"kind": "DataSource", "metadata": {"name": name}, "spec": spec}
        (self.root / "datasources" / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        return self

    def data_model(self, name: str, fields: list[dict[str, object]], **spec: object) -> "Records":
        (self.root / "models").mkdir(exist_ok=True)
        body: dict[str, object] = {"tablename": f"{name.lower()}s", "fields": fields, **spec}
        if self.source_name is not None:
            body.setdefault("datasource", self.source_name)
        document = {"kind": "ModelDefinition", "metadata": {"name": name}, "spec": body}
        (self.root / "models" / f"{name}.yaml").write_text(json.dumps(document), encoding="utf-8")
        if name not in self.models:
            self.models.append(name)
        return self

    def customers(self, **spec: object) -> "Records":
        return self.data_model("Customer", CUSTOMER_FIELDS, **spec)

    def steps(self, *steps: dict[str, object], **spec: object) -> "Records":
        lines = "\n".join(f"- {json.dumps(step)}" for step in steps)
        self.workflow(lines, **{"context": self.models, **spec})
        return self


def op(id: str, operation: str, model: str = "Customer", **fields: object) -> dict[str, object]:
    return {"id": id, "kind": "ModelOp", "model": model, "operation": operation, **fields}


def add(id: str, **payload: object) -> dict[str, object]:
    return op(id, "create", payload=payload)


def failure(result: RunResult) -> tuple[str, str]:
    """Return type and message of the run's error."""
    assert result.error is not None, result.context
    return result.error.type, result.error.message


def refused(project: Records) -> str:
    """Return why a workflow does not compile."""
    with pytest.raises(ConfigError) as caught:
        project.plan()
    return str(caught.value)
