"""The YAML language server, driven as an editor drives it: what it marks, completes and shows."""

import asyncio
import atexit
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

import npm

PACKAGE = "yaml-language-server@1.25.0"
"""From npm: the release that the expectations were written with."""

PATIENCE = 60
"""Seconds for one answer of the server, on a machine that does other things beside."""


@cache
def installed() -> Path:
    """Return the server's program. Skips the test where it cannot be installed."""
    named = os.environ.get("SHOPWINDOW_YAML_LANGUAGE_SERVER")
    if named:
        return Path(named)
    folder = Path(mkdtemp(prefix="shopwindow-language-server-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return npm.installed(folder, PACKAGE) / ".bin" / "yaml-language-server"


class Server:
    """A server that has been started for a folder, with the folder's own settings."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._diagnostics: dict[str, asyncio.Future[list[types.Diagnostic]]] = {}
        self._versions: dict[str, int] = {}

    def published(self, params: types.PublishDiagnosticsParams) -> None:
        waiting = self._diagnostics.get(params.uri)
        if waiting is not None and not waiting.done():
            waiting.set_result(list(params.diagnostics))

    async def marked(self, path: Path, text: str | None = None) -> list[types.Diagnostic]:
        """Open a file, or write another text into it; return what the server marks in it."""
        uri, text = path.as_uri(), path.read_text() if text is None else text
        self._diagnostics[uri] = asyncio.get_running_loop().create_future()
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        if version == 1:
            item = types.TextDocumentItem(uri, "yaml", version, text)
            self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        else:
            change = types.TextDocumentContentChangeWholeDocument(text)
            named = types.VersionedTextDocumentIdentifier(version, uri)
            self._client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change]))
        return await asyncio.wait_for(self._diagnostics[uri], PATIENCE)

    async def completed(self, path: Path, line: int, column: int) -> list[types.CompletionItem]:
        """Return what the server offers at a place of an open file; lines and columns count from 0."""
        params = types.CompletionParams(types.TextDocumentIdentifier(path.as_uri()), types.Position(line, column))
        answer = await asyncio.wait_for(self._client.text_document_completion_async(params), PATIENCE)
        return list(answer.items if isinstance(answer, types.CompletionList) else answer or [])

    async def shown(self, path: Path, line: int, column: int) -> str:
        """Return what the server shows of a place of an open file."""
        params = types.HoverParams(types.TextDocumentIdentifier(path.as_uri()), types.Position(line, column))
        answer = await asyncio.wait_for(self._client.text_document_hover_async(params), PATIENCE)
        contents = answer.contents if answer else ""
        return contents.value if isinstance(contents, types.MarkupContent) else str(contents)


@asynccontextmanager
async def serving(root: Path, settings: dict[str, Any]) -> AsyncIterator[Server]:
    """Start the server for a folder; ``settings`` are those of its settings.json."""
    client: Any = LanguageClient("shopwindow-tests", "1")  # its methods have no types
    server = Server(client)

    yaml = {key.removeprefix("yaml."): value for key, value in settings.items() if key.startswith("yaml.")}
    yaml |= {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}

    asked = asyncio.Event()

    def configured(params: types.ConfigurationParams) -> list[Any]:
        asked.set()
        return [yaml if item.section == "yaml" else None for item in params.items]

    client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: server.published(params))
    client.feature(types.WORKSPACE_CONFIGURATION)(configured)
    client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
    await client.start_io(str(installed()), "--stdio")
    folder = types.WorkspaceFolder(root.as_uri(), root.name)
    capabilities = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(
            configuration=True,
            workspace_folders=True,
            did_change_configuration=types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
        ),
        text_document=types.TextDocumentClientCapabilities(
            completion=types.CompletionClientCapabilities(
                completion_item=types.ClientCompletionItemOptions(snippet_support=True)
            ),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        ),
    )
    params = types.InitializeParams(
        capabilities, process_id=os.getpid(), root_uri=root.as_uri(), workspace_folders=[folder]
    )
    await asyncio.wait_for(client.initialize_async(params), PATIENCE)
    client.initialized(types.InitializedParams())
    # The server asks for its settings once, and marks again what was open before it has them.
    await asyncio.wait_for(asked.wait(), PATIENCE)
    try:
        yield server
    finally:
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
        await client.stop()
