# SPDX-License-Identifier: Apache-2.0
"""SP018: one-sided messages far below two-sided ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.findings.facts import PUT, Difference, Facts, number, parameter, ratio_of, ratio_words, sizes, times_words
from slowpath.findings.slow_path import Observation, SlowPath, Support, observed
from slowpath.findings.witness import NOT_COUNTED, socket_bytes
from slowpath.slowpaths.remedies import LOCK_ALL_ONCE, MPI_WIN_ALLOCATE, PREDEFINED_DATATYPE


@dataclass(frozen=True, kw_only=True)
class SlowPut(Difference):
    """A put (slow) against a message of the same length in the same launches (fast)."""


FAR = 2.0  # lower end of the ratio from which on a put is far below a message

MESSAGE = "time_per_message_s"


def slow_puts(facts: Facts) -> list[SlowPut]:
    """For each kind of window the length at which puts lose most against messages."""
    best: dict[tuple[object, ...], SlowPut] = {}
    cells = facts.every_cell
    for put in (cell for cell in cells if _is_put(cell)):
        message = _message(cells, put)
        found = _put_over(put, message, facts.minimum_effect) if message is not None else None
        if found is None or found.ratio.interval is None or found.ratio.interval[0] < FAR:
            continue
        key = (put.mpi, put.environment, put.placement, put.parameters.get("window"))
        if key not in best or found.ratio.value > best[key].ratio.value:
            best[key] = found
    return list(best.values())


def _is_put(cell: CellResult) -> bool:
    p: Mapping[str, str] = cell.parameters
    plain = p.get("operation", "put") in ("put", "rput") and p.get("design", "mpi") == "mpi"
    return PUT in cell.metrics and plain and int(p.get("puts", "1000")) > 1


def _message(cells: Iterable[CellResult], put: CellResult) -> CellResult | None:
    """The message of the same length under the same library, environment and placement."""
    for cell in cells:
        alike = (cell.mpi, cell.environment, cell.placement) == (put.mpi, put.environment, put.placement)
        if alike and MESSAGE in cell.metrics and _length(cell) == _length(put) and _plain_host(cell):
            return cell
    return None


def _length(cell: CellResult) -> str:
    return parameter(cell, "message_bytes", "8")


def _plain_host(cell: CellResult) -> bool:
    return parameter(cell, "memory", "host") == "host" and parameter(cell, "datatype", "contiguous") == "contiguous"


def _put_over(put: CellResult, message: CellResult, minimum_effect: float) -> SlowPut | None:
    slow, fast = put.estimate(PUT, "steady"), message.estimate(MESSAGE, "steady")
    if slow is None or fast is None or len(slow.launch_values) != len(fast.launch_values):
        return None
    ratio = ratio_of(slow.launch_values, fast.launch_values, minimum_effect)
    return SlowPut(slow=put, fast=message, metric=PUT, slow_s=slow.value, fast_s=fast.value, ratio=ratio)


def observe(facts: Facts) -> Sequence[Observation]:
    """Puts that take much longer than messages of the same length in the same launches."""
    return [_observation(facts, put) for put in slow_puts(facts)]


def _observation(facts: Facts, one: SlowPut) -> Observation:
    window, length = parameter(one.slow, "window", "allocate"), sizes([one.slow])
    return observed(
        one,
        about=f"put, window {window}",
        place=facts.place([one.slow], [f"window {window}", f"messages of {length}"]),
        text=f"{length} puts into a window of kind {window} are {ratio_words(one.ratio)} slower than messages of "
        f"that length: {times_words(one)}.",
        affects_default=facts.is_default(one.slow),
        cells=(one.slow.cell, one.fast.cell),
        evidence=(f"{ratio_words(one.ratio)}: {one.slow.label} over {one.fast.label}",),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Puts that go through sockets or wait for the target are messages in disguise."""
    slow = facts.cells[seen.slow_cells[0]]
    sent, length = socket_bytes(slow, seen.phase), number(slow, "message_bytes") or 0.0
    if sent is None:
        return Support("missing", NOT_COUNTED)
    if length and sent >= length:
        line = f"{sent:.4g} bytes through sockets for each put of {length:.0f}"
        return Support("shown", "puts go through sockets", (line,))
    return Support("missing", "no counted call shows what a put does")


_SYNCHRONISATION = Rival(name="synchronisation", cause="The end of a burst is most of a put's time.")

SLOW_PATH: SlowPath = SlowPath(
    code="SP018",
    name="RMA far below point-to-point",
    title="Puts are far slower than messages of the same size",
    what="MPI_Put inside a node can be a store to shared memory; some libraries turn it into messages that the "
    "target must handle: windows of MPI_Win_create, datatypes with gaps.",
    needs="Puts and messages of the same length in the same launches, from 2x on. Explained when counted calls show "
    "that puts go through sockets.",
    remedy="Allocate windows with MPI_Win_allocate, use predefined datatypes, or send two-sided messages.",
    observe=observe,
    cause="The library carries out puts as messages that the other side handles.",
    witnesses=witnesses,
    hypotheses=(
        "puts are emulated by messages",
        "the synchronisation is most of a put's time",
    ),
    needs_law=False,
    kind="property",
    concerns="one-sided communication",
    rivals=(_SYNCHRONISATION,),
    remedies=(
        MPI_WIN_ALLOCATE,
        LOCK_ALL_ONCE,
        PREDEFINED_DATATYPE,
    ),
)
