# SPDX-License-Identifier: Apache-2.0
"""Cards: which picture a finding leads with, what that picture shows, and what is never drawn."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from slowpath.core.cell_results import RoleWitness
from slowpath.core.results import Finding, LawPoint, LawResult, LimitBracket, RemedyResult, Results, Snippet
from slowpath.findings.tally import kinds_words
from slowpath.report import render_html, render_text
from slowpath.report.cards.law import law_picture
from slowpath.report.cards.sides import sides_picture, witness_picture
from slowpath.report.profile import profile, side_by_side
from slowpath.report.shown import MOST, PAGE_BYTES, samples_budget, shown_cells
from slowpath.report.view_contrasts import groups
from slowpath.report.view_findings import PictureSources, cards
from slowpath.report.view_places import places
from support.change import change
from support.results import a_finding

MIB = 2**20


def point(value_s: float, fitted_s: float | None = None, page: int | None = None, **place: float) -> LawPoint:
    return LawPoint(
        place=place, value_s=value_s, interval=(0.9 * value_s, 1.1 * value_s), fitted_s=fitted_s, page_bytes=page
    )


def law(
    name: str | None, *points: LawPoint, brackets: tuple[tuple[str, float, float], ...] = (), excess: bool = False
) -> LawResult:
    return LawResult(
        name=name,
        formula=None,
        coefficients=[],
        brackets=[LimitBracket(covariate=covariate, above=low, up_to=high) for covariate, low, high in brackets],
        residual_ratio=None,
        left_out_ratio=None,
        runner_up=None,
        refused=None if name else "too few points",
        separating=[],
        points=len(points),
        launches=5,
        text="a law",
        drawn=points,
        is_excess=excess,
    )


def drawn(finding: Finding) -> ElementTree.Element:
    made = law_picture(finding)
    assert made is not None
    return ElementTree.fromstring(made.drawing)


def words(picture: ElementTree.Element, class_: str) -> list[str]:
    return [one.text or "" for one in picture.iter("text") if class_ in (one.get("class") or "")]


LENGTHS = law("segments", *(point(1e-6 * n, 1e-6 * n, message_bytes=1024.0 * n) for n in (1, 2, 4, 8, 16)),
              brackets=(("message_bytes", 4096.0, 8192.0), ("message_bytes", 8192.0, 16384.0)))  # fmt: skip


def test_a_law_has_its_points_its_limits_and_both_titles() -> None:
    picture = drawn(a_finding(law=LENGTHS, metric="one_way_s", phase="first"))
    assert len(list(picture.iter("circle"))) == 5
    assert len([one for one in picture.iter("rect") if "limit" in (one.get("class") or "")]) == 2
    assert words(picture, "label") == ["4 KiB to 8 KiB"]
    assert words(picture, "axis-title") == ["One-way time of the first message", "length of the message"]


def test_a_law_s_line_breaks_at_its_limits() -> None:
    lines = [one for one in drawn(a_finding(law=LENGTHS)).iter("line") if "fit" in (one.get("class") or "")]
    assert len(lines) == 2  # of the four stretches between five points two hold a limit


def test_a_law_by_pages_has_a_named_line_for_each() -> None:
    points = [point(1e-3 * n, 1e-3 * n, page, allocation_bytes=64.0 * MIB * n + (page is not None))
              for n in (1, 4) for page in (None, 4096)]  # fmt: skip
    picture = drawn(a_finding(law=law("granules", *points, brackets=(("allocation's length", 4096.0, 2.0 * MIB),))))
    assert words(picture, "curve") == ["4 KiB pages", "n × 2 MiB"]


def test_a_law_with_a_threshold_and_pages_has_such_lines_too() -> None:
    """The threshold is a length, and no alignment."""
    points = [point(1e-3 * n, 1e-3 * n, page, allocation_bytes=64.0 * MIB * n + (page is not None))
              for n in (1, 4) for page in (None, 4096)]  # fmt: skip
    brackets = (("allocation's alignment", 4096.0, 2.0 * MIB), ("allocation_bytes", 64.0 * MIB, 256.0 * MIB))
    picture = drawn(a_finding(law=law("threshold", *points, brackets=brackets)))
    assert words(picture, "curve") == ["4 KiB pages", "n × 2 MiB"]


def test_lengths_that_are_alike_are_drawn_over_their_page_and_not_joined() -> None:
    points = [
        point(1e-3, 1e-3, 4096, allocation_bytes=1024.0 * MIB + 1),
        point(1e-4, 1e-4, None, allocation_bytes=1024.0 * MIB),
    ]
    picture = drawn(a_finding(law=law("granules", *points, brackets=(("allocation's length", 4096.0, 2.0 * MIB),))))
    assert words(picture, "axis-title")[1] == "page with which the length can be mapped"
    for line in picture.iter("line"):
        if "fit" in (line.get("class") or ""):
            assert line.get("y1") == line.get("y2")


def test_zero_stands_on_a_logarithmic_axis() -> None:
    points = [point(1e-6, 1e-6, queue=float(n)) for n in (0, 4, 64, 1024)]
    assert words(drawn(a_finding(law=law("queue", *points))), "tick")[-4:][0] == "0"


@pytest.mark.parametrize("without", [None, law(None, point(1e-6, message_bytes=8.0)), law("constant", *LENGTHS.drawn),
                                     law("segments", point(1e-6, message_bytes=8.0))])  # fmt: skip
def test_no_law_no_picture(without: LawResult | None) -> None:
    assert law_picture(a_finding(law=without)) is None


def test_an_excess_is_called_one() -> None:
    picture = drawn(a_finding(law=law("bytes", *LENGTHS.drawn, excess=True), metric="one_way_s", phase="steady"))
    assert words(picture, "axis-title")[0] == "Excess in one-way time"


def seen(results: Results, **changed: object) -> Finding:
    """A finding about a contrast of page kinds of the check-up."""
    one = next(c for c in results.contrasts if c.group == "page kind" and c.verdict == "slower")
    found = {"slow_cells": [one.b.cell], "fast_cells": [one.a.cell], "contrasts": [one.id], "ratio": one.ratio,
             "interval": one.interval, "metric": one.metric, "phase": "steady", "law": None}  # fmt: skip
    return a_finding("SP008", **(found | changed))


def test_both_sides_are_rows_of_their_launches_on_one_axis(results: Results) -> None:
    finding = seen(results)
    made = sides_picture(finding, results)
    assert made is not None
    picture = ElementTree.fromstring(made)
    launches = sum(len(results.cell(cell).metrics["one_way_s"].phases["steady"].launch_values)
                   for cell in (finding.slow_cells[0], finding.fast_cells[0]))  # fmt: skip
    assert len(list(picture.iter("circle"))) == launches
    assert words(picture, "axis-title")[-1] == "One-way time"


def test_a_picture_never_contradicts_the_factor_of_its_card(results: Results) -> None:
    assert sides_picture(seen(results, ratio=50.0, interval=(49.0, 51.0)), results) is None
    assert sides_picture(seen(results, ratio=50.0, interval=(1.1, 900.0)), results) is not None


def test_first_and_later_messages_of_one_cell_are_its_sides(results: Results) -> None:
    cell = next(one for one in results.cells if {"first", "steady"} <= set(one.metrics.get("one_way_s", _NONE).phases))
    first, later = (cell.metrics["one_way_s"].phases[phase].value for phase in ("first", "steady"))
    one = seen(
        results, slow_cells=[cell.cell], fast_cells=[cell.cell], contrasts=[], phase="first", ratio=first / later
    )
    made = sides_picture(one, results)
    assert made is not None
    assert "first message" in made
    assert "later messages" in made


class _NONE:
    phases = ()


def test_a_witness_is_drawn_where_the_kernel_takes_a_share_of_one_message(results: Results) -> None:
    finding = seen(results)
    slow = results.cell(finding.slow_cells[0])
    wall_s = slow.metrics["one_way_s"].phases["steady"].value

    def counted(system_s: float) -> None:
        one = RoleWitness(
            minor_faults_per_op=512.0, major_faults_per_op=None, system_time_s_per_op=system_s, involuntary_switches=0
        )
        change(slow, witness={"steady": {"receive": one}})

    counted(0.6 * wall_s)
    made = witness_picture(finding, results)
    assert made is not None
    assert "512 page faults" in made
    counted(0.01 * wall_s)
    assert witness_picture(finding, results) is None
    counted(0.6 * wall_s)
    for cell in (slow, results.cell(finding.fast_cells[0])):
        change(cell, metrics={"time_per_put_s": cell.metrics["one_way_s"]})
    puts = replace(finding, metric="time_per_put_s")
    assert sides_picture(puts, results) is not None
    assert witness_picture(puts, results) is None  # an operation is a burst there


@pytest.mark.parametrize(("verdict", "words"), [("not tried", "Try huge pages"), ("proven", "Use huge pages")])
def test_a_card_says_use_only_of_what_was_proven(results: Results, verdict: str, words: str) -> None:
    remedy = RemedyResult(name="huge pages", text="Allocate on huge pages.", phrase="huge pages", snippet=Snippet(),
                          removed_ratio=None, side_effects=[], verdict=verdict, reason="")  # type: ignore[arg-type]  # fmt: skip
    (card,) = cards([seen(results, remedies=[remedy])], lambda _: PictureSources(results))
    assert card.do == words
    (older,) = cards([seen(results, remedies=[replace(remedy, phrase=None)])], lambda _: PictureSources(results))
    assert older.do == "Allocate on huge pages."


def test_a_law_leads_and_the_sides_are_behind_the_fold(results: Results) -> None:
    finding = seen(results, law=LENGTHS)
    (card,) = cards([finding], lambda _: PictureSources(results))
    assert card.picture is not None
    assert card.picture.name == "law"
    assert [one.name for one in card.pictures] == ["sides"]


def test_marks_stand_in_one_list_of_three_and_the_rest_is_folded(results: Results) -> None:
    change(results, findings=[seen(results)])
    page = render_html(results)
    card = page[page.index('<article class="finding') : page.index("</article>")]
    assert re.findall(r"<li class=\"(\w+)\"", card) == ["shown", "missing", "missing"]
    assert card.index('class="legs"') < card.index("<details")
    assert card.index('<figure class="seen sides"') < card.index("<details")


def test_pages_say_micro_seconds_in_one_way_and_terminals_in_the_other(results: Results) -> None:
    lines = Snippet(shell="sleep 3 us; echo 2x 4")
    remedy = RemedyResult(name="huge pages", text="Take 3x pages.", snippet=lines, removed_ratio=None, side_effects=[],
                          verdict="not tried", reason="")  # fmt: skip
    change(
        results,
        findings=[seen(results, text="It takes 3.1 us [2.9, 3.3] us more, 2.5x [2.4, 2.6].", remedies=[remedy])],
    )
    page, text = render_html(results), render_text(results)
    assert page.count("sleep 3 us; echo 2x 4") == 2  # on the card and in its fold, as they are to be copied
    shown = re.sub(r"<pre.*?</pre>", "", page[: page.index("<script")], flags=re.DOTALL)
    assert not re.search(r"[\d\]] us\b|\dx[ .,;]", shown)
    assert "3.1 µs [2.9, 3.3] µs more, 2.5× [2.4, 2.6]." in page
    assert "µ" not in text
    assert re.search(r"\d us\b", text)


@pytest.mark.parametrize(("verdict", "there"), [("no effect", 0), ("not tried", 2)])
def test_what_has_no_effect_is_nothing_to_copy(results: Results, verdict: Any, there: int) -> None:
    lines, watch = Snippet(shell="export PAGES=huge"), ["memory of each node"]
    remedy = RemedyResult(name="huge pages", text="Take 3x pages.", snippet=lines, removed_ratio=None,
                          side_effects=watch, verdict=verdict, reason="")  # fmt: skip
    change(results, findings=[seen(results, remedies=[remedy])])
    assert render_html(results).count("export PAGES=huge") == there
    for part in ("export PAGES=huge", "To watch: memory of each node."):
        assert (part in render_text(results)) == bool(there)


def test_every_axis_has_a_title(results: Results, puts: Results, cannon: Results) -> None:
    for document in (results, puts, cannon):
        for svg in re.findall(r"<svg\b[^>]*role=\"img\".*?</svg>", render_html(document), re.DOTALL):
            if 'class="tick' in svg and "matrix" not in svg and 'class="placement"' not in svg:
                assert 'class="axis-title"' in svg, svg[:300]


def test_where_ranks_ran_is_drawn_from_the_record_alone(results: Results) -> None:
    figures = places(results)
    assert [one.title for one in figures] == [f"Placement {one.name}" for one in results.run.placements if one.observed]
    assert all(one.picture and one.table.rows for one in figures)
    change(results.run, placements=[])
    assert places(results) == []


def many(results: Results, cells: int) -> Results:
    return replace(results, cells=[replace(results.cells[place % 8], cell=place) for place in range(cells)])


def test_large_runs_show_the_cells_that_findings_rest_on_first(results: Results) -> None:
    assert shown_cells(results) is results
    large = replace(many(results, 300), findings=[seen(results, slow_cells=[299], fast_cells=[298])])
    shown = [cell.cell for cell in shown_cells(large).cells]
    assert len(shown) == MOST
    assert {298, 299} <= set(shown)
    assert shown == sorted(shown)


def test_samples_get_what_the_page_leaves() -> None:
    assert samples_budget(100_000) == 400_000
    assert samples_budget(PAGE_BYTES - 50_000) == 50_000
    assert samples_budget(PAGE_BYTES) == 0


def test_many_contrasts_open_only_where_something_rests_on_them(results: Results) -> None:
    one = results.contrasts[0]
    large = replace(results, contrasts=[replace(one, id=f"c-{place}") for place in range(200)])
    rows = [row for group in groups(large) for row in group.rows]
    assert len(rows) == 200
    assert sum(row.full for row in rows) == MOST
    assert {row.pairs is None for row in rows if not row.full} == {True}


def test_the_heading_counts_as_the_headline_does(results: Results) -> None:
    mine, apart = seen(results), seen(results, affects_default=False)
    words = "2 faults (2 SP008); 1 only with settings that you don't use (SP008)"
    page = render_html(replace(results, findings=[mine, mine, apart])).replace("&#39;", "'")
    assert f'<h2 id="h-findings">{words}</h2>' in page
    assert kinds_words([apart]) == "1 only with settings that you don't use (SP008)"


def test_the_profile_comes_before_the_findings_and_has_every_property(results: Results) -> None:
    own = seen(results, kind="property", title="A switch", ratio=2.0, interval=(1.9, 2.1))
    page = render_html(replace(results, findings=[own, seen(results, title="A fault")]))
    assert page.index('id="profile"') < page.index('id="findings"')
    rows = profile([own, seen(results), seen(results, kind="property", affects_default=False)], results)
    assert [row.what for row in rows if row.code] == ["A switch"]
    assert "What costs what here" in render_text(replace(results, findings=[own]))


def test_profiles_of_several_libraries_stand_side_by_side(results: Results) -> None:
    switch = seen(results, kind="property", title="A switch", ratio=2.0, interval=(1.9, 2.1), mpi="mpich")
    lower = replace(switch, ratio=1.5, interval=(1.4, 1.6), mpi="openmpi")
    alone = replace(switch, title="A queue", about="a queue", mpi="openmpi")
    beside = side_by_side(profile([switch, lower, alone], None))
    assert beside is not None
    assert beside.mpis == ["mpich", "openmpi"]
    assert [[row and row.factor for row in rows] for rows in beside.rows] == [
        ["2.00x [1.90, 2.10]", "1.50x [1.40, 1.60]"],
        [None, "2.00x [1.90, 2.10]"],
    ]
    assert side_by_side(profile([switch], None)) is None
    both = replace(results, findings=[switch, lower, alone])
    assert "mpich: nothing found, or not measured" in render_text(both)
    page = render_html(both)
    assert page.count('<th scope="col">mpich</th><th scope="col">openmpi</th>') == 1


def test_a_page_that_is_too_large_shows_less_of_single_cells(results: Results) -> None:
    """Each note stands for what a study of many groups takes of the page."""
    large = replace(many(results, 300), notes=[f"{place} " + "x" * 1000 for place in range(680)])
    spacious = replace(large, notes=[])
    assert len(render_html(large).encode()) < 1_000_000
    assert render_html(large).count("<svg") < render_html(spacious).count("<svg")


def test_what_was_not_measured_is_one_line_for_each_reason(results: Results) -> None:
    missing = next(one for one in results.contrasts if one.verdict is None)
    large = replace(results, contrasts=[replace(missing, id=f"c-{place}") for place in range(20)])
    (group,) = groups(large)
    assert group.rows == []
    ((head, names),) = group.unmeasured
    assert head.startswith("20 not measured: ")
    assert names.count(";") == 19
    assert head in render_html(large)
