# SPDX-License-Identifier: Apache-2.0
"""What a tuning promises, writes for a library and a program, and resumes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from slowpath.diagnose.tune.cells import (
    TOGETHER,
    VIEWS,
    CellFactor,
    CollectiveCell,
    TuneRequest,
    Use,
    broken,
    choosing,
    comparing,
    load,
    most_of,
    promises,
    save,
    view_of,
    whole,
)
from slowpath.diagnose.tune.promise_table import lines, promised_table
from slowpath.diagnose.tune.session import Session, Tuned
from slowpath.mpi import tuning
from slowpath.mpi.tuning import ALGORITHMS, Pick, Range, TuningFile, environments, forced, ranges, tuning_text

REQUEST = TuneRequest("mpich", "mpich-5.0.2", None, ("bcast",), (2,), (8, 1024), 8)
RING = Pick("bcast", 2, 1024, "algorithm", "ring")
STEPS = (-3, -1, 0, 1, 3, -2, 2, 0)  # so many parts of the spread is each launch off


def seen(
    view: str, times_faster: float, spread: float = 0.01, length: int = 1024, pick: Pick | None = RING
) -> CellFactor:
    """Eight pairs in one view."""
    pairs = tuple((1e-6, 1e-6 / (times_faster * (1 + step * spread))) for step in STEPS)
    return CellFactor(CollectiveCell("bcast", 2, length), pairs, pick, view)


def in_views(
    *times_faster: float, spread: float = 0.01, length: int = 1024, pick: Pick | None = RING
) -> list[CellFactor]:
    """One for each view, in their order."""
    return [seen(view.name, faster, spread, length, pick) for view, faster in zip(VIEWS, times_faster, strict=True)]


def test_what_further_launches_obtain_in_the_worst_view_is_promised() -> None:
    (promise,) = promises(in_views(1.5, 1.4, 1.2, 1.3))
    assert promise.times_faster == pytest.approx(1.2 * 0.96, rel=0.01)
    low = min(1 / factor.interval[1] for factor in promise.factors if factor.interval is not None)
    assert promise.times_faster is not None
    assert promise.times_faster < low, "a further launch may be worse than the mean"
    assert promise.holds
    assert broken(in_views(1.5, 1.4, 1.2, 1.3)) == set()


@pytest.mark.parametrize("worst", range(len(VIEWS)))
def test_one_view_without_a_gain_takes_the_cell_back(worst: int) -> None:
    times = [1.5] * len(VIEWS)
    times[worst] = 1.0
    assert broken(in_views(*times)) == {RING}
    times[worst] = 1.1
    assert broken(in_views(*times)) == set()
    noisy = [seen(factor.view, 1.1, 0.2) if at == worst else factor for at, factor in enumerate(in_views(*times))]
    assert broken(noisy) == {RING}, "the interval reaches below 1"


def test_nineteen_of_twenty_further_launches_keep_a_promise() -> None:
    """Planted: a gain of 1.3 and launches that differ by 10 %; the mean's interval is kept by two of three."""
    draws, kept, above_the_mean = np.random.default_rng(7), 0, 0
    for _ in range(400):
        *pairs, further = ((1e-6 * 1.3 * noise, 1e-6) for noise in np.exp(draws.normal(0, 0.1, 9)))
        noisy = CellFactor(CollectiveCell("bcast", 2, 8), tuple(pairs), RING, "skewed")
        assert noisy.at_least is not None
        assert noisy.interval is not None
        kept += further[0] / further[1] >= noisy.at_least
        above_the_mean += further[0] / further[1] >= 1 / noisy.interval[1]
    assert 0.92 < kept / 400 < 0.98
    assert above_the_mean / 400 < 0.87


def test_too_few_launches_promise_nothing() -> None:
    few = [CellFactor(in_view.cell, in_view.pairs[:2], in_view.pick, in_view.view) for in_view in in_views(2, 2, 2, 2)]
    (promise,) = promises(few)
    assert promise.times_faster is None
    assert broken(few) == {RING}


