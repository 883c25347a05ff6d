# SPDX-License-Identifier: Apache-2.0
"""SP044: windows that cost by their length, beyond what the same pages cost without MPI."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from slowpath.core.cell_results import CellResult
from slowpath.core.finding_results import Rival
from slowpath.core.units import format_bytes, format_time
from slowpath.findings.facts import Difference, Facts, number, parameter, ratio_of, ratio_words, times_words
from slowpath.findings.laws import length_law
from slowpath.findings.slow_path import WAITING, Observation, Parameters, Remedy, SlowPath, Support, observed, set_to
from slowpath.findings.witness import ROLES, cost_witness, of, sides
from slowpath.mpi.libraries import AppliesTo
from slowpath.stats.laws.law import BYTE, Coefficient, FittedLaw, per_byte_of, with_words

EXPERIMENT = "first_use"

PAGE_BYTES = 4096
METRICS = {"window": "window_use_s", "shared_window": "shared_window_use_s"}

PHASE = "steady"  # windows that are made later: the first one holds what is set up once

FEWEST_LENGTHS = 5  # a law that has to predict one of them

EXAMPLE_BYTES = 8 * 2**30  # of a longer window by the law, at which nothing was measured

_GROWS = "bytes"

_PER = per_byte_of("window")

Key = tuple[object, ...]


def _pairs(cells: Iterable[CellResult]) -> Iterable[tuple[dict[float, CellResult], dict[float, CellResult]]]:
    """Cells that differ in their length alone, of the library's memory and of the program's."""
    groups: dict[Key, dict[str, dict[float, CellResult]]] = defaultdict(lambda: {"library": {}, "program": {}})
    for cell in cells:
        length, memory = number(cell, "window_bytes"), parameter(cell, "memory", "library")
        if parameter(cell, "pattern") not in METRICS or cell.copy != 1 or length is None:
            continue
        alike = sorted((k, v) for k, v in cell.parameters.items() if k not in ("memory", "window_bytes", "uses"))
        groups[cell.group, cell.mpi, cell.environment, cell.placement, tuple(alike)][memory][length] = cell
    return ((both["library"], both["program"]) for both in groups.values())


def _launches(cell: CellResult, other: CellResult, metric: str) -> tuple[Sequence[float], Sequence[float]]:
    """Of both, launch by launch; empty where they were not measured in the same launches."""
    ours, theirs = cell.estimate(metric, PHASE), other.estimate(metric, PHASE)
    if ours is None or theirs is None or len(ours.launch_values) != len(theirs.launch_values):
        return (), ()
    return ours.launch_values, theirs.launch_values


def _term(law: FittedLaw) -> Coefficient | None:
    return next((coefficient for coefficient in law.coefficients if coefficient.per == BYTE), None)


def _of_windows(law: FittedLaw) -> FittedLaw:
    """The law over lengths of messages as one over lengths of windows."""

    def place(there: Mapping[str, float]) -> dict[str, float]:
        return {"window_bytes" if name == "message_bytes" else name: value for name, value in there.items()}

    terms = [replace(one, per=_PER) if one.per == BYTE else one for one in law.coefficients]
    forecasts = [with_words(structs.replace(one, place=place(one.place))) for one in law.forecasts]
    drawn = [structs.replace(point, place=place(point.place)) for point in law.drawn]
    return replace(law, coefficients=tuple(terms), forecasts=tuple(forecasts), drawn=tuple(drawn))


_CALLS = {"create": "MPI_Win_create"}

_SAME_FAULTS = 0.1


def observe(facts: Facts) -> Sequence[Observation]:
    """Kinds of windows whose excess over the same memory without MPI is a line over the length."""
    found = (_observation(facts, library, program) for library, program in _pairs(facts.cells_of(EXPERIMENT)))
    return [observation for observation in found if observation is not None]


def _observation(
    facts: Facts, library: Mapping[float, CellResult], program: Mapping[float, CellResult]
) -> Observation | None:
    """Args: library, program: cells of windows and of the same memory without MPI, by length."""
    metric = METRICS[parameter(next(iter(library.values())), "pattern")] if library else ""
    times = {one: _launches(library[one], program[one], metric) for one in sorted(library.keys() & program.keys())}
    lengths = [one for one, (ours, _) in times.items() if ours]
    if len(lengths) < FEWEST_LENGTHS:
        return None
    excess_s = {one: (np.array(times[one][0]) - np.array(times[one][1])).tolist() for one in lengths}
    law = length_law(excess_s, facts.minimum_effect)
    each = _term(law) if law is not None and law.fits == _GROWS else None
    if law is None or each is None or not each.interval or each.interval[0] <= 0:
        return None
    longest, (ours, theirs) = lengths[-1], times[lengths[-1]]
    one = Difference(
        slow=library[longest],
        fast=program[longest],
        metric=metric,
        slow_s=float(np.median(ours)),
        fast_s=float(np.median(theirs)),
        ratio=ratio_of(ours, theirs, facts.minimum_effect),
    )
    if not one.ratio.beyond:
        return None
    info = parameter(one.slow, "window_info", "none")
    call = _call(one.slow) + (f" with {info}" if info != "none" else "")
    cells = [library[length] for length in sorted(library)]
    return observed(
        one,
        about=call,
        place=facts.place(cells, ["windows"]),
        text=f"{call} adds {_words(each, PAGE_BYTES)} for each {format_bytes(PAGE_BYTES)} of a rank's part to the cost "
        f"of mapping and touching that memory without MPI: {times_words(one)} at {format_bytes(int(longest))}, "
        f"{ratio_words(one.ratio)}. A part of {format_bytes(EXAMPLE_BYTES)} would take {_words(each, EXAMPLE_BYTES)} "
        "longer (extrapolated).",
        affects_default=facts.is_default(one.slow) and info == "none",
        cells=tuple(cell.cell for cell in cells),
        axis="window_info" if info != "none" else "memory",
        law=_of_windows(law),
    )


def _call(cell: CellResult) -> str:
    if parameter(cell, "pattern") == "shared_window":
        return "MPI_Win_allocate_shared"
    return _CALLS.get(parameter(cell, "window", "allocate"), "MPI_Win_allocate")


def _words(each: Coefficient, count: int) -> str:
    """`1.2 us [1.1, 1.3]`: what so many bytes cost."""
    interval = f" [{', '.join(format_time(end * count) for end in each.interval)}]" if each.interval else ""
    return f"{format_time(each.value * count)}{interval}"


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Time in the kernel that accounts for the excess, with no more page faults than without MPI."""
    slow, fast = sides(facts, seen)
    for role in ROLES:
        one, other = of(slow, seen.phase, role), of(fast, seen.phase, role)
        ours, theirs = (found.minor_faults_per_op if found else None for found in (one, other))
        if ours is None or theirs is None:
            return Support("missing", "page faults were not recorded")
        if ours > theirs * (1 + _SAME_FAULTS):
            return Support(
                "missing", f"{ours:.4g} page faults, {theirs:.4g} without MPI: the pages themselves may be the cost"
            )
    found = cost_witness(facts, seen)
    line = f"{ours:.4g} page faults of a rank per window, {theirs:.4g} without MPI: no further pages are touched"
    return Support(found.state, found.text, (*found.evidence, line), found.time, found.side, found.is_processor_time)


