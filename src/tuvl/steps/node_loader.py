"""Finds the functions behind `runner:` names: imports a project's node files, each once, when a step first needs it."""

import hashlib
import importlib.util
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Callable
from importlib.abc import InspectLoader
from pathlib import Path
from types import ModuleType

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.node import MARK, NodeDeclaration
from tuvl.redaction import redact
from tuvl.values import shorten

_import_lock = threading.RLock()
_folders: list[str] = []
"""Node folders on the import path, the one in use last."""
_codes: dict[str, str] = {}
"""Node folder → digest of its code when a file of it was last imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedNode:
    """A node ready to be called."""

    name: str
    file: str
    function: Callable[..., object]
    is_async: bool


def load_node(file: str, name: str, *, source: bytes, code: str) -> LoadedNode:
    """Return the node `name` of a file; raises `StepError` when the file cannot be imported or lacks the node.

    It may run for as long as the file's imports do, so it is called in a thread.

    Args:
        file: Where the file is; what it holds by now does not count.
        name: Name of the node.
        source: What the file held when the workflow was compiled.
        code: Digest of all code in its folder then: with another one, the file and what it imports from there are
            imported anew.
    """
    with _import_lock:
        module = _module_of(Path(file), source, code)
    for value in vars(module).values():
        declaration = getattr(value, MARK, None)
        if isinstance(declaration, NodeDeclaration) and declaration.name == name:
            return LoadedNode(name=name, file=file, function=value, is_async=inspect.iscoroutinefunction(value))
    raise StepError(
        f"node {name!r} is not in {Path(file).name!r} once imported; keep `@node({name!r})` at its top level",
        type="node_import",
        detail={"node": name, "file": Path(file).name},
    )


def _module_of(path: Path, source: bytes, code: str) -> ModuleType:
    # A name of its own: node files of two projects, two states of one, or one called like a library, must not meet.
    module_name = f"_tuvl_node_{hashlib.sha256(f'{code} {path}'.encode()).hexdigest()[:16]}_{path.stem}"
    known = sys.modules.get(module_name)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or not isinstance(spec.loader, InspectLoader):
        raise StepError(f"{path.name!r} is no Python file", type="node_import", detail={"file": path.name})
    folder = str(path.parent)
    _make_helpers_importable(folder)
    if _codes.setdefault(folder, code) != code:
        _forget_helpers(frozenset({folder}))
        importlib.invalidate_caches()
        _codes[folder] = code
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        exec(spec.loader.source_to_code(source, str(path)), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        line = line_in(error, str(path))
        raise StepError(
            f"{path.name!r} cannot be imported: {described(error)}{f' (line {line})' if line else ''}",
            type="node_import",
            detail={"file": path.name, "line": line, "exception": type(error).__name__},
        ) from error
    return module


def _make_helpers_importable(folder: str) -> None:
    """Put the folder on the import path, after everything else: a node file must not shadow a library."""
    if folder in _folders:
        _folders.remove(folder)
    others = [other for other in _folders if other in sys.path]
    for other in others:
        # Another project's folder comes after this one, and its helpers must not be taken for ours.
        sys.path.remove(other)
        sys.path.append(other)
    if others:
        _forget_helpers(frozenset(others))
    if folder in sys.path and _folders:
        sys.path.remove(folder)
    if folder not in sys.path:
        first = min((sys.path.index(other) for other in _folders if other in sys.path), default=len(sys.path))
        sys.path.insert(first, folder)
    _folders.append(folder)


def _forget_helpers(folders: frozenset[str]) -> None:
    inside = tuple(f"{folder}{os.sep}" for folder in folders)
    for name, module in list(sys.modules.items()):
        # A path object for each module would take a hundred times longer.
        if (getattr(module, "__file__", None) or "").startswith(inside) and not name.startswith("_tuvl_node_"):
            del sys.modules[name]


def described(error: BaseException) -> str:
    """Return `Type: message`, or the type alone for an exception without words."""
    text = shorten(redact(str(error)))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_in(error: BaseException, file: str) -> int | None:
    """Return the innermost line of `file` that an exception passed through."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
