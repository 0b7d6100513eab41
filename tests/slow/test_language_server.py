"""The schemas of an editor, in the YAML language server of VS Code: nothing is marked in what is right, mistakes are
marked at their line in plain words, and lists have completion and hover."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from harness.browser import Server, serving
from harness.content import ROOT, SAMPLE
from shopwindow import library
from shopwindow.shop import INTERFACE
from shopwindow.starter.begin import STARTS, Beginning


def driven(root: Path, steps: Callable[[Server], Awaitable[None]]) -> None:
    """Start the server in a folder, with the settings that stand there, and take some steps."""
    settings = json.loads((root / ".vscode/settings.json").read_text())

    async def run() -> None:
        async with serving(root, settings) as server:
            await steps(server)

    asyncio.run(run())


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository that `init` began with the sample, for VS Code."""
    library.start(INTERFACE, tmp_path / "shop", Beginning(start="sample", editor="vscode"))
    return tmp_path / "shop"


def nothing_is_marked(root: Path) -> None:
    marked: dict[str, list[str]] = {}
    paths = sorted(root.glob("content/**/*.yaml"))

    async def steps(server: Server) -> None:
        for path in paths:
            found = [f"{each.range.start.line + 1}: {each.message}" for each in await server.marked(path)]
            if found:
                marked[path.relative_to(root).as_posix()] = found

    driven(root, steps)
    assert marked == {}
    assert len(paths) > 5


@pytest.mark.parametrize("start", STARTS)
def test_nothing_is_marked_in_what_init_writes(tmp_path: Path, start: str) -> None:
    library.start(INTERFACE, tmp_path / "shop", Beginning(start=start, editor="vscode"))
    nothing_is_marked(tmp_path / "shop")


def test_nothing_is_marked_in_new_documents(shop: Path) -> None:
    for path in (shop / "content").glob("**/*.yaml"):
        if path.name not in ("site.yaml", "collections.yaml", "_shared.yaml", "categories.yaml"):
            path.unlink()
    for kind in ("store", "event", "promotion", "category", "brand", "product", "synonym", "banner"):
        library.new(INTERFACE, shop / "content", kind)
    library.new(INTERFACE, shop / "content", "app", "kiosk")
    library.new(INTERFACE, shop / "content", "review", "r-1")
    nothing_is_marked(shop)


