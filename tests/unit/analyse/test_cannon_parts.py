# SPDX-License-Identifier: Apache-2.0
"""Pieces of the analysis of cannon: who has a core, what a record may lack, what disturbs, where a curve crosses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from slowpath.core.cell_results import CellResult
from slowpath.core.plan import Cell
from slowpath.core.study_results import CannonComputation, Value
from slowpath.experiments.cannon.critical import crossing
from slowpath.experiments.cannon.entry import advice, kernels
from slowpath.experiments.cannon.experiment import MEANINGS
from slowpath.experiments.cannon.observed import computation, of_launch, timeline
from slowpath.experiments.cannon.points import groups
from slowpath.experiments.cannon.runs import ACROSS_NODES, PARTS, Disturbance, Runs, disturbance, read_runs
from slowpath.experiments.measured import Absent, LaunchContext, Reduced, SampleBlock, why_cores_are_shared
from slowpath.record.events import Intervals, Rank, Repetitions
from support.cannon import a_best, a_point, a_value

ENGINE = Path(__file__).parents[3] / "engine" / "studies" / "cannon"


def ranks(*allowed: str | None, hosts: str = "") -> list[Rank]:
    names = hosts or "n" * len(allowed)
    return [Rank(i, host, cpus_allowed=one) for i, (one, host) in enumerate(zip(allowed, names, strict=True))]


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


@pytest.mark.parametrize(
    ("placed", "why"),
    [
        (ranks("0", "0"), "2 ranks of n can run on 1 processor at a time"),
        (ranks("0-1", "0-1", "0-1"), "3 ranks of n can run on 2 processors at a time"),
        (
            ranks("0-1", "0", "1", "4-7"),
            "4 ranks of n can run on 3 processors at a time",
        ),  # the last one's are no help to the others
        (ranks("0", "0", "0", hosts="aba"), "2 ranks of a can run on 1 processor at a time"),
        (ranks("0", None), "does not say which processors"),
        (ranks("0", "one"), "does not say which processors"),
        (ranks("0", "1-"), "does not say which processors"),
        ([], "does not say which processors"),
    ],
)
def test_ranks_that_share(placed: list[Rank], why: str) -> None:
    found = why_cores_are_shared(placed)
    assert found is not None
    assert why in found


def block(rank: int, part: int, durations: list[int], start: int | None = 0) -> SampleBlock:
    values = np.array(durations, dtype=np.int64)
    begin = None if start is None else start + np.arange(values.size) * 1000
    return SampleBlock(rank, "steady", 0, 1, 0, values, begin, part)


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        ([], "no samples"),
        ([block(0, 0, [1])], "rank 1 has no block of the whole multiplication"),
        ([block(0, 0, [1]), block(1, 0, [1, 2])], "do not hold equally many repetitions"),
        ([block(0, 0, []), block(1, 0, [])], "do not hold equally many repetitions"),
        (
            [block(0, 0, [5, 5]), block(1, 0, [5, 5]), block(1, 4, [1, 2, 3])],
            "part wait of rank 1: .* not equally many",
        ),
        ([block(0, 0, [5]), block(1, 0, [5], start=None)], "part total of rank 1: has no start times"),
        (
            [block(0, 0, [5]), block(1, 0, [5]), block(1, 4, [1]), block(1, 4, [1])],
            "part wait of rank 1: has two blocks",
        ),
    ],
)
def test_a_record_that_can_not_be_used(blocks: list[SampleBlock], why: str) -> None:
    found = read_runs(blocks, LaunchContext(2, True))
    assert isinstance(found, Absent)
    assert re.search(why, found.reason)


def said(*switches: int, other_s: tuple[float | None, ...] = ()) -> Repetitions:
    return Repetitions(1, 0, 0, switches, other_s)


def test_what_disturbs_a_repetition() -> None:
    length_s = np.array([0.001, 0.001, 0.019, 0.021, 1.0, 1.0])
    found = disturbance(
        length_s, [said(0, 0, 1, 1, 0, 0, other_s=(0.0, 0.021, 0.0, 0.0, 0.059, 0.061)), said(*[0] * 6)], False
    )
    assert isinstance(found, Disturbance)
    assert found.switched is not None
    assert found.switched.tolist() == [False, False, True, False, False, False]
    assert found.loaded is not None
    assert found.loaded.tolist() == [False, True, False, False, False, True]
    assert found.clean is not None
    assert found.clean.tolist() == [True, False, False, True, True, False]


def test_ranks_that_take_turns_do_not_disturb_each_other() -> None:
    length_s = np.array([0.001, 0.001])
    found = disturbance(length_s, [said(0, 1, other_s=(1.0, 0.0))], True)
    assert isinstance(found, Disturbance)
    assert found.switched is None
    assert found.clean is not None
    assert found.clean.tolist() == [False, True]
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
    found = groups(cells)
    assert [[c.cell for c in one.cells.values()] for one in found] == [[0, 1], [2], [3]]
    assert [one.label for one in found] == ["source=in_place, mpich", "source=root, mpich", "source=in_place, openmpi"]
    assert found[0].n == [128, 512]
    assert groups(cells[:2])[0].label == "cannon"


def runs_of(lengths: list[int], intervals: int = 1) -> tuple[Runs, LaunchContext]:
    found = read_runs([block(0, 0, lengths), block(0, 1, [1] * len(lengths) * intervals)], LaunchContext(1, True))
    assert isinstance(found, Runs)
    steps = (Intervals(1, 0, 0, 0, (0,)), Intervals(1, 0, 0, 1, tuple(range(intervals))))
    return found, LaunchContext(1, True, intervals=steps)


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
    text, reason = advice([a_best(*one) for one in best], [], points, None)
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
    assert text.startswith("Take pscw from n = 128 on, the smallest measured: it is 1.30")
    assert "can't be distinguished from sendrecv, put_flag" in text


def test_parts_are_those_of_the_engine() -> None:
    listed = re.findall(r"^    (\w+) = (\d+),", (ENGINE / "recorder.hpp").read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(number): name for name, number in listed} == PARTS
    assert list(MEANINGS) == [name for number, name in PARTS.items() if number]


def test_variants_are_those_of_the_engine() -> None:
    kind = re.compile(r'const VariantKind \w+\{\s*"(\w+)",.+?Placement::\w+,\s*(true|false),', re.DOTALL)
    sources = (path.read_text(encoding="utf-8") for path in sorted(ENGINE.glob("*.cpp")))
    found = [match for text in sources for match in kind.findall(text)]
    assert {name: word == "true" for name, word in found} == ACROSS_NODES


def varied(clock_exponent: float, launches: int = 4, read: bool = True) -> CannonComputation:
    """Computation of one rank in launches of 40 repetitions; its time is the clock's power of `clock_exponent`."""
    rng = np.random.default_rng(3)
    found = []
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
        found.append(made)
    cells = {("put_fence", 512): Cell(3, "k", "g", "c", "cannon", {}, "default", "bound")}
    [one] = computation(cells, {3: found})
    return one


