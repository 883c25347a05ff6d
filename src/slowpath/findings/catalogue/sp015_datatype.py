# SPDX-License-Identifier: Apache-2.0
"""SP015: derived datatypes that are moved block by block."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.differences import number
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.first_use_observed import cost_witness
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.rule import Leg, Observation, Rule
from slowpath.stats.laws import blocks, constant

_WHOLE = ("contiguous", "predefined", "large_count")
_LAWS = (constant.LAW, blocks.LAW)


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of datatypes, or of packing, in which the derived datatype is slower."""
    found = [one for one in evidence.decided("datatype", "pack", phase="steady") if _derived_is_slower(one)]
    groups = grouped(found, lambda one: (one.slow_value, one.slow["experiment"], *setting_key(one.slow)))
    return [_observation(evidence, group) for group in groups]


def _derived_is_slower(one: Compared) -> bool:
    slow, fast = (cell["parameters"] for cell in (one.slow, one.fast))
    derived = slow.get("datatype", "contiguous") not in _WHOLE
    return derived and (fast.get("datatype", "contiguous") in _WHOLE or fast.get("pack") == "mpi_pack")


def _observation(evidence: Evidence, group: Sequence[Compared]) -> Observation:
    kind = str(group[0].slow["parameters"].get("datatype"))
    packed = group[0].fast["parameters"].get("pack") == "mpi_pack"
    reference = "the same packed by MPI_Pack" if packed else "the same bytes in one block"
    said = Said(f"A message of datatype {kind}", reference, f"datatype {kind}")
    return observation(evidence, group, said, lambda g: _law(evidence, g))


def _law(evidence: Evidence, group: Sequence[Compared]) -> LawFound | None:
    """Over the blocks of the derived datatype, at the length that loses most."""
    top = max(group, key=lambda one: one.excess_s)
    line = evidence.line_through(top.slow, "blocks", top.metric, top.slow_phase)
    return line.among(_LAWS) if line is not None else None


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Counted calls in the number of blocks, or system time for the excess."""
    slow = evidence.cells[seen.slow_cells[0]]
    count = number(slow, "blocks") or 0.0
    made = witness.calls(slow, seen.phase, witness.SINGLE_COPY, "calls_per_op")
    if made is not None and count and witness.NUMBER_AGREES[0] <= made / count <= witness.NUMBER_AGREES[1]:
        line = f"{made:.4g} calls of process_vm_readv or writev for each message of {count:.0f} blocks"
        return Leg("shown", "law and witness agree", (line,))
    return cost_witness(evidence, seen)


RULE = Rule(
    code="SP015",
    name="datatype, block by block",
    title="A derived datatype costs by its blocks",
    what="Data in pieces (vector, indexed) are sent through a derived datatype more slowly than as one block.",
    shows="At one and the same number of bytes, the time grows with the number of blocks.",
    why="The library copies block by block, or looks at the type's description for each block; from GPU "
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
