"""`include`: the related records of each record, one query for each relation."""

from collections.abc import Sequence

from sqlalchemy import RowMapping, select

from tuvl.data.model import DataModel
from tuvl.data.records import Records
from tuvl.errors import StepError
from tuvl.spec.data import Relation
from tuvl.values import JsonValue

MOST_RELATED = 1000
"""Most related records that one relation may bring into a result."""

_CHUNK = 500
"""Keys asked for at once: databases bound the parameters of a statement."""


async def related_rows(
    model: DataModel, relation: Relation, other: Records, rows: Sequence[RowMapping]
) -> list[list[RowMapping]]:
    """Return the related rows of each row, in its order."""
    if model.holds_key_of(relation):
        mine, theirs = relation.foreign_key, other.model.keys[0]
    else:
        mine, theirs = model.keys[0], relation.foreign_key
    values = list({row[mine]: None for row in rows if row[mine] is not None})
    if not values:
        return [[] for _ in rows]
    table = other.table
    found: dict[object, list[RowMapping]] = {}
    count = 0
    for start in range(0, len(values), _CHUNK):
        wanted = table.c[theirs].in_(values[start : start + _CHUNK])
        query = select(table).where(wanted).order_by(*table.primary_key.columns).limit(MOST_RELATED - count + 1)
        for row in (await other.session.execute(query)).mappings():
            found.setdefault(row[theirs], []).append(row)
            count += 1
        if count > MOST_RELATED:
            raise StepError(
                f"include: relation {relation.name!r} of data model {model.name!r} has more than {MOST_RELATED}"
                " related records here; list them in a step of their own",
                type="too_many_related",
            )
    return [found.get(row[mine], []) for row in rows]


def nested(relation: Relation, records: list[JsonValue]) -> JsonValue:
    """Return what stands under the relation's name: a list, or for a relation to one a record or `null`."""
    if relation.type == "one_to_many":
        return records
    return records[0] if records else None
