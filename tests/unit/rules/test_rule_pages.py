# SPDX-License-Identifier: Apache-2.0
"""Pages of rules: one screen each, and all of them in docs/reference/rules.md."""

from __future__ import annotations

import docs_pages
import pytest

from slowpath.core.errors import UsageError
from slowpath.findings.page import LINES, WIDTH, text_page
from slowpath.findings.slow_path import SlowPath
from slowpath.slowpaths.registry import SLOW_PATHS, find


@pytest.mark.parametrize("rule", SLOW_PATHS, ids=lambda rule: rule.code)
def test_a_rule_fits_one_screen(rule: SlowPath) -> None:
    lines = text_page(rule).splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    for heading in ("What it is", "How it is found", "How to fix"):
        assert any(line.startswith(heading) for line in lines)


def test_the_page_of_all_rules_is_short_and_links_other_pages() -> None:
    page = docs_pages.rules_page(SLOW_PATHS)
    assert max(len(part.split()) for part in page.split("\n## ")) <= 160
    assert "docs/" not in page
    assert "](remedies.md)" in page


def test_codes_are_found_as_people_write_them() -> None:
    assert find("sp001") is find("1") is find("SP001")
    with pytest.raises(UsageError, match="there is no slow path 'SP999'"):
        find("SP999")
