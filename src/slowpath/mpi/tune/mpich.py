# SPDX-License-Identifier: Apache-2.0
"""MPICH's selection of collectives as JSON: the library's own, with ranges of ours put in front. Pure.

The library holds its selection as text, and a file replaces the whole: so the file begins with what this very library
holds. Conditions follow each other as `else if`; under each are further ones or an algorithm (MPICH 5.0.2,
src/mpi/coll/src/csel.c). Seen under 5.0.2: a file that is no JSON and a condition that a collective does not know end
the program. Collectives with a form in shared memory (bcast, reduce, allreduce, barrier) take that inside a node before
this file is asked; the file of that layer can't pass a range of lengths on (an assertion ends the program).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.tuning import Range

Tree = dict[str, Any]
FILE: Final = "mpich.json"
_VARIABLE: Final = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
_TEXT: Final = re.compile(rb'\{"collective=[\x20-\x7e]{40,200000}\}\x00')
# By what a length is known: the block's or message's own, or that of all ranks' blocks together.
_OF_ALL_RANKS: Final = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")


def selection(library: bytes) -> Tree:
    """Of a library's bytes: the selection of all algorithms.

    Raises: EnvironmentFailure: it holds none in this form (before MPICH 4.0, or in another spelling).
    """
    for found in _TEXT.finditer(library):
        text = found.group()[:-1]
        if b"algorithm=MPIR_Bcast" in text and b"collective=ibarrier" in text:
            with contextlib.suppress(ValueError):
                tree: Tree = json.loads(text)
                return tree
    raise EnvironmentFailure("this MPICH does not show its selection of collectives, which its file has to begin with")


def files(library: bytes, ranges: Sequence[Range]) -> dict[str, str]:
    """The file by its name."""
    general = selection(library)
    for name in dict.fromkeys(picked.collective for picked in ranges):
        mine = [picked for picked in ranges if picked.collective == name]
        key = f"collective={name}"
        general[key] = _with(general[key], mine, {picked: _algorithm(picked) for picked in mine})
    return {FILE: json.dumps(general, indent=1) + "\n"}


def variables(folder: str) -> dict[str, str]:
    """What makes MPICH read the file."""
    return {_VARIABLE: f"{folder}/{FILE}"}


def _algorithm(picked: Range) -> Tree:
    return {f"algorithm=MPIR_{picked.collective.capitalize()}_intra_{picked.name}": {}}


def _with(tree: Tree, ranges: Sequence[Range], chosen: Mapping[Range, Tree]) -> Tree:
    """The tree of a collective with choices for some numbers of ranks, on communicators within one group."""
    within = tree["comm_type=intra"]
    by_ranks: Tree = {}
    for count in sorted({picked.ranks for picked in ranges}):
        by_ranks.setdefault(f"comm_size<={count - 1}", within)
        by_ranks[f"comm_size<={count}"] = _by_length(
            [picked for picked in ranges if picked.ranks == count], chosen, within
        )
    by_ranks["comm_size=any"] = within
    return {"comm_type=intra": by_ranks, **{key: value for key, value in tree.items() if key != "comm_type=intra"}}


def _by_length(ranges: Sequence[Range], chosen: Mapping[Range, Tree], otherwise: Tree) -> Tree:
    if ranges[0].collective == "barrier":
        return chosen[ranges[0]]
    of_all = ranges[0].collective in _OF_ALL_RANKS
    length = "total_msg_size" if of_all else "avg_msg_size"
    by_length: Tree = {}
    for picked in sorted(ranges, key=lambda found: found.first):
        scale = picked.ranks if of_all else 1
        if picked.first > 0:
            by_length.setdefault(f"{length}<={scale * picked.first - 1}", otherwise)
        by_length[f"{length}<={scale * picked.last}"] = chosen[picked]
    by_length[f"{length}=any"] = otherwise
    return by_length
