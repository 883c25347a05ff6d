# SPDX-License-Identifier: Apache-2.0
"""MPICH's selection of collectives as JSON: the library's own, with ranges of ours put in front. Pure.

The library holds its selection as text, a text for each layer, and a file replaces that of a layer: so the file begins
with what this very library holds. Conditions follow each other as `else if`; under each are further ones or an
algorithm; an object without members passes the call on to the layer below (MPICH 5.0.2, src/mpi/coll/src/csel.c).
Seen under 5.0.2: a condition that a collective does not know ends the program, and so does a file that is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.tune.algorithms import MPICH_SHARED
from slowpath.mpi.tuning import Range

Tree = dict[str, Any]
FILE, SHARED_FILE = "mpich.json", "mpich-shared-memory.json"
_VARIABLE: Final = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
_SHARED_VARIABLE: Final = "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE"
_TEXT: Final = re.compile(rb'\{"collective=[\x20-\x7e]{40,200000}\}\x00')
# By what a length is known: the block's or message's own, or that of all ranks' blocks together.
_OF_ALL_RANKS: Final = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")


def selections(library: bytes) -> tuple[Tree, Tree]:
    """Of a library's bytes: the selection of all algorithms, and that of shared memory.

    Raises: EnvironmentFailure: it holds none in this form (before MPICH 4.0, or in another spelling).
    """
    general, shared = None, None
    for found in _TEXT.finditer(library):
        try:
            tree = json.loads(found.group()[:-1])
        except ValueError:
            continue
        text = found.group()
        if b"algorithm=MPIR_Bcast" in text and b"collective=ibarrier" in text:
            general = tree
        elif b"algorithm=MPIDI_POSIX" in text:
            shared = tree
    if general is None or shared is None:
        raise EnvironmentFailure("this MPICH does not show its selection of collectives; tune its mock-ups alone")
    return general, shared


def files(library: bytes, ranges: Sequence[Range]) -> dict[str, str]:
    """The two files by name."""
    general, shared = selections(library)
    for name in dict.fromkeys(one.collective for one in ranges):
        mine = [one for one in ranges if one.collective == name]
        key = f"collective={name}"
        general[key] = _with(general[key], mine, {one: _algorithm(one) for one in mine})
        if name in MPICH_SHARED and key in shared:
            shared[key] = _with(shared[key], mine, {one: {} for one in mine})
    return {FILE: json.dumps(general, indent=1) + "\n", SHARED_FILE: json.dumps(shared, indent=1) + "\n"}


def variables(folder: str) -> dict[str, str]:
    """What makes MPICH read the files."""
    return {_VARIABLE: f"{folder}/{FILE}", _SHARED_VARIABLE: f"{folder}/{SHARED_FILE}"}


def _algorithm(one: Range) -> Tree:
    return {f"algorithm=MPIR_{one.collective.capitalize()}_intra_{one.name}": {}}


def _with(tree: Tree, ranges: Sequence[Range], chosen: Mapping[Range, Tree]) -> Tree:
    """The tree of a collective with choices for some numbers of ranks, on communicators within one group."""
    within = tree["comm_type=intra"]
    by_ranks: Tree = {}
    for count in sorted({one.ranks for one in ranges}):
        by_ranks.setdefault(f"comm_size<={count - 1}", within)
        by_ranks[f"comm_size<={count}"] = _by_length([one for one in ranges if one.ranks == count], chosen, within)
    by_ranks["comm_size=any"] = within
    return {"comm_type=intra": by_ranks, **{key: value for key, value in tree.items() if key != "comm_type=intra"}}


def _by_length(ranges: Sequence[Range], chosen: Mapping[Range, Tree], otherwise: Tree) -> Tree:
    if ranges[0].collective == "barrier":
        return chosen[ranges[0]]
    of_all = ranges[0].collective in _OF_ALL_RANKS
    length = "total_msg_size" if of_all else "avg_msg_size"
    by_length: Tree = {}
    for one in sorted(ranges, key=lambda found: found.first):
        scale = one.ranks if of_all else 1
        if one.first > 0:
            by_length.setdefault(f"{length}<={scale * one.first - 1}", otherwise)
        by_length[f"{length}<={scale * one.last}"] = chosen[one]
    by_length[f"{length}=any"] = otherwise
    return by_length
