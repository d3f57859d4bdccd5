"""The page in a browser: no accessibility fault that axe-core finds, nothing wider than a phone, open within a second.

Runs where chromium is installed, and axe-core's `axe.min.js` is named by CREDO_AXE (`npm pack axe-core` brings it).
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from credo.reports import to_html
from tests.reports.samples import classified, compared

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = Path(os.environ.get("CREDO_AXE", "axe.min.js"))

pytestmark = pytest.mark.skipif(CHROMIUM is None or not AXE.exists(), reason="needs chromium, and CREDO_AXE=axe.min.js")

PROBE = """
const folds = [...document.querySelectorAll("details")]; folds.forEach(fold => fold.open = true);
const loaded = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
axe.run(document).then(found => {
  const faults = found.violations.map(v => v.id + " (" + v.impact + "): " + v.nodes[0].target);
  const wide = document.documentElement.scrollWidth - innerWidth;
  const out = document.createElement("pre"); out.id = "probe";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  out.textContent = JSON.stringify({faults, wide, loaded, dark}); document.body.append(out);
});
"""


def probe(page: str, folder: Path, width: int, dark: bool) -> dict:
    source = folder / "page.html"
    scripts = f"<script>{AXE.read_text(encoding='utf-8')}</script><script>{PROBE}</script>"
    source.write_text(page.replace("</body>", f"{scripts}</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--virtual-time-budget=20000",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", "--dump-dom",
            *(["--blink-settings=preferredColorScheme=0"] if dark else []), source.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (found,) = re.findall(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    return json.loads(html.unescape(found))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 500], ids=["desktop", "narrow"])  # chromium's windows are 500 wide at least
@pytest.mark.parametrize("kind", ["number", "classes"])
def test_the_page_in_a_browser(kind: str, width: int, dark: bool, tmp_path: Path) -> None:
    found = probe(to_html((compared() if kind == "number" else classified(2))[1]), tmp_path, width, dark)
    assert found["dark"] is dark
    assert found["faults"] == []
    assert found["wide"] <= 0
    assert found["loaded"] < 5_000  # the bar is a second; a busy machine is no fault of the page
