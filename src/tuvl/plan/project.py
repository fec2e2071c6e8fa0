"""The project as the compiler sees it: its configuration, its texts, its models, its policy."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from tuvl.analysis.preset_faults import preset_faults
from tuvl.analysis.steps import mapping
from tuvl.analysis.surroundings import hidden
from tuvl.artifacts.reference import SCHEME, SITE_TYPES, ArtifactRef, is_reference
from tuvl.artifacts.registry import ArtifactView
from tuvl.errors import ConfigError
from tuvl.plan.model import ExecutionPlan, ModelPlan
from tuvl.plan.usable import refuse_unusable
from tuvl.project.index import ProjectIndex
from tuvl.project.node_files import code_digest
from tuvl.project.scripts import script_faults
from tuvl.spec.artifact import Artifact, ArtifactSpec
from tuvl.spec.build import build_as
from tuvl.spec.llm import AgentModel
from tuvl.spec.project_config import ProjectConfig, ProjectSpec
from tuvl.suggest import did_you_mean
from tuvl.templating.render import Template, compile_template, literal_template

DEFAULT_MODEL = "default"
"""Name of the model of agents that name none, when the project's configuration says no other."""


class PlanProject:
    """Resolves what a workflow names. `models` replaces models by name, for this one compilation.

    `sub_plan` compiles another workflow of the project, by its name.
    """

    def __init__(
        self, index: ProjectIndex, models: Mapping[str, str], sub_plan: Callable[[str], ExecutionPlan]
    ) -> None:
        self.index = index
        self.sub_plan = sub_plan
        self.refusals: list[str] = []
        """What was found so far that keeps the workflow from running, and that no check of the file sees."""
        self.models = models
        self._plans: dict[str, ModelPlan] = {}

    @cached_property
    def settings(self) -> ProjectSpec:
        """The `spec:` of the project's configuration, or its defaults."""
        for fault in self.index.config_faults:
            raise ConfigError(f"{fault.file}: {fault.message}; {fault.hint}")
        document = self.index.config_document
        if document is None:
            return ProjectSpec()
        refuse_unusable(document, self.index)
        return build_as(document, ProjectConfig).spec

    @cached_property
    def node_code(self) -> str:
        """Digest of the code of the project's nodes."""
        return code_digest(self.index.nodes.folder, self.index.raw)

    def model(self, name: str | None, *, step: str) -> ModelPlan:
        """Return the model of an agent; an unknown name is kept, and refused when it is first called."""
        if name is None and self.settings.default_model is None and DEFAULT_MODEL not in self.models:
            raise ConfigError(f"step {step!r}: field 'agent.model' is missing, and the project has no default_model")
        asked = DEFAULT_MODEL if name is None else name
        chosen = self.models.get(asked)
        if chosen is None:
            chosen = (self.settings.default_model or DEFAULT_MODEL) if name is None else name
            chosen = self.models.get(chosen, chosen)
        plan = self._plans.get(chosen)
        if plan is None:
            plan = self._plans[chosen] = self._model(chosen)
        return plan

    def _model(self, name: str) -> ModelPlan:
        document = None if "/" in name else self.index.preset(name)
        if document is None:
            why = None if "/" in name else hidden(name, self.index)
            if why is not None:
                raise ConfigError(f"AgentModel {name!r} is not found; {why}")
            return ModelPlan(name=name)
        for fault in (*script_faults(document), *preset_faults(mapping(document.data))):
            raise ConfigError(f"{document.file}: {fault.message}")
        refuse_unusable(document, self.index)
        folder = Path(document.file).absolute().parent
        return ModelPlan(
            name=name,
            preset=build_as(document, AgentModel),
            folder=str(folder),
            only_hosts=self.settings.policy.allow_hosts,
        )

    def prose(self, text: str, *, site: str, where: str) -> Template:
        """Compile the text at a prose site: inline text is a template, an artifact when its front matter says so."""
        if not is_reference(text):
            return compile_template(text, where=where)
        view = self._resolved(text, site=site, where=where)
        if view.body is None:
            raise ConfigError(f"{where}: {text!r} holds no text")
        return (
            compile_template(view.body, where=f"{where} ({view.file})")
            if view.template
            else literal_template(view.body)
        )

    def structured(self, text: str, *, site: str, where: str) -> tuple[str, ArtifactSpec]:
        """Return what a structured artifact holds, and its name as `name@version`."""
        view = self._resolved(text, site=site, where=where)
        return view.reference.removeprefix(SCHEME), build_as(view.document, Artifact).spec

    def _resolved(self, text: str, *, site: str, where: str) -> ArtifactView:
        reference = ArtifactRef.parse(text)
        view = None if reference is None else self.index.resolve(text)
        if reference is None or view is None:
            hint = did_you_mean(reference.name, self.index.artifacts) if reference else None
            raise ConfigError(f"{where}: there is no artifact {text!r}{'; ' + hint if hint else ''}")
        refuse_unusable(view.document, self.index)
        if view.type not in SITE_TYPES[site]:
            wanted = " or ".join(SITE_TYPES[site])
            raise ConfigError(f"{where}: {text!r} is of type {view.type!r}; this field takes {wanted}")
        if reference.version is None and self.settings.policy.require_pins:
            self.refusals.append(
                f"{where}: {text!r} names no version, and `policy.require_pins` is on; write {view.reference!r}"
            )
        return view
