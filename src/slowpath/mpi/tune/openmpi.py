# SPDX-License-Identifier: Apache-2.0
"""The rules file of Open MPI's component tuned: algorithm by collective, ranks and length. Pure.

Format: docs.open-mpi.org, "The tuned component"; ompi#8157 (a rule for length 0 is needed). For ranks and lengths the
largest number that is not above the call's counts; algorithm 0 is the library's own choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from slowpath.mpi.tuning import Range

FILE = "openmpi-rules.conf"
# ompi/mca/coll/base/coll_base_functions.h
_NUMBERS: Final = {
    "allgather": 0,
    "allgatherv": 1,
    "allreduce": 2,
    "alltoall": 3,
    "barrier": 6,
    "bcast": 7,
    "reduce": 11,
    "reduce_scatter": 12,
    "reduce_scatter_block": 13,
}
# Whose length in the rules is that of all ranks' blocks together (coll_tuned_decision_dynamic.c).
_OF_ALL_RANKS: Final = ("allgather", "allgatherv", "alltoall", "reduce_scatter")
_OWN_CHOICE: Final = "0"


def rules_text(ranges: Sequence[Range]) -> str:
    """The file; every number of ranks and length outside of `ranges` keeps the library's own choice."""
    by_collective = [(name, list(group)) for name, group in groupby(sorted(ranges, key=_order), _collective)]
    lines = [f"{len(by_collective)} # collectives"]
    for name, group in by_collective:
        ranks = sorted({picked.ranks for picked in group})
        steps: dict[int, list[tuple[int, str]]] = {}
        for count in ranks:
            steps[count] = _lengths([picked for picked in group if picked.ranks == count])
            steps.setdefault(count + 1, [(0, _OWN_CHOICE)])
        lines += [f"{_NUMBERS[name]} # {name}", f"{len(steps)} # numbers of ranks"]
        for count in sorted(steps):
            lines += [f"{count} # ranks and more", f"{len(steps[count])} # lengths"]
            lines += [f"{length} {algorithm} 0 0" for length, algorithm in steps[count]]
    return "\n".join(lines) + "\n"


def variables(path: str) -> dict[str, str]:
    """What makes Open MPI read the file."""
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
    }


def _lengths(ranges: Sequence[Range]) -> list[tuple[int, str]]:
    found: dict[int, str] = {0: _OWN_CHOICE}
    for picked in sorted(ranges, key=lambda found: found.first):
        scale = picked.ranks if picked.collective in _OF_ALL_RANKS else 1
        found[scale * picked.first] = picked.name
        found[scale * picked.last + 1] = _OWN_CHOICE
    return sorted(found.items())


def _collective(picked: Range) -> str:
    return picked.collective


def _order(picked: Range) -> tuple[int, int, int]:
    return _NUMBERS[picked.collective], picked.ranks, picked.first
