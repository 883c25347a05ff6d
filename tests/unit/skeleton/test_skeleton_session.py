# SPDX-License-Identifier: Apache-2.0
"""A skeleton's launches with planted times: it is judged before it prices, and a saving is what was measured."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.watch.prove.rerun import Rerun, Started
from slowpath.watch.skeleton.changes import Changed
from slowpath.watch.skeleton.derive import Recorded, Skeleton
from slowpath.watch.skeleton.launch import PlayerStart
from slowpath.watch.skeleton.measure import (
    NO_TIME,
    NOT_JUDGED,
    Played,
    PlayedKind,
    PlayedRank,
    SkeletonQuestion,
    SkeletonSession,
    fidelity_of,
)
from slowpath.watch.skeleton.script import Operation, Refused, Script
from slowpath.watch.skeleton_results import SkeletonResults, read_skeleton, skeleton_lines

SCRIPT = Script(((Operation("barrier"),),) * 2, ((0, 1),))
SKELETON = Skeleton(SCRIPT, Recorded(({"barrier": (1, 0.5)},) * 2, 1.0), ("one statement",))
FASTER = Changed(SCRIPT, "20 messages become 1", "whether it may", ("SPX",))


class Machine:
    """Takes planted seconds for each arm."""

    def __init__(self, takes_s: Mapping[str, float], failing: str = "", noise: float = 0.005) -> None:
        self.takes_s, self.failing, self.noise, self.arms = takes_s, failing, noise, list[str]()
        self.variables: dict[str, str | None] = {}
        self._random = random.Random(5)

    def run(self, argv: Sequence[str], environ: Mapping[str, str], started: Started, files: Path) -> Rerun:
        arm, out = Path(argv[-2]).name, Path(argv[-1])
        self.arms.append(arm)
        self.variables[arm] = environ.get("MPI_SETTING")
        if arm == self.failing:
            return Rerun(1.0, 4, "it ended with exit code 4", None, None)
        total_s = self.takes_s.get(arm, 1.0) * self._random.lognormvariate(0.0, self.noise)
        rank = PlayedRank(round(total_s * 1e9), {"barrier": PlayedKind(1, round(total_s * 5e8))})
        out.parent.mkdir(parents=True)
        out.write_bytes(msgspec.json.encode(Played((rank, rank))))
        return Rerun(total_s, 0, None, None, None)


def measured(tmp_path: Path, machine: Machine, **changes: Changed | Refused) -> SkeletonResults:
    tmp_path.mkdir(exist_ok=True)
    start = PlayerStart(("mpiexec", "player"), {}, None, None)
    asked = SkeletonQuestion(tmp_path, SKELETON, changes, start, budget_s=600.0)
    found = SkeletonSession(asked, lambda _: None, machine.run).go()
    assert read_skeleton(tmp_path) == found
    assert len(skeleton_lines(found)) <= 12
    return found


def test_a_saving_is_measured_beside_as_it_is_and_a_control(tmp_path: Path) -> None:
    machine = Machine({"faster": 0.6})
    found = measured(tmp_path, machine, faster=FASTER, same=FASTER, never=Refused("it can't be done"))
    faster, same = found.changes[0], next(change for change in found.changes if change.name == "same")
    assert (faster.name, faster.verdict, faster.rules) == ("faster", "proven", ("SPX",))
    assert faster.saved_s == pytest.approx(0.4, abs=0.03)
    assert faster.saved_interval is not None
    assert faster.saved_interval[0] < 0.4 < faster.saved_interval[1]
    assert same.saved_s is None
    assert machine.arms.count("as-it-is") == machine.arms.count("control") > machine.arms.count("faster")
    lines = skeleton_lines(found)
    assert "faster: saves 0." in lines[1]
    assert "(measured on the skeleton)" in lines[1]
    assert lines[2].strip() == "Check: whether it may"
    assert any("one statement" in line for line in lines)


@pytest.mark.parametrize(("takes_s", "word"), [(1.3, "longer"), (0.7, "shorter")])
def test_what_does_not_take_what_the_program_took_prices_nothing(tmp_path: Path, takes_s: float, word: str) -> None:
    machine = Machine(dict.fromkeys(("as-it-is", "control"), takes_s))
    found = measured(tmp_path, machine, faster=FASTER)
    assert found.fidelity is not None
    assert not found.fidelity.is_faithful
    assert word in found.fidelity.reason
    assert not found.changes
    assert "faster" not in machine.arms
    assert "It prices nothing" in skeleton_lines(found)[0]


def test_a_kind_of_call_that_takes_another_time_makes_it_unfaithful(tmp_path: Path) -> None:
    recorded = Recorded(({"barrier": (1, 0.3)},) * 2, 1.0)
    start = PlayerStart(("mpiexec", "player"), {}, None, None)
    asked = SkeletonQuestion(tmp_path, Skeleton(SCRIPT, recorded, ()), {}, start, 600.0)
    found = SkeletonSession(asked, lambda _: None, Machine({}).run).go()
    assert found.fidelity is not None
    assert not found.fidelity.is_faithful
    assert "barrier takes 1.6" in found.fidelity.reason


def crowded(tmp_path: Path, takes_s: float, is_crowded: bool = True) -> tuple[SkeletonResults, Machine]:
    """A kind of call is far off; a setting takes 0.3 of the time as it is."""
    tmp_path.mkdir(exist_ok=True)
    machine = Machine({"as-it-is": takes_s, "control": takes_s, "set-it": 0.3 * takes_s}, noise=0.05)
    changes = {"faster": FASTER, "set it": Changed(SCRIPT, "a setting", None, (), {"MPI_SETTING": "1"})}
    skeleton = Skeleton(SCRIPT, Recorded(({"barrier": (1, 0.3)},) * 2, 1.0), ())
    start = PlayerStart(("mpiexec", "player"), {}, None, None)
    asked = SkeletonQuestion(tmp_path, skeleton, changes, start, 600.0, is_crowded=is_crowded)
    return SkeletonSession(asked, lambda _: None, machine.run).go(), machine


def test_of_ranks_that_share_processors_settings_are_measured(tmp_path: Path) -> None:
    """One watched run is one draw of the scheduler's: calls that take another time refute nothing."""
    found, machine = crowded(tmp_path, 1.0)
    assert found.fidelity is not None
    assert (found.fidelity.is_faithful, found.fidelity.is_open) == (False, True)
    assert [(change.name, change.verdict) for change in found.changes] == [("set it", "proven"), ("faster", None)]
    assert found.changes[0].saved_s == pytest.approx(0.7, abs=0.1)
    assert found.changes[1].reason == NOT_JUDGED
    assert "faster" not in machine.arms
    assert "Only settings were measured" in skeleton_lines(found)[0]


