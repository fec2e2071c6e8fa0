"""The language server: the editor's requests to the functions that answer them, over stdin and stdout."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tuvl.errors import UsageError
from tuvl.lsp.checking import Checker
from tuvl.lsp.completing import complete
from tuvl.lsp.editing import Editing, Shown, path_of
from tuvl.lsp.hovering import hover
from tuvl.lsp.mending import FIX_ALL, actions
from tuvl.lsp.outline import symbols
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.protocol import Incoming, Server, is_gone, is_unreadable
from tuvl.lsp.renaming import places_to_rename, rename_edits, renamed_place
from tuvl.lsp.targets import targets_of, uses_of
from tuvl.project.layout import find_root

WATCHED = ("**/*.yaml", "**/*.yml", "**/*.md", "**/*.py", "**/pyproject.toml")
"""Files whose changes outside of the editor matter."""

_TRIGGERS = [":", " ", "/", "@", "{", ".", "-", "[", '"']

LOOKS_S = 5.0
"""Seconds between two looks at whether the editor is still there."""

Answer = TypeVar("Answer")


class RefusedError(JsonRpcInvalidParams):
    """What was asked cannot be done; the editor is told why."""


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether a line of the log is about more than an answer that says no."""
    return not is_unreadable(record) and (record.exc_info is None or not isinstance(record.exc_info[1], RefusedError))


class _OfText(Protocol):
    """A question about one open text."""

    @property
    def text_document(self) -> types.TextDocumentIdentifier:
        """The text."""


def serve(version: str, stdin: BinaryIO, stdout: BinaryIO) -> int:
    """Serve one editor until it says `exit` or closes stdin; returns the exit code that the protocol asks for."""
    server = Server(version)
    handlers = _Handlers(server)
    handlers.register()
    logging.getLogger("pygls").setLevel(logging.ERROR)
    for name in ("pygls.protocol.json_rpc", "pygls.server"):
        logging.getLogger(name).addFilter(_is_worth_telling)
    # Parsed files are many objects and live long; looking through them for garbage would take most of the time.
    gc.set_threshold(200_000, 50, 100)
    incoming = Incoming(stdin, lambda line: sys.stderr.write(f"tuvl lsp: {line}\n"))
    server.start_io(cast(BinaryIO, incoming), stdout)
    return 1 if incoming.was_cut or (handlers.exits and not handlers.was_told) else 0


def _end_with(editor: int, loop: asyncio.AbstractEventLoop) -> None:
    """End the server once the process that started it has ended: nobody would say `exit` any more."""
    if not is_gone(editor):
        loop.call_later(LOOKS_S, _end_with, editor, loop)
        return
    sys.stderr.write("tuvl lsp: the editor that started it is gone; the server ends\n")
    sys.stderr.flush()
    # A thread waits for stdin, which somebody may hold open; it cannot be told to stop.
    os._exit(1)


