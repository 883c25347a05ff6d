# SPDX-License-Identifier: Apache-2.0
"""SP015: derived datatypes that are moved block by block."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence, Slowdown
from slowpath.findings.evidence.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.evidence.witness import NUMBER_AGREES, SINGLE_COPY, calls, cost_witness
from slowpath.findings.evidence.words import number, parameter
from slowpath.findings.rule import Observation, Rule, Support
from slowpath.stats.laws.found import FittedLaw

_WHOLE = ("contiguous", "predefined", "large_count")
_SUBARRAY, _COPIED = "derived", "packed"  # of the experiment exchange


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of datatypes, or of packing, in which the derived datatype is slower."""
    found = [one for one in evidence.slowdowns("datatype", "pack", phase="steady") if _derived_is_slower(one)]
    groups = grouped(found, lambda one: (one.slow_value, one.slow.experiment, *place_key(one.slow)))
    return [_observation(evidence, group) for group in groups]


def _derived_is_slower(one: Slowdown) -> bool:
    slow, fast = (parameter(cell, "datatype", "contiguous") for cell in (one.slow, one.fast))
    if _SUBARRAY in (slow, fast) or _COPIED in (slow, fast):
        # Faces that lie packed already cost neither the library nor the program a copy: they blame no datatype.
        return (slow, fast) == (_SUBARRAY, _COPIED)
    return slow not in _WHOLE and (fast in _WHOLE or parameter(one.fast, "pack") == "mpi_pack")


def _observation(evidence: Evidence, group: Sequence[Slowdown]) -> Observation:
    kind = parameter(group[0].slow, "datatype")
    wording = Wording(f"{{size}}messages of datatype {kind}", _reference(group[0]), f"datatype {kind}")
    return slowdown_observed(evidence, group, wording, lambda some: _law(evidence, some))


def _reference(one: Slowdown) -> str:
    if parameter(one.fast, "datatype") == _COPIED:
        return "the same faces copied by the program"
    return "packed by MPI_Pack" if parameter(one.fast, "pack") == "mpi_pack" else "the same bytes in one block"


def _law(evidence: Evidence, group: Sequence[Slowdown]) -> FittedLaw | None:
    """Over the blocks of the derived datatype, at the length that loses most."""
    return evidence.law_over("blocks", max(group, key=lambda one: one.excess_s), ("constant", "blocks"))


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """Counted calls in the number of blocks, or system time for the excess."""
    slow = evidence.cells[seen.slow_cells[0]]
    count = number(slow, "blocks") or 0.0
    made = calls(slow, seen.phase, SINGLE_COPY, "calls_per_op")
    if made is not None and count and NUMBER_AGREES[0] <= made / count <= NUMBER_AGREES[1]:
        line = f"{made:.4g} calls of process_vm_readv or writev for each message of {count:.0f} blocks"
        return Support("shown", "law and witness agree", (line,))
    return cost_witness(evidence, seen)


RULE = Rule(
    code="SP015",
    name="datatype, block by block",
    title="A derived datatype costs by its blocks",
    what="Data in pieces (vector, indexed) go more slowly through a derived datatype than as one block.",
    shows="At the same number of bytes, the time grows with the number of blocks.",
    why="The library copies block by block, or reads the type's description for each block; from GPU "
    "memory each block may be a copy of its own.",
    needs="The same bytes in one block and in several numbers of blocks, 4 or more: law 'blocks'. Explained "
    "when counted calls or system time grow with the blocks.",
    remedy="Pack with MPI_Pack or a loop and send the contiguous copy, or make blocks longer.",
    false_alarms="A copy into one block costs, too: compare with packing, not with data that were contiguous anyway.",
    sources=("MPI-4.1 chapter 5", "docs/reference/engine-interface.md"),
    observe=observe,
    cause="The library handles the datatype block by block.",
    witnesses=witnesses,
    hypotheses=("blocks are copied one by one in the library (user time)", "each block is a copy of its own"),
)
