"""`calendar`: the same happenings as lines, JSON and iCalendar."""

import json
from pathlib import Path

import icalendar
import pytest

from harness.program import shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
BOUNDS = ("--from", "2026-11-27", "--to", "2026-11-28")


def test_every_form_lists_the_same() -> None:
    lines = shopwindow("calendar", "--content", SAMPLE, *BOUNDS).out.splitlines()
    listed = json.loads(shopwindow("calendar", "--content", SAMPLE, "--format", "json", *BOUNDS).out)
    text = shopwindow("calendar", "--content", SAMPLE, "--format", "ics", *BOUNDS).out
    events = icalendar.Calendar.from_ical(text).walk("VEVENT")
    happenings = listed["happenings"]
    assert (len(happenings) > 10, len(events)) == (True, len(happenings))
    assert [event["SUMMARY"] for event in events] == [f"{each['title']}: {each['label']}" for each in happenings]
    assert [event.decoded("DTSTART").isoformat() for event in events] == [each["moment"] for each in happenings]
    assert len({event["UID"] for event in events}) == len(events)
    assert lines[0] == "2026-11-27 00:00 EST  promotion 880101 coupon takes effect: The Early Door"
    assert lines[-2] == "more is scheduled from 2026-11-28 00:00 EST on: --to lists it"
    assert lines[-1].startswith("nothing is scheduled after 20")
    whole = shopwindow("calendar", "--content", SAMPLE, "--from", "2026-11-27", "--to", "2030-01-01").out
    assert ("more is scheduled" in whole, whole.splitlines()[-1]) == (False, lines[-1])


def test_no_line_of_ics_is_longer_than_its_rfc_allows() -> None:
    text = shopwindow("calendar", "--content", SAMPLE, "--format", "ics", *BOUNDS).out.encode()
    assert [line for line in text.splitlines() if len(line) > 75] == []


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2026-11-27", "2026-11-27", "Error: --to 2026-11-27: must be after 2026-11-27"),
        ("soon", "2026-11-27", "Error: --from soon: 'soon' does not exist in the calendar; write 2026-11-27, "),
        ("2026-11-27", "2026-13-40", "Error: --to 2026-13-40: '2026-13-40' does not exist in the calendar; write "),
    ],
)
def test_what_cannot_be_meant_is_refused(start: str, end: str, words: str) -> None:
    ran = shopwindow("calendar", "--content", SAMPLE, "--from", start, "--to", end)
    assert (ran.status, words in ran.err) == (2, True), ran.err