_PAGES_THEMSELVES = Rival(
    name="pages themselves", cause="The window's memory has more pages, or more expensive ones, than the program's."
)


def _unkeyed(parameters: Parameters) -> Mapping[str, str] | None:
    """Of windows that are made, and not of puts to them."""
    return set_to("window_info", "none")(parameters) if "uses" in parameters else None


NO_SYMMETRIC_HEAP = Remedy(
    "no symmetric heap",
    "Leave out the info key symheap_required: MPICH then takes any address from the kernel.",
    ("window_info",),
    None,
    ("windows of several nodes may need a table of addresses in place of one",),
    ("pmodels/mpich issue 5962",),
    AppliesTo("mpich"),
    parameter="window_info",
    change=_unkeyed,
    code="MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, node_comm, &memory, &window);",
    uncontrolled="every window of the cell has the key, so there is no control that it must leave unchanged",
    phrase="windows without symheap_required",
)

KEEP_WINDOWS = Remedy(
    "keep windows",
    "Make long windows once and keep them.",
    ("memory", "window_info"),
    side_effects=("their memory stays taken",),
    sources=("MPI-4.1 section 12.2",),
    code="static MPI_Win window;  /* made once, used from step to step */",
    untried="the finding's own cells must make windows",
    phrase="windows that are kept",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP044",
    name="windows by pages",
    title="Creating a window costs more per page than the memory itself",
    what="A library that wants a window at the same address on all ranks asks the kernel page by page whether an "
    "address is free: MPICH by msync (mpich issue 5962).",
    needs="Windows of five lengths or more and the same memory without MPI (first_use): their difference is law "
    "'bytes'. Explained when the kernel's time accounts for it with no more page faults.",
    remedy="Leave out the info key that asks for it, make long windows once and keep them, or let ranks share one "
    "window's part.",
    observe=observe,
    cause="The library works in the kernel for each page of a window that it makes.",
    witnesses=witnesses,
    hypotheses=(
        "a system call for each page",
        "the library writes to the pages itself",
        "its memory is of another kind than the program's",
    ),
    kind="property",
    concerns="one-sided communication",
    rivals=(_PAGES_THEMSELVES, WAITING),
    probes=("windows by length",),
    remedies=(
        NO_SYMMETRIC_HEAP,
        KEEP_WINDOWS,
    ),
)
