"""Pages of the gallery in Chromium by Playwright, each watched for what no page may do."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.browsing import AXE, MISSING, VERDICT
from tools.chromium import DEVICES, installed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

#: why no test of the gallery's page can run, or None
ABSENT = MISSING or (
    "no playwright: pip install playwright" if importlib.util.find_spec("playwright") is None
    else "no fastapi: pip install credo[gallery]" if importlib.util.find_spec("fastapi") is None
    else None
)  # fmt: skip

# WebGL without a graphics card: software rendering, which is what the bar on frames is about.
_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A browser for many pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """Complaints of the pages of one browser profile: errors on the console, scripts that fail, requests elsewhere."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.complaints: list[str] = []
        #: what is expected for a while: a server that was killed cannot be reached
        self.away = False
        context.on("console", self._console)
        context.on("weberror", lambda error: self.complaints.append(f"script: {error.error}"))
        context.on("request", lambda request: self._request(request.url, address))

    def _console(self, message: Any) -> None:
        # Refused, reset, empty, or cut short in the middle: all that a killed server may look like.
        unreachable = "Failed to load resource: net::ERR_" in message.text
        # Reading pixels back is slow, it is said; tests do that, not the page.
        slow = "GPU stall due to ReadPixels" in message.text or "willReadFrequently" in message.text
        expected = (self.away and unreachable) or slow
        if message.type in ("error", "warning") and not expected:
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, url: str, address: str) -> None:
        if not url.startswith((f"{address}/", "data:", "blob:")):
            self.complaints.append(f"a request to {url}")


@contextlib.contextmanager
def profile(
    browser: Browser, address: str, device: str = "desktop", scheme: Any = "light", motion: Any = "reduce"
) -> Iterator[tuple[BrowserContext, Watched]]:
    """A browser profile (cookies of its own); at its end nothing may have been complained of."""
    width, height, scale = DEVICES[device]
    phone = device == "phone"
    context = browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=scale, is_mobile=phone, has_touch=phone,
        color_scheme=scheme, reduced_motion=motion, accept_downloads=True,
    )  # fmt: skip
    context.set_default_timeout(60_000)  # a loaded machine is slow; a page that fails fails just as well later
    watched = Watched(context, address)
    try:
        yield context, watched
        assert watched.complaints == [], watched.complaints
    finally:
        context.close()


NEWCOMER = """
async () => {
  const token = document.querySelector('meta[name=csrf-token]').content;
  const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': token };
  const answer = await fetch('/api/person', { method: 'POST', headers, body: JSON.stringify({ name: 'Somebody' }) });
  return (await answer.json()).session;
}
"""


def newcomer(context: BrowserContext, address: str) -> Page:
    """The page of somebody who has answered nothing: many tests can share a server."""
    page = opened(context, address)
    page.goto(f"{address}/s/{page.evaluate(NEWCOMER)}")
    page.wait_for_selector(".card")
    return page


def opened(context: BrowserContext, url: str) -> Page:
    """The page with its cards on it."""
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector(".card")
    return page


def faults(page: Page) -> list[str]:
    """Every fault of accessibility that axe-core finds; see `tests.browsing.faults`."""
    page.evaluate(AXE.read_text(encoding="utf-8") + "\n;0")
    return page.evaluate(VERDICT)


def until(page: Page, holds: str) -> None:
    """Return once the JavaScript expression is true. (As a function: the page's policy forbids to evaluate texts.)"""
    page.wait_for_function(f"() => {holds}")


def answers(page: Page) -> int:
    """How many answers the page shows."""
    return int(page.inner_text("#answers").split()[0])


def after(page: Page, count: int) -> None:
    """Return once the page shows so many answers."""
    text = f"{count} answer" if count == 1 else f"{count} answers"
    page.wait_for_function("text => document.getElementById('answers').textContent === text", arg=text)


def order(page: Page) -> list[str]:
    """The numbers on the cards as they lie."""
    return page.locator(".card:not([hidden]) .number").all_inner_texts()
