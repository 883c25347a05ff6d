# SPDX-License-Identifier: Apache-2.0
"""Results of Cannon's algorithm: parts, styles, scaling."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import numpy as np
import planted_cannon as truth
import pytest
from planted_cannon import Machine

from slowpath.analyse.build import build_results
from slowpath.core.cell_results import MetricEstimate, RepetitionCounts
from slowpath.core.files import data_folder
from slowpath.core.plan import Cell, Placement
from slowpath.core.results import Line, Results
from slowpath.core.study_results import CannonComputation, CannonGroup, CannonPoint, CannonScaling, Value
from slowpath.experiments.cannon.critical import crossing, scaling
from slowpath.experiments.cannon.entry import advice
from slowpath.experiments.cannon.experiment import MEANINGS
from slowpath.experiments.cannon.observed import computation, of_launch, timeline
from slowpath.experiments.cannon.points import CellGroup, Measured, groups
from slowpath.experiments.cannon.runs import (
    ACROSS_NODES,
    PARTS,
    Disturbance,
    Runs,
    clock_of,
    disturbance,
    over_repetitions,
    read_runs,
)
from slowpath.experiments.measured import LaunchContext, SampleBlock, why_cores_are_shared
from slowpath.record.events import Intervals, Rank, Repetitions
from slowpath.report.cannon import scaling_answer, scaling_figures
from slowpath.report.figure import Plot, Quantity
from slowpath.report.run_page import render_html
from slowpath.report.terminal import render_text
from support.cannon import a_best, a_point, a_value
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
    of_condition, other = results.cannon.groups
    assert other.parameters["source"] == "root"
    return of_condition


def point(results: Results, variant: str, n: int) -> CannonPoint:
    (of_variant,) = [measured for measured in group(results).variants if measured.variant == variant]
    return next(point for point in of_variant.points if point.n == n)


def compute_s(n: int) -> float:
    return truth.COMPUTE_NS[n] * NS


def follows_the_schema(results: Results) -> bool:
    schema = json.loads((data_folder("schema") / "results.schema.json").read_text())
    jsonschema.validate(as_json(results), schema)
    return True


def test_results_follow_the_schema(results: Results) -> None:
    assert follows_the_schema(results)


def test_a_multiplication_lasts_from_the_first_start_to_the_last_end(results: Results) -> None:
    estimated = estimate(results, "compute_only", 128)
    alone = estimate(results, "compute_only", 128, "dgemm_s").launch_values
    wanted = [dgemm * (1 + truth.EXPOSED["compute_only"][128]) + truth.LATE_NS * NS for dgemm in alone]
    assert estimated.launch_values == pytest.approx(wanted, rel=1e-5)
    assert estimated.interval[0] < compute_s(128) + truth.LATE_NS * NS < estimated.interval[1]


def test_parts_are_sums_over_a_repetition_and_means_over_ranks(results: Results) -> None:
    dgemm = estimate(results, "sendrecv_replace", 256, "dgemm_s").value
    assert dgemm == pytest.approx(compute_s(256), rel=0.15)
    assert estimate(results, "sendrecv_replace", 256, "wait_s").value == pytest.approx(dgemm, rel=1e-4)
    assert estimate(results, "sendrecv_replace", 256, "exposed_s").value == pytest.approx(dgemm, rel=1e-4)
    assert estimate(results, "sendrecv_replace", 256, "generate_s").value == pytest.approx(truth.GENERATE_NS * NS)
    cell = results.cells[CELL["sendrecv_replace", 256]]
    assert cell.absent["issue_s"] == "no part issue of variant sendrecv_replace"


@pytest.mark.parametrize("n", truth.SIZES)
def test_the_exposed_share(results: Results, n: int) -> None:
    """Making the inputs is outside of it."""
    exposed = truth.EXPOSED["sendrecv_replace"][n]
    estimated = estimate(results, "sendrecv_replace", n, "exposed_ratio")
    assert estimated.value == pytest.approx(exposed / (1 + exposed), rel=1e-4)
    assert results.cells[CELL["sendrecv_replace", n]].metrics["exposed_ratio"].unit == "1"


def test_no_exposed_share_where_ranks_share_a_core(tmp_path: Path) -> None:
    results = built(tmp_path, processors=("0", "0"))
    cell = results.cells[CELL["sendrecv_replace", 128]]
    why = "2 ranks of n1 share 1 processor"
    assert cell.absent["exposed_ratio"] == why
    assert "exposed_s" in cell.metrics
    of_n = group(results)
    assert (of_n.ranks_have_cores, of_n.ranks_have_cores_reason) == (False, why)
    assert point(results, "sendrecv_replace", 128).exposed_ratio_reason == why
    assert of_n.critical_n["half"].reason == why
    assert point(results, "sendrecv_replace", 128).over_compute.value > 1
    assert of_n.advice is None
    assert of_n.advice_reason == f"no advice: {why}"
    assert not any("Take" in line.text for line in results.verdict.lines)
    assert any("(90 by other load)" in line.text for line in results.verdict.lines)
    assert (cell.repetitions.switched, cell.repetitions.loaded) == (None, truth.ROUNDS)
    assert "switches do not count as disturbances" in cell.repetitions_reason
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
    estimated = estimate(results, "put_flag", 128)
    assert estimated.samples == every
    assert estimated.max > 2 * estimated.value


@pytest.mark.parametrize("variant", ["put_flag", "shared_direct", "sendrecv_replace"])
def test_ratios_are_of_the_same_launches(results: Results, variant: str) -> None:
    """So the drift of the machine from launch to launch, ten times as large as the intervals, is in none of them."""
    late = truth.LATE_NS / truth.COMPUTE_NS[256]
    own, blocking, alone = (1 + truth.EXPOSED[v][256] + late for v in (variant, "sendrecv_replace", "compute_only"))
    measured = point(results, variant, 256)
    assert measured.over_compute.value == pytest.approx(own / alone, rel=0.005)
    low, high = measured.over_compute.interval
    assert low <= own / alone * 1.001
    assert high >= own / alone * 0.999
    assert high - low < 0.02
    assert measured.over_compute.launches == truth.ROUNDS
    if variant == "sendrecv_replace":
        assert measured.speed_up is None
        assert measured.speed_up_reason == "the baseline"
    else:
        assert measured.speed_up.value == pytest.approx(blocking / own, rel=0.005)


def test_the_rate_over_that_of_cores_alone(results: Results) -> None:
    """dgemm_alone is faster by ALONE_RATIO, so that is what two ranks at once keep of it, less what they expose."""
    late = truth.LATE_NS / truth.COMPUTE_NS[512]
    measured = point(results, "shared_direct", 512).of_cores
    exposed = truth.EXPOSED["shared_direct"][512]
    assert measured.value == pytest.approx(truth.ALONE_RATIO / (1 + exposed + late), rel=5e-3)
    assert measured.launches == truth.ROUNDS
    assert point(results, "shared_direct", 256).of_cores is None
    assert "no dgemm_alone" in point(results, "shared_direct", 256).of_cores_reason
    assert "dgemm_alone" not in {entry.variant for entry in group(results).best}


def test_what_distribution_through_rank_0_costs(results: Results) -> None:
    alone = results.cannon.groups[1]
    assert alone.advice is None
    assert alone.advice_reason == "only sendrecv_replace was measured"
    (distributed,) = results.cannon.distribution
    assert (distributed.source, distributed.variant, distributed.n, distributed.ranks) == (
        "root",
        *truth.MOVED,
        truth.RANKS,
    )
    exposed, late = truth.EXPOSED[truth.MOVED[0]][512], truth.LATE_NS / truth.COMPUTE_NS[512]
    assert distributed.moved_ratio == pytest.approx(2 * truth.MOVED_RATIO / (1 + exposed + late), rel=5e-3)
    longer = (1 + exposed + 2 * truth.MOVED_RATIO + late) / (1 + exposed + late)
    assert distributed.over_in_place.value == pytest.approx(longer, rel=5e-3)


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
    assert tenth.reason == "above up to the largest n = 512: 33.3 %"


def test_each_style_has_its_critical_n_and_its_move(results: Results) -> None:
    """shared_direct exposes 0.3 of what it computes at 128 and 0.01 at 256, so it crosses a tenth between them.

    Its half and put_flag's lie below every measured n, and the reference's half lies at 256: they move lower.
    """
    styles = {variant.variant: variant.critical_n for variant in group(results).variants}
    assert styles["compute_only"] == {}
    assert styles["sendrecv_replace"]["half"].n == group(results).critical_n["half"].n
    assert styles["sendrecv_replace"]["half"].move is None
    for name in ("put_flag", "shared_direct"):
        move = styles[name]["half"].move
        assert move is not None
        assert (move.word, move.over) == ("lower", None)
        assert move.reason.startswith("below from the smallest n = 128 on")
    tenth = styles["shared_direct"]["tenth"]
    assert tenth.n is not None
    assert 128 < tenth.n < 256
    assert tenth.interval is not None
    assert tenth.move is not None
    assert (tenth.move.word, tenth.move.over) == ("undecided", None)
    assert "sendrecv_replace: above up to" in tenth.move.reason
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
    results = built(tmp_path)
    half = next(variant for variant in group(results).variants if variant.variant == "put_flag").critical_n["half"]
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
    assert advice.startswith("Take shared_direct from n = 256 on (blocks of 256 x 128): 1.97")
    assert re.search(r"\] times as fast as sendrecv_replace at n = 256 and 1\.4\d+ \[.+?\] times at n = 512, ", advice)
    assert "not distinguishable from put_flag; below, put_flag at n = 128; on several nodes" in advice
    assert advice.count(". ") == 0
    (line,) = [line for line in results.verdict.lines if "Take" in line.text]
    assert line == Line(level="info", text=f"cannon, source=in_place, 2 ranks: {advice}", contrast=None)


def test_timelines_show_a_usual_repetition(results: Results) -> None:
    shown = {(timeline.variant, timeline.n): timeline for timeline in group(results).timelines}
    assert set(shown) == {(variant, n) for variant in truth.EXPOSED for n in (256, 512)} | {truth.ALONE}
    timeline = shown["sendrecv_replace", 256]
    assert timeline.launch == 0
    assert timeline.repetition not in (*truth.SWITCHED, truth.LOADED)
    assert [(i.rank, i.part, i.step) for i in timeline.intervals] == [
        (rank, *part)
        for rank in range(2)
        for part in (("generate", 0), ("total", 0), ("dgemm", 0), ("wait", 0), ("dgemm", 1))
    ]
    first, second = (next(i for i in timeline.intervals if i.part == "total" and i.rank == rank) for rank in range(2))
    assert first.begin_s == 0
    assert second.begin_s == pytest.approx(truth.LATE_NS * NS)
    assert second.end_s == pytest.approx(timeline.multiply_s)


def test_it_renders(results: Results) -> None:
    assert results.verdict.headline in " ".join(render_text(results).split())
    assert "<svg" in render_html(results)


ENGINE = Path(__file__).parents[3] / "engine" / "studies" / "cannon"


def ranks(*allowed: str | None, hosts: str = "") -> list[Rank]:
    names = hosts or "n" * len(allowed)
    return [Rank(i, host, cpus_allowed=cpus) for i, (cpus, host) in enumerate(zip(allowed, names, strict=True))]


@pytest.mark.parametrize(
    "placed",
    [
        ranks("0"),
        ranks("0", "1"),
        ranks("0-1", "0-1"),
        ranks("0-1", "0"),  # the first has to make room
        ranks("0-1", "1-2", "0", "2-3"),
        ranks("0,2", "0", "2,5", "5,7-8"),
        ranks("0", "0", hosts="ab"),
    ],
)
def test_ranks_with_a_processor_each(placed: list[Rank]) -> None:
    assert why_cores_are_shared(placed) is None


def block(rank: int, part: int, durations: list[int], start: int | None = 0) -> SampleBlock:
    values = np.array(durations, dtype=np.int64)
    begin = None if start is None else start + np.arange(values.size) * 1000
    return SampleBlock(rank, "steady", 0, 1, 0, values, begin, part)


def said(*switches: int, other_s: tuple[float | None, ...] = ()) -> Repetitions:
    return Repetitions(1, 0, 0, switches, other_s)


def test_what_disturbs_a_repetition() -> None:
    length_s = np.array([0.001, 0.001, 0.019, 0.021, 1.0, 1.0])
    disturbed = disturbance(
        length_s, [said(0, 0, 1, 1, 0, 0, other_s=(0.0, 0.021, 0.0, 0.0, 0.059, 0.061)), said(*[0] * 6)], False
    )
    assert isinstance(disturbed, Disturbance)
    assert disturbed.switched is not None
    assert disturbed.switched.tolist() == [False, False, True, False, False, False]
    assert disturbed.loaded is not None
    assert disturbed.loaded.tolist() == [False, True, False, False, False, True]
    assert disturbed.clean is not None
    assert disturbed.clean.tolist() == [True, False, False, True, True, False]


def test_ranks_that_take_turns_do_not_disturb_each_other() -> None:
    length_s = np.array([0.001, 0.001])
    disturbed = disturbance(length_s, [said(0, 1, other_s=(1.0, 0.0))], True)
    assert isinstance(disturbed, Disturbance)
    assert disturbed.switched is None
    assert disturbed.clean is not None
    assert disturbed.clean.tolist() == [False, True]
    unknown = disturbance(length_s, [said(0, 1)], True)
    assert isinstance(unknown, Disturbance)
    assert unknown.clean is None
    assert LaunchContext(2, True, shared_cores="2 ranks share one").take_turns
    assert not LaunchContext(2, True).take_turns  # not told
    assert not LaunchContext(2, True, shared_cores=None).take_turns


def test_where_exposed_over_computed_falls_as_one_over_n_the_crossing_is_exact() -> None:
    curve = [(n, 100 / n / (1 + 100 / n)) for n in (32, 128, 512, 2048)]
    assert crossing(curve, 0.5) == pytest.approx(100)
    assert crossing(curve, 0.1) == pytest.approx(900)


def cell(number: int, variant: str, n: int, mpi: str = "mpich", **changed: str) -> Cell:
    parameters = {"variant": variant, "n": str(n), "source": "in_place", "repetitions": "20", **changed}
    return Cell(number, str(number), "g", "l", "cannon", parameters, "default", "core", mpi=mpi)


def test_cells_stand_together_that_differ_in_variant_and_n_alone() -> None:
    cells = [
        cell(0, "sendrecv", 128),
        cell(1, "put_flag", 512, repetitions="5"),
        cell(2, "sendrecv", 128, source="root"),
        cell(3, "sendrecv", 128, mpi="openmpi"),
        cell(4, "sendrecv", 128, repetitions="5"),  # the same point once more
    ]
    conditions = groups(cells)
    assert [[c.cell for c in group_.cells.values()] for group_ in conditions] == [[0, 1], [2], [3]]
    assert [group_.label for group_ in conditions] == [
        "source=in_place, mpich",
        "source=root, mpich",
        "source=in_place, openmpi",
    ]
    assert conditions[0].n == [128, 512]
    assert groups(cells[:2])[0].label == "cannon"


def runs_of(lengths: list[int], intervals: int = 1) -> tuple[Runs, LaunchContext]:
    runs = read_runs([block(0, 0, lengths), block(0, 1, [1] * len(lengths) * intervals)], LaunchContext(1, True))
    assert isinstance(runs, Runs)
    steps = (Intervals(1, 0, 0, 0, (0,)), Intervals(1, 0, 0, 1, tuple(range(intervals))))
    return runs, LaunchContext(1, True, intervals=steps)


def test_the_timeline_is_of_the_median_of_what_stands_for_the_launch() -> None:
    runs, job = runs_of([50, 10, 30, 20, 40])
    assert timeline(runs, job, 0, None).repetition == 2
    assert timeline(runs, job, 0, np.array([True, False, True, False, True])).repetition == 4
    assert timeline(runs, job, 0, np.array([True, False, False, False, True])).repetition == 2  # two are too few


def spoken(best: list[tuple[int, str, list[str]]], gains: dict[tuple[str, int], float]) -> str:
    """Advice where the interval of a speed-up is 1 % to both sides, and no variant runs on several nodes."""
    points = {
        (variant, n): a_point(n, 1 / gain, speed_up=None if variant == "sendrecv_replace" else a_value(gain))
        for (variant, n), gain in gains.items()
    }
    text, reason = advice([a_best(*values) for values in best], [], points, None)
    assert (text is None) != (reason is None)
    return text or str(reason)


def test_a_gain_within_its_interval_is_no_advice() -> None:
    best = [(128, "pscw", []), (512, "sendrecv", ["sendrecv_replace"])]
    gains = {("pscw", 128): 1.5, ("sendrecv", 512): 1.005, ("sendrecv_replace", 512): 1.0}
    assert spoken(best, gains) == (
        "No style is decidedly faster than sendrecv_replace from n = 512 on; below, pscw at n = 128."
    )


def test_the_longest_range_wins_and_in_it_the_fastest() -> None:
    best = [
        (128, "pscw", ["sendrecv"]),
        (256, "put_flag", ["pscw", "sendrecv"]),
        (512, "sendrecv", ["pscw", "put_flag"]),
    ]
    gains = {(v, n): g for v, g in (("pscw", 1.3), ("sendrecv", 1.2), ("put_flag", 1.4)) for n in (128, 256, 512)}
    text = spoken(best, gains)
    assert text.startswith("Take pscw from n = 128 on, the smallest measured: 1.30")
    assert "not distinguishable from sendrecv, put_flag" in text


def test_parts_are_those_of_the_engine() -> None:
    listed = re.findall(r"^    (\w+) = (\d+),", (ENGINE / "recorder.hpp").read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(number): name for name, number in listed} == PARTS
    assert list(MEANINGS) == [name for number, name in PARTS.items() if number]


def test_variants_are_those_of_the_engine() -> None:
    kind = re.compile(r'const VariantKind \w+\{\s*"(\w+)",.+?Placement::\w+,\s*(true|false),', re.DOTALL)
    sources = (path.read_text(encoding="utf-8") for path in sorted(ENGINE.glob("*.cpp")))
    variants = [match for text in sources for match in kind.findall(text)]
    assert {name: word == "true" for name, word in variants} == ACROSS_NODES


def varied(clock_exponent: float, launches: int = 4, read: bool = True) -> CannonComputation:
    """Computation of one rank in launches of 40 repetitions; its time is the clock's power of `clock_exponent`."""
    rng = np.random.default_rng(3)
    computed = []
    for _ in range(launches):
        clock = np.exp(rng.normal(0, 0.05, 40))
        other = np.exp(rng.normal(0, 0.005, 40))
        lengths = [round(1e6 * value) for value in clock**clock_exponent * other]
        runs = read_runs([block(0, 0, lengths), block(0, 1, lengths)], LaunchContext(1, True))
        assert isinstance(runs, Runs)
        hz = tuple(4e9 * clock) if read else (None,) * 40
        events = [Repetitions(1, 0, 0, (0,) * 40, (), hz, "counted loop" if read else "no cpufreq, no counted loop")]
        made = of_launch(runs, events)
        assert made is not None
        computed.append(made)
    cells = {("put_fence", 512): Cell(3, "k", "g", "c", "cannon", {}, "default", "bound")}
    [row] = computation(cells, {3: computed})
    return row


