# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm, as page and text: advice, curves with the critical n, parts that add up, who waits for whom."""

from __future__ import annotations

import itertools
import re

import pytest
from msgspec.structs import replace

from slowpath.core.cannon_results import (
    CannonComputation,
    CannonGrid,
    CannonGroup,
    CannonKernel,
    CannonKernels,
    Value,
)
from slowpath.core.results import Results
from slowpath.experiments.cannon.entry import with_hidden
from slowpath.report import render_html, render_text
from slowpath.report.cannon.view import GroupView, cannon_view
from slowpath.report.cannon.words import moving_words
from slowpath.report.svg import timeline
from slowpath.report.svg.over_n import OrderAxes, OrderSeries
from slowpath.report.svg.over_n import chart as over_n
from slowpath.report.svg.timeline import TimelinePiece
from support import report_studies
from support.change import change


def the_group(document: Results) -> CannonGroup:
    assert document.cannon is not None
    return document.cannon.groups[0]


def group(document: Results) -> GroupView:
    found = cannon_view(document)
    assert found is not None
    assert len(found.groups) == 1
    return found.groups[0]


def titles(document: Results) -> list[str]:
    return [figure.title for figure in group(document).curves]


def test_advice_and_facts(cannon: Results) -> None:
    one = group(cannon)
    assert one.advice == report_studies.ADVICE
    facts = dict(one.facts)
    assert facts["Grid"] == "2 × 2, 2 steps"
    assert facts["BLAS"] == "OpenBLAS 0.3, for Zen, 1 thread, -O3"
    assert facts["Repetitions"].startswith("144 of 1440 were disturbed")
    assert one.best.rows[0] == ["256", "shared direct", "put fence", "– 1 launch is too few", ""]


def test_one_row_of_ranks_moves_one_matrix(cannon: Results) -> None:
    assert "Moves" not in dict(group(cannon).facts)
    change(the_group(cannon), grid=CannonGrid(rows=1, columns=2, steps=2))
    words = "On a grid of 1 x 2 only A moves and B stays; from 2 x 2 ranks on both move"
    assert dict(group(cannon).facts)["Moves"] == words
    assert words in " ".join(render_text(cannon).split())
    assert moving_words(CannonGrid(rows=1, columns=1, steps=1)) is None


def test_compiler_options_and_the_clock_are_answers(cannon: Results) -> None:
    value = Value(value=1.8e-3, interval=(1.7e-3, 1.9e-3), interval_kind="t 95 %", level=0.95, launches=5)
    slow = replace(value, value=11.9e-3, interval=(11.8e-3, 12.0e-3))
    over = replace(value, value=6.6, interval=(6.5, 6.7))
    made = [
        CannonKernel(kernel="loop_O3", cell=0, dgemm_s=value, over_base=None, over_base_reason="it is the base"),
        CannonKernel(kernel="loop_O0", cell=1, dgemm_s=slow, over_base=over, over_base_reason=None),
    ]
    table = CannonKernels(n=256, variant="compute_only", base="loop_O3", mpi=None, environment="e", placement="p",
                          kernels=made)  # fmt: skip
    follows = CannonComputation(
        variant="put_fence",
        n=1024,
        cell=3,
        spread_ratio=0.05,
        clock_spread_ratio=0.04,
        correlation=-0.9,
        interval=(-0.97, -0.8),
        follows=True,
        launches=5,
        reason=None,
    )
    why = "no counted loop here"
    blind = replace(follows, variant="isend_wait", spread_ratio=0.02, clock_spread_ratio=None, correlation=None)
    blind = replace(blind, follows=False, interval=None, reason=why)
    assert cannon.cannon is not None
    change(the_group(cannon), computation=[blind, follows])
    change(cannon.cannon, kernels=[table])
    text = " ".join(render_text(cannon).split())
    assert (
        "Computation over compiler options, n = 256, of compute_only, over loop_O3: loop_O3 1.80 ms [1.70, 1.90]"
        in text
    )
    assert "loop_O0 11.90 ms [11.80, 12.00] ms" in text
    assert "varies by 2.0 % (isend_wait) to 5.0 % (put_fence) between repetitions" in text
    assert (
        "it follows the clock's frequency in 1 of 1 styles, most in put_fence (correlation -0.90 [-0.97, -0.80])"
        in text
    )
    page = render_html(cannon)
    assert "no counted loop here" in page
    assert "Computation and the clock" in page


def test_what_is_missing_has_its_reason(cannon: Results) -> None:
    found, why = the_group(cannon), "4 ranks share 2 processors"
    change(found, advice=None, advice_reason="one round", blas=None, grid=None, setup_reason="no note event")
    change(found, ranks_have_cores=False, ranks_have_cores_reason=why)
    change(found, variants=with_hidden(found.variants, found.reference, why))
    one = group(cannon)
    assert one.advice == "– no advice: one round"
    assert dict(one.facts)["BLAS"] == dict(one.facts)["Grid"] == "– no note event"
    assert dict(one.facts)["Cores"] == "shared: 4 ranks share 2 processors"
    assert "– 4 ranks share 2 processors" in one.parts[0].table.rows[0]


def test_every_variant_has_its_curves_in_a_family(cannon: Results) -> None:
    found = titles(cannon)
    assert found[0] == "Compute and communication of sendrecv replace"
    assert found[1] == "Distributing and gathering next to the multiplication"
    for kind in ("Speed-up over sendrecv replace", "Exposed share of the time", "Time over that of compute only"):
        assert [f"{kind}, {family}" in found for family in ("two-sided", "one-sided", "shared memory", "others")] == [
            True
        ] * 4
    drawn = str([figure.picture for figure in group(cannon).curves if figure.title.startswith("Speed-up")])
    assert all(name in drawn for name in ("isend wait", "put fence", "shared direct", "a new style"))