MISTAKES = [
    (
        "events/windows-light-up.yaml",
        "finish: 2026-11-23 19:00",
        "finish: 2026-11-23 7pm",
        "a day and a time on the 24",
    ),
    ("events/2026-11-november.yaml", "- id: 510103", '- id: "510103"', "a whole number, without quotes"),
    ("events/2026-11-november.yaml", "  start: 2026-11-24 12:00\n", "", 'Missing property "start".'),
    ("events/2026-11-november.yaml", "rel: register", "rel: Register", "one word of lower-case letters"),
    ("events/2026-11-november.yaml", "  attributes:", "  atributes:", "Property atributes is not allowed."),
    ("events/windows-light-up.yaml", "stores:\n  storeId: [101]", "stores: alll", "or all"),
    ("events/windows-light-up.yaml", "storeId: [101]", "groups: pacific", "Property groups is not allowed."),
    ("stores/west.yaml", "state: CO", "state: Colorado", "two capital letters, such as NY"),
    ("stores/west.yaml", 'zipCode: "80202"', "zipCode: 80202", "put what looks like a number in quotes"),
    ("stores/west.yaml", "[BOPS, MATTRESS,", "[BOPS, MATRESS,", "one of: BOPS, BRIDAL, MATTRESS"),
    ("stores/west.yaml", "latitude: 39.7482", "latitude: 139.7482", "Value is above the maximum of 90."),
    ("stores/west.yaml", "monday: {open: 10:00,", "monday: {open: 10am,", "a time of day on the 24-hour clock"),
    ("promotions/beauty.yaml", "global: false", 'global: "no"', "true or false, without quotes"),
    ("promotions/beauty.yaml", '"{{ www }}/offers/winter-pouch"', "www.shop.example", "an http or https URL"),
    ("promotions/beauty.yaml", "channels: [MOBILE]", "channels: [MOBILE, MOBILE]", "Array has duplicate items."),
    ("promotions/beauty.yaml", "SourceCode: B", "SourceCode: X", "one of: B, Z, D"),
    ("apps/iphone.yaml", "platform: iPhone", "platform: Iphone", "one of: iPhone, Android"),
    (
        "apps/iphone.yaml",
        "      landingUrl: larkspur://bag",
        "      landing: larkspur://bag",
        "Property landing is not",
    ),
    (
        "apps/_shared.yaml",
        "poorWifiMaxSecsLatency: 6",
        "poorWifiMaxSecsLatency: five",
        "a whole number, without quotes",
    ),
    ("site.yaml", "default: {maxAge: 300}", "default: {maxAge: -1}", "Value is below the minimum of 0."),
    ("site.yaml", "mobile_log:", "mobil_log:", "Property mobil_log is not allowed."),
    ("collections.yaml", "folder: banners", "folder: Ban ners", "small letters, digits, _ and -"),
    ("banners/always.yaml", "headline: New arrivals", f"headline: {'New arrivals ' * 9}", "at most 80 characters"),
    ("banners/black-friday.yaml", "from: 2026-11-27 06:00", "from: 11/27/2026", "an instant with its offset"),
    ("catalog/products/men.yaml", "regular: 495", 'regular: "495"', "an amount such as 49.99"),
    ("catalog/categories.yaml", "brandFlyout: true", "brandFlyout: 1", "true or false, without quotes"),
    ("catalog/synonyms.yaml", "[sofa, couch]", "[sofa]", "Array has too few items."),
]
"""File, what stands there, a mistake in its place, and what the editor says of it."""


def test_mistakes_are_marked_at_their_line_in_plain_words(shop: Path) -> None:
    expected, seen = {}, {}

    async def steps(server: Server) -> None:
        for name, right, wrong, words in MISTAKES:
            path = shop / "content" / name
            text = path.read_text()
            place = text.index(right)
            if not wrong:  # what is missing is marked where its document begins
                place = text.rindex("\n- ", 0, place) + 1
            found = await server.marked(path, text.replace(right, wrong, 1))
            expected[name, wrong] = (text.count("\n", 0, place) + 1, words)
            seen[name, wrong] = [(each.range.start.line + 1, each.message) for each in found]

    driven(shop, steps)
    assert len(MISTAKES) >= 12
    for case, (line, words) in expected.items():
        assert [(at, words in message) for at, message in seen[case]] == [(line, True)], (case, seen[case])


def test_what_check_takes_is_not_marked(shop: Path) -> None:
    """As editors write: TRUE and 02116 without quotes, expressions, null that removes what a base has."""
    store = SAMPLE / "stores/west.yaml"
    text = store.read_text().replace('zipCode: "80202"', "zipCode: 02116", 1)
    app = (SAMPLE / "apps/iphone.yaml").read_text()
    app += "  loggingInfo: {localEnabled: FALSE}\n  extraAssets: {appIcon: null}\n"
    event = (SAMPLE / "events/windows-light-up.yaml").read_text()
    every = re.sub(r"stores:\n.*\n", "stores: all\n", event)
    every += "\npublish: {from: 2026-11-20 9:00 America/Los_Angeles}\n"
    group = event.replace("storeId: [101]", "group: pacific") + "\npublish: {from: 2026-11-20 9:00 store}\n"
    site = (SAMPLE / "site.yaml").read_text() + "store_groups:\n  pacific: {state: [CA, OR], storeId: [101]}\n"
    banner = (SAMPLE / "banners/black-friday.yaml").read_text()
    banner = banner.replace("placement: home", 'placement: "{{ screen }}"').replace(
        "{{ images }}", "{{ images | lower }}"
    )
    seen = []

    async def steps(server: Server) -> None:
        for name, written in (
            ("stores/west.yaml", text),
            ("apps/iphone.yaml", app),
            ("banners/black-friday.yaml", banner),
            ("events/windows-light-up.yaml", every),
            ("events/windows-light-up.yaml", group),
            ("site.yaml", site),
        ):
            seen.append([each.message for each in await server.marked(shop / "content" / name, written)])

    driven(shop, steps)
    assert seen == [[]] * 6


