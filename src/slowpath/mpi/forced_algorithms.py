# SPDX-License-Identifier: Apache-2.0
"""Which algorithms of a collective each library has, and the variables that force one. Pure.

Sources: MPICH 5.0.2, descriptions of its control variables; Open MPI 5.0, `ompi_info --param coll tuned --level 9`;
Intel MPI Library Developer Reference, "I_MPI_ADJUST family". Algorithms that need further parameters, an even number of
ranks or exactly two are left out, and those that a file of the library cannot choose (mpich.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_HALVES: Final = ("recursive_halving", "pairwise", "recursive_doubling")

ALGORITHMS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "mpich": {
        "allgather": ("brucks", "recursive_doubling", "ring"),
        "allgatherv": ("brucks", "recursive_doubling", "ring"),
        "alltoall": ("brucks", "pairwise", "scattered"),
        "reduce_scatter": _HALVES,
        "reduce_scatter_block": _HALVES,
    },
    "openmpi": {
        "barrier": ("1", "2", "3", "4", "6"),
        "bcast": ("1", "2", "3", "4", "5", "6", "7", "8", "9"),
        "reduce": ("1", "2", "3", "4", "5", "6", "7"),
        "allreduce": ("1", "2", "3", "4", "5", "6"),
        "allgather": ("1", "2", "3", "4"),
        "allgatherv": ("1", "2", "3"),
        "alltoall": ("1", "2", "3", "4"),
        "reduce_scatter": ("1", "2", "3", "4"),
        "reduce_scatter_block": ("1", "2", "3", "4"),
    },
    "intelmpi": {
        "barrier": ("1", "2", "5"),
        "bcast": ("1", "2", "3", "7", "8"),
        "reduce": ("1", "2", "5"),
        "allreduce": ("1", "2", "3", "5", "8", "9"),
        "allgather": ("1", "2", "3"),
        "allgatherv": ("1", "2", "3"),
        "alltoall": ("1", "2", "3", "4"),
        "reduce_scatter": ("1", "2", "3"),
        "scan": ("1", "2"),
        "exscan": ("1", "2"),
        "gather": ("1", "3"),
        "scatter": ("1", "3"),
    },
}


def forced(library: str, collective: str, algorithm: str) -> dict[str, str]:
    """Variables that make the library take one algorithm for all lengths of a collective."""
    name = collective.upper()
    if library == "mpich":
        return {f"MPIR_CVAR_{name}_INTRA_ALGORITHM": algorithm}
    if library == "openmpi":
        return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", f"OMPI_MCA_coll_tuned_{collective}_algorithm": algorithm}
    return {f"I_MPI_ADJUST_{name}": algorithm}


def environments(library: str, collectives: tuple[str, ...]) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Few environments that together force each algorithm of each collective once.

    Returns: of each the algorithm by collective, and the variables.  Collectives do not see each other's.
    """
    known = {
        collective: names for collective, names in ALGORITHMS.get(library, {}).items() if collective in collectives
    }
    found = []
    for number in range(max(map(len, known.values()), default=0)):
        chosen = {collective: names[number] for collective, names in known.items() if number < len(names)}
        variables: dict[str, str] = {}
        for collective, algorithm in chosen.items():
            variables.update(forced(library, collective, algorithm))
        found.append((chosen, variables))
    return found
