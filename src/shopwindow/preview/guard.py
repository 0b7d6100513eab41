"""Who may see the preview: this machine's browsers, and others after a code was
entered.

A page of the preview shows content that is not public yet. Without care any page on the
web that an editor has open could read it: by a request to the loopback address, or by a
name of its own that leads there (DNS rebinding). So a request is refused unless its
Host is an address of the preview, and its Origin, where it has one, the preview itself.

On an address other than loopback, everybody on the network could ask. There a browser
first enters a code that the terminal prints; a code works once, and ten wrong ones make
a new one.

The preview writes nothing but a fix that a person has seen, and that only on loopback.
Its form carries a token of this preview, which no page of another site can read.
"""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

COOKIE = "shopwindow_preview"

CODE_DIGITS = 6
"""Ten tries at a million codes: one guess in 100,000 of a whole set of tries succeeds.
"""

MAX_WRONG_TRIES = 10

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

HEADERS = (
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)


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

    ``announce`` takes a code that a person should see, when there is a new one.
    ``form_token`` goes into each form that writes; empty: nothing may be written, since
    others than this machine's user reach the address.
    """

    host: str
    port: int
    announce: Callable[[str], None]
    code: str = field(init=False, default="")
    form_token: str = field(init=False, default="")
    _wrong: int = field(init=False, default=0)
    _tokens: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        if self.is_open:
            self.form_token = secrets.token_urlsafe(24)
        else:
            self._renew()

    @property
    def is_open(self) -> bool:
        """Whether everybody who reaches the address may see the pages: it is loopback."""
        return is_loopback(self.host)

    def knows_host(self, host: str) -> bool:
        """Return whether a Host header names the preview.

        Any IP address is fine, for a name is what an attacker has: an address that
        leads here was typed by somebody who means this machine.
        """
        name = urlsplit(f"//{host}").hostname or ""
        if name == "localhost":
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return name == self.host
        return address.is_loopback or not self.is_open

    def knows_origin(self, origin: str | None, host: str) -> bool:
        """Return whether a request comes from a page of the preview, or from no page at
        all.
        """
        return origin is None or origin == f"http://{host}"

    def admits(self, token: str | None) -> bool:
        """Return whether a browser with this cookie may see pages."""
        return self.is_open or (token is not None and token in self._tokens)

    def admits_form(self, token: str) -> bool:
        """Return whether a form with this token is one of the preview's pages."""
        expected = self.form_token
        return bool(expected) and hmac.compare_digest(token.encode(), expected.encode())

    def enter(self, code: str) -> str | None:
        """Return a new token for a browser that knows the code; None for a wrong one."""
        if not hmac.compare_digest(code.strip().encode(), self.code.encode()):
            self._wrong += 1
            if self._wrong >= MAX_WRONG_TRIES:
                self._renew()
            return None
        token = secrets.token_urlsafe(24)
        self._tokens.add(token)
        self._renew()
        return token

    def _renew(self) -> None:
        self._wrong = 0
        self.code = f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
        self.announce(self.code)
