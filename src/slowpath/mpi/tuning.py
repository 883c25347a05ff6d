# SPDX-License-Identifier: Apache-2.0
"""tuning.json: ranges in which a mock-up was proven faster than the library's own collective; and who read it.

libslowpath-coll.so reads it (SLOWPATH_COLL), and reports which calls it replaced (SLOWPATH_COLL_REPORT).
engine/replace/table.cpp has the other side.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import DAMAGE

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
    chosen_variables = []
    for number in range(max(map(len, known.values()), default=0)):
        chosen = {collective: names[number] for collective, names in known.items() if number < len(names)}
        variables: dict[str, str] = {}
        for collective, algorithm in chosen.items():
            variables.update(forced(library, collective, algorithm))
        chosen_variables.append((chosen, variables))
    return chosen_variables


SCHEMA = 1
FILE_VARIABLE = "SLOWPATH_COLL"  # a path, or the text itself, which begins with {
REPORT_VARIABLE = "SLOWPATH_COLL_REPORT"
REPLACED_CALLS = "replaced.json"  # what that names in the folder of a launch
Kind = Literal["algorithm", "mockup"]


class TuningRow(msgspec.Struct, frozen=True):
    """collective: as in MPI_Name, in lower case.  ranks, bytes: first and last of the range."""

    collective: str
    ranks: tuple[int, int]
    bytes: tuple[int, int]
    mockup: str


class TuningFile(msgspec.Struct, frozen=True):
    """mpi: library and version that the rows were proven for."""

    mpi: str
    rows: tuple[TuningRow, ...]
    schema: int = SCHEMA


class ReplacedRow(msgspec.Struct, frozen=True):
    """Calls that were made in another way, by a row of the table."""

    calls: int
    collective: str = ""
    mockup: str = ""


class ReplacedCalls(msgspec.Struct, frozen=True):
    """What libslowpath-coll.so reports when the program ends. problem: why it replaced nothing."""

    rows: tuple[ReplacedRow, ...]
    problem: str | None = None

    @property
    def calls(self) -> int:
        """All that were replaced."""
        return sum(row.calls for row in self.rows)


def read_replaced(path: Path) -> ReplacedCalls | None:
    """Read a report of libslowpath-coll.so; None: there is none, or it is damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ReplacedCalls)
    except (OSError, *DAMAGE):
        return None


@dataclass(frozen=True, order=True)
class Pick:
    """What one cell takes in place of the library's choice.

    bytes: of the message, as `message_bytes` of the experiment coll.  kind: algorithm: one of the library's own, by the
    name that its settings have; mockup: other calls.
    """

    collective: str
    ranks: int
    bytes: int
    kind: Kind
    name: str


Measured = Mapping[tuple[str, int], Sequence[int]]  # collective, ranks -> all lengths that were measured


@dataclass(frozen=True)
class Range:
    """Neighbouring measured lengths that take the same; both ends were proven.

    measured: all of them; lengths between two of these are taken to be like them.
    """

    collective: str
    ranks: int
    first: int
    last: int
    name: str
    measured: tuple[int, ...] = ()


def ranges(picks: Sequence[Pick], kind: Kind, measured: Measured, *, classes: bool = False) -> list[Range]:
    """Picks of one kind with lengths next to each other among the measured ones put together; none outside of them.

    Args: classes: a length stands for all of its class, from a power of two to below the next one.
    """
    spans: list[Range] = []
    places = {where: {length: at for at, length in enumerate(sorted(set(all_)))} for where, all_ in measured.items()}
    for pick in sorted(candidate for candidate in picks if candidate.kind == kind):
        last, place = spans[-1] if spans else None, places[pick.collective, pick.ranks]
        if (
            last is not None
            and (last.collective, last.ranks, last.name) == (pick.collective, pick.ranks, pick.name)
            and place[pick.bytes] == place[last.last] + 1
        ):
            spans[-1] = replace(last, last=pick.bytes, measured=(*last.measured, pick.bytes))
        else:
            spans.append(Range(pick.collective, pick.ranks, pick.bytes, pick.bytes, pick.name, (pick.bytes,)))
    return [_of_classes(span) for span in spans] if classes else spans


def _of_classes(span: Range) -> Range:
    if span.last == 0:
        return span
    return replace(span, first=1 << max(0, span.first.bit_length() - 1), last=(1 << span.last.bit_length()) - 1)


def tuning_text(mpi: str, picks: Sequence[Pick], measured: Measured, *, classes: bool = False) -> str:
    """tuning.json of the mock-ups among `picks`.  Args: as `ranges`."""
    rows = [
        TuningRow(picked.collective, (picked.ranks, picked.ranks), (picked.first, picked.last), picked.name)
        for picked in ranges(picks, "mockup", measured, classes=classes)
    ]
    text = msgspec.json.format(msgspec.json.encode(TuningFile(mpi, tuple(rows))), indent=1)
    return text.decode() + "\n"