def test_computation_that_follows_the_clock() -> None:
    row = varied(-1.0)
    assert (row.variant, row.n, row.cell, row.launches) == ("put_fence", 512, 3, 4)
    assert row.correlation is not None
    assert row.interval is not None
    assert row.follows is True, "a bool of Python's, as JSON needs one"
    assert row.correlation < -0.95
    assert row.interval[1] < -0.9
    assert row.spread_ratio == pytest.approx(1.35 * 0.05, rel=0.5)
    assert row.clock_spread_ratio == pytest.approx(1.35 * 0.05, rel=0.5)


ORDERS = (192, 384)
OVERHEAD = {1: 1.0, 2: 1.25, 4: 1.5}  # how much longer than work / ranks
SHARED = "4 ranks of n can run on 2 processors at a time"


def time_s(n: int, ranks: int, number: int) -> float:
    """Of one launch: all numbers of ranks drift alike from round to round, so that ratios within a round stay."""
    return (1 + 0.3 * number) * (1 + 0.001 * (number * ranks % 5)) * OVERHEAD[ranks] * n**3 / ranks * 1e-9


def planted(counts: Sequence[int] = (1, 2, 4), cores: int = 4) -> list[CannonScaling]:
    """Every order with each number of ranks, five rounds; launches of a round have numbers of their own."""
    cells, groups, measured = [], [], {}
    for ranks in counts:
        own, points = {}, []
        for n in ORDERS:
            cell = 10 * ranks + ORDERS.index(n)
            own["sendrecv", n] = SimpleNamespace(cell=cell)
            rounds = {r: (100 * ranks + r, SimpleNamespace(centre_s=time_s(n, ranks, r))) for r in range(5)}
            measured[cell, "multiply_s", "steady"] = rounds
            value = Value(value=time_s(n, ranks, 2), interval=None, interval_kind="t", level=None, launches=5)
            points.append(SimpleNamespace(n=n, cell=cell, multiply_s=value))
        placement = f"bound, {ranks} ranks"
        cells.append(CellGroup("g", {}, None, "default", placement, 1, cast(Any, own)))
        has_cores = ranks <= cores
        variant = SimpleNamespace(variant="sendrecv", points=cast(list[CannonPoint], points))
        groups.append(SimpleNamespace(parameters={}, mpi=None, environment="default", placement=placement, copy=1,
                                      ranks=ranks, variants=[variant], ranks_have_cores=has_cores,
                                      ranks_have_cores_reason=None if has_cores else SHARED))  # fmt: skip
    placements = [Placement(f"bound, {ranks} ranks", of="bound", ranks=ranks) for ranks in counts]
    return scaling(cells, cast(list[CannonGroup], groups), placements, cast(Measured, measured), 0.02)


