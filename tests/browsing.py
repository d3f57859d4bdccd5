"""What the browser tests share: a browser, or the reason why there is none, and axe-core's verdict on a page."""

from __future__ import annotations

import os
from pathlib import Path

from tools.chromium import Tab, installed

AXE = Path(os.environ.get("CREDO_AXE", "axe.min.js"))

#: why no browser test can run, or None
MISSING = (
    "no chromium: `make browser` installs it where it can" if installed() is None
    else "CREDO_AXE does not name axe.min.js: `make browser` does" if not AXE.is_file()
    else None
)  # fmt: skip

VERDICT = """
axe.run(document).then(found => found.violations.map(
  fault => `${fault.id} (${fault.impact}): ${fault.nodes.map(node => node.target.join(" ")).join(", ")}`))
"""


def faults(tab: Tab) -> list[str]:
    """Every fault of accessibility that axe-core finds: `rule (impact): elements`."""
    tab.run(AXE.read_text(encoding="utf-8") + "\n;0")
    return tab.run(VERDICT)


def too_wide(tab: Tab) -> int:
    """By how many points the page is wider than its window."""
    return tab.run("Math.max(document.documentElement.scrollWidth, innerWidth)") - tab.width
