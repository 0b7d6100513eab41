"""The pages of the retail families' rules, and examples of the engine's in their documents."""

from shopwindow.content.rules.rule_pages import RulePage

_EVENT, _STORE = "events/1-open-house.yaml", "stores/main-street.yaml"
_APP, _PROMOTION = "apps/iphone.yaml", "promotions/1-welcome.yaml"
_IPOD = """\
name: ipod
platform: iPhone
extends: _phones.yaml
apiKeys:
  - 24e95bf5562f9eac062c1199a7246fb008c9b22cb0f73e875018be07ff8248e3
config:
  configVersion: "1"
  appVersionInfo:
    appVersionNumber: "1.0"
    appStoreLink: "{{ www }}/app"
    supportedVersions: ["1.0"]
"""

_HARBOR = """\
storeId: 2
storeNumber: 1002
locationNumber: 10002
divisionId: 2
name: Harbor
phoneNumber: 305-555-0100
mapUrl: "{{ www }}/stores/harbor"
address:
  line1: 2 Harbor Street
  city: Miami
  state: FL
  countryCode: US
  zipCode: "33101"
location: {latitude: 25.7617, longitude: -80.1918}
timeZone: America/New_York
hours:
  monday: {open: 10:00, close: 20:00}
"""
"""A second store."""


_CONTRACT_FILE = "contracts/iphone-1.0.yaml"
_READER = """\
app: iphone
version: "1.0"
reads:
  - request: v2/utility/mobileapp
    fields:
      - {path: configVersion, type: text}
"""
_OF_LAYOUT = """\
app: iphone
version: "1.0"
reads:
  - request: v2/utility/mobileapp
    fields:
      - path: appLayout[]
        enum: [shop, offers, stores, bag, settings]
"""
_OF_PROMOTIONS = """\
app: iphone
version: "1.0"
reads:
  - request: v3/promotions
    fields:
      - path: promotionDetailsResponse[].legalDisclaimer
"""
_OF_NOTICE = """\
app: iphone
version: "1.0"
reads:
  - request: v1/notices/1
    fields:
      - path: notices[].title
"""
_COUPON = """\
expiry: 2027-05-31
coupon:
  couponUrl: "{{ www }}/offers/welcome"
  couponHeading: Ten percent off
  couponDescription: Show this coupon in any store.
  couponShortCode: TEN
  couponNumber: "400030000001"
  couponType: STORE_ONLY
  effective: 2027-05-01
  displayStartDate: 2027-05-01T00:00:00-04:00
  displayEndDate: 2027-05-31T23:00:00-04:00
"""
_NOTICES = """\
notice: {folder: notices, schema: notice.json, id: noticeId, path: v1/notices}
"""
_NOTICE_SCHEMA = """\
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {"noticeId": {"type": "integer"}, "title": {"type": "string"}},
  "required": ["noticeId", "title"],
  "additionalProperties": false
}
"""

