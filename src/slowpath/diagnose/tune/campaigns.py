# SPDX-License-Identifier: Apache-2.0
"""The campaigns of a tuning: one that chooses, one that holds the files against none. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.diagnose.places import LaunchPlace
from slowpath.diagnose.tune.request import TuneRequest
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.tuning import Pick, environments

DEFAULT, TUNED = "default", "tuned"
_REDUCES: Final = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
_ELEMENTS: Final = {"double": 8, "int": 4}
_EFFORT: Final = {"samples": "100", "time_limit_s": "0.02", "warmup_s": "0.004"}
_MINIMUM_EFFECT: Final = 0.02


Grid = Mapping[str, Sequence[int]]  # lengths by collective


@dataclass(frozen=True)
class TimedView:
    """How people time a collective, by name. parameters, metric: of the experiment coll."""

    name: str
    parameters: Mapping[str, str]
    metric: str


TOGETHER: Final = TimedView(
    "together", {"pattern": "calls"}, "collective_work_s"
)  # chooses and proves: it repeats best
AFTER_BARRIER: Final = TimedView("after a barrier", {"pattern": "after_barrier"}, "collective_loop_mean_s")
# Three ways of timing; the first is looked at twice, since benchmarks print both a mean and the slowest rank.
VIEWS: Final = (
    AFTER_BARRIER,
    TimedView("after a barrier, slowest rank", {"pattern": "after_barrier"}, "collective_loop_slowest_s"),
    TimedView("back to back", {"pattern": "back_to_back"}, "collective_loop_slowest_s"),
    TimedView("skewed", {"pattern": "calls", "arrival": "random"}, "collective_work_s"),
)

# In a job of twice the ranks, whose halves call at once: as communicators of one node do.
AT_ONCE: Final = TimedView(
    "two at once", {"pattern": "after_barrier", "communicator": "halves"}, "collective_loop_slowest_s"
)


def view_of(parameters: Mapping[str, str], metric: str) -> TimedView | None:
    """The view of a cell and a metric; None: the tuning does not look at this one."""
    for view in (AT_ONCE, *VIEWS, TOGETHER):
        if metric == view.metric and view.parameters.items() <= parameters.items():
            return view
    return None


def mockups_of(collective: str) -> tuple[str, ...]:
    """Other ways of a collective, as guidelines name them."""
    found = (one.mockup for one in GUIDELINES if one.collective == collective and one.axis == "way")
    return tuple(dict.fromkeys(name for name in found if name is not None))


def choosing(request: TuneRequest, bind: str, grid: Grid) -> Campaign:
    """Every algorithm that can be forced, and every mock-up, at every length of a grid."""
    forced = environments(request.library, request.collectives)
    tables = [EnvironmentTable(DEFAULT)]
    tables += [EnvironmentTable(f"forced {n + 1}", variables) for n, (_, variables) in enumerate(forced)]
    groups = []
    for collective, lengths in grid.items():
        places = [f"forced {n + 1}" for n, (chosen, _) in enumerate(forced) if collective in chosen]
        groups.append(_cells(collective, collective, [DEFAULT, *places], lengths=lengths))
        if ways := mockups_of(collective):
            name = f"{collective} by other calls"
            groups.append(_cells(name, collective, [DEFAULT], list(ways), lengths))
    title, rounds = "Ways of collectives", request.choosing_rounds
    return _campaign("tune-choose", title, request, tables, groups, [], bind, rounds)


def whole(request: TuneRequest, ranks: int) -> Grid:
    """All cells of one number of ranks."""
    grid = {collective: request.lengths(collective, ranks) for collective in request.collectives}
    return {collective: lengths for collective, lengths in grid.items() if lengths}


def grid_of(picks: Sequence[Pick]) -> Grid:
    """The cells of picks alone."""
    names = dict.fromkeys(pick.collective for pick in picks)
    return {name: sorted({pick.bytes for pick in picks if pick.collective == name}) for name in names}


def comparing(
    request: TuneRequest,
    grid: Grid,
    tuned: Mapping[str, str],
    bind: str,
    rounds: int,
    alone: Sequence[Pick] = (),
    views: Sequence[TimedView] = (TOGETHER,),
) -> Campaign:
    """The library with its files against itself without, at the cells of a grid.

    Args: tuned: variables that switch the files on.  alone: mock-ups that no preload puts in place: they are held
          against the library's own call within one process.  views: how the cells are timed.
    """
    tables, groups, contrasts = [EnvironmentTable(DEFAULT)], [], []
    if tuned and grid:
        tables.append(EnvironmentTable(TUNED, tuned))
        for collective, lengths in grid.items():
            places = [DEFAULT, TUNED]
            for number, view in enumerate(views):
                name = f"{collective} {view.name}"
                same = next((one for one in views[:number] if one.parameters == view.parameters), None)
                if same is None:
                    groups.append(_cells(name, collective, places, lengths=lengths, view=view))
                cells = f"{collective} {(same or view).name}"
                contrasts.append(_contrast(name, cells, "environment", DEFAULT, TUNED, view.metric))
    for collective, way in dict.fromkeys((one.collective, one.name) for one in alone):
        lengths = [one.bytes for one in alone if (one.collective, one.name) == (collective, way)]
        name = f"{collective} by {way}"
        groups.append(_cells(name, collective, [DEFAULT], ["library", way], lengths))
        contrasts.append(_contrast(name, name, "way", "library", way, TOGETHER.metric))
    return _campaign("tune-compare", "Tuned collectives", request, tables, groups, contrasts, bind, rounds)


def _campaign(
    name: str,
    title: str,
    request: TuneRequest,
    tables: Sequence[EnvironmentTable],
    groups: Sequence[CellsTable],
    contrasts: Sequence[ContrastTable],
    bind: str,
    rounds: int,
) -> Campaign:
    return Campaign(
        name=name,
        title=title,
        ranks=[request.ranks[0]],
        rounds=rounds,
        environments=tables,
        placements=[LaunchPlace(bind).named("bound")],
        cells=groups,
        contrasts=contrasts,
        minimum_effect=_MINIMUM_EFFECT,
        why=f"{title}, by slowpath tune.",
    )


def _cells(
    name: str,
    collective: str,
    environment: Sequence[str],
    ways: Sequence[str] = ("library",),
    lengths: Sequence[int] = (),
    view: TimedView = TOGETHER,
) -> CellsTable:
    datatype = next((name for name, size in _ELEMENTS.items() if all(length % size == 0 for length in lengths)), "byte")
    parameters: dict[str, Values] = {
        "collective": collective,
        "message_bytes": [str(length) for length in lengths],
        "datatype": datatype if collective in _REDUCES else "byte",
        "way": list(ways),
        **view.parameters,
        **_EFFORT,
    }
    return CellsTable(name, "coll", parameters, environment, ["bound"])


def _contrast(name: str, cells: str, axis: str, a: str, b: str, metric: str) -> ContrastTable:
    question = f"Is {name.partition(' ')[0]} faster {'tuned' if axis == 'environment' else 'by other calls'}?"
    return ContrastTable(name, question, cells, axis, a, b, metric)
