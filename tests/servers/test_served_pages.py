"""Pages of the preview over HTTP, without a browser; tests/slow looks at them in a real one."""

import os
import re
from collections.abc import Iterator
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from harness.browser import PATHS, Preview, preview
from harness.content import edit
from harness.program import shopwindow
from shopwindow.preview import guard
from shopwindow.preview.guard import Guard

SAMPLE = Path(__file__).parent.parent.parent / "content"
INSTANT = "2026-11-22 09:00"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """A preview of the sample, with a release of it as it was a day before its first change to come."""
    out = tmp_path_factory.mktemp("preview") / "dist"
    assert shopwindow("build", "--content", SAMPLE, "--out", out, "--at", INSTANT).status == 0
    with preview(SAMPLE, "--out", str(out)) as started:
        yield started


@pytest.mark.parametrize("path", PATHS)
def test_every_page_answers(sample: Preview, path: str) -> None:
    status, text = sample.get(path)
    assert (status, "<h1>" in text) == (404 if path == "/nowhere" else 200, True)


def test_every_kind_has_a_list_and_every_document_a_card(sample: Preview) -> None:
    _, overview = sample.get("/")
    kinds = re.findall(r'href="(/documents/[a-z]+)"', overview)
    assert {"/documents/app", "/documents/event", "/documents/banner"} <= set(kinds)
    for kind in kinds:
        status, listing = sample.get(kind)
        cards = re.findall(rf'href="({kind}/[^"?]+)"', listing)
        assert (kind, status, {sample.get(card)[0] for card in cards} - {200}) == (kind, 200, set())


def test_a_value_leads_to_the_line_that_states_it(sample: Preview) -> None:
    """On a card, and in an answer: a text, a number of an object that a view puts together, and a list."""
    file = SAMPLE / "events/personal-shoppers.yaml"
    lines = file.read_text().splitlines()

    def led_to(page: str, value: str) -> set[str]:
        text = sample.get(page)[1]
        ends = re.findall(rf'<a class="stated" href="vscode://file{re.escape(str(file))}:(\d+)">{value}</a>', text)
        return {lines[int(end) - 1].strip(" -") for end in ends}

    name = "An Hour with a Personal Shopper"
    ask = "/ask?operation=events_v2&p.storeId=101&send=1"
    assert led_to("/events?q=530001", name) == {f"name: {name}"}
    assert led_to("/events?q=530001", "Mon 23 Nov 2026, 10:00 AM(?: EST)?") == {"start: 2026-11-23 10:00"}
    assert led_to(ask, f"&#34;{name}&#34;") == {f"name: {name}"}
    assert led_to(ask, "530001") == {"id: 530001"}
    assert led_to(ask, "&#34;By Appointment&#34;") == {"START_TIME: [By Appointment]"}
    assert led_to(ask, "true") == set()


def test_the_calendar_lists_the_chosen_day_alone_and_is_narrowed(sample: Preview) -> None:
    def listed(query: str) -> tuple[list[str], list[str]]:
        text = sample.get(f"/calendar?month=2026-12&at=2026-11-22T09:00&{query}")[1]
        days = re.findall('<h2 id="day-([0-9-]+)"', text)
        entries = re.search('<h2 id="day-.*?</ul>', text, re.DOTALL)
        return days, re.findall(r'href="/documents/([a-z]+)/', entries[0] if entries else "")

    assert listed("")[0] == ["2026-12-01"], "the first on which something happens"
    days, kinds = listed("on=2026-12-19")
    assert (days, "event" in kinds) == (["2026-12-19"], True)
    assert set(listed("on=2026-12-19&kind=event&q=last+saturday")[1]) == {"event"}
    assert set(listed("on=2026-12-19&kind=event&state=live&store=4001")[1]) == {"event"}
    assert listed("on=2026-12-19&kind=promotion&q=last+saturday")[1] == []
    assert "show all that happens" in sample.get("/calendar?month=2026-12&q=nothing-like-it")[1]


@pytest.mark.parametrize("query", ["at=0001-01-01", "at=9999-12-31T23:59", "month=0001-01", "month=9999-12"])
def test_a_calendar_far_from_today_shows_this_month(sample: Preview, query: str) -> None:
    def month(query: str) -> str:
        status, text = sample.get(f"/calendar?{query}")
        caption = re.search('<caption class="hidden">(.*)</caption>', text)
        return caption[1] if status == 200 and caption else f"status {status}"

    assert month(query) == month("")


