# SPDX-License-Identifier: Apache-2.0
"""SP025: messages that take far longer than the machine needs for the same bytes; no second side is needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.units import format_time, ratio_words
from slowpath.findings.facts import Facts, memory, number, parameter, sizes
from slowpath.findings.observed import FEWEST_CELLS, JudgedCell, evidence, limit_of, with_floor
from slowpath.findings.slow_path import Observation, SlowPath


@dataclass(frozen=True)
class Healthy:
    """Messages of one class of lengths. ends: from where to where.  highest: library -> largest factor of its cells,
    upper end of the interval.
    """

    ends: str  # host | gpu | gpu and host
    above_bytes: int
    up_to_bytes: int
    highest: Mapping[str, float]

    @property
    def limit(self) -> float:
        """From here on a message is far above the floor."""
        return limit_of(self.highest)


# Upper limits of the classes of lengths, bytes; the last class has none.

HEALTHY: tuple[Healthy, ...] = (
    Healthy("host", 0, 64, {"mpich": 15}),
    Healthy("host", 64, 4096, {"mpich": 15}),
    Healthy("host", 4096, 65536, {"mpich": 18}),
    Healthy("host", 65536, 1048576, {"mpich": 10}),
    Healthy("host", 1048576, 2**62, {"mpich": 13}),
)


def ends_of(memory: tuple[str, str]) -> str:
    """`Healthy.ends` by the kinds of memory of both ends."""
    on_gpu = [kind.startswith("device") for kind in memory]
    return "gpu" if all(on_gpu) else "gpu and host" if any(on_gpu) else "host"


def healthy(memory: tuple[str, str], message_bytes: int) -> Healthy | None:
    """The class of a message by the memory of its two ends; None: no library was measured there."""
    ends = ends_of(memory)
    rows = (row for row in HEALTHY if row.ends == ends)
    return next((row for row in rows if row.above_bytes < message_bytes <= row.up_to_bytes), None)


# Of a cell whose message is nothing but a message: other values have a cost of their own, and rules of their own.
_PLAIN = {"datatype": "contiguous", "pack": "none", "queue": "0", "live_buffers": "1", "touch": "write"}


def observe(facts: Facts) -> Sequence[Observation]:
    """Cells far above what a healthy library does, by library, environment, placement and memory."""
    groups: dict[tuple[object, ...], list[JudgedCell]] = defaultdict(list)
    for one in _far(facts):
        cell = one.cell
        groups[cell.mpi, cell.environment, cell.placement, memory([cell])].append(one)
    return [_observation(facts, group) for group in groups.values() if len(group) >= FEWEST_CELLS]


def _far(facts: Facts) -> Iterator[JudgedCell]:
    for cell, over in with_floor(facts, "p2p"):
        if any(parameter(cell, name, value) != value for name, value in _PLAIN.items()):
            continue
        kinds = parameter(cell, "memory", "host").split(":")
        usual = healthy((kinds[0], kinds[-1]), int(number(cell, "message_bytes") or 0))
        if usual is not None and (judged := JudgedCell(cell, over, usual.highest)).is_far:
            yield judged


def _observation(facts: Facts, group: Sequence[JudgedCell]) -> Observation:
    cells = [one.cell for one in group]
    top = max(group, key=lambda one: one.excess)
    floor = next(floor for floor in top.cell.floors if floor.name == top.over.floor)
    message_s = top.cell.metrics[top.over.metric].phases["steady"].value
    best = max(top.highest.values())
    least = ratio_words(top.fastest, top.over.fastest_interval)
    words = [f"{memory(cells)} memory", f"messages of {sizes(cells)}"]
    # What the text and the numbers are about comes first, as in every observation.
    numbers = (top.cell.cell, *(cell.cell for cell in cells if cell is not top.cell))
    return Observation(
        about=memory(cells),
        place=facts.place(cells, words),
        text=f"Later messages of {sizes([top.cell])} take {ratio_words(top.over.ratio, top.over.interval)} what "
        f"this machine needs for the same bytes: {format_time(message_s)}, where {floor.text} takes "
        f"{format_time(top.over.floor_s)}. Even the fastest take {least} (unmodified libraries: up to "
        f"{best:.3g}x).",
        metric=top.over.metric,
        phase="steady",
        ratio=top.over.ratio,
        interval=top.over.interval,
        excess_s=message_s - top.over.floor_s,
        affects_default=True if facts.is_default(top.cell) else None,
        cells=numbers,
        slow_cells=numbers,
        evidence=evidence(group),
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP025",
    name="far above the floor",
    title="Messages are far slower than this machine can move the same bytes",
    what="Every later message is slow: even the fastest over their floor, the same bytes without MPI in the same "
    "launches, take more than three times what healthy libraries do.",
    needs="Two lengths or more, three launches in which nothing else took the processors. It says how far, not why: "
    "it is never explained by itself.",
    remedy="Run `slowpath diagnose`: it compares your settings with none of them, and the paths with each other.",
    observe=observe,
    cause="Messages take a path that is far slower than the machine.",
    hypotheses=(
        "your settings (variable, parameter file or module) force a slower path",
        "the library does not use its fastest transport, but for example the network path inside the node",
        "bytes are staged: copied in pieces, or through several buffers",
    ),
    needs_law=False,
    stronger=("SP007", "SP009", "SP010", "SP011", "SP014", "SP016"),
    kind="fault",
)
