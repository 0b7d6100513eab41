"""An Interface is everything that a service offers, as one value.

The engine receives an Interface and knows nothing else about what it publishes.
`shopwindow.shop.INTERFACE` is the department store's. A company may use its own with
`--interface package.module:NAME` (interface.declaring.loading).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shopwindow.content.declared.collection import Collection
from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.schedule import Clock
from shopwindow.content.kinds import Kind, Rule
from shopwindow.interface.declaring.index import Index
from shopwindow.interface.declaring.mail import MailTemplate
from shopwindow.interface.declaring.operation import FromContent, Operation
from shopwindow.interface.declaring.routes import Routes
from shopwindow.interface.declaring.table import Table


@dataclass(frozen=True)
class Interface:
    """What a service offers, handed to every function that needs it.

    ``title`` stands in the OpenAPI description. ``version`` is the interface's own.

    What is published: ``kinds`` of documents and the ``operations`` that answer from
    them. ``rules`` look at documents of several kinds at once. ``clocks`` are values
    that follow from the instant of the build. ``indexes`` are files built from streamed
    kinds. ``collections`` are those that a content folder or a release declares; their
    kinds and operations are among ``kinds`` and ``operations``. ``base`` is what it was
    before these were added; None: it has none.

    What is written: ``tables`` are those of the actions. ``mails`` are what actions
    send people by way of the outbox (interface.declaring.mail).

    ``applications`` names the kind whose documents hold digests of API keys; None: no
    API key is required. ``supported_versions`` returns the versions of an application,
    by its document, whose contracts count (interface.answering.contracts); None: all count.

    Two things happen before a worker is ready, or its first requests would wait for
    them: `prepare_process` calls the functions in ``prepare``, and the derivations in
    ``derived`` are computed from the release.

    ``pages`` are files with those of the families' rules (content.rules.rule_pages).

    ``schemas`` and ``templates`` are folders that are searched before the program's
    own. Templates are those of mails and of nginx. ``families`` are those that add a
    part to the schema of site.yaml, schemas/site/<family>.json in either folder.
    """

    title: str
    version: str
    kinds: tuple[Kind, ...]
    operations: tuple[Operation, ...]
    rules: tuple[Rule, ...] = ()
    clocks: tuple[Clock, ...] = ()
    indexes: tuple[Index, ...] = ()
    tables: tuple[Table[Any], ...] = ()
    mails: tuple[MailTemplate, ...] = ()
    applications: str | None = None
    supported_versions: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    prepare: tuple[Callable[[], None], ...] = ()
    derived: tuple[Callable[[Content], Any], ...] = ()
    families: tuple[str, ...] = ()
    schemas: Path | None = None
    templates: Path | None = None
    collections: tuple[Collection, ...] = ()
    base: "Interface | None" = None
    pages: tuple[Path, ...] = ()

    def prepare_process(self) -> None:
        """Call every function of ``prepare``: once in a process, before it serves."""
        for prepare in self.prepare:
            prepare()

    @cached_property
    def routes(self) -> Routes:
        """The operations by their paths."""
        return Routes(self.operations)

    def application_names(self, content: Content) -> list[str]:
        """Return the names of the applications that have API keys, in order."""
        return content.identities(self.applications) if self.applications else []

    def keys(self, content: Content) -> dict[str, list[str]]:
        """Return the digests of API keys (SHA-256, hex) by the application's name."""
        if self.applications is None:
            return {}
        name_of = self.kind[self.applications].named
        documents = content.documents(self.applications)
        return {name_of(each): each["apiKeys"] for each in documents}

    @cached_property
    def cached(self) -> tuple[str, ...]:
        """The names of the operations whose responses caches may store.

        site.yaml's `lifetimes` may name each of them.
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
