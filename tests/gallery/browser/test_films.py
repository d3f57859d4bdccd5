"""Videos made by a command: they wait in turn, play small, larger when asked for, and it is told when they fail.
A template's drawing fits into its frame, and a frame seen large lets the keyboard out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gallery.browser.chromium import ABSENT, after, opened, profile, until
from tests.gallery.browser.serving import Server

pytestmark = pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT))

READY = "[...document.querySelectorAll('#cards .made')].every(made => made.dataset.state === 'ready')"
PLAYING = "[...document.querySelectorAll('#cards video')].every(film => film.played.length && film.currentTime > 0.1)"
WIDTHS = "[...document.querySelectorAll('video')].map(film => film.videoWidth)"
NARROW = """
async () => {
  const token = document.querySelector('meta[name=csrf-token]').content;
  const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': token };
  await fetch('/api/narrow', { method: 'POST', headers, body: JSON.stringify({ name: 'slow', value: true }) });
}
"""


FITS = """
() => {
  const { width, height } = document.querySelector('svg').getBoundingClientRect();
  return width === innerWidth && height === innerHeight && document.documentElement.scrollHeight === innerHeight;
}
"""


def test_drawings(browser: Any, tmp_path: Path) -> None:
    with Server(tmp_path / "drawings.db", "drawing") as server, profile(browser, server.address) as (context, _):
        page = opened(context, server.address)
        page.wait_for_selector(".card iframe")
        frame = page.frames[1]
        frame.wait_for_selector("svg")
        assert frame.evaluate(FITS)
        page.keyboard.press("z")
        page.wait_for_selector("#large iframe")
        page.keyboard.press("Escape")
        page.wait_for_selector("#large", state="hidden")
        page.keyboard.press("1")
        after(page, 1)


def test_films(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="no Pillow, which draws the frames")
    with Server(tmp_path / "films.db", "film") as server:
        with profile(browser, server.address, motion="no-preference") as (context, watched):
            page = opened(context, server.address)
            page.evaluate(NARROW.replace("true", "false"))
            page.reload()
            until(page, READY)
            until(page, PLAYING)
            assert page.evaluate(WIDTHS) == [80] * 4
            page.wait_for_timeout(1500)  # three times round
            until(page, PLAYING)
            page.click(".card .tool[aria-label*=large] >> nth=0")
            until(page, "document.querySelector('#large video')?.readyState >= 2")
            assert page.evaluate(WIDTHS)[-1] == 320
            page.keyboard.press("Escape")
            page.evaluate(NARROW)  # to those that take a minute
            page.reload()
            page.wait_for_selector(".made[data-state=failed]")
            assert "longer than 3 s" in page.inner_text(".made[data-state=failed] >> nth=0")
            assert page.locator(".made[data-state=failed] button").first.inner_text() == "Try again"
            page.evaluate(NARROW.replace("true", "false"))
            page.close()
            watched.complaints = [each for each in watched.complaints if "502" not in each]  # that is how it is told
        with profile(browser, server.address, motion="reduce") as (context, _):
            page = opened(context, server.address)
            until(page, READY)
            assert page.evaluate("[...document.querySelectorAll('video')].every(film => film.paused)")
