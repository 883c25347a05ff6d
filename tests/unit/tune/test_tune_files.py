# SPDX-License-Identifier: Apache-2.0
"""Files that choose an algorithm: read by a reader of our own, each length takes what was proven there."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from slowpath.mpi import tuning
from slowpath.mpi.tuning import ALGORITHMS, Pick, Range, TuningFile, environments, forced, ranges, tuning_text

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
        this, found = int(next(rows)[0]), "0"
        for _ in range(int(next(rows)[0])):
            least, lengths = int(next(rows)[0]), int(next(rows)[0])
            steps = [next(rows) for _ in range(lengths)]
            assert steps[0][0] == "0", "without a rule for length 0 the library takes none"
            if least <= ranks:
                found = [step[1] for step in steps if int(step[0]) <= length][-1]
        if this == number:
            return found
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
    found = [Range("bcast", 2, 8, 64, "3"), Range("bcast", 4, 1024, 1024, "1")]
    assert tuning.intel_variables(found) == {"I_MPI_ADJUST_BCAST": "3:8-64@2-2;1:1024-1024@4-4"}
    assert "export I_MPI_ADJUST_BCAST='3:8-64@2-2;1:1024-1024@4-4'" in tuning.intel_text(found)


@pytest.mark.parametrize("library_name", list(ALGORITHMS))
def test_few_environments_force_every_algorithm_once(library_name: str) -> None:
    collectives = tuple(ALGORITHMS[library_name])
    found = environments(library_name, collectives)
    pairs = [(name, algorithm) for chosen, _ in found for name, algorithm in chosen.items()]
    assert sorted(pairs) == sorted((name, one) for name, names in ALGORITHMS[library_name].items() for one in names)
    for chosen, variables in found:
        for name, algorithm in chosen.items():
            assert forced(library_name, name, algorithm).items() <= variables.items()
