"""Fragments are assembled under their version, above older ones; a misnamed fragment is refused."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
changelog = runpy.run_path(str(ROOT / "tools" / "changelog.py"))


def test_the_fragments_here_are_well_named() -> None:
    changelog["fragments"](ROOT / "changes")


def test_assemble(tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nIntroduction.\n", encoding="utf-8")
    for name in ("10.added", "2.fixed", "9-more-words.added"):
        (tmp_path / "changes" / f"{name}.md").write_text(f"- From {name}.\n", encoding="utf-8")
    changelog["assemble"](tmp_path, "0.1.0", "2025-01-31")
    assert (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8") == (
        "# Changelog\n\nIntroduction.\n\n## 0.1.0 (2025-01-31)\n\n### Added\n\n- From 9-more-words.added.\n"
        "- From 10.added.\n\n### Fixed\n\n- From 2.fixed.\n"
    )
    assert [*(tmp_path / "changes").iterdir()] == []
    with pytest.raises(SystemExit, match="nothing to release"):
        changelog["assemble"](tmp_path, "0.1.1", "2025-02-01")
    (tmp_path / "changes" / "11.changed.md").write_text("- Later.\n", encoding="utf-8")
    changelog["assemble"](tmp_path, "0.2.0", "2025-02-01")
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.index("Introduction") < text.index("## 0.2.0") < text.index("- Later.") < text.index("## 0.1.0")


@pytest.mark.parametrize("name", ["added.md", "2.new.md", "x.added.md", "2.added.fixed.md"])
def test_a_misnamed_fragment_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(SystemExit, match="name a fragment"):
        changelog["fragments"](tmp_path)
