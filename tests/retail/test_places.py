"""What a search address means: the real zip codes, and the stores' own addresses."""

import sys

import pytest
import zipcodes

from harness.content import AT, ROOT, SAMPLE, Json, as_content, as_value, store
from harness.program import Schemas, shopwindow
from shopwindow.interface.answering.answer import answer
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.places.distance import Point, miles
from shopwindow.retail.places.search import Gazetteer
from shopwindow.retail.places.zipcodes import find_city, find_state
from shopwindow.shop import INTERFACE

sys.path.append(str(ROOT))
from benchmarks import real_content

FOLDER = real_content.data_folder()


def shop(number: int, line1: str, city: str, state: str, zip: str, point: Point) -> Json:
    address = {"line1": line1, "city": city, "state": state, "countryCode": "US", "zipCode": zip}
    return store(number, address=address, location={"latitude": point[0], "longitude": point[1]})


STORES = [
    shop(1, "1 Harbor Way", "Boston", "MA", "02116", (42.35, -71.075)),
    shop(2, "48 Ropewalk Street", "Brooklyn", "NY", "11201-0001", (40.6931, -73.9897)),
    shop(3, "7 Quay", "Larkport", "ZZ", "00999", (10.0, 20.0)),
    shop(4, "9 Quay", "Larkport", "ZZ", "00999", (12.0, 22.0)),
]


def gazetteer() -> Gazetteer:
    site = {"lifetimes": {"default": {"maxAge": 60}}}
    value = {"monday": "2026-11-23", "site": site, "apps": [], "stores": STORES, "events": [], "promotions": []}
    return Gazetteer(as_content(value))


KNOWN = gazetteer()

BOSTON, BACK_BAY, NEW_YORK, BROOKLYN = (42.36, -71.06), (42.3492, -71.0768), (40.75, -73.99), (40.65, -73.95)
HOLTSVILLE, CHICAGO, HONOLULU = (40.8154, -73.0451), (41.86, -87.7), (21.31, -157.84)
FOUND: dict[str, tuple[Point, float]] = {
    # general areas, which towns have their names from
    "New England": ((42.5, -71.5), 0.1),
    " the NEW-ENGLAND area, USA": ((42.5, -71.5), 0.1),
    "New England, ND": ((46.5, -102.9), 10),
    "Midwest, Wyoming": ((43.41, -106.28), 10),
    "Bay Area": ((37.7, -122.2), 0.1),
    "San Francisco Bay Area": ((37.7, -122.2), 0.1),
    "Tri-State Area": (NEW_YORK, 5),
    "Greater Boston": (BOSTON, 5),
    "the greater Chicago metropolitan area": (CHICAGO, 10),
    "Boston, MA area": (BOSTON, 5),
    # zip codes, with a leading zero, with four more digits, in an address
    "02116": (BACK_BAY, 0.1),
    "02116-1234": (BACK_BAY, 0.1),
    "00501": (HOLTSVILLE, 0.1),
    "  02116  ": (BACK_BAY, 0.1),
    "02116 Boston": (BACK_BAY, 0.1),
    "02116 MA": (BACK_BAY, 0.1),
    "02116, Massachusetts": (BACK_BAY, 0.1),
    "Boston, MA 02116": (BACK_BAY, 0.1),
    "Boston 02116-0001": (BACK_BAY, 0.1),
    "12 Nowhere Street, Boston, MA 02116": (BACK_BAY, 0.1),
    "12 Nowhere Street, Boston, MA 02116, USA": (BACK_BAY, 0.1),
    "10018 Nowhere Street, Boston, MA 02116, United States": (BACK_BAY, 0.1),
    "Boston, MA 02116, Back Bay": (BACK_BAY, 0.1),
    "10018 New York": ((40.755, -73.993), 0.1),
    # a city with its state, with and without a comma, in any case, the state in full
    "Boston, MA": (BOSTON, 5),
    "Boston,MA": (BOSTON, 5),
    "Boston MA": (BOSTON, 5),
    "boston ma": (BOSTON, 5),
    "BOSTON , MA.": (BOSTON, 5),
    "Boston, Massachusetts": (BOSTON, 5),
    "boston massachusetts": (BOSTON, 5),
    "Boston, MA, USA": (BOSTON, 5),
    "Boston, MA, U.S.A.": (BOSTON, 5),
    "Boston, MA, United States of America": (BOSTON, 5),
    "Boston, MA 99999": (BOSTON, 5),
    "Brooklyn, New York": (BROOKLYN, 5),
    "New York, NY": (NEW_YORK, 5),
    "New York, New York": (NEW_YORK, 5),
    "Charleston, West Virginia": ((38.35, -81.63), 15),
    "Charleston, WV": ((38.35, -81.63), 15),
    "Washington, District of Columbia": ((38.9, -77.03), 5),
    "Washington, D.C.": ((38.9, -77.03), 5),
    "Washington D.C., USA": ((38.9, -77.03), 5),
    "Honolulu Hawaii": (HONOLULU, 10),
    # an address whose number is no zip code, though there is one
    "17364 Southcenter Pkwy, Tukwila, WA": ((47.45, -122.26), 5),
    "P.O. Box 10001, Boston, MA": (BOSTON, 5),
    "Suite 10018, 5 Main St, Boston, MA": (BOSTON, 5),
    "State Highway 10013, Boston, MA, U.S.A.": (BOSTON, 5),
    "5 Main St, Suite 10018, Boston, MA 02116": (BACK_BAY, 0.1),
    "5 Main St, Boston, MA 02116, Suite 10018": (BACK_BAY, 0.1),
    "12345 Nowhere Street, Boston, MA": (BOSTON, 5),
    "10018 Broadway Boston MA": (BOSTON, 5),
    # as post offices spell
    "St. Louis, MO": ((38.63, -90.25), 15),
    "Saint Louis, MO": ((38.63, -90.25), 15),
    "Ft. Worth TX": ((32.75, -97.33), 15),
    "O'Fallon, IL": ((38.59, -89.91), 10),
    "Coeur d'Alene, Idaho": ((47.68, -116.78), 10),
    "Winston-Salem, NC": ((36.1, -80.25), 10),
    "Wilkes-Barre, PA": ((41.25, -75.88), 10),
    "McLean, VA": ((38.94, -77.18), 10),
    "McAllen, TX": ((26.2, -98.23), 10),
    "San José, CA": ((37.32, -121.88), 10),
    "Doña Ana County, NM": ((32.3, -106.8), 30),
    # a suburb, which the package has under the city near by
    "Bloomington, MN": ((44.84, -93.3), 10),
    "Davie, FL": ((26.08, -80.25), 5),
    "DeWitt, NY": ((43.04, -76.07), 5),
    "Tukwila": ((47.45, -122.26), 5),
    # an area
    "Boston": (BOSTON, 5),
    "Cook County": (CHICAGO, 20),
    "cook county, il": (CHICAGO, 20),
    "Kings County, NY": (BROOKLYN, 5),
    "Kings County, CA": ((36.2, -119.8), 40),
    "Massachusetts": ((42.24, -71.5), 30),
    "MA": ((42.24, -71.5), 30),
    "New York": (NEW_YORK, 5),
    "Virginia": ((37.7, -78.2), 60),
    "OR": ((44.5, -122.1), 80),
    "District of Columbia": ((38.9, -77.03), 5),
    # the stores' own addresses
    "48 Ropewalk Street, Brooklyn": ((40.6931, -73.9897), 0),
    "48 ROPEWALK STREET, BROOKLYN, NY 10018": ((40.6931, -73.9897), 0),
    "7 Quay, Larkport": ((10.0, 20.0), 0),
    "00999": ((11.0, 21.0), 0),
    "Larkport": ((11.0, 21.0), 0),
}


