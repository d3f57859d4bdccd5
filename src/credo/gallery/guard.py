"""Who may ask, and how much: the outermost layer of the server, before anything of a request is believed."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["Guard", "Policy", "csrf_of", "is_loopback", "TooLarge", "page_policy"]

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Refusal = tuple[int, str, dict[str, str]]  # status, why, headers

# Requests that one address may make at once, and how many are given back a second: a page needs a dozen at its start,
# and a few an answer.
BURST, A_SECOND = 240.0, 40.0
# Bytes of a body: the longest that a page sends is an order of nine cards.
LARGEST_BODY = 64 << 10
_MOST_ADDRESSES = 4096
# Pages whose address loses the token, once it is in a cookie.
_PAGE = re.compile(r"/|/s/[\w-]+", re.ASCII)

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "x-frame-options": "SAMEORIGIN",
}


@dataclass(frozen=True)
class Policy:
    """host, port : where the server listens; token : what a browser must show; None is for loopback only"""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None

    @property
    def cookie(self) -> str:
        """Start of the cookies' names: cookies do not tell ports apart."""
        return f"credo_gallery_{self.port}"


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def page_policy(nonce: str) -> str:
    """The content-security policy of a page: nothing from elsewhere, nothing inline without the nonce."""
    own = f"'self' 'nonce-{nonce}'"
    return (
        f"default-src 'none'; script-src {own}; style-src {own}; img-src 'self' data: blob:; media-src 'self' blob:; "
        "connect-src 'self'; font-src 'self'; worker-src 'self'; frame-src 'self'; manifest-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def csrf_of(browser: str) -> str:
    """What a browser's page must send with a change: it can be read off the page, which other sites cannot."""
    return hmac.new(browser.encode(), b"credo gallery", hashlib.sha256).hexdigest()


class Guard:
    """Refuses what does not come from this server's own page, and puts headers on what is answered.

    - The `Host` must be loopback where the server is: another site's name that was made to point here is refused.
    - With a token: the cookie that a visit to a page with ``?token=…`` leaves, or ``Authorization: Bearer …``.
    - A change (any method but GET and HEAD) must be JSON of at most 64 KiB, from the same origin by what the browser
      says, with the token that the page holds.
    - So many requests a second from one address.

    In `scope["state"]`: browser, the identifier of a browser (new ones get a cookie); nonce.
    """

    def __init__(self, app: Any, policy: Policy, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._policy, self._clock = app, policy, clock
        self._left: dict[str, tuple[float, float]] = {}  # address → requests left, when

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no web sockets
        request = _Request(scope, self._policy)
        refused = self._refused(request, scope)
        if refused is not None:
            await _answer(send, refused[0], refused[1], refused[2])
            return
        if request.shown_token is not None and _PAGE.fullmatch(request.path):
            await _answer(send, 303, "", {"location": request.path, "set-cookie": request.token_cookie()})
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {}).update(browser=request.browser, nonce=nonce)
        body = _Body(receive, LARGEST_BODY)
        await self._app(scope, body, _with_headers(send, nonce, request.new_cookie()))

    def _refused(self, request: _Request, scope: Scope) -> _Refusal | None:
        wait = self._wait((scope.get("client") or ("?",))[0])
        if wait > 0:
            return 429, "That was too fast. Try again in a moment.", {"retry-after": str(int(wait) + 1)}
        if self._policy.token is None and not is_loopback(request.hostname):
            return 421, "This server answers to this machine only.", {}
        if self._policy.token is not None and not request.has_token(self._policy.token):
            return 401, "This gallery needs its token: open /?token=…", {}
        return None if request.method in ("GET", "HEAD") else request.forged()

    def _wait(self, address: str) -> float:
        """Seconds until the address may ask again."""
        now = self._clock()
        left, then = self._left.pop(address, (BURST, now))
        left = min(BURST, left + (now - then) * A_SECOND)
        allowed = left >= 1.0
        self._left[address] = (left - allowed, now)
        if len(self._left) > _MOST_ADDRESSES:
            self._left.pop(next(iter(self._left)))
        return 0.0 if allowed else (1.0 - left) / A_SECOND


class _Request:
    """What the guard wants to know of a request."""

    def __init__(self, scope: Scope, policy: Policy) -> None:
        self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._policy, self._scheme = policy, scope.get("scheme", "http")
        self.method, self.path = scope["method"], scope["path"]
        self.host = self._headers.get("host", "")
        self.hostname = urlsplit(f"//{self.host}").hostname or "" if _plain(self.host) else ""
        cookies = _cookies(self._headers.get("cookie", ""))
        known = cookies.get(f"{policy.cookie}_browser", "")
        self._is_new = not (len(known) == 32 and known.isalnum())
        self.browser = secrets.token_hex(16) if self._is_new else known
        self._token = cookies.get(f"{policy.cookie}_token", "")
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        self.shown_token = query.get("token", [None])[0] if policy.token is not None else None

    def has_token(self, token: str) -> bool:
        """In the address, in the cookie that it left, or as a header."""
        kind, _, bearer = self._headers.get("authorization", "").partition(" ")
        shown = self.shown_token if self.method == "GET" else None
        given = [(shown, token), (bearer if kind.lower() == "bearer" else None, token), (self._token, _digest(token))]
        return any(a is not None and hmac.compare_digest(a.encode(), b.encode()) for a, b in given)

    def forged(self) -> _Refusal | None:
        """Why a change is not believed to come from the page."""
        origin, site = self._headers.get("origin"), self._headers.get("sec-fetch-site")
        if (origin is not None and origin != f"{self._scheme}://{self.host}") or site not in (None, "same-origin"):
            return 403, "This request comes from another site.", {}
        if self._headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "A change is sent as application/json.", {}
        given = self._headers.get("x-csrf-token", "")
        if self._is_new or not hmac.compare_digest(given.encode(), csrf_of(self.browser).encode()):
            return 403, "This page is out of date. Load it again.", {}
        return None

    def token_cookie(self) -> str:
        """What is shown from now on."""
        assert self._policy.token is not None
        return self._cookie("token", _digest(self._policy.token))

    def new_cookie(self) -> str | None:
        """For a browser that is new."""
        return self._cookie("browser", self.browser) if self._is_new else None

    def _cookie(self, name: str, value: str) -> str:
        secure = "; Secure" if self._scheme == "https" else ""
        return f"{self._policy.cookie}_{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000{secure}"


def _plain(host: str) -> bool:
    return bool(host) and all(letter.isalnum() or letter in ".-:[]" for letter in host)


def _digest(token: str) -> str:
    return hmac.new(token.encode(), b"credo gallery token", hashlib.sha256).hexdigest()


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(text).items()}
    except CookieError:
        return {}


class TooLarge(Exception):
    """The body is longer than a page's can be; the server answers 413."""


class _Body:
    """The body as it comes, cut where it is too long: what follows is as if the client had left."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left = receive, most

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise TooLarge
        return message


def _with_headers(send: Send, nonce: str, cookie: str | None) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            added = {"content-security-policy": page_policy(nonce), "cache-control": "no-store", **_HEADERS}
            headers = [(name.encode(), value.encode()) for name, value in added.items() if name.encode() not in there]
            if cookie is not None:
                headers.append((b"set-cookie", cookie.encode()))
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
    body = json.dumps({"detail": detail}).encode() if detail else b""
    listed = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
    listed |= _HEADERS | (headers or {})
    encoded = [(name.encode(), value.encode()) for name, value in listed.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
