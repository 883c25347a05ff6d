# SPDX-License-Identifier: Apache-2.0
"""The page as text: well-formed pictures, no network, nothing escapes, budgets, what a ratio must stand beside."""

from __future__ import annotations

import copy
import itertools
import json
import re
from html.parser import HTMLParser
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from slowpath.report import render_html

HOSTILE = """</script><script>alert(1)</script> "quoted' & <b>bold</b> ‮"""
VOID = {"meta", "link", "br", "hr", "img", "input"}
Json = dict[str, Any]


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
    found, depth, start = [], 0, 0
    for match in re.finditer(r"<svg\b[^>]*?(/?)>|</svg>", page):
        if match[0] == "</svg>":
            depth -= 1
            if depth == 0:
                found.append(ElementTree.fromstring(page[start : match.end()]))
        elif not match[1]:
            start = match.start() if depth == 0 else start
            depth += 1
    return found


@pytest.fixture
def page(results: Json, made: ModuleType) -> str:
    return render_html(results, made.series(results))


def test_data_is_what_its_generator_makes(results: Json, imported: Json, made: ModuleType) -> None:
    assert json.loads(json.dumps(made.results())) == results
    assert json.loads(json.dumps(made.imported())) == imported


def test_page_is_well_formed(page: str) -> None:
    parsed = Page(page)
    assert parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    missing = [link for link in parsed.links if link.startswith("#") and link[1:] not in parsed.ids]
    assert missing == []


