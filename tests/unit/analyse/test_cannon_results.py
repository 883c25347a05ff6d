# SPDX-License-Identifier: Apache-2.0
"""The experiment cannon from record to results: times, disturbances, ratios, critical n, advice, timelines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import planted_cannon as truth
import pytest
from planted_cannon import Machine

from slowpath.analyse.build import build_results
from slowpath.core.cell_results import MetricEstimate, RepetitionCounts
from slowpath.core.files import data_folder
from slowpath.core.results import Line, Results
from slowpath.core.study_results import CannonGroup, CannonPoint
from slowpath.report.run_page import render_html
from slowpath.report.text import render_text
from support.results import as_json

NS = 1e-9
CELL = {
    (cell.parameters["variant"], int(cell.parameters["n"])): cell.cell
    for cell in truth.plan().cells
    if cell.copy == 1 and cell.parameters["source"] == "in_place"
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_results(truth.make_run(tmp_path_factory.mktemp("cannon") / "run"))


def built(tmp_path: Path, **machine: Any) -> Results:
    return build_results(truth.make_run(tmp_path / "run", Machine(**machine)))


def estimate(results: Results, variant: str, n: int, metric: str = "multiply_s") -> MetricEstimate:
    return results.cells[CELL[variant, n]].metrics[metric].phases["steady"]


def group(results: Results) -> CannonGroup:
    """Of inputs made in place; the other one is of inputs out of rank 0."""
    found, other = results.cannon.groups
    assert other.parameters["source"] == "root"
    return found


def point(results: Results, variant: str, n: int) -> CannonPoint:
    (found,) = [one for one in group(results).variants if one.variant == variant]
    return next(one for one in found.points if one.n == n)


def compute_s(n: int) -> float:
    return truth.COMPUTE_NS[n] * NS


def follows_the_schema(results: Results) -> bool:
    schema = json.loads((data_folder("schema") / "results.schema.json").read_text())
    jsonschema.validate(as_json(results), schema)
    return True


def test_results_follow_the_schema(results: Results) -> None:
    assert follows_the_schema(results)


def test_a_multiplication_lasts_from_the_first_start_to_the_last_end(results: Results) -> None:
    found = estimate(results, "compute_only", 128)
    alone = estimate(results, "compute_only", 128, "dgemm_s").launch_values
    wanted = [dgemm * (1 + truth.EXPOSED["compute_only"][128]) + truth.LATE_NS * NS for dgemm in alone]
    assert found.launch_values == pytest.approx(wanted, rel=1e-5)
    assert found.interval[0] < compute_s(128) + truth.LATE_NS * NS < found.interval[1]


def test_parts_are_sums_over_a_repetition_and_means_over_ranks(results: Results) -> None:
    dgemm = estimate(results, "sendrecv_replace", 256, "dgemm_s").value
    assert dgemm == pytest.approx(compute_s(256), rel=0.15)
    assert estimate(results, "sendrecv_replace", 256, "wait_s").value == pytest.approx(dgemm, rel=1e-4)
    assert estimate(results, "sendrecv_replace", 256, "exposed_s").value == pytest.approx(dgemm, rel=1e-4)
    assert estimate(results, "sendrecv_replace", 256, "generate_s").value == pytest.approx(truth.GENERATE_NS * NS)
    cell = results.cells[CELL["sendrecv_replace", 256]]
    assert cell.absent["issue_s"] == "variant sendrecv_replace has no part issue here"


@pytest.mark.parametrize("n", truth.SIZES)
def test_the_exposed_share(results: Results, n: int) -> None:
    """Making the inputs is outside of it."""
    exposed = truth.EXPOSED["sendrecv_replace"][n]
    found = estimate(results, "sendrecv_replace", n, "exposed_ratio")
    assert found.value == pytest.approx(exposed / (1 + exposed), rel=1e-4)
    assert results.cells[CELL["sendrecv_replace", n]].metrics["exposed_ratio"].unit == "1"


def test_no_exposed_share_where_ranks_share_a_core(tmp_path: Path) -> None:
    results = built(tmp_path, processors=("0", "0"))
    cell = results.cells[CELL["sendrecv_replace", 128]]
    why = "2 ranks of n1 can run on 1 processor at a time: while one waits, another one computes"
    assert cell.absent["exposed_ratio"] == why
    assert "exposed_s" in cell.metrics
    found = group(results)
    assert (found.ranks_have_cores, found.ranks_have_cores_reason) == (False, why)
    assert point(results, "sendrecv_replace", 128).exposed_ratio_reason == why
    assert found.critical_n["half"].reason == why
    assert point(results, "sendrecv_replace", 128).over_compute.value > 1
    assert found.advice is None
    assert found.advice_reason == f"ranks share cores, so times are the scheduler's and no style is advised: {why}"
    assert not any("Take" in line.text for line in results.verdict.lines)
    assert any("(90 by other load on the node)" in line.text for line in results.verdict.lines)
    assert (cell.repetitions.switched, cell.repetitions.loaded) == (None, truth.ROUNDS)
    assert "switches between them are no disturbance" in cell.repetitions_reason
    assert follows_the_schema(results)


def test_disturbed_repetitions_are_counted_and_left_out_of_the_value(results: Results) -> None:
    every = truth.ROUNDS * truth.REPETITIONS
    cell = results.cells[CELL["put_flag", 128]]
    assert cell.repetitions == RepetitionCounts(
        all=every,
        clean=truth.ROUNDS * 5,
        switched=truth.ROUNDS * 2,
        loaded=truth.ROUNDS,
        launches_of_clean=truth.ROUNDS,
        launches=truth.ROUNDS,
    )
    assert cell.repetitions_reason is None
    found = estimate(results, "put_flag", 128)
    assert found.samples == every
    assert found.max > 2 * found.value
    assert found.by_repetitions.clean_value == found.value
    assert found.by_repetitions.all_value > found.value


@pytest.mark.parametrize("variant", ["put_flag", "shared_direct", "sendrecv_replace"])
def test_ratios_are_of_the_same_launches(results: Results, variant: str) -> None:
    """So the drift of the machine from launch to launch, ten times as large as the intervals, is in none of them."""
    late = truth.LATE_NS / truth.COMPUTE_NS[256]
    own, blocking, alone = (1 + truth.EXPOSED[v][256] + late for v in (variant, "sendrecv_replace", "compute_only"))
    found = point(results, variant, 256)
    assert found.over_compute.value == pytest.approx(own / alone, rel=0.005)
    low, high = found.over_compute.interval
    assert low <= own / alone * 1.001
    assert high >= own / alone * 0.999
    assert high - low < 0.02
    assert found.over_compute.launches == truth.ROUNDS
    if variant == "sendrecv_replace":
        assert found.speed_up is None
        assert found.speed_up_reason == "sendrecv_replace is what the others are compared with"
    else:
        assert found.speed_up.value == pytest.approx(blocking / own, rel=0.005)


def test_the_rate_over_that_of_cores_alone(results: Results) -> None:
    """dgemm_alone is faster by ALONE_RATIO, so that is what two ranks at once keep of it, less what they expose."""
    late = truth.LATE_NS / truth.COMPUTE_NS[512]
    found = point(results, "shared_direct", 512).of_cores
    exposed = truth.EXPOSED["shared_direct"][512]
    assert found.value == pytest.approx(truth.ALONE_RATIO / (1 + exposed + late), rel=5e-3)
    assert found.launches == truth.ROUNDS
    assert point(results, "shared_direct", 256).of_cores is None
    assert "dgemm_alone was not measured" in point(results, "shared_direct", 256).of_cores_reason
    assert "dgemm_alone" not in {entry.variant for entry in group(results).best}


def test_what_the_tool_itself_costs(results: Results, tmp_path: Path) -> None:
    """total, two dgemm and one wait are inside the multiplication; making the inputs is not."""
    found = point(results, "sendrecv_replace", 512)
    whole_s = found.multiply_s.value
    assert found.timing_ratio == pytest.approx(4 * truth.INTERVAL_NS * NS / whole_s)
    assert found.generate_ratio == pytest.approx(truth.GENERATE_NS * NS / whole_s)
    silent = point(built(tmp_path, setup_told=False), "sendrecv_replace", 512)
    assert silent.timing_ratio is None
    assert silent.timing_ratio_reason == "the engine did not report what an interval costs"


def test_what_distribution_through_rank_0_costs(results: Results) -> None:
    alone = results.cannon.groups[1]
    assert alone.advice is None
    assert alone.advice_reason == "sendrecv_replace alone was measured, so there is nothing to choose from"
    (found,) = results.cannon.distribution
    assert (found.source, found.variant, found.n, found.ranks) == ("root", *truth.MOVED, truth.RANKS)
    assert found.in_place_cell == CELL[truth.MOVED]
    exposed, late = truth.EXPOSED[truth.MOVED[0]][512], truth.LATE_NS / truth.COMPUTE_NS[512]
    assert found.moved_ratio == pytest.approx(2 * truth.MOVED_RATIO / (1 + exposed + late), rel=5e-3)
    longer = (1 + exposed + 2 * truth.MOVED_RATIO + late) / (1 + exposed + late)
    assert found.over_in_place.value == pytest.approx(longer, rel=5e-3)


def test_a_copy_makes_no_group_of_its_own(results: Results) -> None:
    assert {entry.copy for entry in results.cannon.groups} == {1}
    cells = {p.cell for entry in results.cannon.groups for v in entry.variants for p in v.points}
    copied = next(cell.cell for cell in truth.plan().cells if cell.copy == 2)
    assert copied not in cells
    assert CELL[truth.MOVED] in cells


def test_where_communication_falls_below_half(results: Results) -> None:
    """Blocking exposes 256 / n of what it computes, so its share is half at 256 and never a tenth here."""
    half, tenth = (group(results).critical_n[name] for name in ("half", "tenth"))
    assert half.n == pytest.approx(256, rel=1e-3)
    assert half.interval[0] <= half.n * 1.001
    assert half.interval[1] >= half.n * 0.999
    assert half.launches == truth.ROUNDS
    assert tenth.n is None
    assert tenth.reason == "it is still 33.3 % at n = 512, the largest"


def test_each_style_has_its_critical_n_and_its_move(results: Results) -> None:
    """shared_direct exposes 0.3 of what it computes at 128 and 0.01 at 256, so it crosses a tenth between them.

    Its half and put_flag's lie below every measured n, and the reference's half lies at 256: they move lower.
    """
    styles = {one.variant: one.critical_n for one in group(results).variants}
    assert styles["compute_only"] == {}
    assert styles["sendrecv_replace"]["half"].n == group(results).critical_n["half"].n
    assert styles["sendrecv_replace"]["half"].move is None
    for name in ("put_flag", "shared_direct"):
        move = styles[name]["half"].move
        assert move is not None
        assert (move.word, move.over) == ("lower", None)
        assert move.reason.startswith("it is below already at n = 128, the smallest")
    tenth = styles["shared_direct"]["tenth"]
    assert tenth.n is not None
    assert 128 < tenth.n < 256
    assert tenth.interval is not None
    assert tenth.move is not None
    assert (tenth.move.word, tenth.move.over) == ("undecided", None)
    assert "sendrecv_replace: it is still" in tenth.move.reason
    missing = styles["pscw"]["half"]
    assert missing.n is None
    assert missing.move is not None
    assert missing.move.word == "undecided"


@pytest.mark.parametrize(("factor", "word"), [(1.0, "stays"), (2.0, "higher"), (0.5, "lower")])
def test_a_move_is_a_ratio_in_the_same_launches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, factor: float, word: str
) -> None:
    """Exposed over computed time as c / n crosses half at n = c."""
    exposed = {n: factor * truth.EXPOSED["sendrecv_replace"][n] for n in truth.SIZES}
    near = {128: 1.2, 256: 0.6, 512: 0.3} if factor == 0.5 else {128: 1.6, 256: 0.8, 512: 0.4}
    monkeypatch.setitem(truth.EXPOSED, "put_flag", near if factor != 1.0 else exposed)
    if factor == 2.0:
        monkeypatch.setitem(truth.EXPOSED, "put_flag", {128: 3.2, 256: 1.6, 512: 0.8})
    found = built(tmp_path)
    half = next(one for one in group(found).variants if one.variant == "put_flag").critical_n["half"]
    assert half.move is not None
    assert half.move.word == word
    wanted = truth.EXPOSED["put_flag"][256] / truth.EXPOSED["sendrecv_replace"][256]
    assert half.move.over is not None
    assert half.move.over.value == pytest.approx(wanted, rel=1e-2)
    assert half.move.over.launches == truth.ROUNDS


def test_the_best_and_what_can_not_be_told_from_it(results: Results) -> None:
    best = {entry.n: (entry.variant, set(entry.same)) for entry in group(results).best}
    assert best[128] == ("put_flag", set())
    assert best[256] == ("shared_direct", set())
    assert {best[512][0], *best[512][1]} == {"shared_direct", "put_flag"}
    assert [entry.variant for entry in group(results).best_across_nodes] == ["put_flag"] * 3


def test_advice_says_from_where_on_and_how_much(results: Results) -> None:
    advice = group(results).advice
    assert advice.startswith("Take shared_direct from n = 256 on (blocks of 256 x 128): it is 1.97")
    assert re.search(
        r"\] times as fast as sendrecv_replace at n = 256 and 1\.4\d+ \[.+?\] times at n = 512, where", advice
    )
    assert (
        "can't be distinguished from put_flag; below, put_flag at n = 128; of those that also run with ranks on "
        "several nodes" in advice
    )
    assert advice.count(". ") == 0
    (line,) = [one for one in results.verdict.lines if "Take" in one.text]
    assert line == Line(level="info", text=f"cannon, source=in_place, 2 ranks: {advice}", contrast=None)


def test_timelines_show_a_usual_repetition(results: Results) -> None:
    shown = {(one.variant, one.n): one for one in group(results).timelines}
    assert set(shown) == {(variant, n) for variant in truth.EXPOSED for n in (256, 512)} | {truth.ALONE}
    found = shown["sendrecv_replace", 256]
    assert found.launch == 0
    assert found.repetition not in (*truth.SWITCHED, truth.LOADED)
    assert [(i.rank, i.part, i.step) for i in found.intervals] == [
        (rank, *one)
        for rank in range(2)
        for one in (("generate", 0), ("total", 0), ("dgemm", 0), ("wait", 0), ("dgemm", 1))
    ]
    first, second = (next(i for i in found.intervals if i.part == "total" and i.rank == rank) for rank in range(2))
    assert first.begin_s == 0
    assert second.begin_s == pytest.approx(truth.LATE_NS * NS)
    assert second.end_s == pytest.approx(found.multiply_s)


def test_it_renders(results: Results) -> None:
    assert results.verdict.headline in " ".join(render_text(results).split())
    assert "<svg" in render_html(results)
