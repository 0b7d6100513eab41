"""The department store: every family and the catalog, put together as one Interface.

The commands and the service hand this value to the engine unless `--interface` names
another. A new family is added here: its kinds, operations, rules and table, each to the
tuple of that name. OpenAPI and the edge configuration list the operations in this
order.
"""

from pathlib import Path

from shopwindow.catalog.catalog_index import CATALOG
from shopwindow.catalog.kinds import KINDS as CATALOG_KINDS
from shopwindow.catalog.operations.availability import OPERATIONS as AVAILABILITY
from shopwindow.catalog.operations.categories import OPERATIONS as CATEGORIES
from shopwindow.catalog.operations.products import OPERATIONS as PRODUCTS
from shopwindow.catalog.operations.recommendations import OPERATIONS as RECOMMENDATIONS
from shopwindow.catalog.operations.reviews import OPERATIONS as REVIEWS
from shopwindow.catalog.operations.search import OPERATIONS as SEARCH
from shopwindow.catalog.operations.status import OPERATIONS as STATUS
from shopwindow.interface.answering.contracts import contract_kind
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.operation import in_family
from shopwindow.retail.apps import kind as apps
from shopwindow.retail.apps.operations import OPERATIONS as APPS
from shopwindow.retail.bags.operations import OPERATIONS as BAGS
from shopwindow.retail.bags.table import BAGS as BAGS_TABLE
from shopwindow.retail.codes.operations import OPERATIONS as CODES
from shopwindow.retail.codes.table import SINGLE_USE_CODES as CODES_TABLE
from shopwindow.retail.consents.operations import OPERATIONS as CONSENTS
from shopwindow.retail.consents.table import CONSENTS as CONSENTS_TABLE
from shopwindow.retail.events import kind as events
from shopwindow.retail.events.operations import OPERATIONS as EVENTS
from shopwindow.retail.mobilelog.operations import OPERATIONS as MOBILELOG
from shopwindow.retail.places.zipcodes import load as load_places
from shopwindow.retail.promotions import kind as promotions
from shopwindow.retail.promotions.operations import OPERATIONS as PROMOTIONS
from shopwindow.retail.sharing.mail import SHARED_PROMOTION
from shopwindow.retail.sharing.operations import OPERATIONS as SHARING
from shopwindow.retail.storefront import WEEK, events_by_store, grid_of_stores
from shopwindow.retail.stores import kind as stores
from shopwindow.retail.stores.operations import OPERATIONS as STORES

WITH_PAGES = (
    "retail/apps",
    "retail/events",
    "retail/promotions",
    "retail/stores",
    "catalog",
)
"""The folders of families that have pages of rules."""

INTERFACE = Interface(
    title="Retail Mobile, Store and Order Utility Service Interface",
    version="1",
    kinds=(
        apps.APP,
        stores.STORE,
        events.EVENT,
        promotions.PROMOTION,
        *CATALOG_KINDS,
        contract_kind(apps.APP),
    ),
    operations=(
        *in_family("Applications", APPS),
        *in_family("Opt-ins", CONSENTS),
        *in_family("Mobile log", MOBILELOG),
        *in_family("Store events", EVENTS),
        *in_family("Stores", STORES),
        *in_family("Promotions", PROMOTIONS),
        *in_family("Sharing", SHARING),
        *in_family("Single-use codes", CODES),
        *in_family("Bags", BAGS),
        *in_family(
            "Catalog",
            (
                *CATEGORIES,
                *PRODUCTS,
                *RECOMMENDATIONS,
                *REVIEWS,
                *SEARCH,
                *AVAILABILITY,
                *STATUS,
            ),
        ),
    ),
    rules=(*apps.RULES, *events.RULES, *promotions.RULES, *stores.RULES),
    clocks=(WEEK,),
    indexes=(CATALOG,),
    tables=(CONSENTS_TABLE, CODES_TABLE, BAGS_TABLE, OUTBOX),
    mails=(SHARED_PROMOTION,),
    applications=apps.APP.name,
    supported_versions=apps.supported_versions,
    prepare=(load_places,),
    derived=(events_by_store, grid_of_stores),
    pages=tuple(Path(__file__).parent / folder / "rules.yaml" for folder in WITH_PAGES),
    families=("bags", "catalog", "codes", "consents", "mobilelog", "sharing", "stores"),
)
