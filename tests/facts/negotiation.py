"""The table of requests whose answers every edge owes: those of the service, however a question is spelled.

It follows from the interface: an operation that is added, or a value of Accept, has its rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from urllib.parse import quote

from harness.program import Content, Interface
from shopwindow.edge.rules import ACCEPTS
from shopwindow.interface.declaring.operation import Operation
from shopwindow.interface.declaring.routes import OPEN_PATHS
from shopwindow.interface.formats import JSON

KEY_HEADER = "x-svc-webservice-client-id"
HOST, ORDERS = "api.larkspurvane.example", "orders.larkspurvane.example"
PAGE = "https://www.larkspurvane.example"


@dataclass(frozen=True)
class Asked:
    """A request with a name. ``{etag}`` in a header stands for the ETag of the target's plain answer."""

    name: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: bytes | None = None

    def also(self, what: str, **headers: str) -> "Asked":
        """The request with another name and more headers; `_` in a header's name stands for `-`."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in self.headers.items() if name not in more}
        return replace(self, name=f"{self.name}: {what}", headers=kept | more)


OTHER_ACCEPTS = (
    "text/html",
    "text/*",
    "application/*",
    "APPLICATION/XML",
    "application/xml;q=0.9",
    "application/xml;q=0.9, application/json",
    "application/json;q=0.1, application/xml;q=0.2",
    "application/json;q=0, */*",
    "application/xml, application/json",
    "application/json , application/xml",
    "json",
    "application/json;q=2",
    "constructor",
    "application/javascript",
)
"""Values of Accept that no edge lists, or that are malformed, and one that asks for neither format."""

ENCODINGS = ("gzip", "br", "gzip, deflate, br", "gzip;q=0", "identity", "identity;q=0, gzip", "*", "zstd")

CONDITIONS = ("{etag}", "W/{etag}", '"other"', '"other", {etag}', 'W/"other",W/{etag}', "*", "{etag}x", "other", "")

METHODS = ("OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")


SPELLED = 2
"""Targets of an operation that are asked for in every spelling."""


def table(interface: Interface, content: Content, keys: Mapping[str, list[str]]) -> list[Asked]:
    """The requests. ``keys``: the keys of each application, the one that is to be retired first."""
    former, key = keys["iphone"]
    sent = {"Host": HOST, KEY_HEADER: key}
    rows: list[Asked] = []
    for operation in interface.operations:
        if not operation.order_host:
            rows += _reads(operation, content, sent) if operation.methods[0] == "GET" else _writes(operation, sent)

    plain = Asked("promotions", "/v2/promotions", sent)
    own = Asked("configuration", "/v2/utility/mobileapp", sent)
    live = Asked("search", "/v4/catalog/search?searchphrase=wool", sent)
    missing = Asked("no such store", "/store/v2/stores/999999", sent)
    gone = Asked("no such product", "/v3/catalog/product/999999", sent)
    nowhere = Asked("no such path", "/v9/nothing", sent)
    for path in OPEN_PATHS:
        rows += _documentation(Asked(path, f"/{path}", {"Host": HOST}))
    for row in (plain, own, live, missing, gone, nowhere):
        rows += _accepts(row)
        rows += _keys(row, {**keys, "iphone": [former, key]})
        rows += _methods(row)
        rows += [row.also(f"encoding {each!r}", Accept_Encoding=each) for each in ENCODINGS]
        rows += [
            row.also(f"XML, encoding {each!r}", Accept_Encoding=each, Accept="application/xml") for each in ENCODINGS
        ]
        rows += [row.also(f"condition {each!r}", If_None_Match=each) for each in CONDITIONS]
        rows += [
            row.also(f"condition {each!r}, compressed", If_None_Match=each, Accept_Encoding="gzip")
            for each in CONDITIONS
        ]
        rows += _other_headers(row)
        rows += [row.also(f"origin {each!r}", Origin=each) for each in (PAGE, "https://x.example", "null", "")]
    rows += _order_host(interface, sent)
    return rows


def _documentation(row: Asked) -> Iterator[Asked]:
    """A path that needs no key, also in spellings that are another path."""
    yield row
    yield row.also("a key", **{KEY_HEADER: "x" * 24})
    yield row.also("compressed", Accept_Encoding="gzip")
    yield row.also("not modified", If_None_Match="{etag}")
    yield row.also("a page's origin", Origin=PAGE)
    for method in ("HEAD", "OPTIONS", "POST", "DELETE"):
        yield replace(row.also(method), method=method)
    yield replace(row.also("a query"), target=f"{row.target}?x=1")
    yield replace(row.also("a slash"), target=f"{row.target}/")
    yield replace(row.also("two slashes"), target=f"{row.target}//")
    yield replace(row.also("more behind"), target=f"{row.target}x")
    yield replace(row.also("another case"), target=row.target.upper())
    yield row.also("the order host", Host=ORDERS)


def _reads(operation: Operation, content: Content, sent: Mapping[str, str]) -> Iterator[Asked]:
    """A read with each of its parameters; the first targets, which are pre-rendered if any is, in other spellings."""
    for number, target in enumerate(dict.fromkeys(_targets(operation, content))):
        row = Asked(f"{operation.name} {number}", target, sent)
        yield row
        yield row.also("XML", Accept="application/xml")
        yield replace(row.also("HEAD"), method="HEAD")
        yield replace(row.also("HEAD, compressed", Accept_Encoding="gzip"), method="HEAD")
        yield row.also("not modified", If_None_Match="{etag}")
        for what, spelling in _spellings(operation, target) if number < SPELLED else ():
            yield replace(row.also(what), target=spelling)
            yield replace(row.also(f"{what}, XML", Accept="application/xml"), target=spelling)


def _targets(operation: Operation, content: Content) -> Iterator[str]:
    """Targets of an operation: its first pre-rendered Calls, and one with the example of each parameter."""
    for arguments in islice(operation.entries(content), SPELLED):
        yield f"/{operation.call(JSON, arguments).target}"
    examples = {parameter.name: parameter.example or "1" for parameter in operation.parameters}
    path = operation.path
    for name in operation.in_path:
        path = path.replace(f"{{{name}}}", quote(examples[name]))
    yield f"/{path}"
    for name in sorted(operation.in_query):
        yield f"/{path}?{name}={quote(examples[name])}"


def _spellings(operation: Operation, target: str) -> Iterator[tuple[str, str]]:
    """Other spellings of a target, most of them of the same question."""
    path, mark, query = target.partition("?")
    rest = f"&{query}" if query else ""
    first = next(iter(sorted(operation.in_query)), "x")
    yield "a tracker behind", f"{target}{'&' if mark else '?'}utm_source=mail"
    yield "a tracker before", f"{path}?utm_source=mail%20&fbclid{rest}"
    yield "a cache buster", f"{path}?_=1700000000000{rest}"
    yield "nothing behind", f"{target}{'&' if mark else '?'}"
    yield "empty pairs", f"{path}?&&=&{query}&"
    yield "a slash", f"{path}/{mark}{query}"
    yield "two slashes", f"{path}//{mark}{query}"
    yield "an escape in the path", f"{path[:-1]}%{ord(path[-1]):02X}{mark}{query}"
    yield "another case", f"{path.upper()}{mark}{query}"
    yield "an escape in an unread name", f"{path}?u%74m=1{rest}"
    yield "an escape in a read name", f"{path}?%{ord(first[0]):02x}{first[1:]}=1{rest}"
    yield "a plus in a name", f"{path}?a+b=1{rest}"
    yield "a name in another case", f"{path}?{first.upper()}=1{rest}"
    yield "a name that begins as a read one", f"{path}?{first}x=1{rest}"
    yield "a read name with nothing", f"{path}?{first}{rest}"
    yield "everything twice", f"{path}?{query}{rest}"
    yield "a list in two parameters", f"{path}?{'&'.join(_items(query))}"
    yield "a callback", f"{path}?callback=show{rest}"
    yield "a callback that is none", f"{path}?callback=1%3Balert{rest}"
    yield "a mask", f"{path}?_fields=name{rest}"
    yield "a long query", f"{path}?x={'a' * 1200}{rest}"
    yield "a query that is too long", f"{path}?x={'a' * 8200}{rest}"
    yield "a long name", f"{path}?{'a' * 900}%{rest}"
    yield "many parameters", f"{path}?{'&'.join(f'a{number}=1' for number in range(150))}{rest}"
    yield "a second question mark", f"{path}?x=1?{query}"
    yield "an unread name with a question mark", f"{path}?a?b=1{rest}"
    yield "a semicolon", f"{path};x=1{mark}{query}"


def _items(query: str) -> Iterator[str]:
    """Each item of each parameter of a query in a parameter of its own."""
    for name, _, text in (pair.partition("=") for pair in query.split("&")):
        yield from (f"{name}={item}" for item in text.split(","))


def _writes(operation: Operation, sent: Mapping[str, str]) -> Iterator[Asked]:
    """A write that is refused: what is stored is no edge's to answer, and would differ from one time to the next."""
    path = "/" + operation.path.replace("{bagGuid}", "none").replace("{sequenceNumber}", "1")
    for accept in ("application/json", "application/xml"):
        headers = {**sent, "Accept": accept}
        row = Asked(f"{operation.name} {accept}", path, headers, operation.method)
        yield replace(row.also("no type"), body=b"{}")
        yield replace(row.also("malformed", Content_Type="application/json"), body=b"{")
        yield replace(row.also("too large", Content_Type="application/json"), body=b" " * 1_100_000)
        yield replace(row.also("no key", **{KEY_HEADER: "x" * 24}), body=b"{}")


