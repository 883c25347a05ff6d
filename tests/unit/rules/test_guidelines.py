# SPDX-License-Identifier: Apache-2.0
"""Guidelines: the other way is chosen on some launches and proven on the others, one finding for a range of lengths."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import slower_broadcast
from planted_results import KIB, Planted

from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import advice, group_of
from slowpath.slowpaths.collectives.sp036_guideline import judged_violations as judged
from slowpath.slowpaths.collectives.sp036_guideline import way_lines as lines
from slowpath.slowpaths.evaluate import findings
from slowpath.stats.contrast import choosing
from support.results import a_cell, a_metric, an_estimate

ROUNDS = 12
LENGTHS = (8, KIB, 16 * KIB, 256 * KIB)


@dataclass
class Machine:
    """Times of ways in rounds: a drift that all share, and noise of each cell."""

    noise: float = 0.02
    seed: int = 1

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._drift = np.exp(self._random.normal(0, 0.1, ROUNDS))
        self.cells: list[CellResult] = []

    def cell(self, way: str, length: int, time_s: float, **more: str) -> None:
        times = time_s * self._drift * np.exp(self._random.normal(0, self.noise, ROUNDS))
        parameters = {"pattern": "calls", "collective": "bcast", "way": way, "message_bytes": str(length), **more}
        metrics = {"collective_work_s": a_metric(an_estimate(time_s, launch_values=times.tolist()))}
        number = len(self.cells)
        self.cells.append(a_cell(number, experiment="coll", parameters=parameters, metrics=metrics))

    def line(self, factors: Mapping[str, Callable[[int], float]], **more: str) -> None:
        for length in LENGTHS:
            for way, factor in factors.items():
                self.cell(way, length, (1e-6 + length * 1e-9) * factor(length), **more)


def proven(machine: Machine, least: float = 1.05) -> list[tuple[str, int]]:
    found = [one for one in judged(machine.cells, least) if one.is_beyond(least)]
    return [(one.candidate.way, one.candidate.point.bytes) for one in found]


def finding(slow: bool = True) -> Finding:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, slow)
    (found,) = of_guidelines(run)
    return found


def of_guidelines(run: Planted) -> list[Finding]:
    """A step along the lengths is another rule's as well."""
    return [one for one in findings(run.results(), ROLES) if one.rule == "SP036"]


def test_a_round_chooses_or_proves() -> None:
    assert choosing(12).tolist() == [i in (2, 6, 10) for i in range(12)]
    assert [int(choosing(rounds).sum()) for rounds in (4, 8, 12, 16)] == [1, 2, 3, 4]


def test_one_finding_for_a_range_names_the_best_way_with_its_factor() -> None:
    found = finding()
    assert found.text.startswith("The library's own bcast takes 2.3")
    assert "what its scatter+allgather takes, for 16 KiB to 256 KiB on 2 ranks; at " in found.text
    assert re.search(r"; at \d+ KiB [\d.]+ us vs [\d.]+ us\.$", found.text), "the ratio is not that of these times"
    assert found.interval is not None
    assert found.interval[0] < 3 / 1.3 < found.interval[1]
    assert found.interval[1] / found.interval[0] < 1.1
    assert found.cause is None
    assert found.status == "observed"
    assert found.about == "bcast against scatter+allgather, 2 ranks"


@pytest.mark.parametrize(("times", "kind"), [(3.0, "opportunity"), (20.0, "fault")])
def test_many_times_slower_than_healthy_libraries_show_is_a_fault(times: float, kind: str) -> None:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, True, times)
    (found,) = of_guidelines(run)
    assert found.kind == kind
    assert (group_of(found) == "fault") == (kind == "fault")


def test_the_finding_speaks_for_all_contrasts_of_its_lengths() -> None:
    """Of both mock-ups at both lengths; those of short messages are nobody's loss."""
    assert finding().contrasts == ["c4", "c5", "c6", "c7"]


def test_its_evidence_says_how_it_was_chosen_and_what_is_not_in_it() -> None:
    lines_ = finding().legs.observed.evidence
    assert "chosen among 2 ways in 2 launches, compared with the library in 6 others" in lines_[0]
    assert lines_[1].startswith("later calls only: the set-up by the first call")
    row = '{"collective": "bcast", "ranks": [2, 2], "bytes": [16384, 262144], "mockup": "scatter+allgather"}'
    assert lines_[2] == f"tuning.json: {row}"


def test_where_a_rank_came_late_to_many_calls_it_is_doubted() -> None:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, slow=True)
    for cell in run.cells:
        late = 30 if cell["parameters"]["way"] == "library" else 2
        counts = {"all": 100, "clean": 100 - late, "switched": None, "loaded": None, "late": late}
        cell["repetitions"] = {**counts, "launches_of_clean": 8, "launches": 8}
    (found,) = of_guidelines(run)
    (doubt,) = found.doubts
    assert doubt.startswith("a rank arrived late in 30 of 100 calls of ")


def test_the_headline_is_the_findings_own_sentence() -> None:
    found = finding()
    assert advice(found, [], {}) == found.text.rstrip(".")


def test_its_remedy_is_the_mockup() -> None:
    (remedy,) = finding().remedies
    assert remedy.name == "replaced collective"
    assert remedy.snippet.shell == "export SLOWPATH_COLL=tuning.json"


