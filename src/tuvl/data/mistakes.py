"""What is wrong with a data model, and with an operation on one; said once, for the checks and the compiler alike.

Works on plain data of any shape: what the shape checks report is passed over here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from tuvl.analysis.fault import Fault
from tuvl.analysis.reference_faults import allowed_data_models
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import DocumentFacts, Surroundings, hidden
from tuvl.dataclass import dataclass
from tuvl.spec.field_types import FIELD_TYPES, FieldType
from tuvl.suggest import did_you_mean
from tuvl.values import KeyPath

Model = TypeVar("Model", bound=DocumentFacts)

ONE_KEY = frozenset({"read", "update", "delete"})
"""Operations that find a record by its key."""


class DataSurroundings(Surroundings, Protocol):
    """The project, as far as data models depend on it."""

    def data_source(self, name: str, /) -> DocumentFacts | None:
        """Find the `kind: DataSource` document of that name."""

    def data_models(self, name: str, /) -> Sequence[DocumentFacts]:
        """Find the `kind: ModelDefinition` documents of that name, one for each of its schema versions."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: FieldType
    enum_values: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class _Model:
    """A data model as plain data."""

    name: str
    spec: Mapping[str, Any]

    @classmethod
    def of(cls, document: DocumentFacts) -> "_Model":
        data = mapping(document.data)
        return cls(str(mapping(data.get("metadata")).get("name")), mapping(data.get("spec")))

    @property
    def fields(self) -> list[tuple[KeyPath, str, Mapping[str, Any]]]:
        """Path, name and data of each field that has a name."""
        found = [(index, mapping(entry)) for index, entry in enumerate(items(self.spec.get("fields")))]
        return [(("spec", "fields", index), name, field) for index, field in found if (name := text(field.get("name")))]

    @property
    def names(self) -> list[str]:
        return [name for _, name, _ in self.fields]

    @property
    def keys(self) -> list[str]:
        """Names of the fields that identify a record; one that is there twice is a fault of its own."""
        return list(dict.fromkeys(name for _, name, field in self.fields if field.get("primary_key") is True))

    @property
    def relations(self) -> list[tuple[KeyPath, Mapping[str, Any]]]:
        """Path and data of each relation."""
        return [(("spec", "relations", number), mapping(one)) for number, one in enumerate(_relations(self.spec))]


def _relations(spec: Mapping[str, Any]) -> Sequence[Any]:
    return items(spec.get("relations"))


def model_faults(document: DocumentFacts, project: DataSurroundings) -> Iterator[Fault]:
    """What is wrong with a `kind: ModelDefinition` document, itself and in the project around it."""
    model = _Model.of(document)
    yield from _bad_source(model, project)
    yield from _repeated_fields(model)
    yield from _bad_defaults(model)
    for path, relation in model.relations:
        yield from _bad_relation(model, relation, path, project)


def _bad_source(model: _Model, project: DataSurroundings) -> Iterator[Fault]:
    name = text(model.spec.get("datasource"))
    if not name:
        return
    path, about = ("spec", "datasource"), f"data model {model.name!r} is on data source {name!r}"
    source = project.data_source(name)
    if source is None:
        hint = hidden(name, project) or f"add a `kind: DataSource` document named {name!r}"
        yield Fault(path, f"{about}, which is not defined", hint)
    elif mapping(mapping(source.data).get("spec")).get("type") == "redis":
        yield Fault(path, f"{about}, a redis; records need sqlite or postgresql", "name another data source")


def _repeated_fields(model: _Model) -> Iterator[Fault]:
    counts = Counter(model.names)
    seen: Counter[str] = Counter()
    for path, name, _ in model.fields:
        seen[name] += 1
        if seen[name] == 2:
            message = f"data model {model.name!r} has {counts[name]} fields named {name!r}"
            yield Fault((*path, "name"), message, "rename one of them, or take it away")


def _bad_defaults(model: _Model) -> Iterator[Fault]:
    for path, name, field in model.fields:
        kind, default = field.get("type"), field.get("default")
        allowed = tuple(value for value in items(field.get("enum_values")) if isinstance(value, str))
        if default is None or kind not in FIELD_TYPES or (kind == "enum" and not allowed):
            continue
        # Dates, decimals and UUIDs are read only where a field has a default.
        from tuvl.data.values import WrongValue, read_value

        try:
            read_value(_Field(name, cast(FieldType, kind), allowed), default)
        except WrongValue as error:
            message = f"data model {model.name!r}: the default of field {name!r} is none: it {error}"
            yield Fault((*path, "default"), message, "write a value of the field's type, or leave `default` out")


