"""An Interface is what a service offers, as one value: kinds, operations, rules,
clocks, indexes, tables.

The engine is handed an Interface and knows nothing else about what it publishes.
`shopwindow.shop.INTERFACE` is the department store's; a company may bring its own with
`--interface package.module:NAME`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import Any

from shopwindow.content.case import Case
from shopwindow.content.collections import Collection
from shopwindow.content.documents import Content
from shopwindow.content.kinds import Kind
from shopwindow.content.rules import RuleFindings
from shopwindow.content.schedule import Clock
from shopwindow.interface.index import Index
from shopwindow.interface.mail import MailTemplate
from shopwindow.interface.operation import FromContent, Operation
from shopwindow.interface.routes import Routes
from shopwindow.interface.table import Table


@dataclass(frozen=True)
class Interface:
    """What a service offers, handed to every function that needs it.

    ``rules`` look at documents of several kinds. ``clocks`` are values that follow from
    the instant of the build. ``indexes`` are files built from streamed kinds.
    ``tables`` are what actions write, and ``mails`` what they promise people by way of
    the outbox (interface.mail). ``applications`` names the kind whose documents hold
    digests of API keys; None: no key is asked for. ``prepare`` are functions for what
    the first requests would wait for (`prepare_process` calls them), and ``derived``
    are derivations that a worker makes from each release before it is ready.
    ``families`` are those of the shop that add a part to site.yaml's schema,
    schemas/site/<family>.json. ``schemas`` and ``templates`` are folders, searched
    before the program's own: the templates are those of mails and of nginx, and parts
    of site.yaml's schema may lie in the schemas' site/. ``collections`` are those of a
    content folder or a release; their kinds and operations are among the others.
    """

    title: str
    version: str
    kinds: tuple[Kind, ...]
    operations: tuple[Operation, ...]
    rules: tuple[Callable[[Case], RuleFindings], ...] = ()
    clocks: tuple[Clock, ...] = ()
    indexes: tuple[Index, ...] = ()
    tables: tuple[Table[Any], ...] = ()
    mails: tuple[MailTemplate, ...] = ()
    applications: str | None = None
    prepare: tuple[Callable[[], None], ...] = ()
    derived: tuple[Callable[[Content], Any], ...] = ()
    families: tuple[str, ...] = ()
    schemas: Traversable | None = None
    templates: Traversable | None = None
    collections: tuple[Collection, ...] = ()

    def prepare_process(self) -> None:
        """Call every function of ``prepare``: once in a process, before it serves."""
        for prepare in self.prepare:
            prepare()

    @cached_property
    def routes(self) -> Routes:
        """Where the paths of the operations lead."""
        return Routes(self.operations)

    def application_names(self, content: Content) -> list[str]:
        """Return the names of the applications that have API keys, in order."""
        return content.identities(self.applications) if self.applications else []

    def keys(self, content: Content) -> dict[str, list[str]]:
        """Return the digests of API keys (SHA-256, hex) by application."""
        if self.applications is None:
            return {}
        documents = content.documents(self.applications)
        return {
            name: app["apiKeys"]
            for name, app in zip(
                self.application_names(content), documents, strict=True
            )
        }

    @cached_property
    def cached(self) -> tuple[str, ...]:
        """The names of the operations whose responses caches keep: site.yaml's
        `lifetimes` may name each of them.
        """
        return tuple(
            operation.name
            for operation in self.operations
            if isinstance(operation.source, FromContent)
        )

    @cached_property
    def kind(self) -> Mapping[str, Kind]:
        """The kinds by their names."""
        return {kind.name: kind for kind in self.kinds}

    @cached_property
    def operation(self) -> Mapping[str, Operation]:
        """The operations by their names."""
        return {operation.name: operation for operation in self.operations}

    @cached_property
    def mail(self) -> Mapping[str, MailTemplate]:
        """The mails by their names."""
        return {mail.name: mail for mail in self.mails}
