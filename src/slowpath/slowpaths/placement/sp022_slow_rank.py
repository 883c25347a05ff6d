# SPDX-License-Identifier: Apache-2.0
"""SP022: one rank that is slower than all others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.findings.facts import (
    CLEAR_RATIO,
    SPEAKING,
    Difference,
    Facts,
    memory,
    number,
    parameter,
    ratio_of,
    ratio_words,
    sizes,
    times_words,
)
from slowpath.findings.slow_path import Observation, SlowPath, Support, observed
from slowpath.findings.witness import sides, total
from slowpath.slowpaths.remedies import (
    BIND_TO_CORES,
    PROGRAM_BIND_CORES,
    PROGRAM_BIND_NONE,
    PROGRAM_YIELD_WHEN_IDLE,
)


@dataclass(frozen=True, kw_only=True)
class SlowPeer(Difference):
    """One rank against the median of the other ranks, launch by launch. fast: of the nearest to that median."""

    cells: tuple[CellResult, ...]


FEWEST_RANKS = 3

_PEER = "peer"


def slow_peers(facts: Facts) -> list[SlowPeer]:
    """Each rank against the median of the others, launch by launch, where cells are equal but for the peer."""
    groups = [group for group in _alike(facts.every_cell) if len(group) >= FEWEST_RANKS]
    return [slow_peer for group in groups for slow_peer in _slow(group, facts.minimum_effect)]


def _alike(cells: Iterable[CellResult]) -> list[list[CellResult]]:
    groups: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        if number(cell, _PEER) is not None and cell.metrics:
            rest = sorted((name, value) for name, value in cell.parameters.items() if name != _PEER)
            setting = (cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy)
            groups[(*setting, str(rest))].append(cell)
    return list(groups.values())


def _slow(cells: Sequence[CellResult], minimum_effect: float) -> Iterator[SlowPeer]:
    metric = next((name for name in SPEAKING if all(cell.estimate(name, "steady") for cell in cells)), None)
    if metric is None:
        return
    launches = [one.launch_values for cell in cells if (one := cell.estimate(metric, "steady")) is not None]
    if len({len(values) for values in launches}) != 1:
        return
    times = np.array(launches)
    for rank, cell in enumerate(cells):
        others = np.median(np.delete(times, rank, axis=0), axis=0)
        ratio = ratio_of(times[rank], others, minimum_effect)
        if ratio.beyond and ratio.value >= CLEAR_RATIO:
            nearest = int(np.argmin(np.abs(np.median(times, axis=1) - np.median(others))))
            yield SlowPeer(
                slow=cell,
                fast=cells[nearest],
                metric=metric,
                slow_s=float(np.median(times[rank])),
                fast_s=float(np.median(others)),
                ratio=ratio,
                cells=tuple(cells),
            )


def observe(facts: Facts) -> Sequence[Observation]:
    """Ranks to which messages take clearly longer than to the others."""
    return [_observation(facts, peer) for peer in slow_peers(facts)]


def _observation(facts: Facts, one: SlowPeer) -> Observation:
    rank, length = parameter(one.slow, "peer"), sizes([one.slow])
    return observed(
        one,
        about=f"rank {rank}",
        place=facts.place([one.slow], [f"rank {rank}", f"{memory([one.slow])} memory", f"messages of {length}"]),
        text=f"{length} messages from rank 0 to rank {rank} are {ratio_words(one.ratio)} slower than to the others: "
        f"{times_words(one)}.",
        affects_default=facts.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        evidence=(f"{ratio_words(one.ratio)} of the median of {len(one.cells) - 1} other ranks, launch by launch",),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Its processor was taken away, which the other ranks' were not."""
    slow, fast = (total(cell, seen.phase, "involuntary_switches") for cell in sides(facts, seen))
    if slow is None or fast is None:
        return Support("missing", "no witness of the ranks was recorded")
    line = f"{slow:.0f} involuntary switches with the slow rank, {fast:.0f} with another"
    if slow > 2 * fast + 2:
        return Support("shown", "something else takes the slow rank's processor", (line,))
    return Support(
        "missing", "the slow rank keeps its processor; frequency, memory and distance were not recorded", (line,)
    )


_FAR_RANK = Rival(name="distance or clock", cause="The slow rank's processor is farther away, or slower.")

SLOW_PATH: SlowPath = SlowPath(
    code="SP022",
    name="slow rank",
    title="One rank is slower than the others",
    what="A rank on a busy, throttled or distant processor holds up everyone who waits for it.",
    needs="The same message from rank 0 to each other rank (parameter peer), three of them or more. Explained when "
    "its processor was taken away more often.",
    remedy="Bind ranks to cores of their own, leave a core for the system, or leave the node out.",
    observe=observe,
    cause="Something else runs on the slow rank's processor.",
    witnesses=witnesses,
    hypotheses=(
        "another process runs on its processor",
        "its processor is slower",
        "it is farther away",
    ),
    needs_law=False,
    kind="fault",
    rivals=(_FAR_RANK,),
    remedies=(BIND_TO_CORES,),
    program_remedies=(
        PROGRAM_YIELD_WHEN_IDLE,
        PROGRAM_BIND_CORES,
        PROGRAM_BIND_NONE,
    ),
)