def test_the_table_has_the_three_side_by_side() -> None:
    head, row = promised_table(promises(in_views(1.5, 1.4, 1.2, 1.3)))
    columns = ["after a barrier", "back to back", "skewed", "promised"]
    assert [head.index(name) for name in columns] == sorted(head.index(name) for name in columns)
    assert "1.40 [" in row, "the less of the mean and the slowest rank"
    assert "1.50 [" not in row
    assert row.split()[-1].startswith("1.1")


def test_a_verification_times_each_cell_in_three_ways() -> None:
    campaign = comparing(REQUEST, whole(REQUEST, 2), {"A": "b"}, "core", 16, views=VIEWS)
    assert [group.parameters["pattern"] for group in campaign.cells] == ["after_barrier", "back_to_back", "calls"]
    assert campaign.cells[-1].parameters["arrival"] == "random"
    assert [contrast.metric for contrast in campaign.contrasts] == [view.metric for view in VIEWS]
    names = {group.name for group in campaign.cells}
    assert {contrast.cells for contrast in campaign.contrasts} == names
    for contrast, view in zip(campaign.contrasts, VIEWS, strict=True):
        group = next(cell for cell in campaign.cells if cell.name == contrast.cells)
        given = {name: str(value) for name, value in group.parameters.items()}
        assert view_of(given, contrast.metric) == view
    assert view_of({"pattern": "calls", "arrival": "together"}, TOGETHER.metric) == TOGETHER
    assert view_of({"pattern": "calls", "arrival": "together"}, "collective_own_s") is None


LENGTHS = (8, 64, 1024, 65536)
GRID = {("bcast", ranks): LENGTHS for ranks in (2, 4)}
ALLTOALL = Range("alltoall", 4, 64, 1024, "pairwise")
GATHERED = Range("allgather", 4, 8, 8, "ring")
GENERAL = {
    "collective=bcast": {"comm_type=intra": {"algorithm=MPIR_Bcast_intra_binomial": {}}},
    "collective=alltoall": {
        "comm_type=intra": {"algorithm=MPIR_Alltoall_intra_brucks": {}},
        "comm_type=inter": {"x": {}},
    },
    "collective=allgather": {"comm_type=intra": {"algorithm=MPIR_Allgather_intra_brucks": {}}},
    "collective=ibarrier": {"algorithm=own": {}},
}


def test_neighbouring_lengths_become_one_range() -> None:
    picks = [Pick("bcast", 4, length, "algorithm", "ring") for length in (8, 64, 65536)]
    picks += [Pick("bcast", 4, 1024, "algorithm", "binomial"), Pick("bcast", 4, 8, "mockup", "padded")]
    assert ranges(picks, "algorithm", GRID) == [
        Range("bcast", 4, 8, 64, "ring", (8, 64)),
        Range("bcast", 4, 1024, 1024, "binomial", (1024,)),
        Range("bcast", 4, 65536, 65536, "ring", (65536,)),
    ]


def test_tuning_json_has_the_mock_ups() -> None:
    picks = [Pick("bcast", 2, length, "mockup", "padded") for length in (8, 64)]
    picks.append(Pick("bcast", 2, 1024, "algorithm", "ring"))
    text = tuning_text("mpich-5.0.2", picks, GRID)
    assert json.loads(text) == {
        "mpi": "mpich-5.0.2",
        "rows": [{"collective": "bcast", "ranks": [2, 2], "bytes": [8, 64], "mockup": "padded"}],
        "schema": 1,
    }
    assert msgspec.json.decode(text, type=TuningFile).rows[0].bytes == (8, 64)


def selected(tree: dict[str, Any], collective: str, ranks: int, length: int) -> str | None:
    """The algorithm that MPICH would take: the first condition that holds, and so on; None: the layer below decides."""
    node: dict[str, Any] = tree[f"collective={collective}"]
    while node:
        for key, child in node.items():
            if key.startswith("algorithm="):
                return key.removeprefix("algorithm=")
            name, sign, bound = key.partition("<=")
            value = {"comm_size": ranks, "avg_msg_size": length, "total_msg_size": length * ranks}.get(name)
            if key in ("comm_type=intra", f"{key.partition('=')[0]}=any") or (
                sign and value is not None and value <= int(bound)
            ):
                node = child
                break
        else:
            return None
    return None


