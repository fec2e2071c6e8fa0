"""One operation on records of a data model: JSON in, JSON out, inside the session of the step."""

from collections.abc import Mapping, Sequence
from typing import assert_never

from sqlalchemy import RowMapping

from tuvl.data.faults import step_error
from tuvl.data.including import nested, related_rows
from tuvl.data.model import DataModel, Operation
from tuvl.data.records import Records
from tuvl.data.sessions import StepData
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, StepError
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One operation, its templates rendered."""

    operation: Operation
    payload: Mapping[str, JsonValue]
    record_id: JsonValue
    filters: Mapping[str, JsonValue]
    include: Sequence[str]
    limit: int
    order_by: Sequence[str]


async def perform(request: Request, model: DataModel, models: Mapping[str, DataModel], data: StepData) -> JsonValue:
    """Do it; `models` are those its relations lead to. Raises `StepError`, which quotes no value."""
    try:
        return await _Work(request, model, models, data).result()
    except (StepError, ConfigError):
        raise
    except Exception as error:
        # Whatever a driver raises becomes one of a few step errors.
        raise step_error(error, what=f"data model {model.name!r}") from error


class _Work:
    """One operation under way."""

    def __init__(self, request: Request, model: DataModel, models: Mapping[str, DataModel], data: StepData) -> None:
        self._request = request
        self._model = model
        self._models = models
        self._data = data
        self._writes = request.operation not in ("read", "list")

    async def result(self) -> JsonValue:
        request = self._request
        records = await self._records(self._model)
        match request.operation:
            case "create":
                rows = [await records.create(request.payload)]
            case "read":
                rows = [await records.read(request.record_id)]
            case "update":
                rows = [await records.update(request.record_id, request.payload)]
            case "list":
                rows = await records.matching(request.filters, request.order_by, request.limit)
            case "delete":
                key = self._model.key.name
                removed = await records.delete(request.record_id)
                return {"deleted": True, key: records.json(removed)[key]}
            case _:
                assert_never(request.operation)
        found = [records.json(row) for row in rows]
        for name in request.include:
            await self._include(name, rows, found)
        return list[JsonValue](found) if request.operation == "list" else found[0]

    async def _include(self, name: str, rows: Sequence[RowMapping], found: Sequence[JsonObject]) -> None:
        relation = self._model.relation(name)
        if relation is None:
            raise StepError(f"data model {self._model.name!r} has no relation {name!r}", type="unknown_field")
        other = await self._records(self._models[relation.model])
        for record, related in zip(found, await related_rows(self._model, relation, other, rows), strict=True):
            record[name] = nested(relation, [other.json(row) for row in related])

    async def _records(self, model: DataModel) -> Records:
        return Records(
            model=model,
            table=await self._data.table(model, self._models),
            session=self._data.session(model.source, writes=self._writes),
            secure=self._data.secure,
        )