def test_a_message_in_pieces_is_held_against_as_many_calls_as_it_takes() -> None:
    """8 KiB as 8 calls of 1 KiB, each 2 us; 1 KiB as 128 calls of 8 B is no gain. Of nearer lengths SP037 speaks."""
    run = Planted(seed=2)
    for length, time_s in ((8, 1e-6), (KIB, 2e-6), (8 * KIB, 40e-6)):
        more = {"pattern": "calls", "collective": "gather", "message_bytes": length, "way": "library", "members": "all"}
        run.cell({"collective_work_s": {"steady": time_s}}, experiment="coll", **more)
    (found,) = of_guidelines(run)
    assert found.ratio == pytest.approx(2.5, rel=0.03)
    assert found.text.startswith("One gather takes 2.")
    assert "what 8 calls of 1 KiB take, for 8 KiB on 2 ranks" in found.text
    assert found.remedies == []


def test_where_a_mockup_is_faster_pieces_are_no_second_finding() -> None:
    run = Planted(seed=2)
    for way, times_s in (("library", (1e-6, 20e-6)), ("split_2", (2e-6, 6e-6))):
        for length, time_s in zip((KIB, 4 * KIB), times_s, strict=True):
            more = {"pattern": "calls", "collective": "gather", "message_bytes": length, "way": way, "members": "all"}
            run.cell({"collective_work_s": {"steady": time_s}}, experiment="coll", **more)
    (found,) = of_guidelines(run)
    assert "what its split_2 takes, for 4 KiB" in found.text


def test_a_way_as_good_as_the_best_is_preferred_where_it_serves_more_lengths() -> None:
    """b is 2 % better than a at one length; a is best at its neighbours."""
    machine = Machine(noise=0.001)
    machine.line(
        {
            "library": lambda _: 2.0,
            "a": lambda _: 1.0,
            "b": lambda length: 0.98 if length == KIB else 1.9,
        }
    )
    assert proven(machine) == [("a", length) for length in LENGTHS]


def test_where_another_way_is_clearly_better_a_new_range_begins() -> None:
    machine = Machine(noise=0.001)
    short = lambda length: length <= KIB  # noqa: E731
    machine.line(
        {
            "library": lambda _: 3.0,
            "a": lambda length: 1.0 if short(length) else 2.0,
            "b": lambda length: 2.0 if short(length) else 1.0,
        }
    )
    assert proven(machine) == [("a", 8), ("a", KIB), ("b", 16 * KIB), ("b", 256 * KIB)]


def test_the_choice_does_not_make_the_ratio_better() -> None:
    """20 ways that are all equal: the best of them on all launches would seem some percent faster."""
    ratios = []
    for seed in range(30):
        machine = Machine(noise=0.1, seed=seed)
        machine.line({"library": lambda _: 1.0, **{f"way{i}": lambda _: 1.0 for i in range(20)}})
        ratios += [one.proof.ratio for one in judged(machine.cells, 1.0)]
    assert len(ratios) > 90
    assert float(np.exp(np.mean(np.log(ratios)))) == pytest.approx(1.0, abs=0.01)


def test_of_clean_machines_nothing_is_said() -> None:
    """200 lengths of 8 ways each, none slower than the library by more than noise: none is named beyond 1 %."""
    machine = Machine(noise=0.05)
    for number in range(50):
        ways = {f"way{i}": lambda _: 1.0 for i in range(8)}
        machine.line({"library": lambda _: 1.0, **ways}, communicator=str(number))
    assert proven(machine, least=1.01) == []


def test_a_way_that_was_not_measured_in_the_same_launches_is_left_out() -> None:
    machine = Machine()
    machine.line({"library": lambda _: 2.0, "a": lambda _: 1.0})
    short = an_estimate(1e-6, launch_values=[1e-6] * (ROUNDS - 1))
    cut = a_cell(1, experiment="coll", parameters=machine.cells[1].parameters)
    machine.cells[1] = a_cell(
        1, experiment="coll", parameters=cut.parameters, metrics={"collective_work_s": a_metric(short)}
    )
    assert [length for _, length in proven(machine)] == list(LENGTHS[1:])


def test_three_rounds_prove_nothing() -> None:
    machine = Machine(noise=0.001)
    machine.line({"library": lambda _: 2.0, "a": lambda _: 1.0})
    cells = []
    for cell in machine.cells:
        estimate = cell.estimate("collective_work_s", "steady")
        assert estimate is not None
        values = an_estimate(1e-6, launch_values=estimate.launch_values[:3])
        cells.append(
            a_cell(
                cell.cell,
                experiment="coll",
                parameters=cell.parameters,
                metrics={"collective_work_s": a_metric(values)},
            )
        )
    assert judged(cells, 1.05) == []


def test_cells_that_differ_otherwise_are_not_held_against_each_other() -> None:
    machine = Machine()
    machine.cell("library", 8, 2e-6, communicator="world")
    machine.cell("a", 8, 1e-6, communicator="duplicate")
    assert lines(machine.cells) == []


def test_one_disturbed_launch_hides_no_violation() -> None:
    """Of nine that prove; and it does not make one where there is none."""
    for base, named in ((2.0, True), (1.0, False)):
        machine = Machine(noise=0.02)
        machine.line({"library": lambda _, base=base: base, "a": lambda _: 1.0})
        for cell in machine.cells:
            estimate = cell.estimate("collective_work_s", "steady")
            assert estimate is not None
            if cell.parameters["way"] == "a":
                estimate.launch_values[4] *= 20.0
        assert bool(proven(machine)) is named
