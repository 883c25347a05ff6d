# SPDX-License-Identifier: Apache-2.0
"""The documentation: what its tools find and write, and every page in the site's navigation and index."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import docs_pages
import pytest

from slowpath.watch.accounts import NAMES
from support.programs_as_modules import module_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return module_of(ROOT / "tools" / "check-docs")


def test_each_mark_has_its_table_and_each_table_its_mark() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert sorted(docs_pages.MARK.findall(pages)) == sorted(docs_pages.BLOCKS)
    toggled = [
        remedy
        for remedy in docs_pages.REMEDIES
        if not remedy.unset and (remedy.variables or remedy.parameter or remedy.bind)
    ]
    assert docs_pages.filled("<!-- generated: remedies -->").count(" | ") == 3 * (len(toggled) + 1)


def test_a_source_that_names_a_page_that_is_not_there_is_a_fault(check: ModuleType) -> None:
    there, gone = "docs/reference/" + "metrics.md", "docs/" + "metrics.md"
    assert check.unknown_paths("a.py", f'"""See {there}."""') == []
    assert check.unknown_paths("a.py", f'"""See {gone}."""') == [f"a.py: names {gone}, which is not there"]


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("docs/index.md", None),
        ("docs/index.md#how-to", None),
        ("https://example.org/docs#x", None),
        ("docs/index.md#nowhere", "no such heading"),
        ("gone.md", "not there"),
        ("docs/reference/cli.md", "only the built site has"),
    ],
)
def test_a_link_of_the_readme_leads_somewhere(check: ModuleType, link: str, fault: str | None) -> None:
    broken = check.broken_links("README.md", f"[text]({link})")
    assert bool(broken) == bool(fault)
    assert not fault or fault in broken[0]


def test_every_account_of_a_watch_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "watch.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if name not in page] == []


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\(([\w./-]+\.md)\)", index))
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"} == named


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """Else `mkdocs build --strict` ends the whole of `make test` before its first test."""
    named = set(re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert set(docs_pages.built_pages()) == named
