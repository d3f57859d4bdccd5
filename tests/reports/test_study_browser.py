"""The report of a study in a browser: no accessibility fault that axe-core finds, and no wider than its window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from credo.reports.study import study_report
from credo.reports.study_page import write_study_html
from tests.browsing import MISSING, faults, too_wide
from tests.plots import study_samples as samples
from tools.chromium import DEVICES, SCHEMES, Browser

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module", params=["mixed", "two", "failed"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_study_html(study_report(samples.STUDIES[request.param]()), path)
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("device", DEVICES)
def test_the_report_in_a_browser(page: Path, device: str, scheme: str, browser: Browser) -> None:
    with browser.open(page.as_uri(), device, scheme) as tab:
        tab.run("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        assert faults(tab) == []
        assert too_wide(tab) <= 0
