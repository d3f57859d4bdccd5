"""The page's pure modules, in the browser that runs them: scales, drafts, keys, bands, the smoke and its governor."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import credo
from credo.plots.theme import THEMES
from tests.gallery.browser.chromium import ABSENT, launched

HERE = Path(__file__).parent / "modules"
STATIC = Path(credo.__file__).parent / "gallery" / "static"
PLACE = "http://modules.test"

RUN = """
async path => {
  const { tests } = await import(path);
  const failed = [];
  for (const [name, test] of Object.entries(tests)) {
    try { await test(); } catch (error) { failed.push(`${name}: ${error.message}`); }
  }
  return { count: Object.keys(tests).length, failed };
}
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    if ABSENT is not None:
        pytest.skip(ABSENT)
    with launched() as browser:
        page = browser.new_page()
        page.route(f"{PLACE}/**", _served)
        page.goto(f"{PLACE}/")
        yield page


def _served(route: Any) -> None:
    path = route.request.url.removeprefix(PLACE)
    if path == "/":
        route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
        return
    file = STATIC / path.removeprefix("/static/") if path.startswith("/static/") else HERE / path.removeprefix("/")
    route.fulfill(path=file, content_type=mimetypes.guess_type(file.name)[0] or "text/javascript")


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("*.test.js")))
def test_module(page: Any, name: str) -> None:
    found = page.evaluate(RUN, f"/{name}")
    assert found["failed"] == []
    assert found["count"] > 10


def test_the_colours_are_those_of_the_house() -> None:
    text = (STATIC / "theme.css").read_text(encoding="utf-8")
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    for part, theme in ((light, "light"), (dark, "dark")):
        for role, colour in THEMES[theme].items():
            assert f"--{role}: {colour};" in part


def test_nothing_is_asked_of_another_machine() -> None:
    for path in STATIC.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
            assert "http://" not in text
            assert "https://" not in text
