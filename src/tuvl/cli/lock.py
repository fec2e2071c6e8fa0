"""`tuvl lock`: writes what runs of a project depend on, and says what has changed since it was last written."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import tuvl
from tuvl.check.finding import Severity
from tuvl.check.runner import check_paths
from tuvl.cli.flags import limit_of
from tuvl.cli.lock_servers import ask_servers
from tuvl.cli.output import deliver, json_document
from tuvl.cli.render import report_text
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, UsageError
from tuvl.locking.drift import Drift, compare, drift
from tuvl.locking.lock import LOCK_NAME, Lock
from tuvl.locking.lock_file import NewerLockError, check_place, read_lock, write_lock
from tuvl.locking.take import take_lock
from tuvl.locking.tools import ToolSchema, locked_tools, used_tools
from tuvl.mcp.pool import CONNECT_TIMEOUT_S
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import find_root
from tuvl.settings import environment
from tuvl.values import JsonObject, JsonValue, format_path, printable, printable_lines

FINDINGS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """What the command line says."""

    check: bool = False
    offline: bool = False
    format: Literal["text", "json"] = "text"
    timeout: str | None = None
    project: str | None = None


def lock(options: LockOptions) -> int:
    """Write the lock or, with `check`, compare with it; raises `TuvlError` when that cannot be done."""
    timeout_s = limit_of("--timeout", options.timeout) or CONNECT_TIMEOUT_S
    root = _root(options.project)
    if not options.check:
        check_place(root)
    earlier, damage = _earlier(root, must_be_sound=options.check)
    if not _is_sound(root):
        return FINDINGS
    project = ProjectIndex(root)
    if options.check:
        return _check(project, earlier, options, timeout_s)
    tools = _tools(project, earlier, options, timeout_s, damage)
    now = take_lock(project, mcp_tools=tools)
    changed = tuple(compare(earlier, now, project)) if earlier is not None else ()
    if damage is not None:
        _say(f"the earlier lock is written over: {damage}")
    written = write_lock(root, now)
    delivered = _deliver(changed, options, first=earlier is None)
    _say(_summary(project, now, changed, written=written, first=earlier is None))
    return 0 if delivered else FINDINGS


def _check(project: ProjectIndex, earlier: Lock | None, options: LockOptions, timeout_s: float) -> int:
    if earlier is None:
        file = project.relative(project.root / LOCK_NAME)
        words = f"the project has no {LOCK_NAME}; `tuvl lock` writes it"
        found: tuple[Drift, ...] = (Drift(section=None, name="", kind="gone", file=file, path=(), words=words),)
    else:
        tools = None if options.offline else _tools(project, earlier, options, timeout_s, None)
        found = drift(project, earlier, mcp_tools=tools)
        if earlier.tuvl != tuvl.__version__:
            _say(f"locked with tuvl {earlier.tuvl}; this is {tuvl.__version__}")
    delivered = _deliver(found, options, first=False)
    if not found:
        asked = " (servers were not asked)" if options.offline and used_tools(project) else ""
        _say(f"all is as it was locked{asked}")
    return FINDINGS if found or not delivered else 0


def _root(chosen: str | None) -> Path:
    if chosen is None:
        return find_root(Path.cwd())
    if not Path(chosen).is_dir():
        raise UsageError(f"--project names {chosen!r}, which is no folder")
    return Path(chosen)


def _earlier(root: Path, *, must_be_sound: bool) -> tuple[Lock | None, str | None]:
    """Return the lock that is there, or why it cannot be read where that need not stop anything."""
    try:
        return read_lock(root), None
    except NewerLockError:
        raise
    except ConfigError as error:
        if must_be_sound or (root / LOCK_NAME).is_dir():
            raise
        return None, str(error)


def _is_sound(root: Path) -> bool:
    """Check the project: one with errors does not run, so there is nothing to lock."""
    report = check_paths([root], project=root)
    if not report.failed() and not report.broken:
        return True
    sys.stderr.write(report_text(report, least=Severity.ERROR))
    for message in report.unreadable:
        _say(message)
    _say("nothing was locked: mend the errors first")
    return False


def _tools(
    project: ProjectIndex, earlier: Lock | None, options: LockOptions, timeout_s: float, damage: str | None
) -> dict[str, dict[str, ToolSchema]]:
    used = used_tools(project)
    if not used:
        return {}
    if options.offline:
        if damage is not None:
            raise ConfigError(f"--offline keeps the tools of the earlier lock, and that cannot be read: {damage}")
        known = locked_tools(earlier)
        for tool in {tool.key: tool for tool in used if tool.tool not in known.get(tool.server, {})}.values():
            _say(f"tool {tool.tool!r} of server {tool.server!r} was never locked, and --offline asks for none")
        if known:
            _say("the tools of MCP servers are those of the earlier lock: --offline asks no server")
        return known
    servers = ", ".join(dict.fromkeys(repr(tool.server) for tool in used))
    _say(f"asking {servers} for tools")
    try:
        return ask_servers(project, used, environ=environment(), timeout_s=timeout_s)
    except ConfigError as error:
        kept = (
            f"{LOCK_NAME} is as it was; --offline keeps the tools that are in it" if earlier else "nothing was locked"
        )
        raise ConfigError(f"{error}\n  {kept}") from None


def _deliver(found: Sequence[Drift], options: LockOptions, *, first: bool) -> bool:
    if options.format == "json":
        drifts: list[JsonValue] = [_json(each) for each in found]
        return deliver(json_document({"first": first, "drift": drifts}), None)
    lines = [line for each in found for line in (each.words, *(f"    {line}" for line in each.diff))]
    return deliver("".join(f"{printable(line)}\n" for line in lines), None) if lines else True


def _json(found: Drift) -> JsonObject:
    diff: list[JsonValue] = list(found.diff)
    return {
        "section": found.section.value if found.section is not None else None,
        "name": found.name,
        "kind": found.kind,
        "file": found.file,
        "path": format_path(found.path),
        "line": found.line,
        "message": found.words,
        "diff": diff,
    }


def _summary(project: ProjectIndex, now: Lock, changed: Sequence[Drift], *, written: bool, first: bool) -> str:
    name = project.relative(project.root / LOCK_NAME)
    entries = sum(len(section) for section in now.sections.values())
    count = f"{entries} {'entry' if entries == 1 else 'entries'}"
    if not written:
        return f"{name} is as it was: {count}"
    if first:
        return f"{name} written: {count}"
    return f"{name} written: {count}, {len(changed)} {'change' if len(changed) == 1 else 'changes'}"


def _say(line: str) -> None:
    sys.stderr.write(f"tuvl lock: {printable_lines(line)}\n")
