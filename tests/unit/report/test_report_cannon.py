# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm, as page and text: advice, curves with the critical n, parts that add up, who waits for whom."""

from __future__ import annotations

import itertools
import re

import pytest

from slowpath.core.results import Results
from slowpath.core.study_results import CannonGroup
from slowpath.experiments.cannon.entry import with_hidden
from slowpath.report.cannon import cannon_section, curve_figures
from slowpath.report.figure import Facts, Plot, Rows, Table, Text
from slowpath.report.run_page import render_html
from slowpath.report.terminal import render_text
from support import report_studies
from support.blocks import every, titled
from support.change import change


def the_group(document: Results) -> CannonGroup:
    assert document.cannon is not None
    return document.cannon.groups[0]


def facts(document: Results) -> dict[str, object]:
    return dict(every(cannon_section(document), Facts)[0].facts)


def timelines(document: Results) -> dict[str, Rows]:
    return {figure.title: figure for figure in every(cannon_section(document), Rows) if figure.narrow}


def test_advice_and_facts(cannon: Results) -> None:
    section = cannon_section(cannon)
    assert report_studies.ADVICE in [text.words for text in every(section, Text)]
    assert facts(cannon)["Grid"] == "2 × 2, 2 steps"
    assert facts(cannon)["BLAS"] == "OpenBLAS 0.3, for Zen, 1 thread, -O3"
    assert str(facts(cannon)["Repetitions"]).startswith("144 of 1440 disturbed")
    best = titled(section, Table, "The best variant for each n")
    assert best.rows[0] == ["256", "shared direct", "put fence", "– 1 launch is too few", ""]


def test_what_is_missing_has_its_reason(cannon: Results) -> None:
    group, why = the_group(cannon), "4 ranks share 2 processors"
    change(group, advice=None, advice_reason="one round", blas=None, grid=None, setup_reason="no note event")
    change(group, ranks_have_cores=False, ranks_have_cores_reason=why)
    change(group, variants=with_hidden(group.variants, group.reference, why))
    section = cannon_section(cannon)
    assert "– no advice: one round" in [text.words for text in every(section, Text)]
    assert facts(cannon)["BLAS"] == facts(cannon)["Grid"] == "– no note event"
    assert facts(cannon)["Cores"] == "shared: 4 ranks share 2 processors"
    largest = titled(section, Rows, "Time by part, n = 1024")
    assert largest.table is not None
    assert "– 4 ranks share 2 processors" in largest.table.rows[0]


def test_every_variant_has_its_curves_in_a_family(cannon: Results) -> None:
    figures = curve_figures(the_group(cannon))
    titles = [figure.title for figure in figures]
    assert titles[0] == "Compute and communication of sendrecv replace"
    assert titles[1] == "Distributing and gathering next to the multiplication"
    for kind in ("Speed-up over sendrecv replace", "Exposed share of the time", "Time over that of compute only"):
        assert all(f"{kind}, {family}" in titles for family in ("two-sided", "one-sided", "shared memory", "others"))
    drawn = [figure for figure in figures if isinstance(figure, Plot) and figure.title.startswith("Speed-up")]
    labels = {series.label for figure in drawn for series in figure.series}
    assert {"isend wait", "put fence", "shared direct", "a new style"} <= labels


def test_critical_n_is_marked_or_its_absence_explained(cannon: Results) -> None:
    figure = curve_figures(the_group(cannon))[0]
    assert isinstance(figure, Plot)
    assert "1/2 exposed at n = 360, [340, 380], t 95 %" in figure.caption
    assert "1/10: – it is still 20 % at n = 1024" in figure.caption
    assert [band.label for band in figure.bands if band.label] == ["1/2 exposed"]


def test_parts_add_up_on_one_axis(cannon: Results) -> None:
    section = cannon_section(cannon)
    titles = [figure.title for figure in every(section, Rows) if not figure.narrow]
    assert titles == ["Time by part, n = 1024", "Time by part, n = 512"]
    largest = titled(section, Rows, titles[0])
    bars = [mark for mark in largest.rows[1].marks if mark.kind == "bar"]
    assert [mark.style for mark in bars] == ["computing", "s2", "s1", "s1 faint"]
    for before, after in itertools.pairwise(bars):
        assert before.values[1] == pytest.approx(after.values[0])
    assert largest.table is not None
    hides = list(largest.table.head).index("Hides of what sendrecv replace exposes")
    assert [row[hides] for row in largest.table.rows] == ["100 %", "0 %", "40 %", "60 %", "98 %", "10 %"]


def test_timelines_show_who_waits_for_whom(cannon: Results) -> None:
    figures = timelines(cannon)
    assert list(figures)[:4] == ["sendrecv replace, n = 1024", "shared direct, n = 1024", "sendrecv replace, n = 512",
                                 "shared direct, n = 512"]  # fmt: skip
    rows = figures["sendrecv replace, n = 1024"].rows
    assert [any(mark.kind == "tick" for mark in row.marks) for row in rows] == [False, True, True, False]
    assert re.fullmatch(r"waited [\d.]+ ms for rank 3 in step 0", rows[1].words)
    assert rows[0].words == "no long wait"  # rank 3 is no neighbour of it
    table = figures["sendrecv replace, n = 1024"].table
    assert table is not None
    assert len(table.rows) == 4


def test_page_and_text(cannon: Results) -> None:
    page, text = render_html(cannon), render_text(cannon)
    assert report_studies.ADVICE in page
    assert len(page.encode()) < 300_000
    assert "Take shared_direct from n = 256 on" in text
    assert "sendrecv_replace exposes less than half of its time from n = 360 on" in text
    assert re.search(r"shared_direct +[\d.]+ ms +[\d.]+x +[\d.]+x +[\d.]+ % +[\d.]+ %", text)
    assert max(map(len, text.splitlines())) <= 100
    assert text.isascii()