def test_strong_scaling_is_round_by_round() -> None:
    strong = [entry for entry in planted() if entry.kind == "strong"]
    assert [entry.n for entry in strong] == list(ORDERS)
    for entry in strong:
        for point in entry.points:
            assert point.efficiency is not None
            assert point.speed_up is not None
            assert point.efficiency.value == pytest.approx(1 / OVERHEAD[point.ranks], rel=0.004)
            assert point.speed_up.value == pytest.approx(point.ranks / OVERHEAD[point.ranks], rel=0.004)
        ends = entry.points[1].efficiency
        assert ends is not None
        assert ends.interval is not None
        assert ends.interval[0] <= ends.value <= ends.interval[1]
        assert math.isclose(*ends.interval, rel_tol=0.02), "drift that all share is no spread"


def test_weak_scaling_compares_equal_blocks_alone() -> None:
    """192 with 1 rank and 384 with 4 have blocks of 192; no order here has a whole block with 2 ranks."""
    (weak,) = (entry for entry in planted() if entry.kind == "weak")
    assert (weak.block, weak.n) == (192, None)
    assert [(point.ranks, point.n) for point in weak.points] == [(1, 192), (4, 384)]
    assert weak.points[1].efficiency is not None
    assert weak.points[1].efficiency.value == pytest.approx(1 / OVERHEAD[4], rel=0.004)


