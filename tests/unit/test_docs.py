# SPDX-License-Identifier: Apache-2.0
"""The documentation: what its tools find and write, and every page in the site's navigation and index."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from slowpath.mpi.alternatives.table import ALTERNATIVES
from slowpath.mpi.libraries import words_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def tool(name: str) -> ModuleType:
    """A program of tools/ as a module."""
    loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return tool("check-docs")


def test_generated_tables_are_current_and_hold_every_entry() -> None:
    generate = tool("generate-docs")
    pages = {page: page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")}
    stale = [str(page) for page, text in pages.items() if generate.current(text) != text]
    assert not stale, "run: tools/generate-docs"
    marks = re.findall(r"<!-- generated: ([\w-]+) -->", "\n".join(pages.values()))
    assert sorted(marks) == sorted(generate.BLOCKS)
    assert generate.current("<!-- generated: remedies -->\nold\n<!-- end -->").count(" | ") >= 5 * sum(
        not remedy.unset for remedy in generate.REMEDIES
    )


def test_each_alternative_has_one_row_below_its_library_and_says_what_shows_it() -> None:
    generate = tool("generate-docs")
    block = generate.BLOCKS["alternatives"]()
    sections = dict(part.split("\n", 1) for part in f"\n{block}".split("\n## ")[1:])
    for row in ALTERNATIVES:
        library = words_of(row.applies).lower()
        section = next(text for title, text in sections.items() if title.lower() == library)
        mark = "\\*" if row.known == "documented" else ""
        jobs = [f"**{part}" for part in section.split("\n**")[1:]]
        prefix, _, value = row.name.rpartition(" ")
        names = (f"[{row.name}]({row.source}){mark}", f"[{prefix}]({row.source}) VALUES{mark}")
        pattern = "|".join(
            re.escape(name).replace("VALUES", rf"[^|]*\b{re.escape(value)}(?:, [^|]*?)?") for name in names
        )
        found = [
            (job, line)
            for job in jobs
            if (line := re.search(rf"^(?:{pattern})(?: \(seen by (.+?)\))? \| (.*) \| ", job, re.MULTILINE))
        ]
        ((job, line),) = [one for one in found if row.where.text in one[0].splitlines()[0]]
        other, variables = line.groups()
        written = [f"{name}={setting}" for name, setting in row.variables.items()]
        assert variables.strip("`").split() in (written, [*written[:-1], f"{written[-1].partition('=')[0]}=VALUE"])
        _, where, usual = job.splitlines()[0].split(" | ")
        assert where == row.where.text
        witness, _, does = row.seen.partition(" ")
        if row.seen.startswith("MPI_T reads ") or "=" not in witness:
            assert (other or usual.removeprefix("seen by ")) in {row.seen, "MPI_T"}
        else:
            assert (other or usual.removeprefix("seen by ")) == witness
            assert re.search(rf"{re.escape(witness)}(, \S+)* {does}[;.]", section)


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


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """Else `mkdocs build --strict` ends the whole of `make test` before its first test."""
    named = set(re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} <= named
