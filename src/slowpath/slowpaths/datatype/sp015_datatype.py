# SPDX-License-Identifier: Apache-2.0
"""SP015: derived datatypes that are moved block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts, Slowdown, number, parameter
from slowpath.findings.laws import law_over
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import (
    GPU,
    HOST,
    WAITING,
    Control,
    Observation,
    Parameters,
    ProgramPrice,
    Remedy,
    SlowPath,
    Support,
    When,
    on_gpu,
    set_to,
)
from slowpath.findings.witness import NUMBER_AGREES, SINGLE_COPY, calls, cost_witness
from slowpath.slowpaths.remedies import PREDEFINED_DATATYPE
from slowpath.stats.laws.known import BY_BLOCK, CONSTANT
from slowpath.stats.laws.law import FittedLaw

_WHOLE = ("contiguous", "predefined", "large_count")
_SUBARRAY = "derived"
_COPIED = "packed"  # of the experiment exchange
_READ_BY_PROCESSORS = HOST | {"shared mapping", "pinned host memory", "MPI's"}
_PACKED = {"mpi_pack": "packed by MPI_Pack", "loop": "packed by a loop"}  # by the program


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of datatypes, or of packing, in which the derived datatype is slower."""
    found = [
        slowdown for slowdown in facts.slowdowns("datatype", "pack", phase="steady") if _derived_is_slower(slowdown)
    ]
    groups = grouped(found, lambda one: (parameter(one.slow, "datatype"), one.slow.experiment, *place_key(one.slow)))
    return [_observation(facts, group) for group in groups]


def _derived_is_slower(one: Slowdown) -> bool:
    slow, fast = (parameter(cell, "datatype", "contiguous") for cell in (one.slow, one.fast))
    if _SUBARRAY in (slow, fast) or _COPIED in (slow, fast):
        # Faces that lie packed already cost neither the library nor the program a copy: they blame no datatype.
        return (slow, fast) == (_SUBARRAY, _COPIED)
    return slow not in _WHOLE and (fast in _WHOLE or parameter(one.fast, "pack") in _PACKED)


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    kind = _kind(parameter(group[0].slow, "datatype"))
    wording = Wording(f"{{size}}messages of datatype {kind}", _reference(group[0]), f"datatype {kind}")
    return slowdown_observed(facts, group, wording, lambda some: _law(facts, some))


def _kind(value: str) -> str:
    """A datatype of both sides, or of one alone."""
    sender, colon, receiver = value.partition(":")
    if receiver in _WHOLE:
        return f"{sender} on the sender alone"
    if sender in _WHOLE and colon:
        return f"{receiver} on the receiver alone"
    return f"{sender} on the sender and {receiver} on the receiver" if colon else sender


def _reference(one: Slowdown) -> str:
    if parameter(one.fast, "datatype") == _COPIED:
        return "the same faces copied by the program"
    return _PACKED.get(parameter(one.fast, "pack"), "the same bytes in one block")


def _law(facts: Facts, group: Sequence[Slowdown]) -> FittedLaw | None:
    """Over the blocks of the derived datatype, at the length that loses most."""
    return law_over(facts, "blocks", max(group, key=lambda one: one.excess_s), (CONSTANT, BY_BLOCK))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Counted calls in the number of blocks, or system time for the excess."""
    slow = facts.cells[seen.slow_cells[0]]
    count = number(slow, "blocks") or 0.0
    made = calls(slow, seen.phase, SINGLE_COPY, "calls_per_op")
    if made is not None and count and NUMBER_AGREES[0] <= made / count <= NUMBER_AGREES[1]:
        line = f"{made:.4g} calls of process_vm_readv or writev for each message of {count:.0f} blocks"
        return Support("shown", "law and witness agree", (line,))
    return cost_witness(facts, seen)


_GAPS = Rival(
    name="lines and pages of the gaps",
    cause="A message with gaps touches more cache lines and pages, whoever copies it.",
)


def _packed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of messages in blocks alone: packing what is contiguous copies it for nothing."""
    return set_to("pack", "mpi_pack")(parameters) if _in_blocks(parameters) else None


def _packed_by_loop(parameters: Parameters) -> Mapping[str, str] | None:
    """Of messages in blocks, in memory that a processor reads."""
    return set_to("pack", "loop")(parameters) if _in_blocks(parameters) and not on_gpu(parameters) else None


def _in_blocks(parameters: Parameters) -> bool:
    return parameters.get("datatype", "contiguous") != "contiguous"


PACKING_LOOP = Remedy(
    "packing loop",
    "Copy blocks into a contiguous buffer by a loop before sending.",
    ("datatype", "pack"),
    Control(
        "a contiguous message has no blocks to gather",
        parameters={"pattern": "ping_pong", "datatype": "contiguous", "message_bytes": "65536"},
    ),
    ("memory of the packed copy",),
    ("MPI-4.1 section 5.2", "https://github.com/open-mpi/ompi/issues/6677"),
    parameter="pack",
    change=_packed_by_loop,
    code="for (int i = 0; i < blocks; i++) packed[i] = data[places[i]];\nMPI_Send(packed, blocks, MPI_DOUBLE, ...);",
    phrase="a loop that packs before sending",
)


CONTIGUOUS_DATA = Remedy(
    "contiguous data",
    "Pack blocks into a contiguous buffer with MPI_Pack or a loop before sending.",
    ("datatype", "pack"),
    None,  # see uncontrolled
    ("memory of the packed copy",),
    ("MPI-4.1 section 5.2",),
    parameter="pack",
    change=_packed,
    code="MPI_Pack(data, count, type, packed, size, &at, comm);\nMPI_Send(packed, at, MPI_PACKED, ...);",
    uncontrolled="MPI_Pack also copies contiguous messages, so each packed cell gets one more copy",
    phrase="MPI_Pack or a loop before sending",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP015",
    name="datatype, block by block",
    title="A derived datatype costs extra for each of its blocks",
    what="Data in pieces (vector, indexed) go more slowly through a derived datatype than as one block: the library "
    "copies block by block.",
    needs="The same bytes in one block and in several numbers of blocks, 4 or more: law 'blocks'. Explained when "
    "counted calls or system time grow with the blocks.",
    remedy="Pack with MPI_Pack or a loop and send the contiguous copy, or make blocks longer.",
    observe=observe,
    cause="The library handles the datatype block by block.",
    witnesses=witnesses,
    hypotheses=("the library copies blocks one by one (user time)", "each block is a copy of its own"),
    kind="property",
    rivals=(_GAPS, WAITING),
    probes=("blocks",),
    remedies=(
        PACKING_LOOP,
        CONTIGUOUS_DATA,
        PREDEFINED_DATATYPE,
    ),
    removes_cause=(CONTIGUOUS_DATA,),
    prices=(
        ProgramPrice(
            "small blocks",
            When(memory=_READ_BY_PROCESSORS, below_block_bytes=512, first=False),
            "in blocks",
            PACKING_LOOP,
        ),
        ProgramPrice(
            "small blocks of GPU memory",
            When(memory=GPU, below_block_bytes=512, first=False),
            "in blocks",
            CONTIGUOUS_DATA,
        ),
    ),
)
