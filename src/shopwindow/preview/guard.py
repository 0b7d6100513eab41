"""Who may see the preview: this machine's browsers, and others that open the printed
address.

A page of the preview shows content that is not public yet. Without care any page on the
web that an editor has open could read it: by a request to the loopback address, or by a
name of its own that leads there (DNS rebinding). So a request is refused unless its
Host is an address of the preview, and its Origin, where it has one, the preview itself.
What a browser marks as a request of another site's page is refused as well: a picture
there could otherwise start work here. Only a link may lead from there to a page.

On an address other than loopback, everybody on the network could ask. There the
terminal prints an address with a secret, as Jupyter's does. Who opens it gets a cookie
with the secret, and nobody else sees anything.

A codespace, or another tunnel, forwards an address of its own (`--allow-host`). It may
put http://localhost and the preview's port in the place of a page's own Origin, while
Host stays the forwarded name (https://github.com/symfony/demo/issues/1542). Who may open
that address, is the forwarder's to decide.

The preview writes nothing but a fix that a person has seen, and that only on loopback.
Its form carries a token of this preview, which no page of another site can read.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

SECRET_BYTES = 16
"""128 bits: nobody guesses them, however often they try."""

SECRET_PARAMETER = "token"
"""In the printed address, as in Jupyter's."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Nothing from elsewhere, nothing inline: what content says is never run, even if it
were not escaped (CSP Level 3).
"""

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Return whether an address is one that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass
class Guard:
    """Decides about requests to the preview at ``host`` and ``port``.

    ``forwarded`` is the name, in lower case, under which a forwarder shows it by https;
    None: none does. ``secret`` is what a browser has to know; empty: the address is
    loopback, where everybody who reaches it may see the pages. ``form_token`` goes into
    each form that writes; empty: nothing may be written, since others than this machine's
    user reach the address.
    """

    host: str
    port: int
    forwarded: str | None = None
    secret: str = field(init=False, default="")
    form_token: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if is_loopback(self.host):
            self.form_token = secrets.token_urlsafe(24)
        else:
            self.secret = secrets.token_hex(SECRET_BYTES)

    @property
    def cookie(self) -> str:
        """The name of the cookie with the secret. Browsers send a cookie to all ports
        of a host, so two previews there need two names.
        """
        return f"shopwindow_preview_{self.port}"

    def knows_host(self, host: str) -> bool:
        """Return whether a Host header names the preview. One that cannot be read does
        not.

        Any IP address is fine, for a name is what an attacker has: an address that
        leads here was typed by somebody who means this machine.
        """
        if host.lower() == self.forwarded:
            return True
        try:
            authority = urlsplit(f"http://{host}")
        except ValueError:
            return False
        if authority.netloc != host:
            return False
        name = authority.hostname or ""
        if name == "localhost":
            return True
        try:
            ip_address(name)
        except ValueError:
            return name == self.host.lower()
        return bool(self.secret) or is_loopback(name)

    def knows_site(self, method: str, headers: Mapping[str, str]) -> bool:
        """Return whether a request comes from a page of the preview, or from no page at
        all.

        From another site a person may open a page, by a link (Fetch Metadata).
        ``headers`` have names in lower case.
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        own = [f"http://{host}"]
        if host.lower() == self.forwarded:
            own = [f"https://{host}", f"http://localhost:{self.port}"]
        if origin is not None and origin not in own:
            return False
        if headers.get("sec-fetch-site") != "cross-site":
            return True
        return (
            method == "GET"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )

    def admits(self, secret: str) -> bool:
        """Return whether a browser with this secret may see pages."""
        return not self.secret or hmac.compare_digest(
            secret.encode(), self.secret.encode()
        )

    def admits_form(self, token: str) -> bool:
        """Return whether a form with this token is one of the preview's pages."""
        expected = self.form_token
        return bool(expected) and hmac.compare_digest(token.encode(), expected.encode())
