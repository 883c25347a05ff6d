# SPDX-License-Identifier: Apache-2.0
"""Which cells have a timeline, and what their intervals are called: one entry for each kind of cell. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from slowpath.core.plan import Cell
from slowpath.experiments.cannon.runs import PARTS, TOTAL
from slowpath.experiments.measured.series import SampleBlock
from slowpath.experiments.p2p.metrics import ends
from slowpath.experiments.registry import EXPERIMENTS, experiment_named
from slowpath.record.events import Intervals
from slowpath.report.trace.messages import Transfers, call_of, first_and_last, transfers_of
from slowpath.report.trace.model import Message, Span

_OWN = ("dgemm", "copy", "generate")  # parts that need no MPI; the others are calls of it, or wait for its work


@dataclass(frozen=True, slots=True)
class Kind:
    """How the blocks of one kind of cell become spans: (cell, blocks of one rank, ranks, steps) -> spans."""

    spans: Callable[[Cell, Sequence[SampleBlock], int, Sequence[Intervals]], list[Span]]


def _multiply(cell: Cell, blocks: Sequence[SampleBlock], ranks: int, intervals: Sequence[Intervals]) -> list[Span]:
    """Parts of repetitions, within the whole multiplication, which bears the cell's label."""
    steps = {(event.rank, event.part): event.steps for event in intervals}
    repetitions = {(b.rank, b.phase): len(b.duration_ns) for b in blocks if b.part == TOTAL}
    found: list[tuple[str, Span]] = []
    transfers = transfers_of(cell.parameters, blocks[0].rank, ranks) if blocks else None
    for block in blocks:
        name = PARTS.get(block.part, f"part {block.part}")
        count = repetitions.get((block.rank, block.phase), 0)
        each = len(block.duration_ns) // count if count else 0
        known = steps.get((block.rank, block.part), ())
        for place, (begin_ns, end_ns) in enumerate(_times(block)):
            attributes = {"cell": cell.cell, "steady": int(block.phase == "steady")}
            if each:
                attributes["repetition"] = place // each
                attributes |= {"step": known[place % each]} if len(known) == each and block.part != TOTAL else {}
            whole = block.part == TOTAL
            shown = cell.label if whole else call_of(cell.parameters, name)
            found.append((name, Span(shown, begin_ns, end_ns, not whole and name not in _OWN, attributes)))
    return _with_messages(found, transfers)


def _with_messages(found: Sequence[tuple[str, Span]], transfers: Transfers | None) -> list[Span]:
    """The spans, those that start or complete a transfer with its messages. found: part and span."""
    spans = [span for _, span in found]
    if transfers is None:
        return spans
    extra: dict[int, list[Message]] = {}
    for repetition, places in _by_repetition(found).items():
        first = {step: first for step, (first, _) in first_and_last(places.get(transfers.style.starts, ())).items()}
        last = {step: last for step, (_, last) in first_and_last(places.get(transfers.style.ends, ())).items()}
        made = [(place, transfers.started(step)) for step, place in first.items()]
        made += [(place, transfers.ended(step)) for step, place in last.items()]
        made += [(place, transfers.skewed()) for _, place in places.get("skew", ())]
        for place, messages in made:
            extra.setdefault(place, []).extend(
                replace(m, flow=(*repetition, *m.flow) if m.flow else ()) for m in messages
            )
    return [replace(span, messages=tuple(extra.get(place, ()))) for place, span in enumerate(spans)]


def _by_repetition(found: Sequence[tuple[str, Span]]) -> dict[tuple[int, ...], dict[str, list[tuple[int, int]]]]:
    """(cell, steady, repetition) -> part -> step and place of each of its spans, in time."""
    placed: dict[tuple[int, ...], dict[str, list[tuple[int, int]]]] = {}
    for place, (part, span) in sorted(enumerate(found), key=lambda one: one[1][1].begin_ns):
        about = span.attributes
        if {"repetition", "step"} <= about.keys():
            key = about["cell"], about["steady"], about["repetition"]
            placed.setdefault(key, {}).setdefault(part, []).append((about["step"], place))
    return placed


def _one_way(cell: Cell, blocks: Sequence[SampleBlock], ranks: int, intervals: Sequence[Intervals]) -> list[Span]:
    """Messages: MPI_Send on the rank that sends, MPI_Recv on the other. part: 1 for those of other_bytes."""
    found = []
    sender, _ = ends(cell.parameters, ranks)
    for block in blocks:
        name = "MPI_Send" if block.rank == sender else "MPI_Recv"
        for place, (begin_ns, end_ns) in enumerate(_times(block)):
            attributes = {"cell": cell.cell, "allocation": block.allocation, "message": block.seq0 + place}
            attributes |= {"part": block.part} if block.part else {}
            found.append(Span(name, begin_ns, end_ns, True, attributes | {"steady": int(block.phase == "steady")}))
    return found


def _times(block: SampleBlock) -> list[tuple[int, int]]:
    """Begin and end of each sample, nanoseconds on the rank's clock; [] where the block carries no start times."""
    if block.start_ns is None:
        return []
    ends = block.start_ns + block.duration_ns
    return list(zip(block.start_ns.tolist(), ends.tolist(), strict=True))


# By the names that experiments give (`Experiment.timelines`).
KINDS: dict[str, Kind] = {"multiplication": Kind(_multiply), "messages": Kind(_one_way)}


def kind_of(experiment: str, parameters: Mapping[str, str]) -> Kind | None:
    """The entry for a cell; None: its samples say how long, not when."""
    name = experiment_named(experiment).timelines.get(parameters.get("pattern", ""))
    return None if name is None else KINDS[name]


def with_times() -> str:
    """Whose samples say when, in words: `p2p pattern=one_way and cannon pattern=multiply`."""
    return " and ".join(f"{one.name} pattern={pattern}" for one in EXPERIMENTS for pattern in one.timelines)
