"""`check` and `show`: what editors run."""

import re
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import click

from vitrine.cli.steps import (
    AT,
    CONTENT,
    JOBS,
    MAX_PROBLEMS,
    PROBLEMS,
    checked_of,
    documents_of,
    moment_of,
    places,
    print_problems,
    progress_bar,
    say_placeholders,
    scanning,
)


@click.command()
@CONTENT
@JOBS
@click.option(
    "--against", metavar="RELEASE", help="A release, or an archive of one: what changed needs a new configVersion."
)
@MAX_PROBLEMS
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text", show_default=True
)
def check(content: str, jobs: int | None, against: str | None, most: int, form: str) -> None:
    """Say everything that is wrong with the content. Exit 0: nothing; 1: problems; 2: wrong use."""
    import gc
    from pathlib import Path

    scanned = scanning(content)
    from vitrine.content.check import Options

    gc.disable()  # as in a build
    released = _released(against) if against else None
    options = Options(jobs, progress_bar("checking"), released=released, scanned=scanned, most=most)
    checked = checked_of(content, options)
    print_problems(checked, Path(content), form)
    if checked.problems:
        sys.exit(PROBLEMS)
    if form in ("text", "github"):
        say_placeholders(checked, content)
        click.echo(f"{content}: {len(checked.sources)} files, nothing wrong")


def _released(against: str) -> Mapping[str, Any]:
    """The configurations in a release, by application."""
    from pathlib import Path

    from vitrine.release.released import NoRelease, configurations

    try:
        return configurations(Path(against))
    except NoRelease as failure:
        raise click.UsageError(f"--against {failure}") from None


@click.command()
@click.argument("request")
@CONTENT
@AT
@click.option("--app", metavar="NAME", help="The application that asks; default: the first.")
@click.option("--as", "form", default="json", show_default=True, metavar="FORMAT", help="json or xml.")
def show(request: str, content: str, at: str | None, app: str | None, form: str) -> None:
    """Print what an app would get for REQUEST, from the working tree.

    REQUEST is a path and query below the base URL, or the whole URL.
    """
    from contextlib import ExitStack
    from urllib.parse import unquote

    from vitrine.content import model
    from vitrine.content.check import Options
    from vitrine.interface.answer import answer, refuse
    from vitrine.interface.bind import bind
    from vitrine.interface.call import Request
    from vitrine.interface.formats import FORMATS
    from vitrine.interface.operation import FromContent
    from vitrine.problems import Refusal, nearest
    from vitrine.release.catalog import tried

    formats = {format.name: format for format in FORMATS}
    if form not in formats:
        raise click.UsageError(f"--as {form!r}: the formats are {', '.join(formats)}")
    format = formats[form]
    documents, schemas = documents_of(content, Options())
    live = model.live(documents, moment_of(at, documents))
    live.places = places()
    known = live.applications()
    if app is not None and app not in known:
        close = nearest(app, known)
        raise click.UsageError(
            f"--app {app!r}: the applications are {', '.join(known)}" + f"; did you mean {close}?" * bool(close)
        )
    path, _, query = _below(request, documents.site.value).partition("?")
    try:
        call = bind(Request(unquote(path), query, {"accept": format.media_type}), app or next(iter(known), None))
        if not isinstance(call.operation.source, FromContent):
            raise click.UsageError(f"{call.operation.path} is answered by the running service only (`vitrine serve`)")
        with ExitStack() as stack:

            def index() -> Any:
                stack.enter_context(tried(live, documents.catalog))
                return live.catalog

            live.catalog = None if documents.catalog is None else _Later(index)
            response = answer(call, live, schemas)
    except Refusal as refusal:
        response = refuse(refusal, format, schemas)
    click.echo(response.body)
    if response.status != 200:
        click.echo(f"status {response.status}", err=True)
        sys.exit(PROBLEMS)


def _below(request: str, site: Mapping[str, Any]) -> str:
    """The path and query below the base URL or the order host's, which a pasted address has in front."""
    from urllib.parse import urlsplit

    from vitrine.interface.bind import ROUTES

    target = re.sub("^https?://", "//", request.strip().partition("#")[0], flags=re.IGNORECASE)
    found = []
    for order_host, name in ((False, "base_url"), (True, "order_base_url")):
        base = urlsplit(site[name])
        start = (f"//{base.netloc}" if target.startswith("//") else "") + f"{base.path}/"
        if target.lower().startswith(start.lower()):
            found.append((order_host, target[len(start) :]))
    if not found and target.startswith("//"):
        bases = f"base_url, {site['base_url']}, and not below order_base_url, {site['order_base_url']}"
        raise click.UsageError(f"{request}: not below {bases}")
    known = [below for order_host, below in found if ROUTES.of(below.partition("?")[0].removesuffix("/"), order_host)]
    return next(iter([*known, *(below for _, below in found)]), target)


class _Later:
    """The catalog, whose index takes a while to make: that is done once a view asks it something."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Any:
        return self._make()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._made, verb)
