"""Access control, applied to every request before the application sees it.

Host        must be one of the server's own names, which prevents DNS rebinding
Origin      must be the server's own, if the browser sends it
token       once, in the URL that opens the page; then a cookie that scripts cannot read and other sites cannot send
writes      must be JSON with a custom header, which no form and no other site can send without a preflight request
body        limited in size

The token, the port and the campaign's id are stored in the campaign's folder, so that an open tab reconnects when the
server restarts.
"""

import hashlib
import hmac
import ipaddress
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import asdict, dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from versionspace.store import write_file

FILE = ".label.json"


@dataclass(frozen=True)
class Identity:
    """What browsers know a campaign by: the same at every start, wherever the folder is."""

    token: str
    """The secret in the URL."""
    port: int
    """The previous port; 0 before the first start."""
    campaign: str
    """The id under which browsers store unsent answers."""
    host: str = "127.0.0.1"
    """The name in the URL of the previous start."""
    process: int = 0
    """The id of the process that served the page then."""

    @property
    def address(self) -> str:
        """The URL of the page, which contains the token."""
        return f"http://{self.host}:{self.port}/?token={self.token}"


def identity(folder: Path) -> Identity:
    """Return the identity stored in a campaign's folder; create it if it is missing or damaged."""
    new = Identity(secrets.token_urlsafe(24), 0, secrets.token_hex(8))
    return stored_identity(folder) or save_identity(folder, new)


def stored_identity(folder: Path) -> Identity | None:
    """Return the identity stored in a campaign's folder; None if it is missing, damaged or not readable."""
    try:
        stored = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return Identity(
            str(stored["token"]), int(stored["port"]), str(stored["campaign"]), str(stored.get("host", Identity.host)),
            int(stored.get("process", 0)),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def save_identity(folder: Path, identity: Identity) -> Identity:
    """Store an identity so that only its owner can read it; return it."""
    write_file(folder / FILE, json.dumps(asdict(identity)).encode(), 0o600)
    return identity


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY = 256 << 10
"""Maximum size of a request in bytes; a hundred answers need a tenth of it."""
HEADER = "x-versionspace"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """The server's secrets and names."""

    token: str
    port: int
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
    any_address: bool = False
    """Listens on all interfaces: numeric addresses are accepted, since DNS rebinding needs a name."""
    cookie: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "cookie", f"versionspace-{self.port}")

    @property
    def key(self) -> str:
        """The cookie's value: derived from the token without revealing it."""
        return hmac.new(self.token.encode(), b"cookie", hashlib.sha256).hexdigest()

    def knows_host(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if "@" in host or parts.path or port != self.port:
            return False
        return name in self.hosts or (self.any_address and _is_address(name))

    def knows_origin(self, origin: str) -> bool:
        """Return whether an Origin header names this server."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme == "http" and self.knows_host(parts.netloc)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that rejects requests without access."""

    def __init__(self, app: App, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer with the reason for the rejection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        token_given = self._has_token(scope)
        status, why = self._rejection(scope, headers, token_given)
        if status:
            await _respond(send, status, why, html=scope["path"] == "/")
            return
        cookie = f"{self.access.cookie}={self.access.key}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000"
        body = _Body(receive)
        await self.app(scope, body.receive, _with_headers(send, cookie if token_given else "", body))

    def _rejection(self, scope: Scope, headers: dict[str, str], token_given: bool) -> tuple[int, str]:
        if not self.access.knows_host(headers.get("host", "")):
            return 421, "This is not the address of the page. Open the address shown in the terminal."
        if "origin" in headers and not self.access.knows_origin(headers["origin"]):
            return 403, "This request came from another site and was rejected."
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return 403, "This request came from another site and was rejected."
        if not token_given and not self._has_cookie(headers):
            return 401, "Open the address shown in the terminal: it contains the access key."
        if scope["method"] not in ("GET", "HEAD"):
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return 415, "Only JSON is accepted."
            if HEADER not in headers:
                return 403, f"The header {HEADER} is missing."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY:
            return 413, f"At most {BODY} bytes are accepted."
        return 0, ""

    def _has_token(self, scope: Scope) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        return hmac.compare_digest(given.encode(), self.access.token.encode())

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.access.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.access.key.encode())


class _Body:
    """A request's body, cut off at the size limit whatever its Content-Length says."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.got = receive, 0

    async def receive(self) -> Message:
        """Return the next chunk; past the limit, a disconnect."""
        message = await self._receive()
        self.got += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.too_large else message

    @property
    def too_large(self) -> bool:
        """Whether the limit was exceeded."""
        return self.got > BODY


def _with_headers(send: Send, cookie: str, body: _Body) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["status"] = 413 if body.too_large else message["status"]
            there = {name.lower() for name, _ in message["headers"]}
            extra = dict(HEADERS) if b"cache-control" in there else HEADERS | {"cache-control": "no-store"}
            if cookie:
                extra = extra | {"set-cookie": cookie}
            message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in extra.items())]
        await send(message)

    return send_with_headers


async def _respond(send: Send, status: int, why: str, *, html: bool) -> None:
    if html:
        body = f"<!doctype html><meta charset=utf-8><title>versionspace</title><p>{why}</p>".encode()
        media = b"text/html; charset=utf-8"
    else:
        body, media = json.dumps({"detail": why}).encode(), b"application/json"
    headers = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
    headers += [(b"content-type", media), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
