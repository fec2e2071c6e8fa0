"""What runs are performed with: for each definition an engine and a compiled plan, kept while they are of use."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path

from tuvl.analysis.surroundings import hidden
from tuvl.control import RunControl
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.durable.definitions import Definitions, digest_of
from tuvl.errors import UsageError
from tuvl.hosting.asking import asked
from tuvl.hosting.started import Defined, Started, defined
from tuvl.llm.pacing import Paces
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.project.replaced_models import check_replacements
from tuvl.runtime import Engine
from tuvl.settings import Settings, environment
from tuvl.shipping.contents import collect
from tuvl.source.document import Document
from tuvl.suggest import did_you_mean
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import RunInfo

MOST_KEPT = 16
"""Engines that are kept though no run needs them just now."""

Files = Mapping[str, bytes]
Key = tuple[str, str, tuple[tuple[str, str], ...]]
Stamps = tuple[tuple[str, int, int], ...]


class _LentStore(StoreAccess):
    """The store of runs of a host, which its engines do not close."""

    def __init__(self, root: str, settings: Settings, lent: StoreAccess) -> None:
        super().__init__(root, settings.database_url, settings.record_keys)
        self._lent = lent

    @property
    def store(self):  # type: ignore[no-untyped-def]
        """The store."""
        return self._lent.store

    @property
    def is_there(self) -> bool:
        """Whether there can be anything in it."""
        return self._lent.is_there

    async def aclose(self) -> None:
        """Leave it open."""


class _LentRegistry:
    """The registry of a host, which its engines do not close."""

    def __init__(self, registry: RunRegistry, access: StoreAccess) -> None:
        self.access = access
        self.every_run = registry.every_run
        self._registry = registry

    def register(self, run_id: str, control: RunControl, info: RunInfo) -> AbstractContextManager[None]:
        """Let a run be seen and controlled while the block runs."""
        return self._registry.register(run_id, control, info)

    async def hear(self, run_id: str) -> None:
        """Carry out at once what a run was told."""
        await self._registry.hear(run_id)

    async def aclose(self) -> None:
        """Leave it open."""


@dataclass(slots=True)
class Prepared:
    """One definition of a workflow, ready to run."""

    engine: Engine
    plan: ExecutionPlan
    definition: str
    changed: bool
    """Whether the project's files are others by now, so that those that were kept are used."""
    root: Path
    stamps: Stamps
    """Of the project's files that it was made from; none where they were kept, since nobody edits those."""
    uses: int = 0
    replaced: bool = False

    def is_fresh(self) -> bool:
        """Tell whether its files are as they were."""
        return stamps_of(self.root, [path for path, _, _ in self.stamps]) == self.stamps


def stamps_of(root: Path, paths: Sequence[str]) -> Stamps:
    """Return when files were last changed, and their sizes."""
    return tuple(_stamp(root, path) for path in paths)


def _stamp(root: Path, path: str) -> tuple[str, int, int]:
    try:
        found = root.joinpath(*path.split("/")).stat()
    except OSError:
        return path, 0, -1
    return path, found.st_mtime_ns, found.st_size


def _as_started(workflow: str, definition: str, models: Mapping[str, str]) -> Started:
    return Started(
        workflow=workflow,
        definition=definition,
        input={},
        models=dict(models),
        principal=Principal(),
        timeout_s=None,
        trace=False,
    )


