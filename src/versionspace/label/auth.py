"""Who may come in: checked for every request before any of it is looked at.

Host        one of ours: another site's name that was made to point here is refused
Origin      ours, where the browser says it
token       once, in the opening address; then a cookie that scripts cannot read and other sites cannot send
writes      JSON with a header of our own, which no form and no other site can send without asking first
body        bounded

What browsers know a campaign by, kept in its folder: a tab that is still open goes on when the server is back.
"""

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import asdict, dataclass, field, replace
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from versionspace.store import write_file

FILE = ".label.json"


@dataclass(frozen=True)
class Identity:
    """The same at every start, wherever the folder was moved to."""

    token: str
    """Who has it may come in."""
    port: int
    """Of the last time; 0: there was none."""
    campaign: str
    """Under which browsers keep the answers that are not sent yet."""


def identity(folder: Path) -> Identity:
    """Of a campaign's folder; made and kept where there is none."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        known = Identity(str(found["token"]), int(found["port"]), str(found.get("campaign") or ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        known = Identity(secrets.token_urlsafe(24), 0, secrets.token_hex(8))
        return keep(folder, known)
    return known if known.campaign else keep(folder, replace(known, campaign=_before(folder)))


def keep(folder: Path, known: Identity) -> Identity:
    """Writes it, for its owner alone."""
    write_file(folder / FILE, json.dumps(asdict(known)).encode(), 0o600)
    return known


def _before(folder: Path) -> str:
    """By what earlier versions knew a campaign: the place that it lay at. Answers may still wait under it."""
    return hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY = 256 << 10
"""Bytes of a request at most: a hundred answers take a tenth of it."""
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
class Door:
    """What lets people in."""

    token: str
    port: int
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "::1")
    any_address: bool = False
    """Bound to every address of the machine: an address in digits is fine, since no other site's name is one."""
    cookie: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "cookie", f"versionspace-{self.port}")

    @property
    def key(self) -> str:
        """The cookie's content: proves the token without being it."""
        return hmac.new(self.token.encode(), b"cookie", hashlib.sha256).hexdigest()

    def knows_host(self, host: str) -> bool:
        """Whether a request meant for this host is for us."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:
            return False
        if "@" in host or parts.path or port != self.port:
            return False
        return name in self.hosts or (self.any_address and _is_address(name))

    def knows_origin(self, origin: str) -> bool:
        """Whether a page of this origin is ours."""
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
    """Stands before the app."""

    def __init__(self, app: App, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request in, or says why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        brought = self._token(scope)
        status, why = self._refused(scope, headers, brought)
        if status:
            await _say(send, status, why, html=scope["path"] == "/")
            return
        cookie = f"{self.door.cookie}={self.door.key}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000"
        body = _Body(receive)
        await self.app(scope, body.receive, _armoured(send, cookie if brought else "", body))

    def _refused(self, scope: Scope, headers: dict[str, str], brought: bool) -> tuple[int, str]:
        if not self.door.knows_host(headers.get("host", "")):
            return 421, "This address is not the page's own. Open the one that the terminal shows."
        if "origin" in headers and not self.door.knows_origin(headers["origin"]):
            return 403, "Another site asked for this. It is refused."
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return 403, "Another site asked for this. It is refused."
        if not brought and not self._has_cookie(headers):
            return 401, "Open the address that the terminal shows: it carries the key."
        if scope["method"] not in ("GET", "HEAD"):
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return 415, "Only JSON is taken."
            if HEADER not in headers:
                return 403, f"The header {HEADER} is missing."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY:
            return 413, f"At most {BODY} bytes are taken."
        return 0, ""

    def _token(self, scope: Scope) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        return hmac.compare_digest(given.encode(), self.door.token.encode())

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.door.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.door.key.encode())


class _Body:
    """A request's body, cut off at its bound however long it says it is."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self.got = receive, 0

    async def receive(self) -> Message:
        """The next piece; past the bound, the end."""
        message = await self._receive()
        self.got += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self.too_large else message

    @property
    def too_large(self) -> bool:
        """Whether the bound was passed."""
        return self.got > BODY


def _armoured(send: Send, cookie: str, body: _Body) -> Send:
    async def armoured(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["status"] = 413 if body.too_large else message["status"]
            there = {name.lower() for name, _ in message["headers"]}
            extra = dict(HEADERS) if b"cache-control" in there else HEADERS | {"cache-control": "no-store"}
            if cookie:
                extra = extra | {"set-cookie": cookie}
            message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in extra.items())]
        await send(message)

    return armoured


async def _say(send: Send, status: int, why: str, *, html: bool) -> None:
    if html:
        body = f"<!doctype html><meta charset=utf-8><title>versionspace</title><p>{why}</p>".encode()
        media = b"text/html; charset=utf-8"
    else:
        body, media = json.dumps({"detail": why}).encode(), b"application/json"
    headers = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
    headers += [(b"content-type", media), (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
