"""A preview that runs, and a real browser that looks at it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from tempfile import mkdtemp
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from children import ends_with_us
from served import AS_INSTALLED, SOURCES, environment

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

expect.set_options(timeout=30_000)  # milliseconds: other tests run beside, and bound no time
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
            with urlopen(request, timeout=30) as response:
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
        process.wait(20)
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
