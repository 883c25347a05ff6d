# SPDX-License-Identifier: Apache-2.0
"""Observations of the rules about first messages, and the witness that they share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from slowpath.core.units import format_time
from slowpath.findings.evidence import witness
from slowpath.findings.evidence.compared import Cell
from slowpath.findings.evidence.first_use import FirstUse, first_uses
from slowpath.findings.evidence.lengths import buffer_words
from slowpath.findings.rule import Leg, Observation
from slowpath.findings.words import cost_words, gpus, memory, ratio_words, sizes

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

_IPC = "ipc_open_s"
NETWORK = "network_path"


def over_network(evidence: Evidence, use: FirstUse) -> bool:
    """Whether its messages were made to take the network's path, or go from one node to another."""
    return evidence.setting(use.slow) == NETWORK or len(evidence.hosts(use.slow)) > 1


def observed(evidence: Evidence, wanted: Callable[[FirstUse], bool]) -> list[Observation]:
    """One observation for each first use that a rule wants."""
    return [_observation(evidence, use) for use in first_uses(evidence) if wanted(use)]


def _observation(evidence: Evidence, use: FirstUse) -> Observation:
    kinds = memory(use.cells)
    lengths = sizes([use.slow])
    where = [words for words in [gpus(use.cells)] if words]  # ways inside a GPU and between two differ in kind
    what = "Opening the handle" if use.metric == _IPC else "The first message"
    message = f" of {lengths}" if lengths else ""
    against = "a later one" if use.fast_phase == "steady" else f"from {_buffer(use.fast)}"
    law = f"; it costs {cost_words(use.law)}" if use.law and use.law.name else "; by which law it grows is not known"
    ratio = ratio_words(use.ratio.value, use.ratio.interval)
    text = (
        f"{what}{message} from {_buffer(use.slow)} of {kinds} memory takes {ratio} as long as {against}: "
        f"{format_time(use.slow_s)} against {format_time(use.fast_s)}{law}."
    )
    doubts = (
        ["the points come from different logs, which do not say how they were launched"] if evidence.imported else []
    )
    return Observation(
        about=", ".join(["first use", kinds, *where]),
        place=evidence.place(
            use.cells, [f"{kinds} memory", *where, *([f"messages of {sizes(use.cells)}"] if lengths else [])]
        ),
        text=text,
        metric=use.metric,
        phase="first",
        ratio=use.ratio.value,
        interval=use.ratio.interval,
        excess_s=use.slow_s - use.fast_s,
        usual=None if evidence.imported else evidence.users_own(use.slow),
        cells=tuple(cell["cell"] for cell in use.cells),
        contrasts=use.contrasts,
        law=use.law,
        evidence=(f"{ratio} as long as {against}: {_contrasts(use)}",),
        doubts=tuple(doubts),
        slow_cells=(use.slow["cell"],),
        fast_cells=(use.fast["cell"],),
    )


def _contrasts(use: FirstUse) -> str:
    return f"contrast {', '.join(use.contrasts)}" if use.contrasts else "pairs of launches of two cells"


def _buffer(cell: Cell) -> str:
    """`a fresh buffer of 1 GiB + 1 B`."""
    return f"a fresh buffer{buffer_words(cell)}"


def first_use_witness(evidence: Evidence, observation: Observation) -> Leg:
    """System time or page faults that account for the excess of the slow cell's first message."""
    slow = evidence.cells[observation.slow_cells[0]]
    fast = evidence.cells[observation.fast_cells[0]]
    phase = "first" if slow is not fast else "steady"
    pages = _pages(observation)
    lines: Iterable[str | None] = (
        witness.faults_words(slow, "first", fast, phase, pages) if pages else None,
        witness.system_time_words(slow, "first", fast, phase, observation.excess_s),
    )
    shown = tuple(line for line in lines if line)
    if shown:
        return Leg("shown", "law and witness agree", shown)
    if slow.get("witness") is None:
        return Leg("missing", "no page faults or system time were recorded beside the times")
    return Leg("missing", "page faults and system time do not account for the excess; a witnessed launch counts calls")


def cost_witness(evidence: Evidence, observation: Observation) -> Leg:
    """System time that accounts for what the slow cell takes more than the fast one, in the observation's phase."""
    slow = evidence.cells[observation.slow_cells[0]]
    fast = evidence.cells[observation.fast_cells[0]]
    phase = observation.phase
    line = witness.system_time_words(slow, phase, fast, phase, observation.excess_s)
    if line:
        return Leg("shown", "law and witness agree", (line,))
    if slow.get("witness") is None or fast.get("witness") is None:
        return Leg("missing", "no system time was recorded beside the times")
    return Leg("missing", "system time does not account for the excess; a witnessed launch counts calls")


def _pages(observation: Observation) -> float | None:
    """Pages that the law charges for in the slow cell: the excess over the cost of one."""
    law = observation.law
    terms = [one for one in law.coefficients if one.unit.endswith(" page")] if law else []
    if observation.excess_s is None or not terms or terms[0].value <= 0:
        return None
    return observation.excess_s / terms[0].value
