# SPDX-License-Identifier: Apache-2.0
"""The page as text: well-formed pictures, no network, nothing escapes, budgets, what a ratio must stand beside."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from slowpath.core.results import Results, Verdict
from slowpath.report.run_page import render_html
from support.change import change

HOSTILE = """</script><script>alert(1)</script> "quoted' & <b>bold</b> ‮"""
SEEN = HOSTILE.replace("\u202e", "\\u202e")
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Checks nesting, and keeps ids, links, headings and what every script holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.headings: list[int] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids += [known["id"] or ""] if "id" in known else []
        self.links += [known["href"] or ""] if "href" in known else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A picture's element that holds nothing."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.words.append(data.strip())


def pictures(page: str) -> list[ElementTree.Element]:
    """Every outermost SVG, parsed as XML."""
    elements, depth, start = [], 0, 0
    for match in re.finditer(r"<svg\b[^>]*?(/?)>|</svg>", page):
        if match[0] == "</svg>":
            depth -= 1
            if depth == 0:
                elements.append(ElementTree.fromstring(page[start : match.end()]))
        elif not match[1]:
            start = match.start() if depth == 0 else start
            depth += 1
    return elements


@pytest.fixture
def page(results: Results) -> str:
    return render_html(results)


def require_well_formed(text: str) -> None:
    """All is closed, ids are unique, links lead somewhere, and headings are in order."""
    parsed = Page(text)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert [link for link in parsed.links if link.startswith("#") and link[1:] not in parsed.ids] == []
    assert [level for level in parsed.headings if level == 1] == parsed.headings[:1]
    assert all(after - before <= 1 for before, after in itertools.pairwise(parsed.headings))


def test_page_is_well_formed(page: str) -> None:
    require_well_formed(page)


def test_sections_are_in_order(page: str) -> None:
    names = (
        "headline",
        "contrasts",
        "sizes",
        "spread",
        "skipped",
        "environment",
        "reproduce",
        "notes",
    )
    places = [page.index(f'id="{name}"') for name in names]
    assert places == sorted(places)


def test_page_needs_no_network(page: str) -> None:
    assert re.findall(r"https?://[^\s\"']+", page.replace("http://www.w3.org/2000/svg", "")) == []
    assert "@import" not in page
    assert re.findall(r"\bsrc=", page) == []
    assert [link for link in Page(page).links if not link.startswith(("#", "data:"))] == []


def test_pictures_have_words(page: str) -> None:
    drawn = [picture for picture in pictures(page) if picture.get("role") == "img"]
    assert len(drawn) > 100
    for picture in drawn:
        assert picture[0].tag == "title"
        assert picture[0].text


def test_pictures_hold_finite_places(page: str) -> None:
    for picture in pictures(page):
        for element in picture.iter():
            for value in element.attrib.values():
                assert not re.search(r"\bnan\b|\binf\b", value), ElementTree.tostring(picture)


def test_hostile_words_stay_words(results: Results) -> None:
    for cell in results.cells:
        change(cell, label=HOSTILE, group=HOSTILE, reproduce=HOSTILE, reason=HOSTILE)
    for contrast in results.contrasts:
        change(contrast, question=HOSTILE, group=HOSTILE, remedy=HOSTILE, interval_kind=HOSTILE, suspect=[HOSTILE])
        change(contrast, where=HOSTILE, id=contrast.id + HOSTILE)
        for side in (contrast.a, contrast.b):
            change(side, label=HOSTILE, value=HOSTILE)
    change(results.verdict, headline=HOSTILE)
    change(results.run, title=HOSTILE, machine={HOSTILE: {HOSTILE: [HOSTILE]}})
    change(results, notes=[HOSTILE])
    for row in results.skipped:
        change(row, label=HOSTILE, output=HOSTILE, log=HOSTILE)
    page = render_html(results)
    parsed = Page(page)
    assert parsed.open == []
    assert len(parsed.scripts) == 1
    assert "<b>bold" not in page
    assert SEEN in parsed.words
    pictures(page)


def test_every_ratio_stands_beside_both_times_and_its_interval(results: Results, page: str) -> None:
    summaries = re.findall(r'<summary class="row">(.*?)</summary>', page, re.DOTALL)
    assert len(summaries) == len(results.contrasts)
    for summary in summaries:
        words = re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", summary, flags=re.DOTALL))
        ratio = re.search(r"\d×", words)
        assert re.search(r"\[[\d.]+, [\d.]+\]", words) or "no interval: " in words
        if ratio:
            assert "→" in words
            assert len(re.findall(r"[\d.]+ (?:s|ms|µs|ns)\b", words)) >= 2


def test_missing_is_a_dash_with_its_reason(page: str) -> None:
    assert "no interval: no samples of b" in page
    assert "– not recorded" in page


def test_empty_run_renders(imported: Results) -> None:
    page = render_html(
        replace(
            imported,
            cells=[],
            contrasts=[],
            notes=[],
            verdict=Verdict(headline="No", lines=[], state="clear", answer="No"),
        )
    )
    assert Page(page).open == []
    for name in ("contrasts", "sizes", "spread"):
        assert f'id="{name}"' not in page


def test_cells_without_all_that_may_be_missing_render(results: Results) -> None:
    missing = dict.fromkeys(
        ("interval", "level", "p50", "p90", "p99", "p999", "p999_reason", "steady_class", "within_ratio",
         "between_ratio", "quantum_ratio", "bandwidth_bytes_per_s", "bandwidth_interval")
    )  # fmt: skip
    for cell in results.cells:
        for metric in cell.metrics.values():
            for estimate in metric.phases.values():
                change(estimate, **missing, launch_values=[])
    assert Page(render_html(results)).open == []
    for cell in results.cells:
        change(cell, metrics={}, witness=None, allocations=None)
    assert Page(render_html(results)).open == []


def _grown(results: Results, cells: int) -> Results:
    grown, contrasts = list(results.cells), list(results.contrasts)
    while len(grown) < cells:
        cell, number = grown[len(grown) % 24], len(grown)
        grown.append(replace(cell, cell=number, label=f"{cell.label}, more {number}"))
    while len(contrasts) < 60:
        contrasts.append(replace(contrasts[len(contrasts) % 20], id=f"more-{len(contrasts)}"))
    return replace(results, cells=grown, contrasts=contrasts)


def test_hundred_cells_stay_below_a_megabyte(results: Results) -> None:
    grown = _grown(results, 100)
    page = render_html(grown)
    assert len(page.encode()) < 1_000_000


@pytest.mark.parametrize("study", ["puts", "cannon"])
def test_studies_are_well_formed(study: str, request: pytest.FixtureRequest) -> None:
    document: Results = request.getfixturevalue(study)
    page = render_html(document)
    require_well_formed(page)
    test_page_needs_no_network(page)
    test_pictures_hold_finite_places(page)
    for picture in pictures(page):
        assert picture.get("role") != "img" or picture[0].tag == "title"