def test_the_answer_is_of_most_ranks_that_have_a_core_each() -> None:
    assert ", 4 ranks: efficiency " in scaling_answer(planted())[0]
    assert ", 2 ranks: efficiency " in scaling_answer(planted(cores=2))[0]
    assert scaling_answer([]) == []


def test_panels_have_named_axes_and_no_efficiency_beyond_the_cores() -> None:
    figures = scaling_figures(planted(cores=2))
    assert [figure.title for figure in figures][:2] == [
        "Strong scaling, n = 192",
        "Strong scaling, n = 192: efficiency",
    ]
    assert all(isinstance(figure, Plot) and figure.x.title == "ranks" for figure in figures)
    times, efficiency = figures[:2]
    assert isinstance(times, Plot)
    assert isinstance(efficiency, Plot)
    assert efficiency.y.title == "efficiency of a rank"
    assert [band.label for band in times.bands] == ["oversubscribed from here"]
    assert efficiency.bands == ()
    assert times.table is not None
    assert [row[1] for row in times.table.rows] == ["1", "2", "4, oversubscribed"]
    last = times.table.rows[2][-1]
    assert isinstance(last, Quantity)
    assert last.text == "–"


def said_of_cannon_scaling(clocks: tuple[float | None, ...], source: str | None) -> Repetitions:
    return Repetitions(1, 0, 0, (0,) * len(clocks), clock_hz=clocks, clock_from=source)


def test_clocks_over_ranks_and_repetitions() -> None:
    events = [said_of_cannon_scaling((3e9, 2e9), "counted loop"), said_of_cannon_scaling((3.1e9, None), "counted loop")]
    clock = clock_of(events)
    assert not isinstance(clock, str)
    assert (clock.median_hz, clock.lowest_hz, clock.highest_hz, clock.readings) == (3e9, 2e9, 3.1e9, 3)
    assert clock.source == "counted loop"
    assert over_repetitions(events, 0) == 3e9
    assert over_repetitions(events, 1) == 2e9
