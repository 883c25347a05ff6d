# SPDX-License-Identifier: Apache-2.0
"""Cards: which picture a finding leads with, what that picture shows, and what is never drawn."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from slowpath.core.cell_results import RoleWitness
from slowpath.core.results import Finding, LawPoint, LawResult, LimitBracket, RemedyResult, Results, Snippet
from slowpath.report.cards import Sources, findings_section, law_figure, sides_figure, witness_figure
from slowpath.report.figure import Card, Plot, Rows
from slowpath.report.run_page import (
    environment_section,
    render_html,
    shown_cells,
)
from slowpath.report.terminal import render_text
from support.blocks import every
from support.change import change
from support.results import a_finding

MIB = 2**20


def point(value_s: float, fitted_s: float | None = None, page: int | None = None, **place: float) -> LawPoint:
    return LawPoint(
        place=place, value_s=value_s, interval=(0.9 * value_s, 1.1 * value_s), fitted_s=fitted_s, page_bytes=page
    )


def law(name: str | None, *points: LawPoint, brackets: tuple[tuple[str, float, float], ...] = ()) -> LawResult:
    return LawResult(
        name=name,
        formula=None,
        coefficients=[],
        brackets=[LimitBracket(covariate=covariate, above=low, up_to=high) for covariate, low, high in brackets],
        residual_ratio=None,
        runner_up=None,
        refused=None if name else "too few points",
        points=len(points),
        launches=5,
        text="a law",
        drawn=points,
    )


def drawn(finding: Finding) -> Plot:
    made = law_figure(finding)
    assert made is not None
    return made


def labels(plot: Plot) -> list[str]:
    return [series.label for series in plot.series if series.label]


LENGTHS = law("segments", *(point(1e-6 * n, 1e-6 * n, message_bytes=1024.0 * n) for n in (1, 2, 4, 8, 16)),
              brackets=(("message_bytes", 4096.0, 8192.0), ("message_bytes", 8192.0, 16384.0)))  # fmt: skip


def test_a_law_has_its_points_its_limits_and_both_titles() -> None:
    plot = drawn(a_finding(law=LENGTHS, metric="one_way_s", phase="first"))
    points, *lines = plot.series
    assert len(points.points) == 5
    assert [band.label for band in plot.bands] == ["4 KiB to 8 KiB", ""]
    assert (plot.y.title, plot.x.title) == ("One-way time of the first message", "length of the message")
    assert [len(line.points) for line in lines] == [3]  # of the four stretches between five points two hold a limit


def test_a_law_over_pages_has_a_level_line_at_each() -> None:
    points = [point(1e-3 * n, 1e-3 * n, page, allocation_bytes=64.0 * MIB + n) for n, page in ((1, 65536), (2, 4096))]
    plot = drawn(a_finding(law=law("granules", *points, brackets=(("allocation's alignment", 4096.0, 2.0 * MIB),))))
    _, *lines = plot.series
    assert [{at.y for at in line.points} for line in lines] == [{2e-3}, {1e-3}]


def test_a_law_by_pages_has_a_named_line_for_each() -> None:
    points = [point(1e-3 * n, 1e-3 * n, page, allocation_bytes=64.0 * MIB * n + (page is not None))
              for n in (1, 4) for page in (None, 4096)]  # fmt: skip
    brackets = [("allocation's alignment", 4096.0, 2.0 * MIB)]
    assert labels(drawn(a_finding(law=law("granules", *points, brackets=tuple(brackets))))) == [
        "4 KiB pages",
        "n × 2 MiB",
    ]


def seen(results: Results, **changed: object) -> Finding:
    """A finding about a contrast of page kinds of the check-up."""
    slowest = next(c for c in results.contrasts if c.group == "page kind" and c.verdict == "slower")
    fields = {"slow_cells": [slowest.b.cell], "fast_cells": [slowest.a.cell], "contrasts": [slowest.id],
              "ratio": slowest.ratio, "interval": slowest.interval, "metric": slowest.metric, "phase": "steady",
              "law": None}  # fmt: skip
    return a_finding("SP008", **(fields | changed))


def cards(results: Results, *findings: Finding) -> list[Card]:
    section, *_ = findings_section("", findings, lambda _: Sources(results))
    return every(section, Card)


def test_both_sides_are_rows_of_their_launches_on_one_axis(results: Results) -> None:
    finding = seen(results)
    figure = sides_figure(finding, results)
    assert figure is not None
    for row, cell in zip(figure.rows, (finding.slow_cells[0], finding.fast_cells[0]), strict=True):
        launches = results.cell(cell).metrics["one_way_s"].phases["steady"].launch_values
        assert [list(mark.values) for mark in row.marks if mark.kind == "dots"] == [sorted(launches)]
    assert figure.x.title == "One-way time"


def test_a_witness_is_drawn_where_the_kernel_takes_a_share_of_one_message(results: Results) -> None:
    finding = seen(results)
    slow = results.cell(finding.slow_cells[0])
    wall_s = slow.metrics["one_way_s"].phases["steady"].value

    def counted(system_s: float) -> None:
        witness = RoleWitness(
            minor_faults_per_op=512.0, major_faults_per_op=None, system_time_s_per_op=system_s, involuntary_switches=0
        )
        change(slow, witness={"steady": {"receive": witness}})

    counted(0.6 * wall_s)
    figure = witness_figure(finding, results)
    assert figure is not None
    assert figure.rows[0].value == "512 page faults"
    counted(0.01 * wall_s)
    assert witness_figure(finding, results) is None
    counted(0.6 * wall_s)
    for cell in (slow, results.cell(finding.fast_cells[0])):
        change(cell, metrics={"time_per_put_s": cell.metrics["one_way_s"]})
    puts = replace(finding, metric="time_per_put_s")
    assert sides_figure(puts, results) is not None
    assert witness_figure(puts, results) is None  # an operation is a burst there


@pytest.mark.parametrize(("verdict", "words"), [("not tried", "Try huge pages"), ("proven", "Use huge pages")])
def test_a_card_says_use_only_of_what_was_proven(results: Results, verdict: str, words: str) -> None:
    remedy = RemedyResult(name="huge pages", text="Allocate on huge pages.", phrase="huge pages", snippet=Snippet(),
                          removed_ratio=None, side_effects=[], verdict=verdict, reason="")  # type: ignore[arg-type]  # fmt: skip
    assert [card.do for card in cards(results, seen(results, remedies=[remedy]))] == [words]
    plain = seen(results, remedies=[replace(remedy, phrase=None)])
    assert [card.do for card in cards(results, plain)] == ["Allocate on huge pages."]
    (without,) = cards(results, seen(results, remedies=[]))
    assert (without.do or "").endswith("; what to do: slowpath explain SP008")


def test_a_law_leads_and_the_sides_are_behind_the_fold(results: Results) -> None:
    (card,) = cards(results, seen(results, law=LENGTHS))
    assert [view.name for view in card.side if isinstance(view, Plot | Rows)] == ["law"]
    assert [view.name for view in card.more if isinstance(view, Plot | Rows)] == ["sides"]


def test_marks_stand_in_one_list_of_three_and_the_rest_is_folded(results: Results) -> None:
    change(results, findings=[seen(results)])
    page = render_html(results)
    card = page[page.index('<article class="finding') : page.index("</article>")]
    assert re.findall(r"<li class=\"(\w+)\"", card) == ["shown", "missing", "missing"]
    assert card.index('class="legs"') < card.index("<details")
    assert card.index('class="seen"') < card.index("<details")


def test_pages_say_micro_seconds_in_one_way_and_terminals_in_the_other(results: Results) -> None:
    lines = Snippet(shell="sleep 3 us; echo 2x 4")
    remedy = RemedyResult(name="huge pages", text="Take 3x pages.", snippet=lines, removed_ratio=None, side_effects=[],
                          verdict="not tried", reason="")  # fmt: skip
    text = "It takes 3.1 us [2.9, 3.3] us more, 2.5x [2.4, 2.6]."
    change(results, findings=[seen(results, text=text, remedies=[remedy])])
    page, text = render_html(results), render_text(results)
    assert page.count("sleep 3 us; echo 2x 4") == 2  # on the card and in its fold, as they are to be copied
    shown = re.sub(r"<pre.*?</pre>", "", page[: page.index("<script")], flags=re.DOTALL)
    assert not re.search(r"[\d\]] us\b|\dx[ .,;]", shown)
    assert "3.1 µs [2.9, 3.3] µs more, 2.5× [2.4, 2.6]." in page
    assert "µ" not in text
    assert re.search(r"\d us\b", text)


def test_where_ranks_ran_is_a_table_of_the_record(results: Results) -> None:
    page = render_html(results)
    assert all(f"Placement {placement.name}" in page for placement in results.run.placements if placement.observed)
    change(results.run, placements=[])
    assert len(environment_section(results).blocks) == 1


def many(results: Results, cells: int) -> Results:
    return replace(results, cells=[replace(results.cells[place % 8], cell=place) for place in range(cells)])


def test_large_runs_show_the_cells_that_findings_rest_on_first(results: Results) -> None:
    assert shown_cells(results) is results
    large = replace(many(results, 300), findings=[seen(results, slow_cells=[299], fast_cells=[298])])
    shown = [cell.cell for cell in shown_cells(large).cells]
    assert len(shown) == 80
    assert {298, 299} <= set(shown)
    assert shown == sorted(shown)


def test_a_page_that_is_too_large_shows_less_of_single_cells(results: Results) -> None:
    """Each note stands for what a study of many groups takes of the page."""
    large = replace(many(results, 300), notes=[f"{place} " + "x" * 1000 for place in range(700)])
    spacious = replace(large, notes=[])
    assert len(render_html(large).encode()) < 1_000_000
    assert render_html(large).count("<svg") < render_html(spacious).count("<svg")
