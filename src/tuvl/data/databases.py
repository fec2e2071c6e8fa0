"""The databases of one project: an engine for each, opened when it is first needed, its tables made and looked at."""

import asyncio
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, MetaData, Table, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from tuvl.data.drift import drift_of
from tuvl.data.engines import WRITES, Opened, open_engine
from tuvl.data.location import source_url
from tuvl.data.marks import can_mark, forget, has_marks
from tuvl.data.model import DataModel, SourcePlan, related
from tuvl.data.reaching import Reached
from tuvl.data.tables import NAMES, make_table
from tuvl.errors import StepError
from tuvl.spec.data import Pooling

_LOCK = 7_281_453
"""Key of the PostgreSQL lock under which tables are made: two processes would otherwise make the same one."""


class Databases:
    """Kept by an engine for all its runs; close it in the event loop it was used in."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._opened: dict[str, _Database] = {}

    def open(self, source: SourcePlan) -> "AsyncEngine":
        """Return the engine of a source; raises `ConfigError`."""
        return self._database(source).engine

    async def table(self, model: DataModel, models: Mapping[str, DataModel]) -> Table:
        """Return the table of a model, made when it was missing; one that has drifted is a `StepError`."""
        return await self._database(model.source).table(model, models)

    async def can_mark(self, source: SourcePlan) -> bool:
        """Tell whether what a run writes can be marked there."""
        return await self._database(source).can_mark()

    async def forget(self, run_id: str, sources: Iterable[SourcePlan]) -> None:
        """Take the marks of a run away, where this process has made any, and from `sources`, where others may have."""
        others = {self._database(source) for source in sources}
        for database in list(self._opened.values()):
            if database.marks or (database in others and await has_marks(database.engine)):
                await forget(database.engine, run_id)

    async def aclose(self) -> None:
        """Close every connection."""
        for database in self._opened.values():
            await database.aclose()
        self._opened.clear()

    def _database(self, source: SourcePlan) -> "_Database":
        database = self._opened.get(source.name)
        if database is None:
            pooling = Pooling() if source.spec is None else source.spec.pooling
            opened = open_engine(source_url(source, self._environ), pooling, _reached(source))
            database = self._opened[source.name] = _Database(opened)
        return database


class _Database:
    """One database: its engine, and the tables that have been looked at."""

    def __init__(self, opened: Opened) -> None:
        self.engine = opened.engine
        self._opened = opened
        self._metadata = MetaData(naming_convention=NAMES)
        self._ready: dict[str, Table] = {}
        self._lock = asyncio.Lock()
        self.marks: bool | None = None
        """Whether writes can be marked; `None` while nobody has asked."""

    async def can_mark(self) -> bool:
        async with self._lock:
            if self.marks is None:
                self.marks = await can_mark(self.engine, _LOCK)
            return self.marks

    async def aclose(self) -> None:
        await self._opened.aclose()

    async def table(self, model: DataModel, models: Mapping[str, DataModel]) -> Table:
        table = self._ready.get(model.name)
        if table is not None:
            return table
        async with self._lock:
            if model.name not in self._ready:
                await self._make_ready([other for other in related(model, models) if other.source == model.source])
            return self._ready[model.name]

    async def _make_ready(self, wanted: list[DataModel]) -> None:
        # Foreign keys need the tables they point at, so that related models come together.
        models = {model.name: model for model in wanted}
        tables = {model.name: self._table(model, models) for model in wanted}
        async with self.engine.execution_options(**{WRITES: True}).begin() as connection:
            if connection.dialect.name == "postgresql":
                await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            drift = await connection.run_sync(_make_and_compare, tables.values())
        for name, table in tables.items():
            if problems := drift.get(table.name):
                raise _drifted(name, table, problems)
        self._ready.update(tables)

    def _table(self, model: DataModel, models: Mapping[str, DataModel]) -> Table:
        known = self._metadata.tables.get(model.spec.tablename)
        return make_table(model, models, self._metadata) if known is None else known


def _make_and_compare(connection: Connection, tables: Iterable[Table]) -> dict[str, list[str]]:
    listed = list(tables)
    existing = set(inspect(connection).get_table_names())
    missing = [table for table in listed if table.name not in existing]
    if missing:
        missing[0].metadata.create_all(connection, tables=missing, checkfirst=True)
    return {table.name: drift_of(connection, table) for table in listed if table.name in existing}


def _drifted(model: str, table: Table, problems: list[str]) -> StepError:
    return StepError(
        f"table {table.name!r} does not fit data model {model!r}: {'; '.join(problems)}."
        " Nothing was changed; change the table or the model so that they agree",
        type="table_drift",
        detail={"model": model, "table": table.name, "problems": [*problems]},
    )


def _reached(source: SourcePlan) -> Reached:
    if source.spec is None:
        return Reached(what="the records of this project", elsewhere="name another one in a `kind: DataSource`")
    return Reached(what=f"data source {source.name!r}", elsewhere=f"change 'spec.connection' in {source.file}")
