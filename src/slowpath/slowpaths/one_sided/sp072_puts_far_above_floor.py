# SPDX-License-Identifier: Apache-2.0
"""SP072: puts that take far longer than the machine needs to carry one message of their length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.core.units import format_time, ratio_words
from slowpath.findings.facts import PUT, Facts, number, parameter, sizes
from slowpath.findings.observed import FEWEST_CELLS, JudgedCell, evidence, limit_of, with_floor
from slowpath.findings.slow_path import Observation, SlowPath

LONGEST_BYTES = 64  # healthy libraries were measured with 8 B; up to here a message costs what 8 B cost
FEWEST_PUTS = 100  # in a burst of fewer the synchronisation is most of a put's time


@dataclass(frozen=True)
class HealthyPuts:
    """Bursts of puts into a kind of window.  highest: library -> largest ratio of a put to its floor."""

    window: str
    highest: Mapping[str, float]

    @property
    def limit(self) -> float:
        """From here on a put is far above the floor."""
        return limit_of(self.highest)


# Surveys of docs/internals/statistics.md, rounded up.  Memory that only the target has needs a message for each put.
HEALTHY: tuple[HealthyPuts, ...] = (
    HealthyPuts("allocate", {"mpich": 6, "openmpi": 2, "intelmpi": 4}),
    HealthyPuts("create", {"mpich": 13, "openmpi": 6, "intelmpi": 8}),
)

# What those surveys measured: other values have a cost of their own.
_MEASURED = {
    "operation": ("put",),
    "design": ("mpi",),
    "synchronise": ("flush_all", "lock", "fence"),
    "datatype": ("predefined", "vector"),
}


def observe(facts: Facts) -> Sequence[Observation]:
    """Most cells of puts far above what healthy libraries do, by library, environment and placement."""
    groups: dict[tuple[object, ...], list[JudgedCell]] = defaultdict(list)
    for judged in _judged(facts):
        groups[judged.cell.mpi, judged.cell.environment, judged.cell.placement].append(judged)
    found = []
    for group in groups.values():
        far = [judged for judged in group if judged.is_far]
        if len(far) >= FEWEST_CELLS and 2 * len(far) > len(group):
            found.append(_observation(facts, far, len(group)))
    return found


def _judged(facts: Facts) -> Iterator[JudgedCell]:
    usual_of = {healthy.window: healthy for healthy in HEALTHY}
    for cell, over in with_floor(facts, "put"):
        usual = usual_of.get(parameter(cell, "window", "allocate"))
        if usual is None or over.metric != PUT:
            continue
        if any(parameter(cell, name, values[0]) not in values for name, values in _MEASURED.items()):
            continue
        if (number(cell, "puts") or 0) >= FEWEST_PUTS and (number(cell, "message_bytes") or 8) <= LONGEST_BYTES:
            yield JudgedCell(cell, over, usual.highest)


def _observation(facts: Facts, far: Sequence[JudgedCell], of_cells: int) -> Observation:
    top = max(far, key=lambda judged: judged.excess)
    floor = next(floor for floor in top.cell.floors if floor.name == top.over.floor)
    put_s = top.cell.metrics[PUT].phases["steady"].value
    best = max(top.highest.values())
    least = ratio_words(top.fastest, top.over.fastest_interval)
    window = parameter(top.cell, "window", "allocate")
    # What the text and the numbers are about comes first, as in every observation.
    numbers = (top.cell.cell, *(judged.cell.cell for judged in far if judged is not top))
    return Observation(
        about="puts",
        place=facts.place([judged.cell for judged in far], [f"puts of {sizes([judged.cell for judged in far])}"]),
        text=f"Puts of {sizes([top.cell])} into a window of kind {window} take "
        f"{ratio_words(top.over.ratio, top.over.interval)} what this machine needs for such a message: "
        f"{format_time(put_s)}, where {floor.text} takes {format_time(top.over.floor_s)}. Even the fastest "
        f"bursts take {least} (unmodified libraries: up to {best:.3g}x); this holds in {len(far)} of "
        f"{of_cells} cells of puts.",
        metric=PUT,
        phase="steady",
        ratio=top.over.ratio,
        interval=top.over.interval,
        excess_s=put_s - top.over.floor_s,
        affects_default=True if facts.is_default(top.cell) else None,
        cells=numbers,
        slow_cells=numbers,
        fast_cells=_messages(facts, top.cell),
        evidence=evidence(far),
    )


def _messages(facts: Facts, put: CellResult) -> tuple[int, ...]:
    """The cell of single messages of the put's length between the same ranks; () where there is none."""
    for cell in facts.cells.values():
        alike = (cell.mpi, cell.environment, cell.placement) == (put.mpi, put.environment, put.placement)
        length = number(cell, "message_bytes") == (number(put, "message_bytes") or 8)
        single = cell.experiment == "p2p" and parameter(cell, "pattern") == "ping_pong"
        if alike and length and single and cell.over_floor is not None:
            return (cell.cell,)
    return ()


_SYNCHRONISATION = Rival(name="synchronisation", cause="The call that ends a burst takes most of a put's time.")
_MESSAGES = Rival(
    name="messages are as slow",
    cause="Messages between these ranks are as far above the floor, so the common path is slow.",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP072",
    name="puts far above floor",
    title="Puts are far slower than this machine can carry a message of their length",
    what="Even the fastest bursts of puts over their floor, a message of the same length without MPI, take more "
    "than three times what healthy libraries do: a forced path, puts carried as messages, a lock.",
    needs="Two cells of puts of up to 64 B in bursts of 100 or more, into windows from MPI_Win_allocate or "
    "MPI_Win_create; three launches in which nothing else took the processors. It says how far, not why.",
    remedy="Run `slowpath diagnose`: it compares your settings with none of them, and kinds of windows with each "
    "other.",
    observe=observe,
    cause="Puts take a path that is far slower than the machine.",
    hypotheses=(
        "your settings (variable, parameter file or module) force a slower path",
        "the library sends puts as messages that the target handles",
        "the synchronisation is most of a put's time",
        "everything between these ranks is slow, messages too",
    ),
    needs_law=False,
    kind="fault",
    concerns="one-sided communication",
    rivals=(_SYNCHRONISATION, _MESSAGES),
)