class _Handlers:
    """One method a request; what takes time is done in a thread, so that the next message can be read."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._editing = Editing()
        self._checker: Checker | None = None
        self._task: asyncio.Task[None] | None = None
        self.was_told = False
        """Whether the editor said `shutdown`."""
        self.exits = False
        """Whether it said `exit`."""

    def register(self) -> None:
        """Say which messages are answered, and by which method."""
        kinds = [types.CodeActionKind.QuickFix, FIX_ALL]
        self._on(types.INITIALIZE, self.initialize)
        self._on(types.INITIALIZED, self.initialized)
        self._on(types.SHUTDOWN, self.shutdown)
        self._on(types.EXIT, self.exit)
        self._on(types.TEXT_DOCUMENT_DID_OPEN, self.did_open)
        self._on(types.TEXT_DOCUMENT_DID_CHANGE, self.did_change)
        self._on(types.TEXT_DOCUMENT_DID_SAVE, self.did_save)
        self._on(types.TEXT_DOCUMENT_DID_CLOSE, self.did_close)
        self._on(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self.did_change_files)
        self._on(types.TEXT_DOCUMENT_HOVER, self.hover)
        self._on(types.TEXT_DOCUMENT_DEFINITION, self.definition)
        self._on(types.TEXT_DOCUMENT_REFERENCES, self.references)
        self._on(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, self.document_symbol)
        completing = types.CompletionOptions(trigger_characters=_TRIGGERS)
        self._on(types.TEXT_DOCUMENT_COMPLETION, self.completion, completing)
        self._on(types.TEXT_DOCUMENT_CODE_ACTION, self.code_action, types.CodeActionOptions(code_action_kinds=kinds))
        self._on(types.TEXT_DOCUMENT_PREPARE_RENAME, self.prepare_rename)
        self._on(types.TEXT_DOCUMENT_RENAME, self.rename, types.RenameOptions(prepare_provider=True))

    def _on(self, message: str, method: Callable[..., object], options: object = None) -> None:
        # The library marks what it is given, which a bound method does not allow.
        self._server.feature(message, options)(partial(method))

    # ---- beginning and end -------------------------------------------------------------------------------------

    def initialize(self, params: types.InitializeParams) -> None:
        """Begin: messages name files from the folder that is open, as they do on the command line."""
        root = path_of(params.root_uri) if params.root_uri else None
        if root is not None and root.is_dir():
            os.chdir(root)
        self._checker = Checker(self._editing, self._publish)
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._checker.run())
        if params.process_id is not None:
            _end_with(params.process_id, loop)

    def initialized(self, params: types.InitializedParams) -> None:
        """Ask to be told of files that change outside of the editor, where it can tell."""
        workspace = self._server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is None or not watching.dynamic_registration:
            return
        options = types.DidChangeWatchedFilesRegistrationOptions(
            watchers=[types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
        )
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = types.Registration(id="tuvl.watch", method=method, register_options=options)
        self._server.client_register_capability(types.RegistrationParams(registrations=[registration]))

    def shutdown(self, params: None) -> None:
        """Get ready to end."""
        self.was_told = True
        if self._task is not None:
            self._task.cancel()

    def exit(self, params: None) -> None:
        """End."""
        self.exits = True

    # ---- texts -------------------------------------------------------------------------------------------------

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Take a text that was opened."""
        self._editing.encoding = self._server.server_capabilities.position_encoding or self._editing.encoding
        self._want(self._editing.open(params.text_document))

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Take the changes of a text."""
        self._want(self._editing.change(params))

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """Look at the files again."""
        self._want(path_of(params.text_document.uri))

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Go back to the file on disk, and show nothing of it."""
        path = path_of(params.text_document.uri)
        if path is None:
            return
        self._editing.buffers.pop(path, None)
        if self._checker is not None:
            self._checker.forget(path, find_root(path))
        self._want(path)

    def did_change_files(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Take note of files that changed outside of the editor."""
        for change in params.changes:
            path = path_of(change.uri)
            if path is None:
                continue
            root = find_root(path)
            session = self._editing.sessions.get(root)
            if session is not None and path not in self._editing.buffers:
                session.changed_on_disk(path)
                if change.type == types.FileChangeType.Deleted and self._checker is not None:
                    self._checker.forget(path, root)
                self._want(path)

    def _want(self, path: Path | None) -> None:
        if path is not None and self._checker is not None:
            self._checker.want(find_root(path))

    def _publish(self, shown: Shown) -> None:
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=shown.uri, version=shown.version, diagnostics=list(shown.diagnostics))
        )

    # ---- questions ---------------------------------------------------------------------------------------------

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Say what stands at a position."""
        return await self._ask(params, lambda buffer: hover(self._editing.asked(buffer, params.position)), None)

    async def definition(self, params: types.DefinitionParams) -> Sequence[types.Location]:
        """Say where what stands at a position is made."""
        return await self._ask(params, lambda buffer: self._definition(buffer, params.position), [])

    def _definition(self, buffer: Buffer, position: types.Position) -> list[types.Location]:
        asked = self._editing.asked(buffer, position)
        found = [] if asked.name is None else targets_of(asked.name, asked)
        return self._editing.locations(found, asked.index)

    async def references(self, params: types.ReferenceParams) -> Sequence[types.Location]:
        """Say who names what stands at a position."""
        wanted = params.context.include_declaration
        return await self._ask(params, lambda buffer: self._references(buffer, params.position, wanted), [])

    def _references(self, buffer: Buffer, position: types.Position, declaration: bool) -> list[types.Location]:
        asked = self._editing.asked(buffer, position)
        found = [] if asked.name is None else uses_of(asked.name, asked, declaration=declaration)
        return self._editing.locations(found, asked.index)

    async def document_symbol(self, params: types.DocumentSymbolParams) -> Sequence[types.DocumentSymbol]:
        """Say what a file holds."""
        return await self._ask(params, symbols, [])

    async def completion(self, params: types.CompletionParams) -> types.CompletionList:
        """Say what may stand at a position."""
        nothing = types.CompletionList(is_incomplete=False, items=[])
        return await self._ask(params, lambda buffer: self._completion(buffer, params.position), nothing)

    def _completion(self, buffer: Buffer, position: types.Position) -> types.CompletionList:
        return complete(buffer, buffer.content.from_position(position), self._editing.index_for(buffer))

    async def code_action(self, params: types.CodeActionParams) -> Sequence[types.CodeAction]:
        """Say what can be done about the findings of a place."""
        nothing: list[types.CodeAction] = []
        found = await self._ask(params, lambda buffer: self._code_action(buffer, params), nothing)
        return [self._applicable(action) for action in found]

    def _code_action(self, buffer: Buffer, params: types.CodeActionParams) -> list[types.CodeAction]:
        shown = self._editing.findings_of(buffer)
        if shown is None:
            return []
        pairs = zip(shown.findings, shown.diagnostics, strict=True)
        here = [pair for pair in pairs if _overlap(pair[1].range, params.range)]
        return actions(buffer, shown.findings, here, params.context.only)

    async def prepare_rename(self, params: types.PrepareRenameParams) -> types.Range | None:
        """Say whether what stands at a position can be renamed."""
        return await self._ask(params, lambda buffer: self._prepare_rename(buffer, params.position), None)

    def _prepare_rename(self, buffer: Buffer, position: types.Position) -> types.Range | None:
        place = renamed_place(self._editing.asked(buffer, position))
        return None if place is None else buffer.content.to_range(place)

    async def rename(self, params: types.RenameParams) -> types.WorkspaceEdit | None:
        """Give a step another name."""
        try:
            found = await self._ask(params, lambda buffer: self._rename(buffer, params), None)
        except UsageError as error:
            raise RefusedError(str(error)) from error
        return None if found is None else self._plain(found)

    def _rename(self, buffer: Buffer, params: types.RenameParams) -> types.WorkspaceEdit:
        asked = self._editing.asked(buffer, params.position)
        targets = places_to_rename(asked, params.new_name)
        changes: list[types.TextDocumentEdit] = []
        for file in dict.fromkeys(target.file for target in targets):
            text = self._editing.text_of(file, asked.index)
            edits = rename_edits(text, [each.place for each in targets if each.file == file], params.new_name)
            version = text.version if text.path in self._editing.buffers else None
            document = types.OptionalVersionedTextDocumentIdentifier(uri=text.uri, version=version)
            changes.append(types.TextDocumentEdit(text_document=document, edits=list(edits)))
        return types.WorkspaceEdit(document_changes=list(changes))

    async def _ask(self, params: _OfText, answer: Callable[[Buffer], Answer], nothing: Answer) -> Answer:
        """Answer a question about an open text in a thread."""
        buffer = self._editing.buffer(params.text_document.uri)
        return nothing if buffer is None else await asyncio.to_thread(self._answered, answer, buffer)

    def _answered(self, answer: Callable[[Buffer], Answer], buffer: Buffer) -> Answer:
        with self._editing.session(find_root(buffer.path)).asking:
            return answer(buffer)

    # ---- what the editor can take ------------------------------------------------------------------------------

    def _applicable(self, action: types.CodeAction) -> types.CodeAction:
        if action.edit is not None:
            action.edit = self._plain(action.edit)
        return action

    def _plain(self, edit: types.WorkspaceEdit) -> types.WorkspaceEdit:
        """Write edits without versions for an editor that knows none."""
        workspace = self._server.client_capabilities.workspace
        takes = workspace.workspace_edit if workspace is not None else None
        if takes is not None and takes.document_changes:
            return edit
        changes: dict[str, list[types.TextEdit]] = {}
        for change in edit.document_changes or ():
            if isinstance(change, types.TextDocumentEdit):
                edits = changes.setdefault(change.text_document.uri, [])
                edits += [one for one in change.edits if isinstance(one, types.TextEdit)]
        return types.WorkspaceEdit(changes=dict(changes))


def _overlap(one: types.Range, other: types.Range) -> bool:
    return one.start <= other.end and other.start <= one.end