def test_headings_are_in_order(page: str) -> None:
    levels = Page(page).headings
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_sections_are_in_order(page: str) -> None:
    names = (
        "headline",
        "contrasts",
        "first",
        "sizes",
        "spread",
        "skipped",
        "samples",
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


def test_pictures_have_title_and_description(page: str) -> None:
    drawn = [picture for picture in pictures(page) if picture.get("role") == "img"]
    assert len(drawn) > 100
    for picture in drawn:
        assert picture[0].tag == "title"
        assert picture[0].text
        assert picture[1].tag == "desc"
        assert picture[1].text


def test_pictures_hold_finite_places(page: str) -> None:
    for picture in pictures(page):
        for element in picture.iter():
            for value in element.attrib.values():
                assert not re.search(r"\bnan\b|\binf\b", value), ElementTree.tostring(picture)


def test_hostile_words_stay_words(results: Json, made: ModuleType) -> None:
    series = made.series(results, 20)
    for cell in results["cells"]:
        cell.update(label=HOSTILE, group=HOSTILE, reproduce=HOSTILE, reason=HOSTILE)
    for contrast in results["contrasts"]:
        contrast.update(
            question=HOSTILE, group=HOSTILE, remedy=HOSTILE, interval_kind=HOSTILE, suspect=[HOSTILE], where=HOSTILE
        )
        contrast["id"] += HOSTILE
        for side in "ab":
            contrast[side].update(label=HOSTILE, value=HOSTILE)
    results["verdict"]["headline"] = results["run"]["title"] = HOSTILE
    results["run"]["machine"] = {HOSTILE: {HOSTILE: [HOSTILE]}}
    results["notes"] = [HOSTILE]
    results["skipped"] = [one | {"label": HOSTILE, "output": HOSTILE, "log": HOSTILE} for one in results["skipped"]]
    page = render_html(results, series)
    parsed = Page(page)
    assert parsed.open == []
    assert len(parsed.scripts) == 2
    assert "<b>bold" not in page
    assert json.loads(parsed.scripts[0])[0]["t"] == f"{HOSTILE}: {HOSTILE}"
    assert HOSTILE in parsed.words
    pictures(page)


def test_every_ratio_stands_beside_both_times_and_its_interval(results: Json, page: str) -> None:
    summaries = re.findall(r'<summary class="row">(.*?)</summary>', page, re.DOTALL)
    assert len(summaries) == len(results["contrasts"])
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
    assert "– needs " in page


def test_skipped_cells_are_listed_with_their_output(page: str) -> None:
    assert "libcuda.so.1 was not found" in page
    assert "&lt;no provider&gt; &amp; none" in page
    assert "launches/000017/stderr" in page


def test_imported_run_says_that_the_spread_is_unknown(imported: Json) -> None:
    page = render_html(imported)
    assert "one launch: run-to-run spread unknown" in page
    assert "Imported: the times come from a log" in page
    assert "No raw samples are in the run folder" in page
    assert 'id="skipped"' not in page


def test_empty_run_renders(imported: Json) -> None:
    empty = imported | {"cells": [], "contrasts": [], "notes": [], "verdict": {"headline": "Nothing", "lines": []}}
    page = render_html(empty)
    assert Page(page).open == []
    for name in ("contrasts", "first", "sizes", "spread"):
        assert f'id="{name}"' not in page


def test_cells_without_values_render(results: Json) -> None:
    for cell in results["cells"]:
        for metric in cell["metrics"].values():
            for estimate in metric["phases"].values():
                estimate.update({key: None for key in estimate if key not in ("launches", "samples", "launch_values")})
                estimate["launch_values"] = []
    assert Page(render_html(results)).open == []


def _grown(results: Json, cells: int) -> Json:
    grown = copy.deepcopy(results)
    while len(grown["cells"]) < cells:
        one = copy.deepcopy(grown["cells"][len(grown["cells"]) % 24])
        one.update(cell=len(grown["cells"]), label=f"{one['label']}, more {len(grown['cells'])}")
        grown["cells"].append(one)
    while len(grown["contrasts"]) < 60:
        one = copy.deepcopy(grown["contrasts"][len(grown["contrasts"]) % 20])
        grown["contrasts"].append(one | {"id": f"more-{len(grown['contrasts'])}"})
    return grown


def test_hundred_cells_stay_below_a_megabyte(results: Json, made: ModuleType) -> None:
    grown = _grown(results, 100)
    page = render_html(grown, made.series(grown, 1000))
    assert len(page.encode()) < 1_000_000
    assert "this page holds fewer" in page


@pytest.mark.parametrize("study", ["puts", "cannon"])
def test_studies_are_well_formed(study: str, request: pytest.FixtureRequest) -> None:
    document: Json = request.getfixturevalue(study)
    page = render_html(document)
    test_page_is_well_formed(page)
    test_headings_are_in_order(page)
    test_page_needs_no_network(page)
    test_pictures_hold_finite_places(page)
    for picture in pictures(page):
        assert picture.get("role") != "img" or [child.tag for child in picture[:2]] == ["title", "desc"]


def _hostile(value: Any) -> Any:
    """Every text within `value` that is not a key of something else."""
    if isinstance(value, dict):
        return {key: _hostile(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_hostile(one) for one in value]
    return HOSTILE if isinstance(value, str) else value


def test_hostile_words_of_studies_stay_words(puts: Json, cannon: Json) -> None:
    for cell in puts["cells"]:
        cell.update(label=HOSTILE, mpi=HOSTILE + str(cell["mpi"]))
        cell["instructions"]["put"]["shares"] = _hostile(cell["instructions"]["put"]["shares"])
        cell["parameters"]["design"] += HOSTILE if cell["parameters"]["design"] == "shmem_p" else ""
    group = cannon["cannon"]["groups"][0]
    for name in ("label", "advice", "blas", "critical_n", "best_across_nodes"):
        group[name] = _hostile(group[name])
    for one in group["variants"]:
        one["variant"] += HOSTILE if one["variant"] == "a_new_style" else ""
    for document in (puts, cannon):
        page = render_html(document)
        assert Page(page).open == []
        assert "<b>bold" not in page
        assert "alert(1)</script>" not in page
        pictures(page)


def test_page_is_the_same_each_time(results: Json, made: ModuleType) -> None:
    assert render_html(results, made.series(results, 20)) == render_html(results, made.series(results, 20))