RETAIL_PAGES = (
    # -- examples of the engine's rules
    RulePage(
        "reference",
        wrong="  storeId: [7]",
        right="  storeId: [1]",
        path=_EVENT,
    ),
    RulePage(
        "reference.live",
        wrong="features: [BOPS]\npublish: {from: 2027-01-01}",
        right="features: [BOPS]",
        path=_STORE,
    ),
    RulePage(
        "extends.base",
        wrong="- extends: _shared.yaml\n",
        right="extends: _shared.yaml\n",
        path="apps/_phones.yaml",
        beside=(("apps/ipod.yaml", _IPOD),),
    ),
    RulePage(
        "extends.cycle",
        wrong="extends: _tablets.yaml\n",
        right="extends: _shared.yaml\n",
        path="apps/_phones.yaml",
        beside=(
            ("apps/_tablets.yaml", "extends: _phones.yaml\n"),
            (
                "apps/ipod.yaml",
                _IPOD.replace("_phones.yaml", "_tablets.yaml"),
            ),
        ),
    ),
    RulePage(
        "extends.missing",
        wrong="extends: _share.yaml",
        right="extends: _shared.yaml",
        path=_APP,
    ),
    RulePage(
        "extends.forgotten",
        wrong="",
        right="extends: _shared.yaml\n",
        path=_APP,
    ),
    RulePage(
        "extends.null",
        wrong='configVersion: "1"\n  appLayuot: null',
        right='configVersion: "1"',
        path=_APP,
    ),
    RulePage(
        "extends.unused",
        wrong="platform: iPhone\n",
        path="apps/_phones.yaml",
        advice="Delete it, or name it in `extends`.",
    ),
    RulePage(
        "group.empty",
        wrong="store_groups:\n  south: {state: [NY], divisionId: [2]}\n",
        right="store_groups:\n  south: {state: [FL], divisionId: [2]}\n",
        path="site.yaml",
        beside=(("stores/harbor.yaml", _HARBOR),),
    ),
    RulePage(
        "group.value",
        wrong="store_groups:\n  newYork: {state: [NJ]}\n",
        right="store_groups:\n  newYork: {state: [NY]}\n",
        path="site.yaml",
    ),
    RulePage(
        "contract.request",
        wrong=_READER.replace("v2/utility/mobileapp", "v2/utility/mobilelog"),
        right=_READER,
        path=_CONTRACT_FILE,
    ),
    RulePage(
        "contract.path",
        wrong=_READER.replace("configVersion", "configVersoin"),
        right=_READER,
        path=_CONTRACT_FILE,
    ),
    RulePage(
        "contract.version",
        wrong=_READER.replace("1.0", "0.9"),
        right=_READER,
        path=_CONTRACT_FILE,
    ),
    RulePage(
        "contract.gone",
        wrong="",
        right="legalDisclaimer: Once for each customer.\n",
        path=_PROMOTION,
        beside=((_CONTRACT_FILE, _OF_PROMOTIONS),),
    ),
    RulePage(
        "contract.type",
        wrong=_READER.replace("type: text", "type: integer"),
        right=_READER,
        path=_CONTRACT_FILE,
    ),
    RulePage(
        "contract.enum",
        wrong="appLayout: [shop, offers, stores, bag, scan]",
        right="appLayout: [shop, offers, stores, bag, settings]",
        path="apps/_shared.yaml",
        beside=((_CONTRACT_FILE, _OF_LAYOUT),),
    ),
    RulePage(
        "contract.refused",
        wrong="noticeId: 2\ntitle: Open late\n",
        right="noticeId: 1\ntitle: Open late\n",
        path="notices/late.yaml",
        beside=(
            ("collections.yaml", _NOTICES),
            ("schemas/notice.json", _NOTICE_SCHEMA),
            (_CONTRACT_FILE, _OF_NOTICE),
        ),
    ),
    # -- the families' own rules
    RulePage(
        "time.order",
        "Something ends before it begins",
        "It would never take place.",
        "finish: 2027-05-01 09:00",
        "finish: 2027-05-01 18:00",
        _EVENT,
    ),
    RulePage(
        "app.layout",
        "The layout names a section that is not described",
        "The app could not show it.",
        "appLayout: [shop, offers, stores, bag, setings]",
        "appLayout: [shop, offers, stores, bag, settings]",
        "apps/_shared.yaml",
    ),
    RulePage(
        "app.version",
        "The app's version is none of the supported ones",
        "The app would ask its customers to update to itself.",
        'appVersionNumber: "2.0"',
        'appVersionNumber: "1.0"',
        _APP,
    ),
    RulePage(
        "app.configVersion",
        "The configuration changed, and its version did not",
        "Phones keep a configuration until its version changes. `check --against` a"
        " release finds it.",
        advice="Raise `configVersion` in the app's file.",
    ),
    RulePage(
        "app.TBD",
        "A value still says TBD",
        "It is known to be missing; `check` lists it, and nothing stops.",
        advice="Write the value once you have it.",
    ),
    RulePage(
        "event.closed",
        "An event takes place while its store is closed",
        "One of the two times is wrong. This is a warning.",
        "start: 2027-05-02 10:00\nfinish: 2027-05-02 18:00",
        "start: 2027-05-01 10:00\nfinish: 2027-05-01 18:00",
        _EVENT,
    ),
    RulePage(
        "event.late",
        "An event is shown only when it is over",
        "Nobody could go there. This is a warning.",
        "publish:\n  from: 2027-05-02\n",
        "publish:\n  until: 2027-05-01\n",
        _EVENT,
    ),
    RulePage(
        "promotion.coupon",
        "A coupon ends before its promotion",
        "Customers would be promised what the register no longer takes. This is a warning.",
        f"{_COUPON}  expiry: 2027-05-13\n",
        f"{_COUPON}  expiry: 2027-05-31\n",
        _PROMOTION,
    ),
    RulePage(
        "promotion.early",
        "A promotion is live only before it takes effect",
        "Nobody could use it while it is shown. This is a warning.",
        "effective: 2027-01-01\npublish: {until: 2026-12-31}",
        "effective: 2026-01-01",
        _PROMOTION,
    ),
    RulePage(
        "promotion.expired",
        "A promotion is live when it has expired",
        "Apps go on showing it, and nobody gets it any more. This is a warning.",
        "expiry: 2027-05-31\npublish:\n  until: 2027-06-30\n",
        "expiry: 2027-05-31\npublish:\n  until: 2027-05-31\n",
        _PROMOTION,
    ),
    RulePage(
        "store.state",
        "A store lies outside its state",
        "A search by distance would not find it. Longitudes west of Greenwich are below zero. This is a warning.",
        "  longitude: 73.9917",
        "  longitude: -73.9917",
        _STORE,
    ),
)
