"""What has changed in a project since it was locked, in words."""

from collections.abc import Iterator, Mapping
from typing import Literal, assert_never

from tuvl.dataclass import dataclass
from tuvl.locking.differences import Difference, change_text, differences
from tuvl.locking.lock import Entry, Lock, Section
from tuvl.locking.lock_file import LOCK_NAME
from tuvl.locking.take import take_lock
from tuvl.locking.tool_differences import tool_differences
from tuvl.locking.tools import ToolSchema, locked_tools, used_tools
from tuvl.project.index import ProjectIndex
from tuvl.values import JsonObject, KeyPath

MOST_OF_ONE = 8
"""Differences of one entry that are told one by one."""

_TEXT: KeyPath = ("text",)
"""Where the lock has the text of an artifact, which follows its front matter."""
_CONFIGURATION = "the project's configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One thing that is not as it was locked."""

    section: Section | None
    """Where it stands in the lock; `None` for the lock as a whole."""
    name: str
    """Its name in that section."""
    kind: Literal["new", "gone", "changed"]
    file: str
    """The file it stands in now, as messages call it; the lock's own for what is gone."""
    path: KeyPath
    """Where in the file's document, or the nearest place that is left of it."""
    words: str
    diff: tuple[str, ...] = ()
    """Lines of a text as they were locked (`-`) and as they are (`+`)."""
    line: int | None = None
    """For the text of an artifact: the first line of that text which differs, as it is now, from 1."""


def drift(
    project: ProjectIndex, lock: Lock, *, mcp_tools: Mapping[str, Mapping[str, ToolSchema]] | None = None
) -> tuple[Drift, ...]:
    """Return how a project differs from its lock; nothing when it is as it was locked.

    `mcp_tools` are the tools as servers offer them now. Without them servers are not asked: tools count as unchanged,
    and those that no workflow calls any more, or that were never locked, are told. Raises `UsageError` for a file that
    cannot be read.
    """
    if mcp_tools is not None:
        return tuple(compare(lock, take_lock(project, mcp_tools=mcp_tools), project))
    taken = take_lock(project, mcp_tools=locked_tools(lock))
    return (*compare(lock, taken, project), *_never_locked(project, lock))


def _never_locked(project: ProjectIndex, lock: Lock) -> Iterator[Drift]:
    told: set[str] = set()
    for used in used_tools(project):
        if used.key not in lock.section(Section.TOOLS) and used.key not in told:
            told.add(used.key)
            yield Drift(
                section=Section.TOOLS,
                name=used.key,
                kind="new",
                file=used.document.file,
                path=used.path,
                words=f"tool `{used.tool}` of server `{used.server}` is called, and was never locked",
            )


def compare(old: Lock, new: Lock, project: ProjectIndex) -> Iterator[Drift]:
    """Yield how one lock of a project differs from an earlier one, section by section."""
    if old.language != new.language:
        words = f"the language: {change_text(old.language, new.language)}"
        yield _whole(project, words)
    for section in Section:
        before, after = old.section(section), new.section(section)
        for name in sorted({*before, *after}):
            yield from _of_entry(section, name, before.get(name), after.get(name), project)


def _whole(project: ProjectIndex, words: str) -> Drift:
    file = project.relative(project.root / LOCK_NAME)
    return Drift(section=None, name="", kind="changed", file=file, path=(), words=words)


def _of_entry(
    section: Section, name: str, old: Entry | None, new: Entry | None, project: ProjectIndex
) -> Iterator[Drift]:
    lock_file = project.relative(project.root / LOCK_NAME)
    if new is None:
        if old is not None:
            # A server that has lost a tool which is called gives no lock at all.
            said = "is no longer called" if section is Section.TOOLS else "is gone"
            words = f"{_called(section, name, old.content)} {said}"
            path: KeyPath = (section.value, name)
            yield Drift(section=section, name=name, kind="gone", file=lock_file, path=path, words=words)
        return
    file = lock_file if new.file is None else project.relative(project.root / new.file)
    called = _called(section, name, new.content)
    if old is None:
        yield Drift(section=section, name=name, kind="new", file=file, path=(), words=f"{called} is new")
    elif old.digest != new.digest:
        for words, found in _told(section, called, old.content, new.content):
            in_prose = section is Section.ARTIFACTS and found.path == _TEXT
            yield Drift(
                section=section,
                name=name,
                kind="changed",
                file=file,
                path=_path(section, found.path),
                words=words,
                diff=found.diff,
                line=found.line if in_prose else None,
            )


def _told(section: Section, called: str, old: JsonObject, new: JsonObject) -> Iterator[tuple[str, Difference]]:
    found = list(tool_differences(old, new) if section is Section.TOOLS else differences(old, new))
    if not found:
        # Told parameter by parameter there may be nothing to tell, as when a list only changed its order.
        found = [Difference(path=(), label=(), said="is written in another way")]
    for difference in found[:MOST_OF_ONE]:
        yield _words(section, called, difference), difference
    if len(found) > MOST_OF_ONE:
        rest = found[MOST_OF_ONE]
        yield f"{called}: and {len(found) - MOST_OF_ONE} differences more", rest


def _words(section: Section, called: str, found: Difference) -> str:
    if found.path == _TEXT and section is Section.ARTIFACTS:
        return f"{called} changed: {found.said}"
    if found.label == ("source",) and section is Section.NODES:
        return f"{called} changed"
    label = _label(found.label)
    return f"{called}: {label} {found.said}" if label else f"{called} {found.said}"


def _label(parts: tuple[str, ...]) -> str:
    """Write where a difference stands, the way people speak of it."""
    shown = parts[1:] if parts[:1] == ("spec",) and len(parts) > 1 else parts
    if shown[:1] == ("steps",) and len(shown) > 1:
        step = f"step `{shown[1]}`"
        return f"{step}, {_dotted(shown[2:])}" if len(shown) > 2 else step
    return _dotted(shown)


def _dotted(parts: tuple[str, ...]) -> str:
    return ".".join(parts).replace(".[", "[")


def _path(section: Section, path: KeyPath) -> KeyPath:
    """Turn a place in what is locked into the place in the file it comes from."""
    match section:
        case Section.NODES | Section.TOOLS:
            return ()
        case Section.ARTIFACTS if path == _TEXT:
            return ()
        case _:
            return path


def _called(section: Section, name: str, content: JsonObject) -> str:
    match section:
        case Section.PROJECT:
            return _CONFIGURATION
        case Section.WORKFLOWS:
            return f"workflow `{name}`"
        case Section.ARTIFACTS:
            return f"{_artifact_type(content)} `{name}`"
        case Section.PRESETS:
            return f"preset `{name}`"
        case Section.SCRIPTS:
            return f"script `{name}`"
        case Section.NODES:
            return f"node file `{name}`"
        case Section.DATA_MODELS:
            return f"data model `{name}`"
        case Section.DATA_SOURCES:
            return f"data source `{name}`"
        case Section.TOOLS:
            return f"tool `{content.get('tool')}` of server `{content.get('server')}`"
        case _:
            assert_never(section)


def _artifact_type(content: JsonObject) -> str:
    spec = content.get("spec")
    said = spec.get("type") if isinstance(spec, dict) else content.get("type")
    return "MCP server" if said == "mcp" else said if isinstance(said, str) else "artifact"