def test_computation_that_follows_the_clock() -> None:
    one = varied(-1.0)
    assert (one.variant, one.n, one.cell, one.launches) == ("put_fence", 512, 3, 4)
    assert one.correlation is not None
    assert one.interval is not None
    assert one.follows is True, "a bool of Python's, as JSON needs one"
    assert one.correlation < -0.95
    assert one.interval[1] < -0.9
    assert one.spread_ratio == pytest.approx(1.35 * 0.05, rel=0.5)
    assert one.clock_spread_ratio == pytest.approx(1.35 * 0.05, rel=0.5)


def test_computation_over_compiler_options() -> None:
    times_s = {"loop_O3": 2e-3, "loop_O0": 12e-3, "blas": 4e-4}
    cells = [
        Cell(
            number, f"k{number}", "g", name, "cannon", {"variant": "compute_only", "n": "256", "kernel": name}, "e", "p"
        )
        for number, name in enumerate(times_s)
    ]
    measured = {
        (cell.cell, "dgemm_s", "steady"): {
            launch: (launch, cast(Reduced, _Centre(time_s * (1 + 0.001 * launch)))) for launch in range(4)
        }
        for cell, time_s in zip(cells, times_s.values(), strict=True)
    }
    entries = {
        cell.cell: cast(CellResult, _Estimated(a_value(time_s)))
        for cell, time_s in zip(cells, times_s.values(), strict=True)
    }
    [found] = kernels(groups(cells), measured, entries, 0.02)
    assert (found.n, found.variant, found.base) == (256, "compute_only", "loop_O3")
    by_name = {one.kernel: one for one in found.kernels}
    assert by_name["loop_O3"].over_base is None
    assert by_name["loop_O0"].over_base is not None
    assert by_name["loop_O0"].over_base.value == pytest.approx(6.0)
    assert by_name["blas"].dgemm_s.interval == a_value(4e-4).interval
    assert kernels(groups(cells[:1]), measured, entries, 0.02) == []


@dataclass(frozen=True)
class _Centre:
    """What stands for a launch."""

    centre_s: float


@dataclass(frozen=True)
class _Estimated:
    """A cell with one estimate."""

    value: Value

    def estimate(self, metric: str, phase: str) -> Value:
        assert (metric, phase) == ("dgemm_s", "steady")
        return self.value
