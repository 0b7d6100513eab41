"""What several operations tell of a store: its opening hours and attributes (wire shapes §2, §3). Pure."""

from collections.abc import Iterable, Mapping

from vitrine.content.yaml import Json


def hours(store: Json, days: Iterable[tuple[str, str]], key: str) -> list[Json]:
    """Each day, under ``key``, with its opening hours; a day on which the store is closed has none."""
    exceptions = {exception["date"]: exception for exception in store.get("exceptions", ())}
    found = []
    for day, weekday in days:
        hours = exceptions.get(day) or store["hours"].get(weekday, {})
        if "open" in hours:
            found.append({key: day, "storeopenhour": hours["open"], "storeclosehour": hours["close"]})
        else:
            found.append({key: day})
    return found


def attributes(store: Json) -> Mapping[str, list[str]]:
    """As written; the time zone last, unless it was written."""
    found: dict[str, list[str]] = dict(store.get("attributes", ()))
    found.setdefault("TIMEZONE", [store["timeZone"]])
    return found
