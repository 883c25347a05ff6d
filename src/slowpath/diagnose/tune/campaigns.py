# SPDX-License-Identifier: Apache-2.0
"""The campaigns of a tuning: one that chooses, one that proves the choice, one that verifies the files. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slowpath.diagnose.campaign_text import CampaignText, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.diagnose.places import Place
from slowpath.diagnose.tune.request import TuneRequest
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.tune.algorithms import environments
from slowpath.mpi.tuning import Pick

DEFAULT, TUNED = "default", "tuned"
METRIC: Final = "collective_work_s"
_REDUCES: Final = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
_EFFORT: Final = {"samples": "100", "time_limit_s": "0.02", "warmup_s": "0.004"}
_MINIMUM_EFFECT: Final = 0.02


def mockups_of(collective: str) -> tuple[str, ...]:
    """Other ways of a collective, as guidelines name them."""
    found = (one.mockup for one in GUIDELINES if one.collective == collective and one.axis == "way")
    return tuple(dict.fromkeys(name for name in found if name is not None))


def choosing(request: TuneRequest, bind: str) -> CampaignText:
    """Every algorithm that can be forced, and every mock-up, at every length."""
    forced = environments(request.library, request.collectives)
    tables = [EnvironmentTable(DEFAULT)]
    tables += [EnvironmentTable(f"forced {n + 1}", variables) for n, (_, variables) in enumerate(forced)]
    groups = []
    for collective in request.collectives:
        places = [f"forced {n + 1}" for n, (chosen, _) in enumerate(forced) if collective in chosen]
        groups.append(_cells(request, collective, collective, [DEFAULT, *places]))
        if ways := mockups_of(collective):
            name = f"{collective} by other calls"
            groups.append(_cells(request, name, collective, [DEFAULT], list(ways)))
    return _campaign("tune-choose", "Ways of collectives", request, tables, groups, [], bind)


def proving(
    request: TuneRequest, ranks: int, picks: Sequence[Pick], tuned: Mapping[str, str], bind: str
) -> CampaignText:
    """The library with its file against itself without, and each mock-up that was picked against the library."""
    tables, groups, contrasts = [EnvironmentTable(DEFAULT)], [], []
    if tuned:
        tables.append(EnvironmentTable(TUNED, tuned))
        for collective in request.collectives:
            groups.append(_cells(request, collective, collective, [DEFAULT, TUNED]))
            contrasts.append(_contrast(collective, "environment", DEFAULT, TUNED))
    mine = [one for one in picks if one.ranks == ranks and one.kind == "mockup"]
    for collective, way in dict.fromkeys((one.collective, one.name) for one in mine):
        lengths = [one.bytes for one in mine if (one.collective, one.name) == (collective, way)]
        name = f"{collective} by {way}"
        groups.append(_cells(request, name, collective, [DEFAULT], ["library", way], lengths))
        contrasts.append(_contrast(name, "way", "library", way))
    return _campaign("tune-prove", "Tuned collectives", request, tables, groups, contrasts, bind)


def _campaign(
    name: str,
    title: str,
    request: TuneRequest,
    tables: Sequence[EnvironmentTable],
    groups: Sequence[CellsTable],
    contrasts: Sequence[ContrastTable],
    bind: str,
) -> CampaignText:
    return CampaignText(
        name=name,
        title=title,
        ranks=request.ranks[0],
        rounds=request.rounds,
        environments=tables,
        placements={"bound": Place(bind)},
        groups=groups,
        contrasts=contrasts,
        minimum_effect=_MINIMUM_EFFECT,
        why=f"{title}, by slowpath tune.",
    )


def _cells(
    request: TuneRequest,
    name: str,
    collective: str,
    environment: Sequence[str],
    ways: Sequence[str] = ("library",),
    lengths: Sequence[int] | None = None,
) -> CellsTable:
    sizes = request.lengths(collective) if lengths is None else lengths
    whole = all(length % 8 == 0 for length in sizes)
    parameters: dict[str, Values] = {
        "collective": collective,
        "message_bytes": [str(length) for length in sizes],
        "datatype": "double" if collective in _REDUCES and whole else "byte",
        "way": list(ways),
        **_EFFORT,
    }
    return CellsTable(name, "coll", parameters, environment, ["bound"])


def _contrast(name: str, axis: str, a: str, b: str) -> ContrastTable:
    question = f"Is {name.partition(' ')[0]} faster {'tuned' if axis == 'environment' else 'by other calls'}?"
    return ContrastTable(name, question, name, axis, a, b, METRIC)
