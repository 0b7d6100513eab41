"""What the tests of content share: the smallest valid tree, edits with marks in them, and what a check finds."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.program import Schemas
from shopwindow.content.check import Checked, CheckOptions, check
from shopwindow.interface.collections import declared
from shopwindow.interface.loading import program_schemas
from shopwindow.problems import Level, Problem, pointer_text
from shopwindow.shop import INTERFACE

MARK = "‸"
"""Stands in an edit where a problem is to be found; it is not written."""

DIGEST = "a" * 64
SECTIONS = ("shop", "offers", "registry", "messages", "stores", "myAccount", "settings", "scan", "bag", "billpay")
FEATURES = ("shop", "scan", "registry", "categories", "offers", "checkout", "bag", "search", "stores", "myAccount")

_sections = "\n".join(
    f"    {name}: {{appDisplayName: {name}, appIcon: https://i.example/{name}.png, featureLayout: [shop]}}"
    for name in SECTIONS
)
_features = "\n".join(
    f"    {name}:\n"
    f"      pageTitle: {name}\n"
    f"      defaultTab: https://i.example/{name}.png\n"
    f"      highlightedTab: https://i.example/{name}-on.png\n"
    f"      landingUrl: shopapp://{name}\n"
    '      analyticsPageTag: ""\n'
    f"      urlPatternMatch: /{name}"
    for name in FEATURES
)

CONFIG = f"""\
config:
  configVersion: "1"
  appVersionInfo: {{appVersionNumber: "2.0", appStoreLink: https://apps.example/one, supportedVersions: ["2.0"]}}
  appLayout: [shop, bag]
  appConfig:
{_sections}
  featureConfig:
{_features}
  extraAssets:
    appNavImage: https://i.example/nav.png
    appNavBGImage: https://i.example/linen.png
    homeContentBGImage: https://i.example/home.jpg
    appIcon: https://i.example/icon.png
  serviceEndPoints: {{signin: https://www.example/in, analyticsUrl: TBD, scan: TBD, coupons: TBD, mobilelogs: TBD}}
  webServletEndPoints: {{search: "https://www.example/search?keyword=", addToBag: TBD}}
  urlInterception:
    singleSignIn: [/account]
    forcedSignOn: []
  poorNetwork:
    poorWifiMaxSecsLatency: 6
    poorNonWifiMaxSecsLatency: 10
    networkTimeIntervalCheck: 30
  loggingInfo: {{logLevel: ERROR|WARN, localEnabled: TRUE, remoteEnabled: FALSE, maxLogCount: "500"}}
  errorMessages: {{poorNetworkError: Slow., noNetworkError: Offline., configFileError: TBD}}
"""

APP = f"name: one\nplatform: iPhone\napiKeys: [{DIGEST}]\n{CONFIG}"

SITE = """\
base_url: https://api.example
order_base_url: https://orders.example
time_zone: America/New_York
lifetimes:
  default: {maxAge: 300}
names:
  www: https://www.example
"""

STORE = """\
storeId: 1
storeNumber: 10
locationNumber: 100
divisionId: 7
name: First
phoneNumber: 212-555-0101
mapUrl: https://maps.example/1
address: {line1: 1 First Street, city: Boston, state: MA, countryCode: US, zipCode: 02108}
location: {latitude: 42.36, longitude: -71.06}
timeZone: America/New_York
hours:
  monday: {open: 10:00, close: 20:00}
  friday: {open: 09:00, close: 21:00}
"""

EVENT = """\
id: 5
stores:
  storeId: [1]
name: Opening
shortDesc: The doors open.
start: 2026-11-27 06:00
finish: 2026-11-27 12:00
"""

PROMOTION = """\
promoId: 8
promotionName: Half Price
description: Half off.
global: true
promotionType: PERCENT_OFF
effective: 2026-11-01
expiry: 2026-12-31
promotionSourceCode: B
channels: [SITE]
categories: [Men]
coupon:
  couponUrl: https://www.example/half
  couponHeading: Half
  couponDescription: Half off.
  couponShortCode: HALF
  couponNumber: "4000"
  couponType: STORE
  effective: 2026-11-01
  expiry: 2026-12-31
  displayStartDate: 2026-11-01T00:00:00-04:00
  displayEndDate: 2026-12-31T23:59:59-05:00
"""

MINIMAL: Mapping[str, str] = {
    "site.yaml": SITE,
    "apps/one.yaml": APP,
    "stores/one.yaml": STORE,
    "events/one.yaml": EVENT,
    "promotions/one.yaml": PROMOTION,
}

Edit = tuple[str, str, str]
"""A path, text that stands there once, and what to put instead, with marks."""

EVERYWHERE = (
    ("site.yaml", "maxAge: 300", "maxAge: ‸often"),
    ("apps/one.yaml", "networkTimeIntervalCheck: 30", "networkTimeIntervalCheck: ‸often"),
    ("apps/one.yaml", "appLayout: [shop, bag]", "appLayout: [shop, ‸bga]"),
    ("events/one.yaml", "storeId: [1]", "storeId: [1, ‸9]"),
    ("events/one.yaml", "name: Opening", "name: ‸*Opening*"),
    ("promotions/one.yaml", "promotionSourceCode: B", "promotionSourceCode: ‸C"),
    ("promotions/one.yaml", '"4000"', "‸4000"),
    ("stores/one.yaml", "name: First", "name: ‸'{{ first }}'"),
    ("stores/one.yaml", "state: MA", "state: ‸Massachusetts"),
)


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def marks(text: str) -> list[tuple[int, int]]:
    """Where the marks of a text stand once they are taken out: line and column."""
    places = []
    for number, line in enumerate(text.split("\n"), 1):
        pieces = line.split(MARK)
        columns = [sum(map(len, pieces[:count])) + 1 for count in range(1, len(pieces))]
        places += [(number, column) for column in columns]
    return places


def edit(folder: Path, *edits: Edit) -> list[str]:
    """Make edits, then take the marks out of the files; where they stood, as `path:line:column`, sorted."""
    for path, old, new in edits:
        text = (folder / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} holds {old!r} {text.count(old)} times"
        (folder / path).write_text(text.replace(old, new), encoding="utf-8")
    return unmark(folder, *(path for path, _, _ in edits))


def unmark(folder: Path, *paths: str) -> list[str]:
    """Take the marks out of files; where they stood, as `path:line:column`, sorted."""
    expected = []
    for path in sorted(set(paths)):
        text = (folder / path).read_bytes().decode()
        expected += [f"{path}:{line}:{column}" for line, column in marks(text)]
        (folder / path).write_bytes(text.replace(MARK, "").encode())
    return expected


def problems(folder: Path, schemas: Schemas, options: CheckOptions | None = None) -> list[Problem]:
    """What a check of a folder finds; documents if and only if it finds nothing."""
    return checked(folder, schemas, options).problems


def warnings(folder: Path, schemas: Schemas, options: CheckOptions | None = None) -> list[Problem]:
    """What a check of a folder warns of."""
    return checked(folder, schemas, options).warnings


def checked(folder: Path, schemas: Schemas, options: CheckOptions | None = None) -> Checked:
    """A check of a folder, with its collections; it has documents if and only if it has no problems."""
    options = options or CheckOptions()
    interface = INTERFACE
    if (folder / "collections.yaml").is_file():
        known = declared(folder, INTERFACE, program_schemas(INTERFACE, folder / "schemas"))
        schemas, interface = known.schemas, known.interface
        options = replace(options, problems=known.problems, unread=known.unread)
    outcome = check(folder, schemas, interface, options)
    assert (outcome.documents is None) == bool(outcome.problems)
    assert {problem.level for problem in outcome.problems} <= {Level.ERROR}
    assert {warning.level for warning in outcome.warnings} <= {Level.WARNING}
    return outcome


def place(problem: Problem) -> str:
    """`path:line:column`, or the path alone."""
    where = problem.place
    return f"{problem.path}:{where.line}:{where.column}" if where else problem.path


def found(folder: Path, schemas: Schemas, options: CheckOptions | None = None) -> list[str]:
    """What a check of a folder finds, in short: `path:line:column rule pointer`."""
    return short(problems(folder, schemas, options))


def warned(folder: Path, schemas: Schemas, options: CheckOptions | None = None) -> list[str]:
    """What a check of a folder warns of, in short."""
    return short(warnings(folder, schemas, options))


def short(told: Iterable[Problem]) -> list[str]:
    """Problems as `path:line:column rule pointer`."""
    return [f"{place(each)} {each.rule} {pointer_text(each.pointer)}".rstrip() for each in told]
