"""Assemble the fragments of `changes/` into CHANGELOG.md: `python tools/changelog.py VERSION DATE`.

A fragment is `changes/ISSUE.KIND.md`, or `changes/ISSUE-words.KIND.md` where an issue has several; KIND is
one of `KINDS`. It holds list items, written for users. Assembling puts them under a heading for the version,
above older versions, and removes the fragments.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
NAME = re.compile(rf"(?P<issue>\d+)(-[a-z0-9-]+)?\.(?P<kind>{'|'.join(KINDS)})\.md")


def fragments(folder: Path) -> dict[str, list[Path]]:
    """Kind → its fragments, by issue; a file with another name is an error."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted(folder.glob("*.md"), key=lambda path: (issue(path), path.name)):
        match = NAME.fullmatch(path.name)
        if match is None:
            raise SystemExit(f"{path}: name a fragment ISSUE.KIND.md, KIND one of {', '.join(KINDS)}.")
        found[match["kind"]].append(path)
    return found


def issue(path: Path) -> int:
    digits = re.match(r"\d*", path.name)
    return int(digits[0] or 0) if digits else 0


def section(version: str, date: str, found: dict[str, list[Path]]) -> str:
    lines = [f"## {version} ({date})"]
    for kind, paths in found.items():
        if paths:
            lines += [
                "",
                f"### {KINDS[kind]}",
                "",
                *(path.read_text(encoding="utf-8").strip() for path in paths),
            ]
    return "\n".join(lines) + "\n"


def assemble(root: Path, version: str, date: str) -> None:
    found = fragments(root / "changes")
    if not any(found.values()):
        raise SystemExit("changes/ holds no fragments: nothing to release.")
    changelog = root / "CHANGELOG.md"
    head, mark, older = changelog.read_text(encoding="utf-8").partition("\n## ")
    text = f"{head.rstrip()}\n\n{section(version, date, found)}" + (f"{mark}{older}" if mark else "")
    changelog.write_text(text, encoding="utf-8")
    for paths in found.values():
        for path in paths:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    assemble(ROOT, *sys.argv[1:])