def _accepts(row: Asked) -> Iterator[Asked]:
    without = replace(row, headers={name: value for name, value in row.headers.items() if name != KEY_HEADER})
    for value in (*ACCEPTS, *OTHER_ACCEPTS):
        yield row.also(f"Accept {value!r}", Accept=value)
        yield without.also(f"no key, Accept {value!r}", Accept=value)
        yield row.also(f"a callback, Accept {value!r}", Accept=value)


def _keys(row: Asked, keys: Mapping[str, list[str]]) -> Iterator[Asked]:
    (former, key), (android,) = keys["iphone"], keys["android"]
    spelled = {
        "the former key": former,
        "its successor": key,
        "another application's": android,
        "no such key": "x" * 24,
        "in another case": key.swapcase(),
        "with more behind": f"{key}x",
        "two keys": f"{key}, {android}",
        "twice the same": f"{key}, {key}",
        "the digest": "4aa8101d6b204c7577b32a4e536367906788fbb709650d1793b3f9071ff1f9ec",
        "the application": "iphone",
        "empty": "",
        "not ASCII": "schl\xfcssel",
    }
    for what, value in spelled.items():
        for accept in ("application/json", "application/xml"):
            yield row.also(f"key: {what}, {accept}", **{KEY_HEADER: value, "Accept": accept})