@pytest.mark.parametrize("page", ["/", "/stores", "/calendar", "/compare", "/documents/event"])
@pytest.mark.parametrize("instant", ["0001-01-01", "0001-12-31T12:00", "9999-01-02", "9999-12-31", "9999-12-31T23:59"])
def test_an_instant_that_the_commands_refuse_is_now_and_the_page_says_so(
    sample: Preview, page: str, instant: str
) -> None:
    assert shopwindow("check", "--content", SAMPLE, "--at", instant.replace("T", " ")).status == 2
    status, text = sample.get(f"{page}?at={instant}")
    assert (status, f"{instant} is no date and time in" in text) == (200, True)


@pytest.mark.parametrize("instant", ["0001-01-01", "9999-12-31"])
def test_nothing_is_compared_with_an_instant_that_the_commands_refuse(sample: Preview, instant: str) -> None:
    status, text = sample.get(f"/compare?with={instant}&at=2026-11-22T09:00")
    assert (status, f"{instant} is no date and time in" in text) == (200, True)


def test_a_search_has_names_first_and_nothing_says_what_to_do(sample: Preview) -> None:
    _, text = sample.get("/documents/event?q=bridal")
    titles = re.findall(r'href="/documents/event/\d+[^"]*">([^<]+)</a>', text)
    named = ["bridal" in title.lower() for title in titles]
    assert (named == sorted(named, reverse=True), {True, False} <= set(named)) == (True, True), titles
    for page in ("/documents/event?q=zzz", "/events?q=zzz", "/promotions?q=zzz", "/stores?q=zzz"):
        assert re.search("Nothing is like that. <a [^>]*>Show every [a-z]+</a>", sample.get(page)[1]), page


