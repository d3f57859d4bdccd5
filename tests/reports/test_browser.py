"""The report in a browser: no accessibility fault that axe-core finds, no wider than its window, open in a second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from credo.reports import to_html
from tests.browsing import MISSING, faults, too_wide
from tests.reports.samples import classified, compared
from tools.chromium import DEVICES, SCHEMES, Browser

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module", params=["number", "classes"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(to_html((compared() if request.param == "number" else classified(2))[1]), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("device", DEVICES)
def test_the_report_in_a_browser(page: Path, device: str, scheme: str, browser: Browser) -> None:
    with browser.open(page.as_uri(), device, scheme) as tab:
        loaded = tab.run("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        tab.run("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        assert tab.run("matchMedia('(prefers-color-scheme: dark)').matches") is (scheme == "dark")
        assert faults(tab) == []
        assert too_wide(tab) <= 0
        assert loaded < 5_000  # the bar is a second; a busy machine is no fault of the page