class Workshop:
    """The definitions in use of one project."""

    def __init__(
        self,
        project: ProjectIndex,
        settings: Settings,
        registry: RunRegistry,
        *,
        paces: Paces,
        keep: Callable[[str, Files], None],
        fetch: Callable[[str], Files],
    ) -> None:
        """Wire it; `keep` and `fetch` are for definitions that another machine has, or is to have."""
        self.paces = paces
        self._root, self._state_root = project.root, project.state_root
        self._settings = settings
        access = _LentStore(str(project.state_root), settings, registry.access)
        self._registry = _LentRegistry(registry, access)
        self._keep, self._fetch = keep, fetch
        self._kept: OrderedDict[Key, Prepared] = OrderedDict()
        self._latest: dict[tuple[str, tuple[tuple[str, str], ...]], Key] = {}
        self._frozen: dict[str, str] = {}
        """Workflows that are started by one definition."""
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def current(self, workflow: str, models: Mapping[str, str]) -> AsyncIterator[Prepared]:
        """Have a workflow as its files are now, its definition kept.

        Raises `UsageError` for one that there is not, and for models that it does not call or that there are not,
        `ConfigError` for one with mistakes, and where the database does not answer.
        """
        async with self._lock:
            prepared = await self._current(workflow, models)
            prepared.uses += 1
        try:
            yield prepared
        finally:
            await self._let_go(prepared)

    @asynccontextmanager
    async def of(self, started: Started) -> AsyncIterator[Prepared]:
        """Have the definition that a run goes on with."""
        async with self._lock:
            prepared = await self._of(started)
            prepared.uses += 1
        try:
            yield prepared
        finally:
            await self._let_go(prepared)

    async def freeze(self, workflows: Collection[str]) -> None:
        """Keep what workflows are made of, and start them so from now on, whatever becomes of the files."""
        async with self._lock:
            for name in workflows:
                try:
                    digest, _ = await self._kept_files(*self._found_workflow(name))
                except UsageError:
                    continue  # what cannot be kept cannot be started as a durable run either, and says so then
                self._frozen[name] = digest

    @property
    def in_use(self) -> set[str]:
        """Digests of the definitions that runs are started with here, or go on with."""
        return {prepared.definition for prepared in self._kept.values()} | set(self._frozen.values())

    async def aclose(self) -> None:
        """Close the engines; no run may need them any more."""
        while self._kept:
            _, prepared = self._kept.popitem()
            await prepared.engine.aclose()

    async def _current(self, workflow: str, models: Mapping[str, str]) -> Prepared:
        if models:
            project, document = self._found_workflow(workflow)
            check_replacements(models, document, project, said="`models`")
        if workflow in self._frozen:
            return await self._of(_as_started(workflow, self._frozen[workflow], models))
        named = (workflow, tuple(sorted(models.items())))
        key = self._latest.get(named)
        found = None if key is None else self._kept.get(key)
        if found is not None and not found.changed and found.is_fresh():
            return found
        project, document = self._found_workflow(workflow)
        digest, files = await self._kept_files(project, document)
        prepared = self._prepared(Defined(project=project, document=document, changed=False), digest, dict(models))
        prepared.stamps = stamps_of(self._root, list(files))
        key = (digest, *named)
        await self._put(key, prepared)
        self._latest[named] = key
        return prepared

    def _found_workflow(self, workflow: str) -> tuple[ProjectIndex, Document]:
        project = ProjectIndex(self._root)
        project.state_root = self._state_root
        document = project.workflow(workflow)
        if document is None:
            hint = did_you_mean(workflow, project.named("Workflow")) or "`tuvl validate` lists what there is"
            hint = hidden(workflow, project) or hint
            raise UsageError(f"the project has no workflow {workflow!r}; {hint}")
        return project, document

    async def _kept_files(self, project: ProjectIndex, document: Document) -> tuple[str, Files]:
        files = await asyncio.to_thread(lambda: collect(project, only=document).files)
        digest = digest_of(files)
        await asked(self._keep_both, digest, files)
        return digest, files

    def _keep_both(self, digest: str, files: Files) -> None:
        Definitions(self._state_root).keep(files)
        self._keep(digest, files)

    async def _of(self, started: Started) -> Prepared:
        key: Key = (started.definition, started.workflow, tuple(sorted(started.models.items())))
        found = self._kept.get(key)
        if found is not None and found.is_fresh():
            self._kept.move_to_end(key)
            return found
        where = await asyncio.to_thread(self._found, started)
        prepared = self._prepared(where, started.definition, started.models)
        if not where.changed:
            files = await asyncio.to_thread(lambda: collect(where.project, only=where.document).files)
            prepared.stamps = stamps_of(where.project.root, list(files))
        await self._put(key, prepared)
        return prepared

    def _found(self, started: Started) -> Defined:
        try:
            return defined(self._state_root, started)
        except UsageError:
            files = self._fetch(started.definition)
            if not files:
                raise
        Definitions(self._state_root).keep(files)
        return defined(self._state_root, started)

    def _prepared(self, where: Defined, digest: str, models: Mapping[str, str]) -> Prepared:
        engine = Engine(
            where.project,
            settings=self._settings,
            environ=environment(),
            model_overrides=models,
            registry=self._registry,
            paces=self.paces,
        )
        plan = engine.plan(where.document)
        return Prepared(
            engine=engine, plan=plan, definition=digest, changed=where.changed, root=where.project.root, stamps=()
        )

    async def _put(self, key: Key, prepared: Prepared) -> None:
        before = self._kept.pop(key, None)
        self._kept[key] = prepared
        if before is not None:
            before.replaced = True
            await self._close_unused(before)
        idle = [one for one, kept in self._kept.items() if not kept.uses and kept is not prepared]
        for one in idle[: max(0, len(self._kept) - MOST_KEPT)]:
            await self._kept.pop(one).engine.aclose()

    async def _let_go(self, prepared: Prepared) -> None:
        prepared.uses -= 1
        if prepared.replaced:
            await self._close_unused(prepared)

    async def _close_unused(self, prepared: Prepared) -> None:
        if not prepared.uses:
            await prepared.engine.aclose()
