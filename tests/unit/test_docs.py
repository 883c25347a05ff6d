# SPDX-License-Identifier: Apache-2.0
"""The documentation: what tools/check-docs finds, and every page in the site's navigation and index."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def check() -> ModuleType:
    loader = SourceFileLoader("check_docs", str(ROOT / "tools" / "check-docs"))
    spec = spec_from_loader("check_docs", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


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
    ],
)
def test_a_link_of_the_readme_leads_somewhere(check: ModuleType, link: str, fault: str | None) -> None:
    found = check.broken_links("README.md", f"[text]({link})")
    assert bool(found) == bool(fault)
    assert not fault or fault in found[0]


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}
    named = set(re.findall(r"\]\(([\w./-]+\.md)\)", index))
    assert {page for page in pages if not page.startswith("reference/rules/SP")} == named
