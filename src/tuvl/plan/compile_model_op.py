"""ModelOp steps → `ModelOpPlan`, with the data models it works on."""

from collections.abc import Mapping

from tuvl.analysis.steps import WorkflowView, items, mapping
from tuvl.data.mistakes import chosen_version, missing_versions, model_faults, operation_faults
from tuvl.data.model import EMBEDDED, DataModel, SourcePlan
from tuvl.errors import ConfigError
from tuvl.plan.model import ModelOpPlan
from tuvl.plan.project import PlanProject
from tuvl.plan.usable import refuse_unusable
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.spec.build import build_as
from tuvl.spec.data import DataSource, ModelDefinition
from tuvl.spec.kinds import ModelOpStep
from tuvl.templating.render import Template, TemplateTree, compile_template, compile_tree
from tuvl.values import to_json


def compile_model_op(step: ModelOpStep, workflow: WorkflowView, project: PlanProject) -> ModelOpPlan:
    """Compile an operation on records; raises `ConfigError` for what its data models cannot do."""
    _refuse_mistakes(step, workflow, project.index)
    models = _models(step.model, workflow, project)
    model = models[step.model]
    order = step.order_by
    order_by = () if order is None else (order,) if isinstance(order, str) else order
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


def _refuse_mistakes(step: ModelOpStep, workflow: WorkflowView, index: ProjectIndex) -> None:
    about = f"step {step.id!r}"
    for fault in (*missing_versions(workflow, index), *operation_faults(workflow.by_id[step.id], workflow, index)):
        raise ConfigError(f"{about}: {fault.message}; {fault.hint}")
    for document in _documents(step.model, workflow, index).values():
        for fault in model_faults(document, index):
            raise ConfigError(f"{about}: {fault.message}; {fault.hint}")


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
    documents = _documents(name, workflow, project.index)
    return {each: _model(document, project.index) for each, document in documents.items()}


def _documents(name: str, workflow: WorkflowView, index: ProjectIndex) -> Mapping[str, Document]:
    """Return the documents of a data model and of those its relations lead to."""
    found: dict[str, Document] = {}
    pending = [name]
    while pending:
        wanted = pending.pop()
        document = chosen_version(index.data_models(wanted), wanted, workflow)
        if wanted in found or document is None:
            continue
        found[wanted] = document
        spec = mapping(mapping(document.data).get("spec"))
        pending += [str(mapping(relation).get("model")) for relation in items(spec.get("relations"))]
    return found


def _model(document: Document, index: ProjectIndex) -> DataModel:
    refuse_unusable(document, index)
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
    refuse_unusable(document, index)
    built = build_as(document, DataSource)
    return SourcePlan(name=built.metadata.name, root=str(index.state_root), spec=built.spec, file=document.file)


def _embedded(index: ProjectIndex) -> SourcePlan:
    return SourcePlan(name=EMBEDDED, root=str(index.state_root))