def _methods(row: Asked) -> Iterator[Asked]:
    for method in METHODS:
        yield replace(row.also(method), method=method)
        yield replace(row.also(f"{method} without key", **{KEY_HEADER: ""}), method=method)
    asked = {"Origin": PAGE, "Access_Control_Request_Method": "GET", "Access_Control_Request_Headers": KEY_HEADER}
    yield replace(row.also("preflight", **asked), method="OPTIONS")
    yield replace(row.also("preflight of a stranger", **asked | {"Origin": "https://x.example"}), method="OPTIONS")
    for what, more in (
        ("", {}),
        (", compressed", {"Accept_Encoding": "gzip"}),
        (", XML", {"Accept": "application/xml"}),
    ):
        yield replace(row.also(f"HEAD{what}", **more), method="HEAD")
    yield replace(row.also("HEAD, not modified", If_None_Match="{etag}"), method="HEAD")
    yield replace(row.also("HEAD without key", **{KEY_HEADER: ""}), method="HEAD")


def _other_headers(row: Asked) -> Iterator[Asked]:
    yield row.also("since long ago", If_Modified_Since="Thu, 01 Jan 1970 00:00:00 GMT")
    yield row.also("since the future", If_Modified_Since="Tue, 19 Jan 2038 03:14:07 GMT")
    yield row.also("unmodified since long ago", If_Unmodified_Since="Thu, 01 Jan 1970 00:00:00 GMT")
    yield row.also("if it matches", If_Match="{etag}")
    yield row.also("if it matches another", If_Match='"other"')
    yield row.also("a part", Range="bytes=0-9")
    yield row.also("a part if it is the same", Range="bytes=0-9", If_Range="{etag}")
    yield row.also("no cache", Cache_Control="no-cache", Pragma="no-cache")
    yield row.also("a cookie", Cookie="session=1")
    yield row.also("credentials", Authorization="Basic eDp5")
    yield row.also(
        "names of an edge's own", X_Shopwindow_File="v2/utility/mobileapp/android", X_Shopwindow_Application="android"
    )
    yield row.also("names dropped on the way", Connection=f"close, {KEY_HEADER}, X-Shopwindow-Variant")
    yield replace(row.also("a body", Content_Type="application/json"), body=b"{}")
    yield replace(row.also("a body without a type"), body=b"{}")
    yield replace(row.also("a body that is too large", Content_Type="application/json"), body=b" " * 1_100_000)
    yield row.also("another host", Host="www.other.example")
    yield row.also("a port", Host=f"{HOST}:8443")


def _order_host(interface: Interface, sent: Mapping[str, str]) -> Iterator[Asked]:
    """The order host serves paths of its own, and no others."""
    for host in (ORDERS, f"{ORDERS.upper()}:8443", f"{ORDERS}."):
        for operation in interface.operations:
            if operation.order_host:
                row = Asked(
                    f"{operation.name} on {host}", f"/{operation.path}", {**sent, "Host": host}, operation.method
                )
                yield replace(row.also("malformed", Content_Type="application/json"), body=b"{")
                yield replace(row.also("GET"), method="GET")
                yield replace(row.also("no key", **{KEY_HEADER: ""}), body=b"{}")
        yield Asked(f"a read on {host}", "/v2/promotions", {**sent, "Host": host})
