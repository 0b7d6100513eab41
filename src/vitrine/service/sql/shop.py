"""The port Store: all verbs on one transaction."""

from functools import cached_property

from vitrine.service.sql.bags import Bags
from vitrine.service.sql.codes import Codes
from vitrine.service.sql.consents import Consents
from vitrine.service.sql.limits import Limits
from vitrine.service.sql.migrate import level, reached
from vitrine.service.sql.outbox import Outbox
from vitrine.service.sql.retries import Retries
from vitrine.service.sql.session import Session


class Shop:
    """The verbs of one open transaction; each family is made when it is asked for."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def level(self) -> int:
        """The last step of the database's form. Raises Failure where this program does not know it."""
        return level(self._session)

    def reached(self) -> int:
        """The last step that the database has taken, whether or not this program knows it."""
        return reached(self._session)

    @cached_property
    def consents(self) -> Consents:
        return Consents(self._session)

    @cached_property
    def retries(self) -> Retries:
        return Retries(self._session)

    @cached_property
    def codes(self) -> Codes:
        return Codes(self._session)

    @cached_property
    def bags(self) -> Bags:
        return Bags(self._session)

    @cached_property
    def limits(self) -> Limits:
        return Limits(self._session)

    @cached_property
    def outbox(self) -> Outbox:
        return Outbox(self._session)
