"""A data model and its data source as plans hold them; imports nothing heavy."""

from collections.abc import Iterator, Mapping
from typing import Literal

from tuvl.dataclass import dataclass
from tuvl.spec.data import DataField, DataSourceSpec, ModelDefinitionSpec, Relation

EMBEDDED = "embedded"
"""Name of the SQLite file that records go to when nothing else is said."""

Operation = Literal["create", "read", "list", "update", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePlan:
    """Where records are kept. `spec` is as written, `${VAR}` unread; `None` is the embedded SQLite file."""

    name: str
    root: str
    """The project's folder: paths of SQLite files count from there."""
    spec: DataSourceSpec | None = None
    file: str = ""
    """Where the document stands, for messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataModel:
    """One kind of record: its fields, its relations, who may touch it, and where it is kept."""

    name: str
    spec: ModelDefinitionSpec
    source: SourcePlan
    fields: Mapping[str, DataField]
    keys: tuple[str, ...]
    """Names of the fields that identify a record."""
    required_scope: str | None = None
    required_group: str | None = None

    @property
    def key(self) -> DataField:
        """The one field that identifies a record; a plan that needs it is refused for a model with none or several."""
        return self.fields[self.keys[0]]

    @property
    def secure(self) -> frozenset[str]:
        """Names of the fields that are masked outside the database."""
        return frozenset(name for name, field in self.fields.items() if field.secure)

    def relation(self, name: str) -> Relation | None:
        """Return the relation of that name."""
        return next((relation for relation in self.spec.relations if relation.name == name), None)

    def holds_key_of(self, relation: Relation) -> bool:
        """Tell whether `foreign_key` is a field of this model; else it is one of the other."""
        match relation.type:
            case "many_to_one":
                return True
            case "one_to_many":
                return False
            case "one_to_one":
                return relation.foreign_key in self.fields


def related(start: DataModel, models: Mapping[str, DataModel]) -> Iterator[DataModel]:
    """Yield a model and those its relations lead to, each once."""
    seen, pending = {start.name}, [start]
    while pending:
        model = pending.pop()
        yield model
        for relation in model.spec.relations:
            other = models.get(relation.model)
            if other is not None and other.name not in seen:
                seen.add(other.name)
                pending.append(other)