def library() -> bytes:
    texts = [json.dumps(GENERAL, separators=(",", ":")).encode()]
    return b"\x7fELF\0" + b"\0".join(texts) + b'\0junk{"collective=broken\0'


@pytest.mark.parametrize(
    ("ranks", "length", "name"),
    [
        (4, 63, "brucks"),
        (4, 64, "pairwise"),
        (4, 1024, "pairwise"),
        (4, 1025, "brucks"),
        (3, 64, "brucks"),
        (5, 64, "brucks"),
    ],
)
def test_mpich_takes_it_there_and_nowhere_else(ranks: int, length: int, name: str) -> None:
    tree = json.loads(tuning.mpich_files(library(), [ALLTOALL, GATHERED])[tuning.MPICH_FILE])
    assert selected(tree, "alltoall", ranks, length) == f"MPIR_Alltoall_intra_{name}"
    assert tree["collective=alltoall"]["comm_type=inter"] == {"x": {}}


def algorithm_of(text: str, number: int, ranks: int, length: int) -> str:
    """As coll_tuned reads the rules: the last entry that is not above."""
    words = iter(text.replace("#", " #").splitlines())
    rows = iter([line.split("#")[0].split() for line in words])
    for _ in range(int(next(rows)[0])):
        this, algorithm = int(next(rows)[0]), "0"
        for _ in range(int(next(rows)[0])):
            least, lengths = int(next(rows)[0]), int(next(rows)[0])
            steps = [next(rows) for _ in range(lengths)]
            assert steps[0][0] == "0", "without a rule for length 0 the library takes none"
            if least <= ranks:
                algorithm = [step[1] for step in steps if int(step[0]) <= length][-1]
        if this == number:
            return algorithm
    return "0"


def test_open_mpi_takes_it_there_and_nowhere_else() -> None:
    text = tuning.openmpi_text([Range("allgather", 4, 8, 8, "4"), Range("bcast", 4, 64, 1024, "5")])
    bcast = [
        algorithm_of(text, 7, ranks, length)
        for ranks, length in ((4, 63), (4, 64), (4, 1024), (4, 1025), (3, 64), (5, 64))
    ]
    assert bcast == ["0", "5", "5", "0", "0", "0"]
    assert [algorithm_of(text, 0, 4, 4 * length) for length in (7, 8, 9)] == ["0", "4", "0"], "of all ranks' blocks"


def test_intel_mpi_takes_ranges() -> None:
    ranges = [Range("bcast", 2, 8, 64, "3"), Range("bcast", 4, 1024, 1024, "1")]
    assert tuning.intel_variables(ranges) == {"I_MPI_ADJUST_BCAST": "3:8-64@2-2;1:1024-1024@4-4"}
    assert "export I_MPI_ADJUST_BCAST='3:8-64@2-2;1:1024-1024@4-4'" in tuning.intel_text(ranges)


@pytest.mark.parametrize("library_name", list(ALGORITHMS))
def test_few_environments_force_every_algorithm_once(library_name: str) -> None:
    collectives = tuple(ALGORITHMS[library_name])
    chosen_environments = environments(library_name, collectives)
    pairs = [(name, algorithm) for chosen, _ in chosen_environments for name, algorithm in chosen.items()]
    assert sorted(pairs) == sorted((name, other) for name, names in ALGORITHMS[library_name].items() for other in names)
    for chosen, variables in chosen_environments:
        for name, algorithm in chosen.items():
            assert forced(library_name, name, algorithm).items() <= variables.items()


