"""A rule's page: what it wants and why, a mistake, and the fix. Problems lead here."""

from shopwindow.content.rules.rule_pages import by_name, remark, texts
from shopwindow.preview.visit import Page, Visit


def rules(visit: Visit) -> Page:
    """Return the page that lists all rules."""
    pages = by_name(visit.interface.pages)
    return Page("rules.html", "Rules", {"rules": list(pages.values())})


def page(visit: Visit) -> Page | None:
    """Return the page of one rule; None where none is called so."""
    rule = by_name(visit.interface.pages).get(visit.values["name"])
    if rule is None:
        return None
    values = {"rule": rule, "texts": texts(rule), "remark": remark(rule)}
    return Page("rule.html", rule.name, values)
