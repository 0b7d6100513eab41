"""Which format a request gets (RFC 9110 §12.5.1; design 4: missing, malformed or `*/*` is JSON)."""

import pytest

from shopwindow.interface.formats import JSON, XML, Format, accepted_formats

ASKED: dict[str | None, Format | None] = {
    # nothing is asked
    None: JSON,
    "": JSON,
    "  ": JSON,
    ",": JSON,
    ", ,": JSON,
    # one range
    "*/*": JSON,
    "application/*": JSON,
    "application/json": JSON,
    "application/xml": XML,
    "text/html": None,
    "text/*": None,
    "text/xml": XML,
    "text/xml;q=0.9, application/json;q=0.8": XML,
    "application/json, text/xml": JSON,
    "text/xml;q=0": None,
    "application/atom+xml": None,
    "image/*, text/plain": None,
    # case and blanks do not count
    "Application/JSON": JSON,
    "APPLICATION/XML": XML,
    " application/xml ": XML,
    "application/xml ; q=0.5": XML,
    "application/xml\t;\tq=0.5\t,\tapplication/json;Q=0.4": XML,
    # several ranges
    "application/json, application/xml": JSON,
    "application/xml, application/json": JSON,
    "application/xml, */*": JSON,
    "text/html, application/xml": XML,
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": XML,
    "text/html, */*;q=0.1": JSON,
    ",application/xml,,": XML,
    # weights
    "application/json;q=0.5, application/xml": XML,
    "application/json;q=0.5, application/xml;q=0.501": XML,
    "application/json;q=0.5, application/xml;q=0.5": JSON,
    "application/json;q=0.001, application/xml;q=0.002": XML,
    "application/xml;q=1.000, application/json;q=0.999": XML,
    "application/xml;q=1., application/json;q=0.": XML,
    "application/*;q=0.5, application/xml": XML,
    "application/xml, */*;q=0.5": XML,
    # 0 is "not acceptable"
    "application/json;q=0": None,
    "*/*;q=0": None,
    "application/json;q=0, */*": XML,
    "*/*, application/json;q=0.0": XML,
    "application/xml;q=0, application/*": JSON,
    "application/*;q=0, */*": None,
    "application/json;q=0, application/xml;q=0, */*": None,
    # the most specific range counts, wherever it stands and whatever it weighs
    "*/*;q=1, application/*;q=0.2, application/xml;q=0.3": XML,
    "application/*;q=0.9, application/json;q=0.1, */*;q=0.3": XML,
    "application/json;q=0.1, application/*;q=0.9": XML,
    # parameters
    "application/xml;charset=utf-8": XML,
    "application/xml; charset=utf-8; q=0.5, application/json;q=0.4": XML,
    'application/xml;profile="a,b;q=0";q=0.5, application/json;q=0.1': XML,
    'application/xml;a="\\"",application/json;q=0.5': XML,
    "application/xml;": XML,
    "application/xml;;q=1;": XML,
    # Java's: HttpURLConnection
    "*": JSON,
    "*; q=.2": JSON,
    # no media range, and yet plain
    "*/xml": XML,
    "*/json": JSON,
    "*/png": None,
    "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2": JSON,
    "application/xml, *; q=.2": XML,
    "application/xml; q=.1, *; q=.2": JSON,
    # malformed
    "application": JSON,
    "application/": JSON,
    "/xml": JSON,
    "application/xml/x": JSON,
    "application xml": JSON,
    "application/xml, nonsense": JSON,
    "application/xml; q=2": JSON,
    "application/xml; q=1.001": JSON,
    "application/xml; q=0.1234": JSON,
    "application/xml; q=-1": JSON,
    "application/xml; q=high": JSON,
    "application/xml; q=": JSON,
    "application/xml; q": JSON,
    'application/xml; q="0.5"': JSON,
    'application/xml; a="': JSON,
    "application/x\u0131l": JSON,
    "application/xml; q=\u0661": JSON,
    "application/json;q=0, (": JSON,
}


@pytest.mark.parametrize(("accept", "format"), ASKED.items())
def test_accept_decides_the_format(accept: str | None, format: Format | None) -> None:
    assert accepted_formats(accept).answer == format


@pytest.mark.parametrize("repeated", ["; ", ";a=b", ";a=", ' ;a="', "; ;", "\\", '"', " ", "*/*;", "*/*, ", "*;"])
def test_a_malformed_accept_is_judged_at_once(repeated: str) -> None:
    assert accepted_formats("application/xml" + repeated * 3000 + "(").answer == JSON