def test_lists_have_completion_and_hover(shop: Path) -> None:
    events = shop / "content/events/2026-11-november.yaml"
    stores = shop / "content/stores/west.yaml"
    seen: dict[str, object] = {}

    async def steps(server: Server) -> None:
        lines = events.read_text().split("\n")
        finish = next(number for number, line in enumerate(lines) if line.startswith("  finish"))
        lines.insert(finish + 1, "  ")
        await server.marked(events, "\n".join(lines))
        offered = await server.completed(events, finish + 1, 2)
        seen["keys"] = {each.label: each.documentation for each in offered}
        seen["hover"] = await server.shown(events, finish, 4)
        lines = stores.read_text().split("\n")
        features = next(number for number, line in enumerate(lines) if "features" in line)
        lines[features] = "  features:\n    - "
        await server.marked(stores, "\n".join(lines))
        seen["values"] = {each.label for each in await server.completed(stores, features + 1, 6)}

    driven(shop, steps)
    schema = json.loads((ROOT / "schemas" / "event.json").read_text())
    assert seen["keys"] == {"publish": schema["properties"]["publish"]["description"]}
    finish = schema["properties"]["finish"]
    assert str(seen["hover"]).startswith(f"#### {finish['title']}\n\n{finish['description']}")
    assert "2027-05-01 18:00" in str(seen["hover"])
    assert {"BOPS", "BRIDAL", "MATTRESS", "RESTAURANT"} <= set(seen["values"])  # type: ignore[call-overload]


@pytest.mark.parametrize("before", ["", "- "], ids=["alone", "in a list"])
def test_a_new_file_offers_a_whole_document(shop: Path, before: str) -> None:
    path = shop / "content/events/new.yaml"
    seen: dict[str, str] = {}

    async def steps(server: Server) -> None:
        path.write_text("")
        await server.marked(path, f"{before}\n")
        offered = await server.completed(path, 0, len(before))
        seen.update({each.label: each.insert_text or "" for each in offered})

    driven(shop, steps)
    keys = re.findall(r"^ *(\w+):", seen["new event"], re.MULTILINE)
    assert keys == ["id", "stores", "storeId", "name", "shortDesc", "start", "finish"]


def test_values_that_a_base_may_have_are_offered(shop: Path) -> None:
    path = shop / "content/apps/iphone.yaml"
    text = path.read_text() + "\n  loggingInfo:\n    localEnabled: "
    seen: list[str] = []

    async def steps(server: Server) -> None:
        await server.marked(path, text)
        offered = await server.completed(path, text.count("\n"), len("    localEnabled: "))
        seen.extend(each.insert_text or "" for each in offered)

    driven(shop, steps)
    assert seen == ["TRUE", "FALSE", "null"]


def test_the_folders_own_schemas_are_known(shop: Path) -> None:
    own = json.loads((SAMPLE.parent / "schemas/event.json").read_text())
    del own["$id"]
    own["properties"]["dressCode"] = {"description": "What to wear.", "type": "string", "enum": ["festive", "warm"]}
    own["required"].append("dressCode")
    text = json.dumps(own).replace("(?!\\\\n)$", "$")  # own patterns do not look ahead
    (shop / "content/schemas/event.json").write_text(text)
    assert library.editor_schemas(INTERFACE, shop / "content", "vscode")[1] == []
    path = shop / "content/events/windows-light-up.yaml"
    seen = {}

    async def steps(server: Server) -> None:
        for case, line in (("missing", ""), ("right", "dressCode: warm\n"), ("wrong", "dressCode: formal\n")):
            found = await server.marked(path, path.read_text() + line)
            seen[case] = [each.message for each in found]

    driven(shop, steps)
    assert seen == {"missing": ['Missing property "dressCode".'], "right": [], "wrong": ["one of: festive, warm"]}
