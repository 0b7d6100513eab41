"""Shopping bags: what each operation does and refuses, on both engines."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.content import Json
from harness.databases import prune
from harness.program import JSON, NOW, PHONE, TABLET, XML, Database, Shopping, release_of_codes, shopping
from shopwindow.problems import Refusal
from shopwindow.retail.bags.answers import Price, price_of
from shopwindow.retail.bags.operations import etag
from shopwindow.retail.bags.table import BAGS as BAGS_TABLE
from shopwindow.retail.bags.table import Bag, Line

BAGS = "order/v1/bags"
MAX = 2**53 - 1


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_codes(tmp_path_factory.mktemp("bags"), bags={"max_quantity": 20, "max_items": 4})


@pytest.fixture
def shop(database: Database, out: Path) -> Shopping:
    return shopping(database, out)


def items(*each: tuple[Any, Any]) -> Json:
    """The body of a POST: upcIds with their quantities."""
    return {"item": [{"upcId": upc, "quantity": quantity} for upc, quantity in each]}


def new(shop: Shopping, *each: tuple[Any, Any], **more: Any) -> Json:
    """A new bag with these items."""
    return shop.act("POST", BAGS, items(*each), **more).value["bag"]


def changes(*each: tuple[Any, Any, Any]) -> Json:
    """The body of a PATCH: sequence numbers, upcIds and quantities."""
    names = ("sequenceNumber", "upcId", "quantity")
    return {"item": [dict(zip(names, one, strict=True)) for one in each]}


def lines(bag: Json) -> list[tuple[int, int, int]]:
    """Sequence number, upcId and quantity of each item."""
    return [(each["sequenceNumber"], each["upcId"], each["quantity"]) for each in bag.get("items", [])]


def refused(shop: Shopping, *asked: Any, **more: Any) -> tuple[str, list[str]]:
    """The code and the faults with which a request is refused."""
    with pytest.raises(Refusal) as refusal:
        shop.act(*asked, **more)
    return refusal.value.code, [str(fault) for fault in refusal.value.faults]


def state(shop: Shopping, bag: Json, application: str = "phone") -> Json:
    """The bag as it is kept."""
    return shop.act("GET", f"{BAGS}?bagGuid={bag['bagGUID']}", application=application).value["bag"]


# -- making and finding ------------------------------------------------------------------------------------------


def test_without_a_user_a_guest_user_and_a_bag_are_made(shop: Shopping) -> None:
    made = [new(shop, (5, 2), (7, 1)) for _ in range(20)]
    bag = made[0]
    assert bag == {
        "bagId": bag["bagId"],
        "bagGUID": bag["bagGUID"],
        "owner": {"userId": bag["owner"]["userId"]},
        "bagSummary": {"itemCount": 3},
        "items": [
            {"sequenceNumber": 1, "quantity": 2, "upcId": 5},
            {"sequenceNumber": 2, "quantity": 1, "upcId": 7},
        ],
    }
    numbers = [number for each in made for number in (each["bagId"], each["owner"]["userId"])]
    assert (len(set(numbers)), {0 < number < 2**53 for number in numbers}) == (40, {True})
    assert max(numbers) > 2**48  # 40 numbers below that would be a wonder
    assert {(UUID(each["bagGUID"]).version, each["bagGUID"]) for each in made} == {
        (4, each["bagGUID"]) for each in made
    }


def test_numbers_that_are_taken_are_drawn_again(shop: Shopping) -> None:
    def drawn(*numbers: int) -> Any:
        """Random bytes that make these numbers: a GUID, a bagId and a userId in turn.

        The first three are drawn twice, since an action is tried before it has a transaction.
        """
        rest = iter((*numbers[:3], *numbers))
        return lambda length: (next(rest) - (length == 7)).to_bytes(length)

    first = new(shop, (5, 1), random=drawn(1, 100, 200))
    second = new(shop, (5, 1), random=drawn(1, 101, 201, 2, 100, 202, 3, 103, 200, 4, 104, 204))
    assert [(bag["bagId"], bag["owner"]["userId"]) for bag in (first, second)] == [(100, 200), (104, 204)]


def test_a_bag_is_found_by_its_guid_its_number_and_its_user(shop: Shopping) -> None:
    bag, _ = new(shop, (5, 2)), new(shop, (6, 1))
    names = {"bagGuid": bag["bagGUID"], "bagId": bag["bagId"], "userId": bag["owner"]["userId"]}
    found = [shop.act("GET", f"{BAGS}?{name}={value}") for name, value in names.items()]
    assert [each.value for each in found] == [{"bag": bag}] * 3
    assert {each.etag for each in found} == {f'"{bag["bagGUID"]}-1"'}
    assert shop.act("GET", f"{BAGS}?bagGuid={bag['bagGUID'].upper()}").value == {"bag": bag}


@pytest.mark.parametrize("query", ["", "?", "?bagOptions=INCLUDE_PRODUCTINFO", "?bagguid=1"])
def test_a_bag_must_be_named(shop: Shopping, query: str) -> None:
    assert refused(shop, "GET", BAGS + query) == ("invalid", ["userId: one of userId, bagId, bagGuid is required"])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_bag_is_named_in_one_way_only(shop: Shopping, method: str) -> None:
    body = items((5, 1)) if method == "POST" else None
    two = "userId: only one of userId, bagId, bagGuid may be given, not userId and bagId"
    assert refused(shop, method, f"{BAGS}?bagId=1&userId=2", body) == ("invalid", [two])
    three = f"{two.partition(', not')[0]}, not userId and bagId and bagGuid"
    assert refused(shop, method, f"{BAGS}?bagId=1&userId=2&bagGuid={uuid4()}", body) == ("invalid", [three])


@pytest.mark.parametrize(
    "query",
    ["bagId=0", "bagId=x", "userId=-1", f"userId={2**53}", "bagGuid=x", f"bagGuid={'0' * 36}", "bagOptions=ALL"],
)
def test_a_name_or_option_that_is_none_is_refused(shop: Shopping, query: str) -> None:
    target = f"{BAGS}?{query}" if "=" in query and "Options" not in query else f"{BAGS}?bagId=1&{query}"
    code, faults = refused(shop, "GET", target)
    assert (code, [fault.partition(":")[0] for fault in faults]) == ("invalid", [query.partition("=")[0]])


def test_a_bag_is_visible_to_the_application_that_made_it_alone(shop: Shopping) -> None:
    bag = new(shop, (5, 2))
    guid, item = bag["bagGUID"], changes((1, 5, 9))
    asked: Sequence[tuple[str, str, Json]] = (
        *(("GET", f"{BAGS}?{query}", None) for query in queries(bag)),
        *(("POST", f"{BAGS}?{query}", items((5, 1))) for query in queries(bag)),
        ("PATCH", f"{BAGS}/{guid}/items", item),
        ("DELETE", f"{BAGS}/{guid}/items/1", None),
    )
    codes = [refused(shop, *each, application="tablet")[0] for each in asked]
    assert codes == ["no_data"] * 8
    unknown = [
        refused(shop, each[0], each[1].replace(guid, str(uuid4())), each[2])[0] for each in asked if guid in each[1]
    ]
    assert unknown == ["no_data"] * 4
    assert state(shop, bag) == bag


def queries(bag: Json) -> list[str]:
    return [f"bagGuid={bag['bagGUID']}", f"bagId={bag['bagId']}", f"userId={bag['owner']['userId']}"]


# -- changing ----------------------------------------------------------------------------------------------------


def test_items_are_added_to_the_bag_that_is_named(shop: Shopping) -> None:
    bag = new(shop, (5, 2))
    told = [shop.act("POST", f"{BAGS}?{query}", items((6, 1))) for query in queries(bag)]
    assert [lines(each.value["bag"]) for each in told] == [[(1, 5, 2), (2, 6, number)] for number in (1, 2, 3)]
    assert [each.etag for each in told] == [f'"{bag["bagGUID"]}-{revision}"' for revision in (2, 3, 4)]
    assert {each.value["bag"]["bagId"] for each in told} == {bag["bagId"]}


def test_the_same_item_raises_its_lines_quantity(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (7, 1), (5, "3"))
    assert lines(bag) == [(1, 5, 5), (2, 7, 1)]
    told = shop.act("POST", f"{BAGS}?bagGuid={bag['bagGUID']}", items((7, 1), (9, 1), ("5", 1), (9, 2)))
    assert lines(told.value["bag"]) == [(1, 5, 6), (2, 7, 2), (3, 9, 3)]


def test_one_item_may_stand_alone_and_numbers_may_be_text(shop: Shopping) -> None:
    told = shop.act("POST", BAGS, {"item": {"upcId": "9007199254740991", "quantity": "02"}}).value["bag"]
    assert lines(told) == [(1, MAX, 2)]
    path = f"{BAGS}/{told['bagGUID']}/items"
    body = {"item": {"sequenceNumber": "1", "upcId": str(MAX), "quantity": "7"}}
    assert lines(shop.act("PATCH", path, body).value["bag"]) == [(1, MAX, 7)]
    assert "items" not in shop.act("DELETE", f"{path}/1", {"deleteitemsrequest": {"upcid": str(MAX)}}).value["bag"]


def test_quantities_of_items_are_changed_and_nothing_takes_one_out(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (7, 1), (9, 3))
    path = f"{BAGS}/{bag['bagGUID']}/items"
    told = shop.act("PATCH", path, changes((3, 9, 1), (1, 5, 0)))
    assert (lines(told.value["bag"]), told.value["bag"]["bagSummary"]) == ([(2, 7, 1), (3, 9, 1)], {"itemCount": 2})
    told = shop.act("PATCH", path, changes((3, 9, 0), (2, 7, 0)))
    assert told.value["bag"] == {
        **{name: bag[name] for name in ("bagId", "bagGUID", "owner")},
        "bagSummary": {"itemCount": 0},
    }
    assert state(shop, bag) == told.value["bag"]


def test_an_item_is_taken_out_by_its_number(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (7, 1))
    path = f"{BAGS}/{bag['bagGUID']}/items"
    assert lines(shop.act("DELETE", f"{path}/1").value["bag"]) == [(2, 7, 1)]
    assert refused(shop, "DELETE", f"{path}/1") == (
        "no_data",
        ["sequenceNumber: 1 is not in the bag; it holds 2"],
    )
    assert lines(shop.act("DELETE", f"{path}/2", {"deleteitemsrequest": {"upcid": 7}}).value["bag"]) == []
    assert refused(shop, "DELETE", f"{path}/2") == ("no_data", ["sequenceNumber: 2 is not in the bag; it is empty"])


def test_a_sequence_number_is_never_used_again(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (7, 1))
    guid = bag["bagGUID"]
    shop.act("DELETE", f"{BAGS}/{guid}/items/2")
    assert lines(shop.act("POST", f"{BAGS}?bagGuid={guid}", items((7, 1))).value["bag"]) == [(1, 5, 2), (3, 7, 1)]
    shop.act("PATCH", f"{BAGS}/{guid}/items", changes((1, 5, 0), (3, 7, 0)))
    assert lines(shop.act("POST", f"{BAGS}?bagGuid={guid}", items((5, 1), (8, 1))).value["bag"]) == [
        (4, 5, 1),
        (5, 8, 1),
    ]


def test_a_wrong_change_changes_nothing_and_every_fault_is_named(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (7, 1))
    path = f"{BAGS}/{bag['bagGUID']}/items"
    asked = changes((1, 5, 9), (3, 5, 1), (2, 5, 1), (1, 5, 1))
    assert refused(shop, "PATCH", path, asked) == (
        "invalid",
        [
            "item/1/sequenceNumber: 3 is not in the bag; it holds 1, 2",
            "item/2/upcId: item 2 of the bag is 7, not 5",
            "item/3/sequenceNumber: 1 stands in the request twice",
        ],
    )
    assert refused(shop, "DELETE", f"{path}/2", {"deleteitemsrequest": {"upcid": 5}}) == (
        "invalid",
        ["deleteitemsrequest/upcid: item 2 of the bag is 7, not 5"],
    )
    assert (state(shop, bag), shop.act("GET", f"{BAGS}?bagId={bag['bagId']}").etag) == (bag, f'"{bag["bagGUID"]}-1"')


def test_a_bag_has_limits_and_keeps_to_them_as_a_whole(shop: Shopping) -> None:
    bag = new(shop, (1, 20), (2, 1), (3, 1))
    target = f"{BAGS}?bagGuid={bag['bagGUID']}"
    many = "21 pieces of upcId 1; allowed: at most 20 in a bag"
    assert refused(shop, "POST", target, items((2, 1), (1, 1))) == ("invalid", [f"item: {many}"])
    wide = "5 different items; allowed: at most 4 in a bag"
    assert refused(shop, "POST", target, items((4, 1), (5, 21))) == (
        "invalid",
        ["item: 21 pieces of upcId 5; allowed: at most 20 in a bag", f"item: {wide}"],
    )
    assert refused(shop, "PATCH", f"{BAGS}/{bag['bagGUID']}/items", changes((2, 2, 5), (3, 3, 21)))[0] == "invalid"
    assert refused(shop, "POST", BAGS, items(*((number, 1) for number in range(1, 6)))) == (
        "invalid",
        [f"item: {wide}"],
    )
    assert state(shop, bag) == bag
    assert lines(shop.act("POST", target, items((4, 20))).value["bag"])[3] == (4, 4, 20)


def test_a_bag_that_was_filled_under_wider_limits_can_be_emptied(database: Database, tmp_path: Path) -> None:
    wide = shopping(database, release_of_codes(tmp_path / "wide", bags={"max_quantity": 50, "max_items": 10}))
    bag = new(wide, *((number, 50) for number in range(1, 7)))
    narrow = shopping(database, release_of_codes(tmp_path / "narrow", bags={"max_quantity": 10, "max_items": 3}))
    path = f"{BAGS}/{bag['bagGUID']}/items"
    assert refused(narrow, "PATCH", path, changes((1, 1, 40)))[0] == "invalid"
    assert lines(narrow.act("PATCH", path, changes((1, 1, 10))).value["bag"])[:2] == [(1, 1, 10), (2, 2, 50)]
    assert len(lines(narrow.act("DELETE", f"{path}/6").value["bag"])) == 5
    assert refused(narrow, "POST", f"{BAGS}?bagGuid={bag['bagGUID']}", items((9, 1)))[0] == "invalid"


def test_limits_that_nobody_sets_are_99_pieces_and_100_items(database: Database, tmp_path: Path) -> None:
    shop = shopping(database, release_of_codes(tmp_path))
    bag = new(shop, *((number, 99) for number in range(1, 101)))
    target = f"{BAGS}?bagGuid={bag['bagGUID']}"
    assert [refused(shop, "POST", target, items(one))[0] for one in ((1, 1), (101, 1))] == ["invalid"] * 2


BAD_BODIES: Sequence[tuple[str, Json]] = (
    ("POST", None),
    ("POST", {}),
    ("POST", []),
    ("POST", {"item": []}),
    ("POST", {"item": {}}),
    ("POST", {"item": {"upcId": 5}}),
    ("POST", {"item": {"quantity": 5}}),
    ("POST", {"item": {"upcId": 5, "quantity": 0}}),
    ("POST", {"item": {"upcId": 5, "quantity": -1}}),
    ("POST", {"item": {"upcId": 5, "quantity": "-1"}}),
    ("POST", {"item": {"upcId": 5, "quantity": 1.5}}),
    ("POST", {"item": {"upcId": 5, "quantity": 1.0}}),
    ("POST", {"item": {"upcId": 5, "quantity": "1.0"}}),
    ("POST", {"item": {"upcId": 5, "quantity": True}}),
    ("POST", {"item": {"upcId": 5, "quantity": None}}),
    ("POST", {"item": {"upcId": 5, "quantity": "\u0661"}}),
    ("POST", {"item": {"upcId": 0, "quantity": 1}}),
    ("POST", {"item": {"upcId": 2**53, "quantity": 1}}),
    ("POST", {"item": {"upcId": 10**30, "quantity": 1}}),
    ("POST", {"item": {"upcId": "1" * 400, "quantity": 1}}),
    ("POST", {"item": {"upcId": 5, "quantity": 1, "price": 0}}),
    ("POST", {"item": [{"upcId": 5, "quantity": 1}] * 101}),
    ("POST", {"item": [[{"upcId": 5, "quantity": 1}]]}),
    ("POST", {"items": {"upcId": 5, "quantity": 1}}),
    ("POST", {"item": {"upcId": 5, "quantity": 1}, "userId": 1}),
    ("PATCH", None),
    ("PATCH", {"item": {"upcId": 5, "quantity": 1}}),
    ("PATCH", {"item": {"sequenceNumber": 1, "quantity": 1}}),
    ("PATCH", {"item": {"sequenceNumber": 1, "upcId": 5}}),
    ("PATCH", {"item": {"sequenceNumber": 1, "upcId": 5, "quantity": -1}}),
    ("DELETE", {"deleteitemsrequest": {}}),
    ("DELETE", {"deleteitemsrequest": {"upcid": 0}}),
    ("DELETE", {"deleteitemsrequest": [{"upcid": 5}]}),
    ("DELETE", {"upcid": 5}),
    ("DELETE", {}),
)


@pytest.mark.parametrize(("method", "body"), BAD_BODIES)
def test_a_body_of_the_wrong_shape_changes_nothing(shop: Shopping, method: str, body: Json) -> None:
    bag = new(shop, (5, 2))
    guid = bag["bagGUID"]
    targets = {"POST": f"?bagGuid={guid}", "PATCH": f"/{guid}/items", "DELETE": f"/{guid}/items/1"}
    answer = shop.ask(method, f"/{BAGS}{targets[method]}", body)
    assert (answer.status, json.loads(answer.body)["success"]) == (400, False)
    assert state(shop, bag) == bag


# -- preconditions and formats -----------------------------------------------------------------------------------


def test_the_etag_is_alike_in_every_format_and_option(shop: Shopping) -> None:
    bag = new(shop, (5, 2))
    expected = f'"{bag["bagGUID"]}-1"'
    for accept in (JSON, XML):
        for option in ("", "&bagOptions=INCLUDE_PRODUCTINFO"):
            answer = shop.ask("GET", f"/{BAGS}?bagId={bag['bagId']}{option}", None, {"accept": accept})
            assert (answer.status, answer.headers["etag"], answer.headers["cache-control"]) == (
                200,
                expected,
                "no-store",
            )
    assert etag(Bag("g", 1, 2, 3)) == '"g-3"'


def test_a_bag_is_told_whatever_the_client_has_of_it(shop: Shopping) -> None:
    bag = new(shop, (5, 2))
    target, tag = f"/{BAGS}?bagGuid={bag['bagGUID']}", f'"{bag["bagGUID"]}-1"'
    told = shop.ask("GET", target)
    for known in (tag, f"W/{tag}", "*", f'"x", {tag}', '"x"'):
        answer = shop.ask("GET", target, None, {"if-none-match": known})
        assert (answer.status, answer.body, answer.headers["etag"]) == (200, told.body, tag)
    assert shop.ask("POST", target, items((5, 1)), {"if-none-match": f'"{bag["bagGUID"]}-2"'}).status == 200


def test_a_change_is_made_to_the_bag_that_the_client_knows_or_not_at_all(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (6, 1))
    guid = bag["bagGUID"]
    old, now = f'"{guid}-1"', f'"{guid}-2"'
    shop.act("PATCH", f"{BAGS}/{guid}/items", changes((1, 5, 3)), if_match=old)
    asked: Sequence[tuple[str, str, Json]] = (
        ("GET", f"{BAGS}?bagGuid={guid}", None),
        ("POST", f"{BAGS}?bagGuid={guid}", items((5, 1))),
        ("PATCH", f"{BAGS}/{guid}/items", changes((1, 5, 9))),
        ("DELETE", f"{BAGS}/{guid}/items/1", None),
    )
    for wrong in (old, f"W/{now}", f'"x", {old}', now.strip('"'), f'"{guid}"', "", "**", f"{now[:-1]}"):
        for each in asked:
            code, faults = refused(shop, *each, if_match=wrong)
            assert (code, faults) == ("precondition", [f"If-Match: is {wrong.strip()}, but the bag is at {now}"])
    assert lines(state(shop, bag)) == [(1, 5, 3), (2, 6, 1)]
    for number, right in enumerate((now, "*", f'"x", "{guid}-4" , W/"y"', f'"a,b","{guid}-5"')):
        assert shop.act("GET", f"{BAGS}?bagGuid={guid}", if_match="*").etag == f'"{guid}-{number + 2}"'
        shop.act("POST", f"{BAGS}?bagGuid={guid}", items((5, 1)), if_match=right)
    assert lines(state(shop, bag)) == [(1, 5, 7), (2, 6, 1)]


def test_a_bag_that_is_not_there_yet_matches_nothing(shop: Shopping) -> None:
    for tag in ("*", '"x"'):
        said = refused(shop, "POST", BAGS, items((5, 1)), if_match=tag)
        assert said == ("precondition", [f"If-Match: is {tag}, but there is no bag yet"])
    assert refused(shop, "GET", f"{BAGS}?bagId=1", if_match="*")[0] == "no_data"


def test_a_precondition_comes_before_what_is_wrong_with_the_change(shop: Shopping) -> None:
    bag = new(shop, (5, 2))
    path = f"{BAGS}/{bag['bagGUID']}/items"
    assert refused(shop, "PATCH", path, changes((9, 5, 3)), if_match='"x"')[0] == "precondition"
    assert refused(shop, "DELETE", f"{path}/9", if_match='"x"')[0] == "precondition"


def test_xml_says_what_json_says(shop: Shopping) -> None:
    two = b"<item><upcId>5</upcId><quantity>2</quantity></item><item><quantity>1</quantity><upcId>7</upcId></item>"
    body = b"<items>" + two + b"</items>"
    sent = {"content-type": XML, "accept": XML}
    made = shop.ask("POST", f"/{BAGS}", body, sent)
    guid = made.headers["etag"].strip('"').removesuffix("-1")
    bag = shop.act("GET", f"{BAGS}?bagGuid={guid}").value["bag"]
    assert made.body.decode() == (
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        f"<bag><bagId>{bag['bagId']}</bagId><bagGUID>{guid}</bagGUID>"
        f"<owner><userId>{bag['owner']['userId']}</userId></owner><bagSummary><itemCount>3</itemCount></bagSummary>"
        "<items><sequenceNumber>1</sequenceNumber><quantity>2</quantity><upcId>5</upcId></items>"
        "<items><sequenceNumber>2</sequenceNumber><quantity>1</quantity><upcId>7</upcId></items></bag>"
    )
    patch = b"<item><sequenceNumber>2</sequenceNumber><upcId>7</upcId><quantity>4</quantity></item>"
    assert shop.ask("PATCH", f"/{BAGS}/{guid}/items", patch, sent).status == 200
    delete = b"<deleteitemsrequest><upcid>%d</upcid></deleteitemsrequest>"
    answers = [shop.ask("DELETE", f"/{BAGS}/{guid}/items/1", delete % upc, sent).status for upc in (6, 5)]
    assert answers == [400, 200]
    around = b"<request><deleteitemsrequest><upcid>7</upcid></deleteitemsrequest></request>"
    assert shop.ask("DELETE", f"/{BAGS}/{guid}/items/2", around, sent).status == 200


def test_a_delete_may_have_no_body_whatever_its_type(shop: Shopping) -> None:
    bag = new(shop, (5, 2), (6, 1), (7, 1))
    path = f"/{BAGS}/{bag['bagGUID']}/items"
    sent: Sequence[dict[str, str]] = ({}, {"content-type": JSON}, {"content-type": "application/x-www-form-urlencoded"})
    assert [shop.ask("DELETE", f"{path}/{n}", None, each).status for n, each in enumerate(sent, 1)] == [200] * 3


# -- the store ---------------------------------------------------------------------------------------------------


def test_bags_that_nobody_has_changed_for_long_are_forgotten_with_their_items(shop: Shopping) -> None:
    old = [new(shop, (5, 1), (6, 1), at=NOW - timedelta(days=40)) for _ in range(3)]
    kept, fresh = old.pop(), new(shop, (5, 1), at=NOW)
    shop.act("POST", f"{BAGS}?bagGuid={kept['bagGUID']}", items((5, 1)), at=NOW)
    gone = [dict(prune(shop.database, NOW, {"bags": timedelta(days=30)}))["bags"] for _ in range(2)]
    assert gone == [2, 0]
    assert [refused(shop, "GET", f"{BAGS}?bagId={bag['bagId']}")[0] for bag in old] == ["no_data"] * 2
    assert [len(lines(state(shop, bag))) for bag in (kept, fresh)] == [2, 1]
    left = shop.database.read(lambda verbs: verbs.session.run("SELECT count(*), count(DISTINCT bag) FROM bag_lines"))
    assert left == [(3, 2)]


def test_a_bag_is_written_as_it_is_read(database: Database) -> None:
    def work(shop: Any) -> list[Bag | None]:
        made = shop[BAGS_TABLE].make("phone", "guid", 1, 2, NOW)
        again = shop[BAGS_TABLE].make("phone", "other", 1, 3, NOW)
        taken = shop[BAGS_TABLE].take(made, NOW)
        put = shop[BAGS_TABLE].put(taken, [Line(2, MAX, 3), Line(1, 5, 1)])
        return [
            made,
            again,
            taken,
            put,
            shop[BAGS_TABLE].find("phone", "bagId", 1),
            shop[BAGS_TABLE].find("tablet", "bagId", 1),
        ]

    made, again, taken, put, found, hidden = database.write(work)
    assert (made, again, taken) == (Bag("guid", 1, 2, 1), None, Bag("guid", 1, 2, 2))
    assert put == found == Bag("guid", 1, 2, 2, 2, (Line(1, 5, 1), Line(2, MAX, 3)))
    assert hidden is None


def test_a_repeated_post_adds_once(shop: Shopping) -> None:
    sent = {"idempotency-key": "a"}
    first, again = (shop.ask("POST", f"/{BAGS}", items((5, 1)), sent) for _ in range(2))
    assert (first.status, first.body, first.headers["etag"]) == (200, again.body, again.headers["etag"])
    other = shop.ask("POST", f"/{BAGS}", items((5, 2)), sent)
    assert other.status == 422
    assert shop.ask("POST", f"/{BAGS}", items((5, 1)), sent, key=TABLET).body != first.body
    assert shop.ask("POST", f"/{BAGS}", items((5, 1)), {}, key=PHONE).body != first.body


# -- money -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**13), st.integers(0, 10**13))
def test_money_is_counted_in_cents_without_loss(regular: int, sale: int) -> None:
    product = {"price": {"regular": {"low": 0, "high": regular / 100}}}
    upc = {"price": {"regular": regular / 100, "sale": sale / 100}}
    assert price_of((product, {})) == Price(regular, regular)
    assert price_of((product, upc)) == Price(sale, regular)
    assert price_of(({"price": {"regular": regular}}, {})) == Price(regular * 100, regular * 100)