def test_a_search_keeps_what_the_bar_and_the_slider_have_chosen(sample: Preview) -> None:
    chosen = {"day": "3", "zone": "UTC", "app": "iphone", "as": "xml"}
    query = "&".join(f"{name}={value}" for name, value in chosen.items())
    for path in ("/documents/event", "/events", "/stores", "/calendar", "/catalog", "/compare"):
        search = re.findall(r'<form class="search".*?</form>', sample.get(f"{path}?{query}")[1], re.DOTALL)[0]
        carried = dict(re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">', search))
        assert (path, carried) == (path, chosen)


def test_a_day_that_the_slider_does_not_have_is_now(sample: Preview) -> None:
    assert [sample.get(f"/?day={day}")[0] for day in ("30", "91", "-1", "9" * 5000)] == [200] * 4


def test_windows_are_past_at_the_instant_that_is_chosen(sample: Preview) -> None:
    def past(at: str) -> set[str]:
        _, text = sample.get(f"/problems?at={at}")
        return set(re.findall(r"publish/until(?: of [^:<]+)?: ([0-9-]+) is past", text))

    assert past("2026-11-22T09:00") == set()
    assert past("2027-12-01T09:00") > past("2026-12-05T09:00") > set()


@pytest.mark.parametrize(
    "host",
    [
        "rebound.example",
        "notlocalhost",
        "shop.localhost",
        "127.0.0.1.rebound.example",
        "rebound.example.127.0.0.1",
        "0127.0.0.1",
        "192.0.2.7",
        "[2001:db8::1]",
        "[",
        "[::1",
        "[127.0.0.1]x",
        "127.0.0.1/x",
        "127.0.0.1#",
        "",
    ],
)
def test_a_host_that_is_no_address_of_the_preview_is_refused(sample: Preview, host: str) -> None:
    status, headers, text = sample.answer("/", Host=host)
    assert (status, text) == (421, f"{host or 'no Host'} is not an address of this preview.\n")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_an_address_of_this_machine_is_one_of_the_preview(sample: Preview) -> None:
    port = sample.address.rpartition(":")[2]
    hosts = [f"localhost:{port}", "LocalHost", f"127.0.0.1:{port}", "127.1.2.3", f"[::1]:{port}"]
    assert {sample.get("/", Host=host)[0] for host in hosts} == {200}


@pytest.mark.parametrize("host", ["shop.localhost", "a.127.0.0.1", "a.::1", "127.0.0.1.a", "0.0.0.0", "192.0.2.7"])
def test_only_an_address_of_this_machine_alone_is_shown_without_a_secret(host: str) -> None:
    elsewhere = Guard(host, 4000)
    assert (elsewhere.admits(""), elsewhere.admits(elsewhere.secret), elsewhere.admits_form("")) == (False, True, False)
    assert [Guard(local, 4000).admits("") for local in ("localhost", "127.0.0.1", "::1")] == [True] * 3


def test_requests_of_other_sites_are_refused(sample: Preview) -> None:
    assert [
        sample.get("/", Origin="https://elsewhere.example")[0],
        sample.get("/", Origin="null")[0],
        sample.get("/", Origin=sample.address)[0],
        sample.get("/documents/nothing")[0],
        sample.get("/documents/event/../../../etc/passwd")[0],
        sample.get("/static/../server.py")[0],
    ] == [403, 403, 200, 404, 404, 404]


FORWARDED = "shop-4000.app.github.dev"


def status_at(shown: Preview, host: str, origin: str = "") -> int:
    return shown.get("/rules", None, Host=host, **({"Origin": origin} if origin else {}))[0]


def test_a_forwarded_address_is_one_of_the_preview_where_it_is_allowed(minimal: Path) -> None:
    with preview(minimal, "--allow-host", FORWARDED) as shown:
        local = f"localhost:{shown.address.rpartition(':')[2]}"
        for origin in ("", f"https://{FORWARDED}", f"http://{local}"):
            assert status_at(shown, FORWARDED, origin) == 200
        assert status_at(shown, FORWARDED.upper()) == 200
        assert status_at(shown, local, f"http://{local}") == 200
        others = (f"http://{FORWARDED}", "http://localhost:1", "https://localhost", f"https://a.{FORWARDED}", "null")
        assert {origin: status_at(shown, FORWARDED, origin) for origin in others} == dict.fromkeys(others, 403)
        assert status_at(shown, local, f"https://{FORWARDED}") == 403
        hosts = (f"a.{FORWARDED}", f"{FORWARDED}.example", f"{FORWARDED}:1", "other-4000.app.github.dev")
        assert {host: status_at(shown, host) for host in hosts} == dict.fromkeys(hosts, 421)


def test_a_forwarded_address_is_refused_where_nobody_has_allowed_it(sample: Preview) -> None:
    local = f"localhost:{sample.address.rpartition(':')[2]}"
    assert status_at(sample, FORWARDED) == 421
    assert status_at(sample, local, f"https://{FORWARDED}") == 403
    assert status_at(sample, "") == 421


def test_another_site_may_link_to_a_page_and_do_nothing_else(sample: Preview) -> None:
    def status(site: str, mode: str, dest: str, path: str = "/catalog") -> int:
        return sample.get(path, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=dest)[0]

    opened_by_a_link = status("cross-site", "navigate", "document")
    of_the_preview = status("same-origin", "cors", "empty"), status("none", "navigate", "document")
    assert (opened_by_a_link, *of_the_preview) == (200, 200, 200)
    refused = {
        ("cross-site", "no-cors", "image"),
        ("cross-site", "no-cors", "script"),
        ("cross-site", "no-cors", "document"),
        ("cross-site", "cors", "empty"),
        ("cross-site", "navigate", "iframe"),
        ("cross-site", "navigate", ""),
        ("cross-site", "", ""),
    }
    assert {fetch: status(*fetch) for fetch in refused} == dict.fromkeys(refused, 403)
    opened = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert sample.get("/problems/fix", {"token": "x"}, **opened)[:2] == (
        403,
        "Requests from other sites are refused.\n",
    )


def test_an_address_of_the_network_is_printed_with_a_secret_without_which_it_shows_nothing(minimal: Path) -> None:
    with preview(minimal, bind="0.0.0.0:0") as shown:
        name, _, secret = shown.secret.partition("=")
        assert (name, len(bytes.fromhex(secret)) * 8) == ("?token", 128)

        wrong = [
            "/",
            "/static/style.css",
            "/changes",
            "/nowhere",
            "/?token=",
            f"/?token={secret[:-1]}",
            f"/?token={secret}0",
        ]
        refusal = "Open the whole address that the preview's terminal prints: its end is a secret.\n"
        assert [shown.get(path) for path in wrong] == [(403, refusal)] * len(wrong)

        address = f"{shown.address}/calendar?month=2026-11&token={secret}"
        _, port = shown.address.rsplit(":", 1)
        jar = CookieJar()
        with build_opener(HTTPCookieProcessor(jar)).open(address) as response:
            assert (response.status, response.url) == (200, f"{shown.address}/calendar?month=2026-11")
        (cookie,) = jar
        assert (cookie.name, cookie.value, cookie.expires) == (f"shopwindow_preview_{port}", secret, None)
        assert (cookie.has_nonstandard_attr("HttpOnly"), cookie.get_nonstandard_attr("SameSite")) == (True, "lax")
        assert shown.get("/", Cookie=f"{cookie.name}={secret}")[0] == 200
        assert shown.get("/", Cookie=f"{cookie.name}={secret[::-1]}")[0] == 403


def test_an_event_at_stores_of_several_zones_has_each_store_s_own_times(minimal: Path) -> None:
    """It is live from its start at the first store to its finish at the last one."""
    further = minimal / "stores/two.yaml"
    further.write_text((minimal / "stores/one.yaml").read_text())
    ids = ("storeId: 1", "storeId: 2"), ("storeNumber: 10", "storeNumber: 20"), ("Number: 100", "Number: 200")
    edit(minimal, *(("stores/two.yaml", *each) for each in (*ids, ("America/New_York", "America/Chicago"))))
    both = minimal / "events/two.yaml"
    both.write_text((minimal / "events/one.yaml").read_text())
    edit(minimal, ("events/two.yaml", "id: 5", "id: 6"), ("events/two.yaml", "storeId: [1]", "storeId: [1, 2]"))
    with preview(minimal) as shown:
        text = re.sub("</?a\\b[^>]*>", "", shown.get("/events")[1])
        cards = re.findall("<article.*?</article>", text, re.DOTALL)
        times = {re.findall(r"event (\d)", card)[0]: re.findall("<strong>(.*?)</p>", card, re.DOTALL) for card in cards}
        assert times == {
            "5": ["Fri 27 Nov 2026, 6:00 AM EST</strong><br>to Fri 27 Nov 2026, 12:00 PM EST"],
            "6": [
                "Fri 27 Nov 2026, 6:00 AM</strong><br>to Fri 27 Nov 2026, 12:00 PM<br>"
                "The times are each store's own: EST, CST."
            ],
        }
        states = {}
        for at in ("05:59", "06:00", "12:59", "13:00"):
            text = shown.get(f"/events?at=2026-11-27T{at}&zone=America/New_York&store=20")[1]
            states[at] = re.findall(r'<span class="state [a-z-]+">(.*?)</span></h2>', text)
        assert states == {"05:59": ["to come"], "06:00": ["live"], "12:59": ["live"], "13:00": ["ended"]}

        card = shown.get("/documents/event/6?zone=America/New_York")[1]
        assert re.findall("<dt>(Starts|Ends)</dt><dd>.*?2026, (.*?)</dd>", card) == [
            ("Starts", "6:00 AM EST"),
            ("Starts", '7:00 AM EST <span class="id">6:00 AM CST there</span>'),
            ("Ends", "12:00 PM EST"),
            ("Ends", '1:00 PM EST <span class="id">12:00 PM CST there</span>'),
        ]


def test_of_two_instants_the_earlier_one_is_before_whichever_was_chosen(minimal: Path) -> None:
    edit(minimal, ("events/one.yaml", "id: 5", "id: 5\npublish: {from: 2026-12-01}"))
    early, late = "2026-11-22T09:00", "2026-12-20T09:00"
    with preview(minimal) as shown:
        for at, other in ((early, late), (late, early)):
            text = shown.get(f"/compare?at={at}&with={other}&zone=America/New_York")[1]
            changed = re.findall(r"<h2>.*?>(\w+)<(?:/a|/bdi)>.*?<span[^>]*>(\w+)</span>", text, re.DOTALL)
            assert changed == [("Opening", "appears")]
            assert "from the same files at another instant." in text
            assert "Before is Sun 22 Nov 2026, 9:00 AM EST, after is Sun 20 Dec 2026, 9:00 AM EST." in text
            assert "boundary" not in text


def questions(shown: Preview, at: str = "2026-11-22T09:00") -> dict[str, str]:
    """The questions of the first page at an instant, and what it answers, without tags."""
    text = shown.get(f"/?at={at}&zone=America/New_York")[1]
    sections = re.findall(r'<h2 id="[a-z]+">(.*?)</h2>(.*?)</section>', text, re.DOTALL)
    return {name: " ".join(unescape(re.sub("<[^>]*>", " ", body)).split()) for name, body in sections}


def test_the_first_page_says_what_is_wrong_what_to_look_at_what_changes_and_what_is_unpublished(
    minimal: Path, tmp_path: Path
) -> None:
    out = tmp_path / "dist"
    with preview(minimal, "--out", str(out)) as quiet:
        answers = questions(quiet)
        to_fill_in = answers.pop("What is worth a look")
        first = "Still TBD config/serviceEndPoints/analyticsUrl apps/one.yaml:95 "
        assert (to_fill_in.startswith(first), to_fill_in.endswith(" All 6 values")) == (True, True)
        assert answers == {
            "What is wrong": f"Nothing in {len(list(minimal.rglob('*.yaml')))} files.",
            "What changes next": "Nothing goes live or off in the next 90 days.",
            "Not published yet": "There is no current release to compare with. shopwindow build makes one.",
        }
    assert shopwindow("build", "--content", minimal, "--out", out, "--at", "2026-11-22 09:00").status == 0
    with preview(minimal, "--out", str(out)) as quiet:
        assert questions(quiet)["Not published yet"] == "Nothing: the current release has all of it."
    window = "id: 5\npublish: {from: 2026-11-20, until: 2026-11-26}"
    edit(minimal, ("events/one.yaml", "id: 5", window), ("events/one.yaml", "name: Opening", "name: “Opening”"))
    with preview(minimal, "--out", str(out)) as shown:
        answers = questions(shown)
        assert answers["What is wrong"].startswith("Nothing in ")
        assert "are part of the value" in answers["What is worth a look"]
        assert answers["What is worth a look"].endswith(" All 6 values")
        assert answers["What changes next"] == "Fri 27 Nov 2026, 12:00 AM EST “Opening” event goes off"
        assert answers["Not published yet"] == "“Opening” event changes The document, before and after"
        late = questions(shown, "2026-12-02T09:00")
        assert late["What changes next"] == "Nothing goes live or off in the next 90 days."
        assert "“Opening” event disappears" in late["Not published yet"]
    edit(minimal, ("events/one.yaml", "from: 2026-11-20", "from: 2026-11-25"))
    assert shopwindow("build", "--content", minimal, "--out", out, "--at", "2026-11-22 09:00").status == 0
    with preview(minimal, "--out", str(out)) as quiet:
        assert questions(quiet)["Not published yet"] == "Nothing: the current release has all of it."
    edit(minimal, ("events/one.yaml", "“Opening”", "Opening again"))
    later = "1 edited, and live at another time: event 5 from Wed 25 Nov 2026, 12:00 AM EST"
    with preview(minimal, "--out", str(out)) as ahead:
        assert questions(ahead)["Not published yet"] == later
        assert later in ahead.get("/compare?at=2026-11-22T09:00&zone=America/New_York")[1]
        live = questions(ahead, "2026-11-25T09:00")["Not published yet"]
        assert live == "site.yaml changes Opening again event appears All 2 documents, before and after"
    edit(minimal, ("events/one.yaml", "id: 5", "id: five"))
    with preview(minimal, "--out", str(out)) as broken:
        answers = questions(broken)
        assert "id: 'five'" in answers["What is wrong"]
        assert answers["What is wrong"].endswith("events/one.yaml:1 The problem, with the lines of the file")
        unknown = "Not known until the content has no problem."
        assert (answers["What changes next"], answers["Not published yet"]) == (unknown, unknown)


FAULTY = """
from dataclasses import replace
from library.interface import INTERFACE as LIBRARY

def dates(*arguments):
    raise RuntimeError("<b>a fault of the interface")

INTERFACE = replace(LIBRARY, kinds=tuple(replace(kind, dates=dates) for kind in LIBRARY.kinds))
"""


def test_a_fault_of_the_program_is_a_page_that_says_so_and_the_other_pages_go_on(tmp_path: Path) -> None:
    example = SAMPLE.parent / "examples" / "library"
    (tmp_path / "faulty.py").write_text(FAULTY)
    own = {"SHOPWINDOW_INTERFACE": "faulty:INTERFACE", "PYTHONPATH": os.pathsep.join([str(tmp_path), str(example)])}
    with preview(example / "content", **own) as shown:
        status, headers, text = shown.answer("/calendar")
        assert (status, "Traceback" in text) == (500, False)
        assert dict(guard.HEADERS).items() <= headers.items()
        assert "RuntimeError: &lt;b&gt;a fault of the interface" in text
        assert [shown.get(path)[0] for path in ("/", "/compare")] == [200, 200]


def test_a_port_that_is_taken_is_one_sentence(sample: Preview) -> None:
    bind = sample.address.removeprefix("http://")
    ran = shopwindow("preview", "--content", SAMPLE, "--bind", bind)
    reason = "Address already in use; is another preview running? Choose another port with --bind"
    assert (ran.status, ran.err) == (4, f"shopwindow: {bind} cannot be used: {reason}\n")
