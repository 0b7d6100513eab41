"""What shows and edits: a preview in a real browser, pictures, and what npm brings."""

import asyncio
import atexit
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from lsprotocol import types
from playwright.sync_api import (
    APIResponse,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Route,
    expect,
    sync_playwright,
)
from pygls.lsp.client import LanguageClient

from harness.commands import SOURCES, ends_with_us
from harness.servers import AS_INSTALLED, environment
from harness.waits import PATIENCE, T, awaited

# -- a preview that runs, and a real browser that looks at it ----------------------------------------------------------


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATHS = [
    "/",
    "/problems",
    "/problems/fix",
    "/documents/event",
    "/documents/app/iphone",
    "/applications",
    "/stores",
    "/stores?near=4001&miles=300",
    "/events",
    "/events?store=4001&state=to+come",
    "/promotions?q=pouch",
    "/catalog",
    "/catalog?category=110",
    "/catalog?q=coat",
    "/catalog/explain",
    "/catalog/explain?q=do+you+have+waterprof+wool+coats+for+women&product=520107",
    "/catalog/explain?q=the",
    "/catalog/explain?count=1",
    "/calendar?month=2026-11",
    "/compare",
    "/compare?with=2026-12-20T09:00&at=2026-11-22T09:00",
    "/ask",
    "/ask?operation=events_v2&p.storeId=101&send=1",
    "/releases",
    "/rules",
    "/rules/time.order",
    "/nowhere",
]
"""Every page of a preview of the sample, with what it shows after a choice."""

expect.set_options(timeout=1000 * PATIENCE)  # milliseconds
SIZES = {"phone": (360, 740), "desktop": (1600, 900)}