@pytest.mark.parametrize("text", FOUND)
def test_a_place_is_found(text: str) -> None:
    expected, tolerance = FOUND[text]
    found = KNOWN.find(text)
    assert found is not None
    assert miles(*found, *expected) <= tolerance


UNKNOWN = [
    "Nowhere, MA",
    "99999",
    "2116",
    "501",
    "Boston, XX",
    "Nowhereville",
    "10018 Nosuch St, Nowhereville, TX",
    "10018 Nosuch St, Nowhereville",
    "10018 Nosuch St",
    "5 Main St, Boston, MA, Suite 10018",
    ".,;",
    "-",
    "()",
    "\u4e1c\u4eac",
    "MA MA MA",
    "0" * 200,
    "," * 200,
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_place_that_nobody_knows_is_none(text: str) -> None:
    assert KNOWN.find(text) is None


def test_an_unknown_place_is_refused_with_what_could_be_given() -> None:
    call = bind(Request("store/v2/stores", "searchAddress=Nowhereville%20%01"), None, INTERFACE)
    with pytest.raises(Refusal) as raised:
        answer(call, KNOWN.content, Schemas())
    fault = Fault(
        "searchAddress",
        r"no place is known by 'Nowhereville \x01'; give a zip code, a city and its state, or a full address",
    )
    assert (raised.value.code, raised.value.faults) == ("invalid", (fault,))


def test_every_city_of_the_package_is_found_in_its_state() -> None:
    known: list[Json] = zipcodes.list_all()  # type: ignore[no-untyped-call]
    sample = sorted({(entry["city"], entry["state"]) for entry in known if float(entry["lat"] or 0)})[::60]
    missing = [pair for pair in sample if find_city(*pair) is None]
    assert (len(sample) > 400, missing) == (True, [])


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the real data is not in {FOLDER} (SHOPWINDOW_DATA)")
def test_the_numbers_of_real_addresses_are_no_zip_codes() -> None:
    nowhere = Gazetteer(as_content({**as_value(KNOWN.content), "stores": []}))
    cities = {
        f"{store['address']}, {store['city']}, {store['state']}": f"{store['city']}, {store['state']}"
        for store in real_content.read(FOLDER).stores
    }
    astray = [text for text, city in cities.items() if nowhere.find(text) != nowhere.find(city)]
    unknown = {city for city in cities.values() if nowhere.find(city) is None}
    misspelt = {"Christianburg, VA", "D'Iberville, MS", "Fredricksburg, VA", "Metaire, LA"}  # or in the package
    assert (len(cities) > 1000, astray, unknown) == (True, [], misspelt)


def test_the_working_tree_is_shown_with_the_same_places() -> None:
    ran = shopwindow(
        "show", "store/v2/stores?searchAddress=10018&radius=M1&_fields=name", "--content", SAMPLE, "--at", AT
    )
    assert (ran.status, "name" in ran.out) == (0, True)


def test_what_is_nowhere_moves_no_middle() -> None:
    washington = find_state("DC")
    assert washington is not None
    assert miles(*washington, 38.9, -77.03) < 5
