# SPDX-License-Identifier: Apache-2.0
"""SP020: messages that arrive before their receive is posted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.core.units import format_bytes, format_time
from slowpath.findings.facts import (
    LAW_RATIO,
    Difference,
    Facts,
    number,
    ratio_of,
    ratio_words,
    sizes,
    times_words,
    where_words,
)
from slowpath.findings.laws import length_law
from slowpath.findings.slow_path import Observation, Remedy, SlowPath, Support, observed
from slowpath.findings.witness import cost_witness, sides, single_copy_bytes
from slowpath.slowpaths.remedies import PROGRAM_LONGER_EAGER
from slowpath.stats.estimate import Floats

RECEIVE = "receive_s"

_POSTED = "posted"

_LENGTH = "message_bytes"

Sides = Mapping[str, CellResult]  # posted -> its cell


def _groups(cells: Iterable[CellResult]) -> dict[tuple[object, ...], dict[float, dict[str, CellResult]]]:
    """What is equal but for length and posting -> length -> posted -> cell."""
    groups: dict[tuple[object, ...], dict[float, dict[str, CellResult]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        length, posted = number(cell, _LENGTH), cell.parameters.get(_POSTED)
        if length is None or posted not in ("before", "after") or not _times(cell).size:
            continue
        rest = sorted((name, value) for name, value in cell.parameters.items() if name not in (_POSTED, _LENGTH))
        key = (cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy, str(rest))
        groups[key][length][posted] = cell
    return groups


def _times(cell: CellResult) -> Floats:
    estimate = cell.estimate(RECEIVE, "steady")
    return np.array(estimate.launch_values if estimate else [], dtype=np.float64)


def _difference(sides: Sides) -> Floats | None:
    """After minus before, launch by launch; None: not of the same launches."""
    before, after = _times(sides["before"]), _times(sides["after"])
    return after - before if before.size == after.size else None


def observe(facts: Facts) -> Sequence[Observation]:
    """Late receives that cost more than their calls differ by; that early ones cost more is no slow path."""
    found = (_observation(facts, group) for group in _groups(facts.every_cell).values())
    return [observation for observation in found if observation is not None]


def _observation(facts: Facts, group: Mapping[float, Sides]) -> Observation | None:
    """Of the length at which a late receive loses most against one that was posted before, with what the calls
    themselves differ by, late minus early at the shortest message, taken off.
    """
    both = {length: sides for length, sides in sorted(group.items()) if len(sides) == 2}
    shortest, *lengths = both or [0.0]
    calls_s = _difference(both[shortest]) if lengths else None
    if calls_s is None:
        return None
    excess: dict[float, Sequence[float]] = {}
    slower: list[Difference] = []
    for length in lengths:
        difference_s, late_s = _difference(both[length]), _times(both[length]["after"])
        if difference_s is None or difference_s.size != calls_s.size:
            continue
        excess[length] = (difference_s - calls_s).tolist()
        expected_s = late_s - (difference_s - calls_s)
        if (expected_s <= 0).any():
            continue
        ratio = ratio_of(late_s, expected_s, facts.minimum_effect)
        if ratio.beyond and ratio.least >= LAW_RATIO:
            slower.append(
                Difference(
                    slow=both[length]["after"],
                    fast=both[length]["before"],
                    metric=RECEIVE,
                    slow_s=float(np.median(late_s)),
                    fast_s=float(np.median(expected_s)),
                    ratio=ratio,
                )
            )
    if not slower:
        return None
    one = max(slower, key=lambda difference: difference.excess_s)
    cells = [cell for sides in both.values() for cell in sides.values()]
    apart_s = float(np.median(calls_s))
    calls = f"{'more' if apart_s > 0 else 'less'} at {format_bytes(int(shortest))}, which is taken off"
    return observed(
        one,
        about="unexpected",
        place=facts.place(cells, where_words(cells)),
        text=f"Receives of unexpected {sizes([one.slow])} messages are {ratio_words(one.ratio)} slower than "
        f"receives posted before: {times_words(one)}.",
        affects_default=None,
        cells=tuple(cell.cell for cell in cells),
        law=length_law(excess, facts.minimum_effect),
        evidence=(f"the calls themselves take {format_time(abs(apart_s))} {calls}",),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """A second copy of the message, by the kernel or not at all."""
    slow, fast = (single_copy_bytes(cell, seen.phase) for cell in sides(facts, seen))
    if slow is not None and fast is not None and fast > 2 * slow:
        line = f"{fast:.4g} bytes copied by process_vm_readv where the receive was posted, {slow:.4g} where not"
        return Support("shown", "unexpected messages take another way", (line,))
    return cost_witness(facts, seen)


POST_RECEIVES_EARLY = Remedy(
    "post receives early",
    "Post receives before the messages can arrive.",
    ("posted",),
    sources=("MPI-4.1 section 3.5",),
    code="MPI_Irecv(...);  /* before the sender can send */",
    untried="early receives end in MPI_Wait, but late ones in MPI_Probe and MPI_Recv: different calls prove nothing",
    phrase="receives posted before the messages arrive",
)

_COPY_OF_CONSTANT = Rival(
    name="constant", cause="A late receive costs a constant time: a search or an allocation, but no copy."
)

_RENDEZVOUS = Rival(name="rendezvous", cause="The transfer waits for the receive.")


IN_TIME = Rival(
    name="slow receive",
    cause="MPI_Recv takes as long for a message that has not arrived, so early arrival costs nothing.",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP020",
    name="unexpected messages",
    title="Messages that arrive before their receive is posted cost an extra copy",
    what="The library buffers a message without a posted receive and copies it again; long ones wait for the "
    "receiver's answer (rendezvous).",
    needs="The same messages with posted=before and posted=after over 4 lengths or more, less what the calls differ "
    "by at the shortest: law 'bytes' or 'constant'. Explained when counted copies or system time differ.",
    remedy="Post receives before the other side can send (MPI_Irecv early, persistent receives).",
    observe=observe,
    cause="The library keeps the message in a buffer of its own and copies it once more.",
    witnesses=witnesses,
    hypotheses=(
        "the message is copied once more",
        "the transfer waits for the receive (rendezvous)",
    ),
    kind="property",
    rivals=(IN_TIME, _COPY_OF_CONSTANT, _RENDEZVOUS),
    probes=("posted",),
    remedies=(POST_RECEIVES_EARLY,),
    program_remedies=(PROGRAM_LONGER_EAGER,),
)