USES = (
    Use("bcast", 4, 1000, 10, 6.0),
    Use("allreduce", 2, 4, 10, 3.0),
    Use("barrier", 4, 0, 10, 1.0),
    Use("bcast", 4, 100, 1, 0.001),
)
REQUEST_OF_TUNE_FOR_PROGRAM = TuneRequest(
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
    assert whole(REQUEST_OF_TUNE_FOR_PROGRAM, 4) == {"bcast": (1000,), "barrier": (0,)}
    assert whole(REQUEST_OF_TUNE_FOR_PROGRAM, 2) == {"allreduce": (4,)}
    campaign = choosing(REQUEST_OF_TUNE_FOR_PROGRAM, "core", whole(REQUEST_OF_TUNE_FOR_PROGRAM, 2))
    assert {str(group.parameters["datatype"]) for group in campaign.cells} == {"int"}
    save(tmp_path, REQUEST_OF_TUNE_FOR_PROGRAM)
    assert load(tmp_path) == REQUEST_OF_TUNE_FOR_PROGRAM


def test_a_choice_is_for_all_lengths_of_the_class() -> None:
    picks = [Pick("bcast", 4, length, "algorithm", "3") for length in (1000, 1024)]
    picks += [Pick("barrier", 4, 0, "algorithm", "2")]
    measured = {("bcast", 4): (1000, 1024), ("barrier", 4): (0,)}
    chosen = [(span.collective, span.first, span.last) for span in ranges(picks, "algorithm", measured, classes=True)]
    assert chosen == [("barrier", 0, 0), ("bcast", 512, 2047)]
    assert [(span.first, span.last) for span in ranges(picks[:2], "algorithm", measured)] == [(1000, 1024)]


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
    shown = lines(REQUEST_OF_TUNE_FOR_PROGRAM, Tuned(tuple(factors), (pick,), {"A": "b"}, measured=measured))
    assert [row.split()[:3] for row in shown[1:4]] == [
        ["6.00", "s", "bcast,"],
        ["3.00", "s", "allreduce,"],
        ["1.00", "s", "barrier,"],
    ]
    assert shown[1].rstrip().endswith("2.00      3.00 s")
    said = "lmp: a rank spends 10.0 s in these collectives; the promises save at least 3.00 s"
    assert any(said in line for line in shown)
    assert any("bcast, 4 ranks: 3 for 512 B to 1023 B" in line for line in shown)


OWN = {"SLOWPATH_COLL": "/tuned/candidates/tuning.json"}
TEXT = SimpleNamespace(rounds=1)


class Stopped(Exception):
    """Whatever measures is not part of these tests."""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """One whose runs are read as interrupted, whatever they hold."""
    interrupted: Any = SimpleNamespace(run=SimpleNamespace(status="interrupted"))
    monkeypatch.setattr("slowpath.diagnose.tune.session.rebuild", lambda run: interrupted)
    request: Any = SimpleNamespace(mpi=None, ranks=(2,))
    preload = Path("/cache/libslowpath-coll.so")
    return Session(tmp_path, request, None, {}, lambda _: None, True, (), 2, preload=preload)  # type: ignore[arg-type]


def test_a_step_is_continued_with_the_variables_that_the_tuning_itself_sets(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = session.folder / "prove-1-2"
    run.mkdir()
    (run / "run.json").write_text(json.dumps({}))
    asked: list[Any] = []
    monkeypatch.setattr("slowpath.diagnose.tune.session.resume", lambda *words: asked.append(words[-1]))
    session._measured("prove-1-2", TEXT, 2, OWN)  # type: ignore[arg-type]
    (terms,) = asked
    assert dict(terms.own) == {**OWN, "LD_PRELOAD": "/cache/libslowpath-coll.so"}
    assert terms.trust is False


def test_what_a_full_disk_left_of_a_step_is_begun_anew(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run = session.folder / "verify-1-2"
    run.mkdir()
    (run / "campaign.toml").write_text("")

    def stop(*_: object) -> None:
        raise Stopped

    monkeypatch.setattr(Session, "_within", stop)
    with pytest.raises(Stopped):
        session._measured("verify-1-2", TEXT, 2, OWN)  # type: ignore[arg-type]
    assert not run.exists()
