"""ModelOp steps → `ModelOpPlan`, with the data models it works on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tuvl.analysis.reference_faults import allowed_data_models
from tuvl.analysis.steps import WorkflowView, items, mapping
from tuvl.data.model import EMBEDDED, DataModel, SourcePlan
from tuvl.data.values import WrongValue, read_value
from tuvl.errors import ConfigError
from tuvl.plan.model import ModelOpPlan
from tuvl.plan.project import PlanProject
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.spec.build import build_as
from tuvl.spec.data import DataSource, ModelDefinition
from tuvl.spec.kinds import ModelOpStep
from tuvl.suggest import did_you_mean
from tuvl.templating.render import Template, TemplateTree, compile_template, compile_tree
from tuvl.values import to_json

_ONE_KEY = frozenset({"read", "update", "delete"})
"""Operations that find a record by its key."""


def compile_model_op(step: ModelOpStep, workflow: WorkflowView, project: PlanProject) -> ModelOpPlan:
    """Compile an operation on records; what its data models cannot do becomes a refusal of the run."""
    models = _models(step.model, workflow, project)
    model = models[step.model]
    order = step.order_by
    order_by = () if order is None else (order,) if isinstance(order, str) else order
    for problem in (
        *_missing(step.model, workflow, project.index),
        *_problems(step, model, models, workflow, order_by),
    ):
        refusal = f"step {step.id!r}: {problem}"
        if refusal not in project.refusals:
            project.refusals.append(refusal)
    return ModelOpPlan(
        operation=step.operation,
        model=model,
        models=models,
        output=step.output or f"{step.id}_result",
        payload=_payload(step),
        record_id=_record_id(step),
        filters=compile_tree(to_json(step.filters), where=_where(step, "filters")) if step.filters else None,
        include=step.include,
        limit=step.limit,
        order_by=order_by,
    )


def node_source(index: ProjectIndex) -> SourcePlan | None:
    """Return the data source that nodes have a session on; `None` for a project without one.

    It is the data source named `default`, else the only one, else the embedded file when there are data models.
    Raises `ConfigError` when there are several and none is named so.
    """
    sources = {
        name: document
        for name, document in index.named("DataSource").items()
        if mapping(mapping(document.data).get("spec")).get("type") != "redis"
    }
    if not sources:
        return _embedded(index) if index.documents("ModelDefinition") else None
    chosen = "default" if "default" in sources else next(iter(sources))
    if len(sources) > 1 and chosen != "default":
        raise ConfigError(
            f"ctx.session: the project has the data sources {', '.join(map(repr, sources))}; name one of them 'default'"
        )
    return _source(sources[chosen], index)


def _payload(step: ModelOpStep) -> TemplateTree | Template | None:
    match step.payload:
        case None:
            return None
        case str() as text:
            return compile_template(text, where=_where(step, "payload"))
        case tree:
            return compile_tree(to_json(tree), where=_where(step, "payload"))


def _record_id(step: ModelOpStep) -> Template | int | None:
    given = step.record_id
    return compile_template(given, where=_where(step, "record_id")) if isinstance(given, str) else given


def _where(step: ModelOpStep, field: str) -> str:
    return f"step {step.id!r} field {field!r}"


# ---- data models -------------------------------------------------------------------------------------------------


def _models(name: str, workflow: WorkflowView, project: PlanProject) -> Mapping[str, DataModel]:
    """Return a data model and those its relations lead to; the documents are there, the analysis has looked."""
    versions = _versions(workflow)
    models: dict[str, DataModel] = {}
    pending = [name]
    while pending:
        wanted = pending.pop()
        document = _document(wanted, versions.get(wanted), project.index)
        if wanted in models or document is None:
            continue
        models[wanted] = _model(document, project.index)
        pending += [relation.model for relation in models[wanted].spec.relations]
    return models


def _versions(workflow: WorkflowView) -> dict[str, str]:
    """Return the schema versions that `context:` names, by data model."""
    entries = [mapping(entry) for entry in items(mapping(workflow.spec.get("context")).get("models"))]
    return {str(entry.get("name")): str(entry["version"]) for entry in entries if entry.get("version") is not None}


def _document(name: str, version: str | None, index: ProjectIndex) -> Document | None:
    """Return the document of that version; when only the version is missing, `_missing` says so."""
    for document in index.documents("ModelDefinition"):
        metadata = mapping(mapping(document.data).get("metadata"))
        if metadata.get("name") == name and metadata.get("schema_version", "v1") == version:
            return document
    return index.data_model(name)


def _model(document: Document, index: ProjectIndex) -> DataModel:
    built = build_as(document, ModelDefinition)
    spec = built.spec
    return DataModel(
        name=built.metadata.name,
        spec=spec,
        source=_source_of(spec.datasource, index),
        fields={field.name: field for field in spec.fields},
        keys=tuple(field.name for field in spec.fields if field.primary_key),
        required_scope=built.metadata.required_scope,
        required_group=built.metadata.required_group,
    )


def _source_of(name: str | None, index: ProjectIndex) -> SourcePlan:
    if name is None:
        return _embedded(index)
    document = index.find("DataSource", name)
    # The embedded file only stands in: a run whose data source is missing is refused.
    return _embedded(index) if document is None else _source(document, index)


def _source(document: Document, index: ProjectIndex) -> SourcePlan:
    built = build_as(document, DataSource)
    return SourcePlan(name=built.metadata.name, root=str(index.root), spec=built.spec, file=document.file)


def _embedded(index: ProjectIndex) -> SourcePlan:
    return SourcePlan(name=EMBEDDED, root=str(index.root))


# ---- what a data model cannot do ---------------------------------------------------------------------------------


def _problems(
    step: ModelOpStep,
    model: DataModel,
    models: Mapping[str, DataModel],
    workflow: WorkflowView,
    order_by: Sequence[str],
) -> Iterator[str]:
    for each in models.values():
        yield from _problems_of_model(each, models)
        wanted = each.spec.datasource
        if wanted is not None and each.source.name != wanted:
            yield f"data model {each.name!r} is on data source {wanted!r}, which is not defined"
    if step.operation in _ONE_KEY and len(model.keys) != 1:
        yield (
            f"operation {step.operation!r} finds a record by its key, and data model {model.name!r} has"
            f" {len(model.keys)} fields with `primary_key: true`; it needs exactly one"
        )
    payload = step.payload if isinstance(step.payload, dict) else {}
    for place, names in (("payload", payload), ("filters", step.filters), ("order_by", order_by)):
        for name in names:
            field = name.removeprefix("-") if place == "order_by" else name
            if field not in model.fields:
                hint = did_you_mean(field, sorted(model.fields)) or f"it has {', '.join(model.fields)}"
                yield f"{place}: data model {model.name!r} has no field {field!r}; {hint}"
    allowed = allowed_data_models(workflow)
    for name in step.include:
        relation = model.relation(name)
        if relation is None:
            known = [each.name for each in model.spec.relations]
            hint = did_you_mean(name, known) or f"it has {', '.join(known) or 'none'}"
            yield f"include: data model {model.name!r} has no relation {name!r}; {hint}"
        elif relation.model not in allowed:
            yield f"include: data model {relation.model!r} is not in the workflow's `context:`"


def _missing(name: str, workflow: WorkflowView, index: ProjectIndex) -> Iterator[str]:
    version = _versions(workflow).get(name)
    document = _document(name, version, index)
    metadata = {} if document is None else mapping(mapping(document.data).get("metadata"))
    if version is not None and metadata.get("schema_version", "v1") != version:
        yield f"data model {name!r} has no `schema_version: {version}`, which `context:` asks for"


def _problems_of_model(model: DataModel, models: Mapping[str, DataModel]) -> Iterator[str]:
    about = f"data model {model.name!r}"
    if model.source.spec is not None and model.source.spec.type == "redis":
        yield f"{about} is on data source {model.source.name!r}, a redis; records need sqlite or postgresql"
    for name, count in Counter(field.name for field in model.spec.fields).items():
        if count > 1:
            yield f"{about} has {count} fields named {name!r}"
    for field in model.spec.fields:
        try:
            read_value(field, field.default)
        except WrongValue as error:
            yield f"{about}: the default of field {field.name!r} is none: it {error}"
    for relation in model.spec.relations:
        other = models.get(relation.model)
        if relation.name in model.fields:
            yield f"{about}: relation {relation.name!r} has the name of a field"
        if other is None:
            yield f"{about}: relation {relation.name!r} leads to data model {relation.model!r}, which is not defined"
            continue
        holder, keyed = (model, other) if model.holds_key_of(relation) else (other, model)
        if relation.foreign_key not in holder.fields:
            yield (
                f"{about}: relation {relation.name!r} needs the field {relation.foreign_key!r} in data model"
                f" {holder.name!r}"
            )
        if len(keyed.keys) != 1:
            yield f"{about}: relation {relation.name!r} needs data model {keyed.name!r} to have one primary key"
