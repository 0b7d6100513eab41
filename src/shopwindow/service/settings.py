"""What the environment says to the service, as one value: for `serve` and for any other
server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import from_environment
from shopwindow.interface.declaring.secret import SECRET, read_secret
from shopwindow.service.mail.smtp import SmtpServer, smtp_server
from shopwindow.service.message import LOOPBACK, Proxies, proxies


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a worker answers with. docs/operate/configure.md lists the variables."""

    interface: Interface
    """SHOPWINDOW_INTERFACE: what is served."""
    out: Path
    """SHOPWINDOW_OUT: the output directory, whose current release is served."""
    database: str
    """SHOPWINDOW_DATABASE: the database's address; empty: writes are refused."""
    log_dir: str
    """SHOPWINDOW_LOG_DIR: the folder of the mobile log; empty: there is none."""
    templates: Path
    """SHOPWINDOW_TEMPLATES: the folder of the shop's own templates of mails; it may be
    missing.
    """
    smtp: SmtpServer | None
    """SHOPWINDOW_SMTP: the mail server; None: nothing is sent."""
    trusted: Proxies
    """SHOPWINDOW_TRUSTED_PROXIES: networks whose X-Forwarded-For is believed."""
    secret: bytes
    """SHOPWINDOW_CODE_SECRET: what keys digests; empty: there is none."""
    access_log: bool
    """SHOPWINDOW_ACCESS_LOG: whether each request is a line of the log."""
    docs: bool
    """SHOPWINDOW_DOCS: whether there are /openapi.json and /docs."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Settings":
        """Read the variables of an environment.

        Raises Failure for a value that cannot be meant, and ValueError for a secret
        that is short.
        """
        return cls(
            interface=from_environment(environ),
            out=Path(environ.get("SHOPWINDOW_OUT", "dist")).absolute(),
            database=environ.get("SHOPWINDOW_DATABASE", ""),
            log_dir=environ.get("SHOPWINDOW_LOG_DIR", ""),
            templates=Path(environ.get("SHOPWINDOW_TEMPLATES", "content/templates")),
            smtp=smtp_server(environ),
            trusted=proxies(environ.get("SHOPWINDOW_TRUSTED_PROXIES", LOOPBACK)),
            secret=read_secret(environ[SECRET]) if environ.get(SECRET) else b"",
            access_log=environ.get("SHOPWINDOW_ACCESS_LOG", "1") != "0",
            docs=environ.get("SHOPWINDOW_DOCS", "1") != "0",
        )


def address(option: str, text: str) -> tuple[str, int]:
    """Return host and port of an option's `HOST:PORT`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{option} must be HOST:PORT, not {text!r}")
    return host.strip("[]"), int(port)