def _bad_relation(
    model: _Model, relation: Mapping[str, Any], path: KeyPath, project: DataSurroundings
) -> Iterator[Fault]:
    name, target, key = (text(relation.get(field)) for field in ("name", "model", "foreign_key"))
    if not name or not target or not key:
        return
    about = f"data model {model.name!r}: relation {name!r}"
    if name in model.names:
        yield Fault((*path, "name"), f"{about} has the name of a field", "give the relation another name")
    document = project.data_model(target)
    if document is None:
        hint = hidden(target, project) or f"add a `kind: ModelDefinition` document named {target!r}"
        yield Fault((*path, "model"), f"{about} leads to data model {target!r}, which is not defined", hint)
        return
    other = _Model.of(document)
    holder, keyed = (model, other) if _holds_key(model, relation) else (other, model)
    if key not in holder.names:
        hint = did_you_mean(key, holder.names) or f"add the field to data model {holder.name!r}"
        yield Fault((*path, "foreign_key"), f"{about} needs the field {key!r} in data model {holder.name!r}", hint)
    if len(keyed.keys) != 1:
        message = f"{about} needs data model {keyed.name!r} to have one primary key"
        yield Fault(path, message, "set `primary_key: true` on one of its fields")


def _holds_key(model: _Model, relation: Mapping[str, Any]) -> bool:
    kind = relation.get("type", "many_to_one")
    return kind == "many_to_one" or (kind == "one_to_one" and relation.get("foreign_key") in model.names)


def operation_faults(step: StepView, workflow: WorkflowView, project: DataSurroundings) -> Iterator[Fault]:
    """What a ModelOp step asks of its data model that the model does not have."""
    name = text(step.data.get("model")) if step.kind == "ModelOp" else None
    document = chosen_version(project.data_models(name), name, workflow) if name else None
    if document is None:
        return
    model = _Model.of(document)
    operation = step.data.get("operation")
    if operation in ONE_KEY and len(model.keys) != 1:
        yield Fault(
            (*step.path, "operation"),
            f"operation {operation!r} finds a record by its key, and data model {model.name!r} has"
            f" {len(model.keys)} fields with `primary_key: true`; it needs exactly one",
            "set `primary_key: true` on one of its fields",
        )
    yield from _unknown_fields(step, model)
    yield from _bad_includes(step, model, allowed_data_models(workflow))


def _unknown_fields(step: StepView, model: _Model) -> Iterator[Fault]:
    known = model.names
    for path, place, name in _named_fields(step):
        if known and name not in known:
            hint = did_you_mean(name, sorted(known)) or f"it has {', '.join(known)}"
            yield Fault(
                path, f"{place}: data model {model.name!r} has no field {name!r}", hint, at_key=place != "order_by"
            )


def _named_fields(step: StepView) -> Iterator[tuple[KeyPath, str, str]]:
    for place in ("payload", "filters"):
        for name in mapping(step.data.get(place)):
            yield (*step.path, place, name), place, name
    order = step.data.get("order_by")
    for index, name in enumerate(items(order)):
        if isinstance(name, str):
            yield (*step.path, "order_by", index), "order_by", name.removeprefix("-")
    if isinstance(order, str):
        yield (*step.path, "order_by"), "order_by", order.removeprefix("-")


def _bad_includes(step: StepView, model: _Model, allowed: Mapping[str, KeyPath]) -> Iterator[Fault]:
    targets = {text(relation.get("name")): text(relation.get("model")) for _, relation in model.relations}
    for index, name in enumerate(items(step.data.get("include"))):
        path = (*step.path, "include", index)
        if not isinstance(name, str):
            continue
        if name not in targets:
            known = [known for known in targets if known]
            hint = did_you_mean(name, known) or f"it has {', '.join(known) or 'none'}"
            yield Fault(path, f"include: data model {model.name!r} has no relation {name!r}", hint)
        elif targets[name] not in allowed:
            message = f"include: data model {targets[name]!r} is not in the workflow's `context:`"
            yield Fault(path, message, f"add {targets[name]!r} to `spec.context`")


def chosen_version(documents: Sequence[Model], name: str, workflow: WorkflowView) -> Model | None:
    """Choose from the documents of a data model: the version that the workflow's `context:` names, else the first."""
    wanted = next((version for _, other, version in _asked_versions(workflow) if other == name), None)
    return next((one for one in documents if _version(one) == wanted), next(iter(documents), None))


def missing_versions(workflow: WorkflowView, project: DataSurroundings) -> Iterator[Fault]:
    """Versions that `context:` asks of data models which have others."""
    for path, name, version in _asked_versions(workflow):
        there = [_version(document) for document in project.data_models(name)]
        if there and version not in there:
            yield Fault(
                path,
                f"data model {name!r} has no `schema_version: {version}`, which `context:` asks for",
                f"it has {', '.join(there)}",
            )


def _asked_versions(workflow: WorkflowView) -> Iterator[tuple[KeyPath, str, str]]:
    for index, entry in enumerate(items(mapping(workflow.spec.get("context")).get("models"))):
        name, version = text(mapping(entry).get("name")), mapping(entry).get("version")
        if name and version is not None:
            yield ("spec", "context", "models", index, "version"), name, str(version)


def _version(document: DocumentFacts) -> str:
    return str(mapping(mapping(document.data).get("metadata")).get("schema_version", "v1"))
