"""The pages of the retail families' rules, and examples of the engine's in their documents."""

from shopwindow.content.rule_pages import RulePage

_EVENT, _STORE = "events/1-open-house.yaml", "stores/main-street.yaml"
_APP, _PROMOTION = "apps/iphone.yaml", "promotions/1-welcome.yaml"
_Y = RulePage

PAGES = (
    _Y(
        "schema.enum",
        "The value is none of those allowed",
        "The message lists them, and the nearest one.",
        "promotionSourceCode: Q",
        "promotionSourceCode: B",
        _PROMOTION,
    ),
    _Y(
        "schema.uniqueItems",
        "An entry stands in the list twice",
        "Delete one of the two.",
        "  storeId: [1, 1]",
        "  storeId: [1]",
        _EVENT,
    ),
    _Y(
        "schema.minItems",
        "The list is too short",
        "Where it would be empty, leave the key out.",
        "  storeId: []",
        "  storeId: [1]",
        _EVENT,
    ),
    _Y(
        "reference",
        "A document names another that does not exist",
        "It was deleted, or its number is mistyped. A deleted document is one problem,"
        " however many places name it.",
        "  storeId: [7]",
        "  storeId: [1]",
        _EVENT,
    ),
    _Y(
        "reference.live",
        "A document is live while what it names is not",
        "Apps would show an event at a store that they do not know. Its publish window"
        " lies within those of its stores.",
        "features: [BOPS]\npublish: {from: 2027-01-01}",
        "features: [BOPS]",
        _STORE,
    ),
    _Y(
        "unique",
        "Two documents have the same number",
        "Apps and other documents could not tell them apart. They may share it if their"
        " publish windows do not overlap.",
    ),
    _Y(
        "window.order",
        "A publish window ends before it begins",
        "The document would never be shown.",
        "publish:\n  from: 2027-06-01\n",
        "publish:\n",
        _EVENT,
    ),
    _Y(
        "time.order",
        "Something ends before it begins",
        "It would never take place.",
        "finish: 2027-05-01 09:00",
        "finish: 2027-05-01 18:00",
        _EVENT,
    ),
    _Y(
        "time.exists",
        "A day or a time that does not exist",
        "The calendar has no such day, or clocks skip that hour in spring.",
        "start: 2027-02-30 10:00",
        "start: 2027-05-01 10:00",
        _EVENT,
    ),
    _Y(
        "file.name",
        "A file does not have the name of its document",
        "Documents of this kind are found by their file's name.",
    ),
    _Y(
        "extends.missing",
        "The base does not exist",
        "`extends` names a file of the same folder whose name begins with _.",
        "extends: _share.yaml",
        "extends: _shared.yaml",
        _APP,
    ),
    _Y(
        "extends.forgotten",
        "A document lacks what a base has, and does not build on it",
        "The line with `extends` was lost.",
        "",
        "extends: _shared.yaml\n",
        _APP,
    ),
    _Y(
        "extends.null",
        "A null removes nothing",
        "null removes what the base says. The base does not say this, so the key is"
        " misspelled, or the line is left over.",
        'configVersion: "1"\n  appLayuot: null',
        'configVersion: "1"',
        _APP,
    ),
    _Y(
        "app.layout",
        "The layout names a section that is not described",
        "The app could not show it.",
        "appLayout: [shop, offers, stores, bag, setings]",
        "appLayout: [shop, offers, stores, bag, settings]",
        "apps/_shared.yaml",
    ),
    _Y(
        "app.version",
        "The app's version is none of the supported ones",
        "The app would ask its customers to update to itself.",
        'appVersionNumber: "2.0"',
        'appVersionNumber: "1.0"',
        _APP,
    ),
    _Y(
        "app.configVersion",
        "The configuration changed, and its version did not",
        "Phones keep a configuration until its version changes. `check --against` a"
        " release finds it.",
    ),
    _Y(
        "app.TBD",
        "A value still says TBD",
        "It is known to be missing; `check` lists it, and nothing stops.",
    ),
    _Y(
        "event.closed",
        "An event takes place while its store is closed",
        "One of the two times is wrong. This is a warning.",
    ),
    _Y(
        "event.late",
        "An event is shown only after it began",
        "Nobody could plan for it. This is a warning.",
    ),
    _Y(
        "promotion.category",
        "A promotion names a category that the catalog lacks",
        "It may be misspelled. This is a warning.",
    ),
)
