# SPDX-License-Identifier: Apache-2.0
"""What a message costs more in one cell of a results.json than in another: by its contrasts. Pure.

A price at a length between two measured ones lies on the line between them; outside of what was measured there is none.

What each of the program's messages costs too much: which cells would show it, and what they showed. Pure.

Where a watch's prices come from: replays in its folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from slowpath.analyse.build import build_results
from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import recorded_defaults
from slowpath.core.errors import SlowpathError
from slowpath.core.result import Interval
from slowpath.core.results import ContrastResult, ContrastSide, Results
from slowpath.core.units import format_bytes
from slowpath.findings.slow_path import DEFAULTS, Parameters, ProgramPrice
from slowpath.mpi.own_settings import own_settings
from slowpath.slowpaths.registry import PRICES
from slowpath.stats.estimate import hodges_lehmann, mean
from slowpath.watch.messages import GPU_MEMORY, MEMORY, Load, ProgramFacts, holds, p2p_parameters
from slowpath.watch.results import MessageClass, Price, WatchedProgram

FEWEST_PAIRS: Final = 3
FEWEST_RANKED: Final = 6
LENGTH: Final = "message_bytes"
# Parameters that say what a message is; the others say how often it is sent and for how long.
_KINDS: Final = (
    "memory",
    "pages",
    "datatype",
    "block_bytes",
    "pack",
    "buffer_bytes",
    "overalloc_bytes",
    "offset_bytes",
    "posted",
    "queue",
    "cache",
    "touch",
    "live_buffers",
    "idle_s",
    "other_bytes",
    "synchronise",
    "window",
    "window_info",
    "operation",
    "design",
)
_ENGINE: Final = recorded_defaults("p2p", "put")
# Each with its value where a cell does not state it.
KIND: Final[Mapping[str, str]] = {name: _ENGINE[name] for name in _KINDS}


@dataclass(frozen=True)
class MeasuredPrice:
    """A contrast as a price: what a message takes longer on the slow side, seconds.

    axis, slow, fast: as in the contrast; `slow` and `fast` are parameters of the cells, without lengths.
    bytes: of the message.  excess_s, interval: at 95 %.  as_is_s: of the slow side.
    """

    experiment: str
    axis: str
    slow: Parameters
    fast: Parameters
    metric: str
    slow_phase: str
    fast_phase: str
    environments: tuple[str, str]
    bytes: int
    excess_s: float
    interval: Interval
    as_is_s: float
    source: str


def excess(values: Sequence[Interval], slow_is_b: bool) -> tuple[float, Interval] | None:
    """Slow minus fast over pairs of launches: centre and interval at 95 %, seconds; None: too few pairs."""
    both = np.asarray(values, dtype=float).reshape(-1, 2)
    differences = (both[:, 1] - both[:, 0]) * (1.0 if slow_is_b else -1.0)
    if len(differences) >= FEWEST_RANKED:
        ranked = hodges_lehmann(differences)
        if ranked.interval is not None:
            return ranked.value, (ranked.interval.low, ranked.interval.high)
    if len(differences) < FEWEST_PAIRS:
        return None
    centre = mean(differences)
    interval = centre.interval()
    return (centre.value, (interval.low, interval.high)) if interval is not None else None


def measured_in(results: Results, folder: str) -> list[MeasuredPrice]:
    """Both directions of every contrast that has an interval: which side is the slow one, who asks says."""
    cells = {cell.cell: cell for cell in results.cells}
    return [measured for contrast in results.contrasts for measured in _both(contrast, cells, folder)]


def _both(contrast: ContrastResult, cells: Mapping[int, CellResult], folder: str) -> Iterator[MeasuredPrice]:
    for slow, fast, slow_is_b in ((contrast.b, contrast.a, True), (contrast.a, contrast.b, False)):
        found = excess(contrast.pairs, slow_is_b)
        length = cells[slow.cell].parameters.get(LENGTH, "")
        if found is None or not length.isdecimal():
            continue
        yield MeasuredPrice(
            cells[slow.cell].experiment,
            contrast.axis,
            _kind(cells[slow.cell]),
            _kind(cells[fast.cell]),
            contrast.metric,
            slow.phase,
            fast.phase,
            (cells[slow.cell].environment, cells[fast.cell].environment),
            int(length),
            found[0],
            found[1],
            float(np.median([pair[int(slow_is_b)] for pair in contrast.pairs])),
            f"{folder}: {_name(slow)} against {_name(fast)}",
        )


def _name(side: ContrastSide) -> str:
    return f"cell {side.cell} ({side.label}{', first' if side.phase == 'first' else ''})"


def _kind(cell: CellResult) -> Parameters:
    return complete(cell.parameters)


def complete(parameters: Parameters) -> dict[str, str]:
    """What a message is, without its length and without how often it is sent; results state blocks by their number."""
    found = {name: parameters.get(name, usual) for name, usual in KIND.items()}
    blocks, length = parameters.get("blocks", "1"), parameters.get(LENGTH, "0")
    if found["datatype"] == "contiguous":
        found["block_bytes"] = "auto"
    elif found["block_bytes"] == "auto" and int(blocks) > 0:
        found["block_bytes"] = str(int(length) // int(blocks))
    if found["buffer_bytes"] == length:
        found["buffer_bytes"] = "message"
    return found


@dataclass(frozen=True)
class PriceQuestion:
    """One rule about messages of one kind, and the two cells whose difference prices it.

    load: number of the message kind.  share: of the run that its calls take, waits taken off where that is known.
    slow, fast: parameters of the cells.
    """

    row: ProgramPrice
    number: int
    load: Load
    share: float
    axis: str
    slow: Parameters
    fast: Parameters

    @property
    def bytes(self) -> int:
        """Of the message in the cells: whole blocks of it."""
        return int(self.slow[LENGTH])


@dataclass(frozen=True)
class PriceSource:
    """Measurements that price. folder: within the watch."""

    results: Results
    folder: str


@dataclass(frozen=True)
class PricedLoad:
    """What a message costs more than it needs to, at most what the program's own take.

    per_message_s, interval: of one message.  as_is_s: what the whole message takes in the cell as it is.
    capped: the price was above the message's own transfer time in the program, and is that time.
    """

    question: PriceQuestion
    per_message_s: float
    interval: Interval
    as_is_s: float
    source: str
    capped: bool = False

    @property
    def result(self) -> Price:
        """As results.json has it."""
        source = f"{self.source}; limited to the time of such a message in this program" if self.capped else self.source
        return Price(
            class_id=self.question.load.lead.id,
            per_message_s=self.per_message_s,
            interval=self.interval,
            source=source,
        )


def price(question: PriceQuestion, measured: Sequence[MeasuredPrice]) -> PricedLoad | str:
    """By contrasts; a sentence where none of them is about this message."""
    fitting = [candidate for candidate in measured if _fits(question, candidate)]
    for metric in question.row.metrics:  # one metric for both ends of a line: times of unlike metrics do not mix
        points = sorted((point for point in fitting if point.metric == metric), key=lambda point: point.bytes)
        found = _between(question, points)
        if found is not None:
            return found
    if not fitting:
        return "no cell of this kind was measured"
    lengths = [point.bytes for point in fitting]
    return f"measured from {min(lengths)} to {max(lengths)} B, and {question.bytes} B lies outside"


def _fits(question: PriceQuestion, measured: MeasuredPrice) -> bool:
    row, length = question.row, {LENGTH: str(question.bytes)}
    return (
        (measured.experiment, measured.axis, measured.slow_phase, measured.fast_phase)
        == (row.experiment, question.axis, row.phase, row.remedied_phase)
        and measured.metric in row.metrics
        and complete({**question.slow, **length}) == measured.slow
        and complete({**question.fast, **length}) == measured.fast
        and (question.axis == "environment" or measured.environments[0] == measured.environments[1])
    )


def _between(question: PriceQuestion, points: Sequence[MeasuredPrice]) -> PricedLoad | None:
    length = question.bytes
    below = [measured for measured in points if measured.bytes <= length]
    above = [measured for measured in points if measured.bytes >= length]
    if not below or not above:
        return None
    low, high = below[-1], above[0]
    share = (length - low.bytes) / (high.bytes - low.bytes) if high.bytes > low.bytes else 0.0

    def line(value: float, other: float) -> float:
        return value + share * (other - value)

    # Both ends of the intervals are taken together: the errors of two cells of one machine are not independent.
    return PricedLoad(
        question,
        line(low.excess_s, high.excess_s),
        (line(low.interval[0], high.interval[0]), line(low.interval[1], high.interval[1])),
        line(low.as_is_s, high.as_is_s),
        low.source if low is high else f"{low.source} and {high.source}",
    )


LEAST_SHARE: Final = 0.01  # of the run, in calls of all messages that a rule is about: below it, it is not priced
LEAST_LOAD_SHARE: Final = 0.001  # of the run, for messages of one kind among them
NOT_MEASURED: Final = "nothing was measured for it yet"


@dataclass(frozen=True)
class Unpriced:
    """Why something has no price, one line. is_measured: False: nothing was measured for it yet, and a replay would."""

    text: str
    is_measured: bool = True


@dataclass(frozen=True)
class Prices:
    """What could be priced, and one line for each rule and kind of message that could not."""

    priced: tuple[PricedLoad, ...]
    unpriced: tuple[Unpriced, ...]


def questions_of(
    loads: Sequence[Load], program: ProgramFacts, run_s: float, ranks: int
) -> tuple[list[PriceQuestion], list[str]]:
    """What is worth a price, and what the engine has no cell for.

    Args: run_s: of the program, seconds.  ranks: of it.
    """
    found: list[PriceQuestion] = []
    left: list[str] = []
    if run_s <= 0 or ranks <= 0:
        return found, left
    for row in PRICES:
        about = [(number, load) for number, load in enumerate(loads) if holds(row.when, load, program)]
        shares = {number: seconds_of(load, ranks) / ranks / run_s for number, load in about}
        if sum(shares.values()) < LEAST_SHARE:
            continue
        for number, load in about:
            if shares[number] >= LEAST_LOAD_SHARE:
                one = _question(row, number, load, shares[number], program)
                if isinstance(one, str):
                    left.append(f"{row.rule} {row.name}, {words(load)}: {one}")
                else:
                    found.append(one)
    left += _of_unknown_memory(loads, run_s, ranks)
    found.sort(key=lambda question: question.share, reverse=True)
    return found, left


def _of_unknown_memory(loads: Sequence[Load], run_s: float, ranks: int) -> list[str]:
    """Most rules are about memory: where it is not known, that none of them was found means nothing."""
    return [
        f"{words(load)}, {100 * share:.1f} % of the run: their memory is unknown, so no memory rule applies"
        for load in loads
        if all(side.memory == "not known" for side in load.sides)
        and (share := seconds_of(load, ranks) / ranks / run_s) >= LEAST_SHARE
    ]


def seconds_of(load: Load, ranks: int) -> float:
    """In the calls of these messages over all ranks, waits taken off where that is known: at most this can be saved."""
    transfer = load.transfer_s(ranks)
    if transfer is not None:
        return transfer * load.count
    return sum(_time_s(side) * ranks for side in (load.sender, load.receiver) if side is not None)


def _time_s(side: MessageClass) -> float:
    return side.transfer_s if side.transfer_s is not None else side.time_s


def _question(row: ProgramPrice, number: int, load: Load, share: float, program: ProgramFacts) -> PriceQuestion | str:
    slow = p2p_parameters(load)
    if isinstance(slow, str):
        return slow
    if row.both_sides and not all(_has_fault(row, side, load, program) for side in load.sides):
        return "only one side has the fault, but cells have it on both sides"
    if row.phase != row.remedied_phase:
        return PriceQuestion(row, number, load, share, "phase", slow, slow)
    fast = row.remedied(slow)
    if fast is None:
        return "its cell has no such fault to remove"
    fast = {name: value for name, value in fast.items() if name in slow or slow.get(name) != value}
    axis = next((name for name in fast if fast[name] != {**DEFAULTS, **slow}.get(name)), None)
    if axis is None:
        return "its cell has no such fault to remove"
    return PriceQuestion(row, number, load, share, axis, slow, {**slow, axis: fast[axis]})


def _has_fault(row: ProgramPrice, side: MessageClass, load: Load, program: ProgramFacts) -> bool:
    return holds(row.when, Load(side, side, load.count, load.bytes), program)


def prices_of(questions: Sequence[PriceQuestion], sources: Sequence[PriceSource], ranks: int) -> Prices:
    """Answers from the first source that has one.  Args: sources: replays, the newest first."""
    measured = [(source, measured_in(source.results, source.folder)) for source in sources]
    priced: list[PricedLoad] = []
    unpriced: list[Unpriced] = []
    for question in questions:
        answers = [price(question, every) for source, every in measured]
        found = next((answer for answer in answers if isinstance(answer, PricedLoad)), None)
        if found is None:
            why = next((answer for answer in answers if isinstance(answer, str)), None)
            what = f"{question.row.rule} {question.row.name}, {words(question.load)}"
            unpriced.append(Unpriced(f"{what}: {why or NOT_MEASURED}", is_measured=why is not None))
        else:
            priced.append(_held(found, ranks))
    return Prices(tuple(priced), tuple(dict.fromkeys(unpriced)))


def _held(found: PricedLoad, ranks: int) -> PricedLoad:
    """No message can be made faster by more than it takes."""
    most = found.question.load.transfer_s(ranks)
    if most is None:
        return found
    value, (low, high) = min(found.per_message_s, most), found.interval
    ends = (min(low, most), min(high, max(most, value)))
    return replace(found, per_message_s=value, interval=ends, capped=found.per_message_s > most)


def words(load: Load) -> str:
    """`18432 messages of 1.9 MiB`, for people."""
    kind = "GPU " if MEMORY.get(load.lead.memory) in GPU_MEMORY else ""
    return f"{load.count:,} {kind}message{'s' if load.count != 1 else ''} of {length_words(load.bytes)}"


def length_words(length: float) -> str:
    """A mean length: rounded, since no message need have it."""
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if length >= scale:
            return f"{length / scale:.3g} {unit}"
    return format_bytes(round(length))


PRICE_FOLDER: Final = "prices"  # folder of the first replay; later ones are prices-2, prices-3, ...


def price_folders(watch: Path) -> list[Path]:
    """Replays that were measured into a watch, the newest first."""
    found = [folder for folder in watch.glob(f"{PRICE_FOLDER}*") if (folder / "run.json").is_file()]
    return sorted(found, key=_number, reverse=True)


def next_price_folder(watch: Path) -> Path:
    """One that is not there yet."""
    number = 1 + max((_number(folder) for folder in watch.glob(f"{PRICE_FOLDER}*")), default=0)
    return watch / (PRICE_FOLDER if number == 1 else f"{PRICE_FOLDER}-{number}")


def _number(folder: Path) -> int:
    last = folder.name.removeprefix(PRICE_FOLDER).removeprefix("-")
    return int(last) if last.isdecimal() else 1


def read_sources(watch: Path, program: WatchedProgram) -> tuple[list[PriceSource], list[str]]:
    """Return the replays, the newest first, and a line for each that can't be used any more."""
    found: list[PriceSource] = []
    notes: list[str] = []
    for folder in price_folders(watch):
        try:
            results = build_results(folder)
        except SlowpathError as error:
            notes.append(f"prices: {error}")
            continue
        found.append(PriceSource(results, _named(folder.name, results, program)))
    return found, notes


def _named(name: str, results: Results, program: WatchedProgram) -> str:
    """With the host, where it is none of the program's."""
    host = results.run.machine.get("host")
    return name if host in program.hosts else f"{name} (measured on {host})"


def settings_of(variables: Mapping[str, str]) -> dict[str, str | None]:
    """Those that reach an MPI library."""
    return {setting.name: setting.value for setting in own_settings(variables) if setting.left_in is None}