def test_ranks_that_share_processors_excuse_no_other_time(tmp_path: Path) -> None:
    for name, takes_s, is_crowded in (("longer", 2.0, True), ("cores", 1.0, False)):
        found, machine = crowded(tmp_path / name, takes_s, is_crowded)
        assert not found.is_priced
        assert set(machine.arms) == {"as-it-is", "control"}


def test_a_wide_interval_that_holds_the_watched_run_is_no_likeness() -> None:
    """1.4 times as long on the mean of launches that differ by a factor of five."""
    recorded = Recorded(({"barrier": (1, 0.3)},) * 2, 1.0)
    launches = [
        Played((PlayedRank(round(s * 1e9), {"barrier": PlayedKind(1, 10**9)}),) * 2) for s in (0.6, 1.4, 3.2) * 2
    ]
    found = fidelity_of(recorded, launches, is_crowded=True)
    assert found.ratio.interval is not None
    assert found.ratio.interval[0] < 1 < found.ratio.interval[1]
    assert found.ratio.ratio == pytest.approx(1.4, abs=0.1)
    assert not found.is_open


def test_a_change_that_fails_is_dropped_and_a_skeleton_that_fails_is_an_error(tmp_path: Path) -> None:
    machine = Machine({}, failing="faster")
    found = measured(tmp_path, machine, faster=FASTER, other=FASTER)
    assert machine.arms.count("faster") == 1 < machine.arms.count("other")
    assert next(change for change in found.changes if change.name == "faster").verdict == "failed"
    with pytest.raises(EnvironmentFailure, match="fails as it is"):
        measured(tmp_path / "second", Machine({}, failing="control"), faster=FASTER)


def test_a_setting_is_launched_with_its_variables_alone(tmp_path: Path) -> None:
    machine = Machine({"set-it": 0.8})
    found = measured(tmp_path, machine, **{"set it": Changed(SCRIPT, "a setting", None, (), {"MPI_SETTING": "1"})})
    assert machine.variables == {"as-it-is": None, "control": None, "set-it": "1"}
    assert found.changes[0].verdict == "proven"


def test_a_budget_that_holds_no_launch_of_a_change_is_said(tmp_path: Path) -> None:
    start = PlayerStart(("mpiexec", "player"), {}, None, None)
    asked = SkeletonQuestion(tmp_path, SKELETON, {"faster": FASTER}, start, budget_s=1e-9)
    found = SkeletonSession(asked, lambda _: None, Machine({}).run).go()
    assert [(change.verdict, change.reason) for change in found.changes] == [("undecided", NO_TIME)]
