# SPDX-License-Identifier: Apache-2.0
"""A campaign of a program's own messages: each costly kind as it is and without its fault, interleaved. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from slowpath.core.campaign import Campaign, CellsTable, ContrastTable, EnvironmentTable, Values
from slowpath.diagnose.places import LaunchPlace, named_places
from slowpath.findings.price import DEFAULTS, FIRST_METRICS
from slowpath.watch.collective_prices import LIBRARY, CollectiveQuestion, collective_words
from slowpath.watch.measured_prices import LENGTH
from slowpath.watch.messages import MEMORY, Load, kind_of
from slowpath.watch.prices import PriceQuestion, words

ROUNDS: Final = 8
MOST_QUESTIONS: Final = 24
MOST_LENGTHS: Final = 6
MOST_COLLECTIVES: Final = 12
PAIR: Final = 2
LONGEST_FLOOR_BYTES: Final = 16 * 2**20
# How the engine measures a later message, and a first one.
_STEADY: Final = {"pattern": "ping_pong", "samples": "60", "time_limit_s": "0.02", "warmup_s": "0.005"}
_COLLECTIVE: Final = {"samples": "40", "time_limit_s": "0.03", "warmup_s": "0.003"}
_FIRST: Final = {"pattern": "one_way", "allocations": "5", "messages": "6"}
_ONE_WAY: Final = {"pattern": "one_way", "messages": "60"}


def campaign_of(
    questions: Sequence[PriceQuestion],
    loads: Sequence[Load],
    variables: Mapping[str, str],
    unset: Sequence[str] = (),
    nodes: int = 1,
    collectives: Sequence[CollectiveQuestion] = (),
) -> Campaign:
    """Cells of every question, and the lengths of all messages for their floors; of each collective its other ways.

    Args: variables: that were set for the program and are not set so here.  unset: that are set here and were not.
          nodes: 2: most of its bytes went between nodes.
    """
    asked = questions[:MOST_QUESTIONS]
    place = "two nodes" if nodes > 1 else "bound"
    environment = EnvironmentTable("as watched", dict(variables), unset)
    groups, contrasts = [], []
    for number, question in enumerate(asked):
        name = f"{number + 1} {question.row.name}"
        groups.append(CellsTable(name, "p2p", _cells(question), [environment.name], [place]))
        contrasts.append(_contrast(name, question))
    if lengths := _lengths(loads):
        values = {**_STEADY, LENGTH: [str(length) for length in lengths]}
        groups.append(CellsTable("floors", "p2p", values, [environment.name], [place]))
    places = {place: LaunchPlace("core", PAIR, nodes if nodes > 1 else None)}
    for number, asked_of in enumerate(collectives[:MOST_COLLECTIVES], start=1):
        name, there = _place(asked_of, nodes)
        places.setdefault(name, there)
        values = {**_COLLECTIVE, **asked_of.parameters, "way": [LIBRARY, *asked_of.ways]}
        groups.append(CellsTable(f"collective {number}", "coll", values, [environment.name], [name]))
    return Campaign(
        name="replay",
        title="A watched program's own messages",
        ranks=[2],
        rounds=ROUNDS,
        environments=[environment],
        placements=named_places(
            places if collectives else {place: LaunchPlace("core", nodes=nodes if nodes > 1 else None)}
        ),
        cells=groups,
        contrasts=contrasts,
        why="The costly messages of a watched program: each kind as it is, and without one fault.\n"
        + "\n".join(f"{i + 1}: {words(one.load)}, {100 * one.share:.1f} % of the run" for i, one in enumerate(asked))
        + "".join(
            f"\ncollective {i}: {collective_words(one.of)}, {100 * one.share:.1f} % of the run"
            for i, one in enumerate(collectives[:MOST_COLLECTIVES], start=1)
        ),
    )


def _place(question: CollectiveQuestion, nodes: int) -> tuple[str, LaunchPlace]:
    """As many ranks as its communicator has, on as many nodes as the program had, where they divide the ranks."""
    ranks = question.of.ranks
    over = nodes if nodes > 1 and ranks % nodes == 0 else None
    return f"{ranks} ranks", LaunchPlace("core", ranks, over)


def _cells(question: PriceQuestion) -> dict[str, Values]:
    row = question.row
    effort = _FIRST if row.metrics == FIRST_METRICS else _ONE_WAY if _has_one_side_in_blocks(question) else _STEADY
    base: dict[str, Values] = {**effort, **question.slow}
    if question.axis != "phase":
        base[question.axis] = list(_values(question))
    return base


def _has_one_side_in_blocks(question: PriceQuestion) -> bool:
    """Whether one side alone has blocks: round trips would pack one way, unpack the other, and report the mean."""
    return ":" in question.slow.get("datatype", "")


def _values(question: PriceQuestion) -> tuple[str, str]:
    axis = question.axis
    return question.slow.get(axis, DEFAULTS.get(axis, "")), question.fast[axis]


def _contrast(name: str, question: PriceQuestion) -> ContrastTable:
    row = question.row
    slow, fast = (row.phase, row.remedied_phase) if question.axis == "phase" else _values(question)
    return ContrastTable(
        name=name,
        question=f"What do {words(question.load)} {row.what} cost too much?",
        cells=name,
        axis=question.axis,
        a=fast,
        b=slow,
        metric="one_way_s" if _has_one_side_in_blocks(question) else row.metrics[0],
        phase="steady" if question.axis == "phase" else row.phase,
        explains=True,
    )


def _lengths(loads: Sequence[Load]) -> list[int]:
    """From the shortest to the longest host message, evenly over logarithms; both ends as they are."""
    sent = [load.bytes for load in loads if MEMORY.get(kind_of(load.lead.memory)) == "host" and load.bytes > 0]
    sent = [one for one in sent if one <= LONGEST_FLOOR_BYTES]
    if not sent:
        return []
    low, high = min(sent), max(sent)
    middle = np.geomspace(low, high, MOST_LENGTHS).round().astype(int).tolist()
    return sorted({low, *middle, high})[: MOST_LENGTHS + 2]
