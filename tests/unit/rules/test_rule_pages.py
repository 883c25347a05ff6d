# SPDX-License-Identifier: Apache-2.0
"""Pages of rules: one screen each, and docs/reference/rules as the rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.core.errors import UsageError
from slowpath.findings.page import LINES, WIDTH, markdown_files, text_page
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.registry import SLOW_PATHS, find

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "rules"


@pytest.mark.parametrize("rule", SLOW_PATHS, ids=lambda rule: rule.code)
def test_a_rule_fits_one_screen(rule: SlowPath) -> None:
    lines = text_page(rule).splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    for heading in ("What it is", "How it shows", "Why", "How it is found", "How to fix", "False alarms", "Sources"):
        assert any(line.startswith(heading) for line in lines)


def test_the_pages_in_docs_are_current() -> None:
    pages = markdown_files(SLOW_PATHS)
    there = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    assert there == pages, "run: slowpath explain --markdown docs/reference/rules"


def test_codes_are_found_as_people_write_them() -> None:
    assert find("sp001") is find("1") is find("SP001")
    with pytest.raises(UsageError, match="there is no slow path 'SP999'"):
        find("SP999")