@dataclass(frozen=True)
class Preview:
    """A running preview: where it is, its content folder, its process, and the query that admits a browser."""

    address: str
    folder: Path
    process: subprocess.Popen[str]
    secret: str = ""

    def answer(
        self, path: str, form: Mapping[str, str] | None = None, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """The status, the headers and the text of a page; with a form, of what is answered to it."""
        request = Request(
            self.address + path,
            None if form is None else urlencode(form).encode(),
            {name.replace("_", "-"): text for name, text in headers.items()},
        )
        try:
            with urlopen(request, timeout=PATIENCE) as response:
                return response.status, by_name(response.headers), response.read().decode()
        except HTTPError as error:
            return error.code, by_name(error.headers), error.read().decode()

    def get(self, path: str, form: Mapping[str, str] | None = None, **headers: str) -> tuple[int, str]:
        """The status and the text of a page; with a form, of what is answered to it."""
        status, _, text = self.answer(path, form, **headers)
        return status, text


def by_name(headers: Message) -> dict[str, str]:
    """Headers as a dictionary, by the names that people write."""
    return {name.title(): value for name, value in headers.items()}


@contextmanager
def preview(folder: Path, *options: str, bind: str = "127.0.0.1:0", **env: str) -> Iterator[Preview]:
    """`shopwindow preview` over a content folder, on a port that is free."""
    cache = mkdtemp(prefix="shopwindow-preview-cache-")
    command = [sys.executable, "-m", "shopwindow", "preview", "--content", str(folder), "--bind", bind, *options]
    paths = [str(SOURCES), *filter(None, [env.get("PYTHONPATH")])]
    variables = {**AS_INSTALLED, "XDG_CACHE_HOME": cache, **env, "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env=environment(**variables),
        text=True,
        preexec_fn=ends_with_us,
    )
    try:
        assert process.stdout is not None
        printed = process.stdout.readline()
        address = re.search(r"(http://[^ ]*?)/(\?token=[^ ]*)? ", printed)
        assert address, f"no address in {printed!r}"
        reached = address[1]
        if bind.startswith("0.0.0.0:"):  # printed is the address for other machines, which browsers trust less
            reached = f"http://127.0.0.1:{reached.rpartition(':')[2]}"
        yield Preview(reached, folder, process, address[2] or "")
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(cache, ignore_errors=True)


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium; the test is skipped where there is none."""
    if CHROMIUM is None:
        if os.environ.get("SHOPWINDOW_REQUIRE_ALL"):
            pytest.fail("there is no Chromium here")
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def opened(browser: Browser, size: str = "desktop", *, dark: bool = False, script: bool = True) -> Iterator[Page]:
    """A page of a fresh profile. Whatever the browser complains about, a refused script say, fails the test."""
    width, height = SIZES[size]
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if is_fault(message) else None)
    try:
        yield page
        assert complaints == []
    finally:
        context.close()


def fits(page: Page) -> bool:
    """Whether the page, once its styles are there, is no wider than the screen."""
    page.wait_for_load_state("load")
    narrow: bool = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return narrow


def holding_back_the_first(page: Page, address: re.Pattern[str]) -> list[tuple[Route, APIResponse]]:
    """Into the list that is returned goes the first request of a page for an address, with its answer, which the page
    does not get; others go through.

    The route stays: while Playwright takes one away, it does not report a request that begins just then.
    """
    held: list[tuple[Route, APIResponse]] = []
    requests = count()

    def hold(route: Route) -> None:
        if next(requests) == 0:
            held.append((route, route.fetch()))
        else:
            route.continue_()

    page.route(address, hold)
    return held


def first_held(page: Page, held: list[T]) -> T:
    """The first that a route of a page put into a list; a page hands out what happens only while it is waited for."""

    def first() -> list[T]:
        page.wait_for_timeout(50)
        return held

    return awaited(first)[0]


def is_fault(message: ConsoleMessage) -> bool:
    """Whether the browser reports something that a page does wrong; a status of 403 or 404 may be meant."""
    return message.type == "error" and "the server responded with a status of 40" not in message.text


def save(file: Path, old: str, new: str) -> None:
    """Change a file of a content folder in one step: no preview checks an empty file, or half of a change."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    folder = next(above for above in file.parents if (above / "site.yaml").is_file())
    draft = folder.with_name("draft")
    draft.write_text(text.replace(old, new, 1), encoding="utf-8")
    draft.replace(file)


# -- pictures in the documents: PNG files with a palette, small enough to be fetched with a page -----------------------
#
# A browser's screenshot has three bytes a pixel. Text on a plain ground needs few colors, so a palette of 256 makes the
# file a third of that, and nobody sees a difference.


SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLORS = 256
"""What a palette of one byte a pixel holds."""


@dataclass(frozen=True)
class Picture:
    """A decoded picture: rows of pixels, ``depth`` bytes each (3: red, green, blue; 1: an index of the palette)."""

    width: int
    height: int
    depth: int
    rows: tuple[bytes, ...]

    def colors(self) -> Counter[bytes]:
        """How many pixels have each color."""
        counted: Counter[bytes] = Counter()
        for row in self.rows:
            counted.update(row[at : at + self.depth] for at in range(0, len(row), self.depth))
        return counted


def decoded(data: bytes) -> Picture:
    """A picture of eight bits a channel: RGB, RGBA without its transparency, or with a palette."""
    assert data.startswith(SIGNATURE)
    chunks = dict.fromkeys((b"IHDR", b"IDAT"), b"")
    for name, content in _chunks(data):
        chunks[name] = chunks.get(name, b"") + content
    width, height, bits, form, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    depth = {2: 3, 3: 1, 6: 4}[form]
    assert bits == 8
    rows = tuple(_unfiltered(zlib.decompress(chunks[b"IDAT"]), width * depth, depth))
    if depth == 4:
        rows = tuple(bytes(byte for at, byte in enumerate(row) if at % 4 != 3) for row in rows)
    return Picture(width, height, 3 if depth == 4 else depth, rows)


def reduced(picture: Picture) -> bytes:
    """A PNG of a picture in RGB, with the palette of its most frequent colors; others become the nearest of these."""
    counted = picture.colors()
    palette = [color for color, _ in counted.most_common(COLORS)]
    number = {color: at for at, color in enumerate(palette)}
    for color in counted.keys() - number.keys():
        number[color] = min(range(len(palette)), key=lambda at: _distance(palette[at], color))
    rows = [bytes(number[row[at : at + 3]] for at in range(0, len(row), 3)) for row in picture.rows]
    header = struct.pack(">IIBBBBB", picture.width, picture.height, 8, 3, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    parts = {b"IHDR": header, b"PLTE": b"".join(palette), b"IDAT": pixels, b"IEND": b""}
    return SIGNATURE + b"".join(_chunk(name, content) for name, content in parts.items())


def is_blank(file: Path) -> bool:
    """Whether nearly all of a picture is one color, or it has too few for text."""
    picture = decoded(file.read_bytes())
    counted = picture.colors()
    return len(counted) < 16 or counted.most_common(1)[0][1] > 0.98 * picture.width * picture.height


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _unfiltered(data: bytes, length: int, depth: int) -> Iterator[bytes]:
    """The rows, of which the file has each as a difference from pixels before it (PNG, 3rd edition, 9.2)."""
    above = bytes(length)
    for start in range(0, len(data), length + 1):
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + length])
        for at in range(length) if kind else ():
            left = row[at - depth] if at >= depth else 0
            corner = above[at - depth] if at >= depth else 0
            by = (left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))
            row[at] = (row[at] + by[kind - 1]) & 255
        above = bytes(row)
        yield above


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def _distance(one: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


# -- packages from npm, for tests that need them -----------------------------------------------------------------------


NPM_SECONDS = 300
"""Seconds for an installation. A registry that cannot be reached is tried again and again by npm."""


def npm_installed(folder: Path, *packages: str) -> Path:
    """Install packages below a folder; return the folder of their modules. Skips the test where that cannot be done."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip(f"{packages[0]} needs node and npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=NPM_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm does not install {packages[0]} within {NPM_SECONDS} s")
    if done.returncode != 0:
        pytest.skip(f"npm does not install {packages[0]}: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "node_modules"


# -- the YAML language server, driven as an editor drives it: what it marks, completes and shows -----------------------


PACKAGE = "yaml-language-server@1.25.0"
"""From npm: the release that the expectations were written with."""


@cache
def server_installed() -> Path:
    """Return the server's program. Skips the test where it cannot be installed."""
    named = os.environ.get("SHOPWINDOW_YAML_LANGUAGE_SERVER")
    if named:
        return Path(named)
    folder = Path(mkdtemp(prefix="shopwindow-language-server-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return npm_installed(folder, PACKAGE) / ".bin" / "yaml-language-server"


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
    await client.start_io(str(server_installed()), "--stdio")
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
