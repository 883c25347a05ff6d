# SPDX-License-Identifier: Apache-2.0
"""Rules of collectives: guidelines and forced paths."""

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
from slowpath.slowpaths.collectives.sp036_guideline import judged_violations as judged
from slowpath.slowpaths.evaluate import findings
from support.results import a_cell, a_metric, an_estimate


def only(run: Planted) -> Finding:
    found = findings(run.results(), ROLES)
    assert len(found) == 1, [one.text for one in found]
    return found[0]


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


def test_long_cells_may_be_in_fewer_launches() -> None:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, True)
    for entry in run.cells:
        if entry["parameters"]["message_bytes"] == str(256 * KIB):
            for estimate in entry["metrics"]["collective_work_s"]["phases"].values():
                estimate["launch_values"] = estimate["launch_values"][:6]
    (found,) = of_guidelines(run)
    assert found.about == "bcast against scatter+allgather, 2 ranks"


def test_its_remedy_is_the_mockup() -> None:
    (remedy,) = finding().remedies
    assert remedy.name == "replaced collective"
    assert remedy.snippet.shell == "export SLOWPATH_COLL=tuning.json"


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
