# SPDX-License-Identifier: Apache-2.0
"""A tuning for a watched program: which cells it has, for which lengths it chooses, what it says of the program."""

from __future__ import annotations

from pathlib import Path

from slowpath.diagnose.tune.cells import (
    VIEWS,
    CellFactor,
    CollectiveCell,
    TuneRequest,
    Use,
    choosing,
    load,
    most_of,
    save,
    whole,
)
from slowpath.diagnose.tune.install import lines
from slowpath.diagnose.tune.session import Tuned
from slowpath.mpi.tuning import Pick, ranges

USES = (
    Use("bcast", 4, 1000, 10, 6.0),
    Use("allreduce", 2, 4, 10, 3.0),
    Use("barrier", 4, 0, 10, 1.0),
    Use("bcast", 4, 100, 1, 0.001),
)
REQUEST = TuneRequest(
    "openmpi",
    "openmpi-5.0.11",
    None,
    ("bcast", "allreduce", "barrier"),
    (4, 2),
    (0, 4, 1000),
    8,
    program="lmp",
    uses=USES[:3],
)


def test_what_holds_nearly_all_time_is_tuned() -> None:
    assert most_of(USES) == USES[:3]
    assert most_of([Use("bcast", 2, 8, 1, 0.0)]) == ()
    many = [Use("bcast", 2, 8 * number, 1, 1.0) for number in range(1, 100)]
    assert len(most_of(many)) == 40


def test_only_the_cells_of_the_program_are_measured_by_its_elements(tmp_path: Path) -> None:
    assert whole(REQUEST, 4) == {"bcast": (1000,), "barrier": (0,)}
    assert whole(REQUEST, 2) == {"allreduce": (4,)}
    campaign = choosing(REQUEST, "core", whole(REQUEST, 2))
    assert {str(group.parameters["datatype"]) for group in campaign.cells} == {"int"}
    save(tmp_path, REQUEST)
    assert load(tmp_path) == REQUEST


def test_a_choice_is_for_all_lengths_of_the_class() -> None:
    picks = [Pick("bcast", 4, length, "algorithm", "3") for length in (1000, 1024)]
    picks += [Pick("barrier", 4, 0, "algorithm", "2")]
    measured = {("bcast", 4): (1000, 1024), ("barrier", 4): (0,)}
    found = [(one.collective, one.first, one.last) for one in ranges(picks, "algorithm", measured, classes=True)]
    assert found == [("barrier", 0, 0), ("bcast", 512, 2047)]
    assert [(one.first, one.last) for one in ranges(picks[:2], "algorithm", measured)] == [(1000, 1024)]


def test_the_program_s_seconds_stand_in_front_and_what_is_saved_at_the_end() -> None:
    pick = Pick("bcast", 4, 1000, "algorithm", "3")

    def seen(collective: str, ranks: int, length: int, ratio: float, chosen: Pick | None) -> list[CellFactor]:
        pairs = tuple((1e-6, ratio * 1e-6 * (1 + 1e-9 * step)) for step in range(16))
        return [CellFactor(CollectiveCell(collective, ranks, length), pairs, chosen, view.name) for view in VIEWS]

    factors = [
        *seen("allreduce", 2, 4, 1.0, None),
        *seen("barrier", 4, 0, 1.0, None),
        *seen("bcast", 4, 1000, 0.5, pick),
    ]
    measured = {("bcast", 4): (1000,), ("barrier", 4): (0,), ("allreduce", 2): (4,)}
    shown = lines(REQUEST, Tuned(tuple(factors), (pick,), {"A": "b"}, measured=measured))
    assert [row.split()[:3] for row in shown[1:4]] == [
        ["6.00", "s", "bcast,"],
        ["3.00", "s", "allreduce,"],
        ["1.00", "s", "barrier,"],
    ]
    assert shown[1].rstrip().endswith("2.00      3.00 s")
    said = "lmp: a rank spends 10.0 s in these collectives; the promises save at least 3.00 s"
    assert any(said in one for one in shown)
    assert any("bcast, 4 ranks: 3 for 512 B to 1023 B" in one for one in shown)
