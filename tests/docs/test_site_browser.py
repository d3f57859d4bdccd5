"""The built site in a browser: accessible, no wider than its window, and nothing asked of another server.

`make docs` builds it, `make browser` runs this.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browsing import MISSING, faults, too_wide
from tools.chromium import DEVICES, SCHEMES, Browser, Tab, served

SITE = Path(__file__).resolve().parents[2] / "site"
# The first page, a start with commands, maths with tables and long code, figures, an API page.
PAGES = ("", "start/", "concepts/linear-regression/", "worked/curve-fitting/", "reference/decisions/")

REASON = MISSING or (None if (SITE / "index.html").is_file() else "no site: `make docs` builds it")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

ELSEWHERE = """
performance.getEntriesByType("resource").map(each => each.name).filter(name => !name.startsWith(location.origin))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SITE) as at:
        yield at


def shown_scheme(tab: Tab) -> str:
    return {"default": "light", "slate": "dark"}[tab.run("document.body.dataset.mdColorScheme")]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_site(page: str, device: str, scheme: str, browser: Browser, address: str) -> None:
    with browser.open(f"{address}/{page}", device, scheme) as tab:
        assert shown_scheme(tab) == scheme
        # A heading left empty in a table is the one rule that is a matter of taste ("minor").
        assert [fault for fault in faults(tab) if "(minor)" not in fault] == []
        assert too_wide(tab) <= 0
        assert tab.run(ELSEWHERE) == []