# MPICH's selection of collectives as JSON: the library's own, with ranges of ours put in front.
#
# The library holds its selection as text, and a file replaces the whole: so the file begins with what this very
# library holds. Conditions follow each other as `else if`; under each are further ones or an algorithm (MPICH 5.0.2,
# src/mpi/coll/src/csel.c). Seen under 5.0.2: a file that is no JSON and a condition that a collective does not know end
# the program. Collectives with a form in shared memory (bcast, reduce, allreduce, barrier) take that inside a node
# before this file is asked; the file of that layer can't pass a range of lengths on (an assertion ends the program).

Tree = dict[str, Any]
MPICH_FILE: Final = "mpich.json"
_VARIABLE: Final = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
_TEXT: Final = re.compile(rb'\{"collective=[\x20-\x7e]{40,200000}\}\x00')
# By what a length is known: the block's or message's own, or that of all ranks' blocks together.
_MPICH_OF_ALL_RANKS: Final = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")


def mpich_selection(library: bytes) -> Tree:
    """Return the selection of all algorithms that a library's bytes hold.

    Raises: EnvironmentFailure: it holds none in this form (before MPICH 4.0, or in another spelling).
    """
    for match in _TEXT.finditer(library):
        text = match.group()[:-1]
        if b"algorithm=MPIR_Bcast" in text and b"collective=ibarrier" in text:
            with contextlib.suppress(ValueError):
                tree: Tree = json.loads(text)
                return tree
    raise EnvironmentFailure("this MPICH does not show its selection of collectives; use MPICH 4.0 or later")


def mpich_files(library: bytes, ranges: Sequence[Range]) -> dict[str, str]:
    """The file by its name."""
    general = mpich_selection(library)
    for name in dict.fromkeys(picked.collective for picked in ranges):
        mine = [picked for picked in ranges if picked.collective == name]
        key = f"collective={name}"
        general[key] = _with(general[key], mine, {picked: _algorithm(picked) for picked in mine})
    return {MPICH_FILE: json.dumps(general, indent=1) + "\n"}


def mpich_variables(folder: str) -> dict[str, str]:
    """Return what makes MPICH read the file."""
    return {_VARIABLE: f"{folder}/{MPICH_FILE}"}


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
    of_all = ranges[0].collective in _MPICH_OF_ALL_RANKS
    length = "total_msg_size" if of_all else "avg_msg_size"
    by_length: Tree = {}
    for picked in sorted(ranges, key=lambda span: span.first):
        scale = picked.ranks if of_all else 1
        if picked.first > 0:
            by_length.setdefault(f"{length}<={scale * picked.first - 1}", otherwise)
        by_length[f"{length}<={scale * picked.last}"] = chosen[picked]
    by_length[f"{length}=any"] = otherwise
    return by_length


# Intel MPI's variables I_MPI_ADJUST_...: algorithm by ranks and length.
#
# Syntax: Intel MPI Library Developer Reference, "I_MPI_ADJUST family": ID:FIRST-LAST@RANKS-RANKS;...

INTEL_FILE = "intelmpi.sh"


def intel_variables(ranges: Sequence[Range]) -> dict[str, str]:
    """One variable for each collective; elsewhere the library chooses."""
    rules: dict[str, list[str]] = {}
    for picked in ranges:
        rule = f"{picked.name}:{picked.first}-{picked.last}@{picked.ranks}-{picked.ranks}"
        rules.setdefault(f"I_MPI_ADJUST_{picked.collective.upper()}", []).append(rule)
    return {name: ";".join(rules) for name, rules in sorted(rules.items())}


def intel_text(ranges: Sequence[Range]) -> str:
    """The same as a script to be read by a shell: `. intelmpi.sh`."""
    lines = [f"export {name}='{value}'" for name, value in intel_variables(ranges).items()]
    return "\n".join(["# Algorithms of collectives, by slowpath tune", *lines, ""])


# The rules file of Open MPI's component tuned: algorithm by collective, ranks and length.
#
# Format: docs.open-mpi.org, "The tuned component"; ompi#8157 (a rule for length 0 is needed). For ranks and lengths the
# largest number that is not above the call's counts; algorithm 0 is the library's own choice.

OPENMPI_FILE = "openmpi-rules.conf"
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
_OPENMPI_OF_ALL_RANKS: Final = ("allgather", "allgatherv", "alltoall", "reduce_scatter")
_OWN_CHOICE: Final = "0"


def openmpi_text(ranges: Sequence[Range]) -> str:
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


def openmpi_variables(path: str) -> dict[str, str]:
    """Return what makes Open MPI read the file."""
    return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_dynamic_rules_filename": path}


def _lengths(ranges: Sequence[Range]) -> list[tuple[int, str]]:
    by_begin: dict[int, str] = {0: _OWN_CHOICE}
    for picked in sorted(ranges, key=lambda span: span.first):
        scale = picked.ranks if picked.collective in _OPENMPI_OF_ALL_RANKS else 1
        by_begin[scale * picked.first] = picked.name
        by_begin[scale * picked.last + 1] = _OWN_CHOICE
    return sorted(by_begin.items())


def _collective(picked: Range) -> str:
    return picked.collective


def _order(picked: Range) -> tuple[int, int, int]:
    return _NUMBERS[picked.collective], picked.ranks, picked.first
