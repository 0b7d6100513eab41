"""The preview as an ASGI application.

A request passes the guard (`_Door`), then Starlette's routes. The guard stands around
Starlette, so that error pages pass it as well. A page function gets a Visit, and returns
a Page: the name of a template and its values. `_Drawing` fills the template in. Page
functions stand in `pages`; this module knows their addresses and the menu. In a browser
every page listens at `/changes`, and fetches itself again after every check.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shopwindow.preview import guard
from shopwindow.preview.guard import Guard
from shopwindow.preview.pages import (
    applications,
    ask,
    calendar,
    catalog,
    compare,
    documents,
    offers,
    overview,
    problems,
    releases,
    rules,
    stores,
)
from shopwindow.preview.templates import environment
from shopwindow.preview.visit import Page, Visit
from shopwindow.preview.workspace import Workspace

STATIC = Path(__file__).parent / "static"

SNAPSHOT_LOOK_SECONDS = 0.05
"""Time between two looks for a new snapshot: less than a person notices."""

STILL_HERE_SECONDS = 15.0
"""After so long without a check, a waiting browser hears that the preview still runs."""

MAX_FORM_BYTES = 1024
"""Bytes of a form that is posted: it holds a token and a digest."""

PageOf = Callable[[Visit], Page | None]
"""Draws a page for a visit; None: there is no such page, and the status is 404."""


@dataclass(frozen=True)
class MenuPage:
    """A page of the menu.

    ``kind``: the kind of document without which an interface has no such page; empty:
    every interface has it.
    """

    path: str
    label: str
    draw: PageOf
    kind: str = ""


PAGES = (
    MenuPage("/", "Overview", overview.page),
    MenuPage("/problems", "Problems", problems.problems),
    MenuPage("/applications", "Applications", applications.page, applications.KIND),
    MenuPage("/stores", "Stores", stores.page, stores.KIND),
    MenuPage("/events", "Events", offers.events, "event"),
    MenuPage("/promotions", "Promotions", offers.promotions, "promotion"),
    MenuPage("/catalog", "Catalog", catalog.page, catalog.KIND),
    MenuPage("/calendar", "Calendar", calendar.page),
    MenuPage("/compare", "Compare", compare.page),
    MenuPage("/ask", "Ask", ask.page),
    MenuPage("/releases", "Releases", releases.page),
    MenuPage("/rules", "Rules", rules.rules),
)
"""The pages of the menu, in its order."""

PARTS: tuple[tuple[str, PageOf], ...] = (
    ("/problems/fix", problems.fix),
    ("/rules/{name}", rules.page),
    ("/catalog/explain", catalog.explanation),
    ("/documents/{kind}", documents.listing),
    ("/documents/{kind}/{id:path}", documents.card),
)
"""Addresses of pages that other pages lead to."""


def application(workspace: Workspace, door: Guard) -> ASGIApp:
    """Return the ASGI application that shows a workspace to those whom ``door`` admits."""
    drawing = _Drawing(workspace, door)
    pages = [(page.path, page.draw) for page in drawing.menu] + list(PARTS)
    routes = [
        Route(path, drawing.endpoint(draw), methods=["GET"]) for path, draw in pages
    ]
    routes += [
        Route("/changes", drawing.changes, methods=["GET"]),
        Route("/problems/fix", _write_fix(door, drawing), methods=["POST"]),
    ]
    pages_and_files = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC))],
        exception_handlers={404: drawing.not_there, 500: drawing.failed},
    )
    return _Door(pages_and_files, door)


class _Door:
    """Refuses what the guard does not admit, and adds its headers to every response."""

    def __init__(self, app: ASGIApp, door: Guard) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(guard.HEADERS)
            await send(message)

        answer = self._answer(Request(scope)) or self.app
        await answer(scope, receive, send_with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return the response to a request that is not admitted, or that comes by the
        printed address; None for any other.
        """
        host = request.headers.get("host", "")
        if not self.door.knows_host(host):
            return PlainTextResponse(
                f"{host or 'no Host'} is not an address of this preview.\n", 421
            )
        if not self.door.knows_site(request.method, request.headers):
            return PlainTextResponse("Requests from other sites are refused.\n", 403)
        secret = request.query_params.get(guard.SECRET_PARAMETER, "")
        if self.door.secret and self.door.admits(secret):
            return self._entrance(request)
        if not self.door.admits(request.cookies.get(self.door.cookie, "")):
            return PlainTextResponse(
                "Open the whole address that the preview's terminal prints: its end is a secret.\n",
                403,
            )
        return None

    def _entrance(self, request: Request) -> Response:
        """Return a redirect to the page without the secret, which becomes a cookie.

        The cookie is also sent where a link of another site leads to a page, such as
        one in a mail (Lax).
        """
        page = request.url.remove_query_params(guard.SECRET_PARAMETER)
        response = RedirectResponse(page, 303)
        response.set_cookie(
            self.door.cookie, self.door.secret, httponly=True, samesite="lax"
        )
        return response