def test_critical_n_is_marked_or_its_absence_explained(cannon: Results) -> None:
    figure = group(cannon).curves[0]
    assert "1/2 exposed at n = 360, [340, 380], t 95 %" in figure.group
    assert "1/10: – it is still 20 % at n = 1024" in figure.group
    assert str(figure.picture).count('class="critical"') == 1


def test_distribution_is_compared_with_the_multiplication(cannon: Results) -> None:
    table = group(cannon).curves[1].table
    n, dgemm_s = 1024, 2 * 1024**3 / 4 / 60e9
    assert table.rows[-1][0] == str(n)
    assert table.rows[-1][-1] == f"{100 * 3e-9 * n**2 / dgemm_s:.1f} %"


def test_parts_add_up_on_one_axis(cannon: Results) -> None:
    largest, middle = group(cannon).parts
    assert (largest.title, middle.title) == ("Where the time goes, n = 1024", "Where the time goes, n = 512")
    pattern = r'<rect x="([\d.]+)%" width="([\d.]+)%"[^>]*class="([^"]+)"'
    rects = [(float(x), float(w), c) for x, w, c in
             re.findall(pattern, largest.rows[1].track)]  # fmt: skip
    assert [c for _, _, c in rects] == ["p-dgemm", "p-wait", "p-distribute", "p-gather"]
    for (x, width, _), (after, _, _) in itertools.pairwise(rects):
        assert x + width == pytest.approx(after, abs=0.15)
    hides = largest.table.head.index("Hides of what sendrecv replace exposes")
    assert [row[hides] for row in largest.table.rows] == ["100 %", "0 %", "40 %", "60 %", "98 %", "10 %"]


def test_timelines_show_who_waits_for_whom(cannon: Results) -> None:
    found = {figure.title: figure for figure in group(cannon).timelines}
    assert list(found) == ["sendrecv replace, n = 1024", "shared direct, n = 1024", "sendrecv replace, n = 512",
                           "shared direct, n = 512"]  # fmt: skip
    picture = str(found["sendrecv replace, n = 1024"].picture)
    assert picture.count('class="waits"') == 2
    assert re.search(r"rank [12] waited [\d.]+ ms for rank 3 in step 0", picture)
    assert "rank 0 waited" not in picture  # rank 3 is no neighbour of it
    assert len(found["sendrecv replace, n = 1024"].table.rows) == 4


def test_clocks_that_are_not_one_link_nothing(cannon: Results) -> None:
    for one in the_group(cannon).timelines:
        change(one, one_clock=False, waits=())
    figure = group(cannon).timelines[0]
    assert 'class="waits"' not in str(figure.picture)
    assert "clocks are not synchronised" in figure.group


def test_a_timeline_without_intervals_says_why(cannon: Results) -> None:
    for one in the_group(cannon).timelines:
        change(one, intervals=[], waits=(), reason="5000 intervals are too many to show")
    figure = group(cannon).timelines[0]
    assert figure.picture is None
    assert "– 5000 intervals are too many" in figure.group
    assert "5000 intervals" in render_html(cannon)


def test_page_and_text(cannon: Results) -> None:
    page, text = render_html(cannon), render_text(cannon)
    assert report_studies.ADVICE in page
    assert len(page.encode()) < 300_000
    assert "Take shared_direct from n = 256 on" in text
    assert "sendrecv_replace exposes less than half of its time from n = 360 on" in text
    assert re.search(r"shared_direct +[\d.]+ ms +[\d.]+x +[\d.]+x +[\d.]+ % +[\d.]+ %", text)
    assert max(map(len, text.splitlines())) <= 100
    assert text.isascii()


def test_values_that_are_missing_render(cannon: Results) -> None:
    for variant in the_group(cannon).variants:
        for point in variant.points:
            for key in ("speed_up", "over_compute", "exposed_ratio", "hidden_ratio"):
                change(point, **{key: None, f"{key}_reason": "one launch"})
            change(point, exposed_s=None, parts_s={}, moved_ratio=None)
    one = group(cannon)
    assert {figure.title.partition(",")[0] for figure in one.curves} == {"Time of a multiplication"}
    assert "one launch" in one.parts[0].table.rows[0]
    assert 'id="cannon"' in render_html(cannon)


def test_runs_without_cannon_have_no_section(results: Results) -> None:
    assert cannon_view(results) is None
    assert cannon_view(replace(results, cannon=None)) is None
    assert 'id="cannon"' not in render_html(results)


def test_curves_draw_nothing_without_values() -> None:
    assert over_n([OrderSeries("a", ())], OrderAxes("time", "s"), "t") is None
    assert over_n([OrderSeries("a", ((8, 0.0, None),))], OrderAxes("time", "s"), "t") is None


def test_unseen_gaps_are_merged_within_a_step_alone() -> None:
    def rects(*pieces: TimelinePiece) -> int:
        return str(timeline.chart(["0"], pieces, [], 0.0, 1.0, "t", "d")).count("<rect")

    near = TimelinePiece(0, "p-dgemm", 0, 0.1, 0.2), TimelinePiece(0, "p-dgemm", 0, 0.2001, 0.3)
    assert rects(*near) == 1
    assert rects(near[0], TimelinePiece(0, "p-dgemm", 1, 0.2001, 0.3)) == 2
    assert rects(near[0], TimelinePiece(0, "p-wait", 0, 0.2001, 0.3)) == 2
    assert rects(near[0], TimelinePiece(0, "p-dgemm", 0, 0.25, 0.3)) == 2
