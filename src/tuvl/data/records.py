"""The records of one data model in one session: created, read, listed, updated, deleted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn
from uuid import uuid4

from sqlalchemy import ColumnElement, RowMapping, Select, Table, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from tuvl.data.filters import conditions, ordering, unknown_field
from tuvl.data.model import DataModel
from tuvl.data.secure import SecureValues, mask_fields
from tuvl.data.values import WrongValue, json_value, read_value
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.redaction import MASK
from tuvl.spec.data import DataField
from tuvl.values import JsonObject, JsonValue

_MOST_DIGITS = 20
"""Digits of a key that is a whole number: no database's has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The records of one model, as one step sees them."""

    model: DataModel
    table: Table
    session: AsyncSession
    secure: SecureValues

    def json(self, row: RowMapping) -> JsonObject:
        """Return a row as JSON, its secure fields masked."""
        record = {name: json_value(field, row[name]) for name, field in self.model.fields.items()}
        return mask_fields(record, self.model.secure)

    async def create(self, payload: Mapping[str, JsonValue]) -> RowMapping:
        """Add a record; what the payload leaves out gets its default."""
        values = self._values(payload)
        for name, field in self.model.fields.items():
            if name not in values and (made := self._default(field)) is not None:
                values[name] = made
        for name in self.model.keys:
            if values.get(name) is None and _numbers_itself(self.model.fields[name]):
                values.pop(name, None)
        self._require(
            name
            for name, field in self.model.fields.items()
            if (field.required or (field.primary_key and not _numbers_itself(field))) and values.get(name) is None
        )
        added = insert(self.table).values(values).returning(*self.table.c)
        return (await self.session.execute(added)).mappings().one()

    async def read(self, record_id: JsonValue) -> RowMapping:
        """Return one record; one that is not there is a `StepError` of type `not_found`, here and below."""
        found = await self.session.execute(select(self.table).where(self._is(record_id)))
        return found.mappings().first() or self._missing(record_id)

    async def delete(self, record_id: JsonValue) -> RowMapping:
        """Remove a record and return it."""
        removed = delete(self.table).where(self._is(record_id)).returning(*self.table.c)
        return (await self.session.execute(removed)).mappings().first() or self._missing(record_id)

    async def matching(self, filters: Mapping[str, JsonValue], order_by: Sequence[str], limit: int) -> list[RowMapping]:
        """Return the records that fit, at most `limit`."""
        sqlite = self.session.get_bind().dialect.name == "sqlite"
        for name in self.model.secure.intersection(filters):
            self.secure.add(filters[name])
        query: Select[tuple[object, ...]] = select(self.table)
        query = query.where(*conditions(filters, self.model, self.table, sqlite=sqlite))
        query = query.order_by(*ordering(order_by, self.model, self.table, sqlite=sqlite))
        return list((await self.session.execute(query.limit(limit))).mappings())

    async def update(self, record_id: JsonValue, payload: Mapping[str, JsonValue]) -> RowMapping:
        """Change the fields that the payload names."""
        # A record goes to a model masked; when it comes back whole, the mask stands for the value that is stored.
        kept = {name: value for name, value in payload.items() if not (name in self.model.secure and value == MASK)}
        values = self._values(kept)
        key = self.model.key
        if key.name in values and values[key.name] != self._key(record_id):
            raise StepError(
                f"payload: field {key.name!r} is the key of data model {self.model.name!r} and cannot be changed",
                type="invalid_payload",
            )
        values.pop(key.name, None)
        self._require(name for name, value in values.items() if value is None and self.model.fields[name].required)
        if not values:
            return await self.read(record_id)
        changed = update(self.table).where(self._is(record_id)).values(values).returning(*self.table.c)
        return (await self.session.execute(changed)).mappings().first() or self._missing(record_id)

    def _require(self, missing: Iterable[str]) -> None:
        names = list(missing)
        if names:
            raise StepError(
                f"payload: data model {self.model.name!r} needs a value for {', '.join(map(repr, names))}",
                type="invalid_payload",
                detail={"model": self.model.name, "missing": list[JsonValue](names)},
            )

    def _values(self, payload: Mapping[str, JsonValue]) -> dict[str, object]:
        values: dict[str, object] = {}
        for name, given in payload.items():
            field = self.model.fields.get(name)
            if field is None:
                raise unknown_field(name, self.model, "payload")
            if field.secure:
                self.secure.add(given)
                if given == MASK:
                    raise self._invalid(field, "was given the mask of a secure value")
            try:
                values[name] = read_value(field, given)
            except WrongValue as error:
                raise self._invalid(field, str(error)) from None
        return values

    def _invalid(self, field: DataField, what: str) -> StepError:
        return StepError(
            f"payload: field {field.name!r} of data model {self.model.name!r} {what}",
            type="invalid_payload",
            detail={"model": self.model.name, "field": field.name},
        )

    def _default(self, field: DataField) -> object:
        if field.default is not None:
            try:
                return read_value(field, field.default)
            except WrongValue as error:
                raise self._invalid(field, f"has a default that it cannot take: it {error}") from None
        return uuid4() if field.primary_key and field.type == "uuid" else None

    def _key(self, record_id: JsonValue) -> object:
        key = self.model.key
        given: JsonValue = record_id
        if key.type in ("integer", "bigint", "smallint") and isinstance(record_id, str):
            # An id that came in an URL or a form is a text of digits.
            whole = record_id.isascii() and record_id.isdecimal() and len(record_id) <= _MOST_DIGITS
            given = int(record_id) if whole else record_id
        try:
            value = read_value(key, given)
        except WrongValue as error:
            raise StepError(
                f"record_id: the key {key.name!r} of data model {self.model.name!r} {error}", type="invalid_record_id"
            ) from None
        if value is None:
            raise StepError(f"record_id: no {key.name!r} of data model {self.model.name!r}", type="invalid_record_id")
        return value

    def _is(self, record_id: JsonValue) -> ColumnElement[bool]:
        return self.table.c[self.model.key.name] == self._key(record_id)

    def _missing(self, record_id: JsonValue) -> NoReturn:
        raise StepError(
            f"data model {self.model.name!r} has no record with this {self.model.key.name!r}",
            type="not_found",
            detail={"model": self.model.name, "record_id": None if self.model.key.secure else record_id},
        )


def _numbers_itself(field: DataField) -> bool:
    return field.primary_key and field.type in ("integer", "bigint", "smallint")