class _Drawing:
    """Draws pages of a workspace."""

    def __init__(self, workspace: Workspace, door: Guard) -> None:
        self.workspace, self.form_token = workspace, door.form_token
        kinds = workspace.interface.kind
        self.menu = [page for page in PAGES if not page.kind or page.kind in kinds]
        self.templates = environment()

    def endpoint(self, page: PageOf) -> Callable[[Request], Any]:
        """Return the endpoint of a page.

        It draws in a thread, because a page may read files, which would block others.
        """

        async def answer(request: Request) -> Response:
            return await run_in_threadpool(self._answer, request, page)

        return answer

    def _answer(self, request: Request, page: PageOf) -> Response:
        visit = self.visit(request)
        missing = Page("missing.html", "Not there", {}, 404)
        return self.html(visit, page(visit) or missing)

    def visit(self, request: Request) -> Visit:
        return Visit(
            workspace=self.workspace,
            snapshot=self.workspace.snapshot,
            path=request.url.path,
            query=dict(request.query_params),
            values=dict(request.path_params),
            form_token=self.form_token,
        )

    def html(self, visit: Visit, page: Page) -> Response:
        template = self.templates.get_template(page.template)
        text = template.render(
            **page.values,
            layout="layout.html",
            page_title=page.title,
            visit=visit,
            snapshot=visit.snapshot,
            menu=self.menu,
        )
        return HTMLResponse(text, page.status)

    async def not_there(self, request: Request, error: Exception) -> Response:
        return await run_in_threadpool(self._answer, request, lambda visit: None)

    async def failed(self, request: Request, error: Exception) -> Response:
        """Answer where a page raised something: a fault of ours, which the terminal has
        whole. The page still follows the folder, and is tried again at each change.
        """
        values = {"error": f"{type(error).__name__}: {error}"}
        page = Page("failed.html", "This page cannot be shown", values, 500)
        return await run_in_threadpool(self._answer, request, lambda visit: page)

    async def changes(self, request: Request) -> Response:
        """Answer with an event for every check that ends (HTML, server-sent events).

        ``after`` in the query is the number of the page's own check. So a check that
        ended between the page and this request is an event, too.
        """
        after = request.query_params.get("after")

        async def events() -> AsyncIterator[str]:
            number, quiet = after or str(self.workspace.snapshot.number), 0.0
            yield ": open\n\n"
            while not await request.is_disconnected():
                await asyncio.sleep(SNAPSHOT_LOOK_SECONDS)
                quiet += SNAPSHOT_LOOK_SECONDS
                current = str(self.workspace.snapshot.number)
                if current != number:
                    number, quiet = current, 0.0
                    yield f"event: changed\ndata: {number}\n\n"
                elif quiet >= STILL_HERE_SECONDS:
                    quiet = 0.0
                    yield ": still here\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")


def _write_fix(door: Guard, drawing: _Drawing) -> Callable[[Request], Any]:
    """Return the endpoint that writes a fix, which its page has shown.

    The next page shall show the outcome, so the folder is checked at once.
    """

    def write(request: Request, digest: str) -> Response:
        visit = drawing.visit(request)
        refused = problems.write_fix(visit, digest)
        if refused is not None:
            return drawing.html(visit, refused)
        drawing.workspace.refresh()
        return RedirectResponse(visit.link("/problems"), 303)

    async def answer(request: Request) -> Response:
        form = await _form(request)
        if form is None or not door.admits_form(form.get("token", "")):
            reason = "Nothing was written: this form is not of a page of this preview, or its preview has ended."
            return PlainTextResponse(f"{reason}\n", 403)
        return await run_in_threadpool(write, request, form.get("digest", ""))

    return answer


async def _form(request: Request) -> dict[str, str] | None:
    """Return the fields of a form that is posted; None where it is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return None
    fields = parse_qs(body.decode(errors="replace"))
    return {name: values[0] for name, values in fields.items()}
