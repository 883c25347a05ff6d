# SPDX-License-Identifier: Apache-2.0
"""What a program's messages take in cells of this machine: as they are, and without a fault that a rule names. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.engine_description import recorded_defaults
from slowpath.core.errors import SlowpathError
from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.core.units import format_bytes
from slowpath.findings.slow_path import DEFAULTS, STEADY_METRICS, Parameters, ProgramPrice
from slowpath.mpi.own_settings import own_settings
from slowpath.slowpaths.registry import PRICES
from slowpath.stats.estimate import hodges_lehmann, mean
from slowpath.watch.messages import GPU_MEMORY, MEMORY, Load, holds, p2p_parameters
from slowpath.watch.results import MessageClass, WatchedProgram

FEWEST_PAIRS: Final = 3
FEWEST_RANKED: Final = 6
LENGTH: Final = "message_bytes"
# Parameters that say what a message is; the others say how often it is sent and for how long.
_KINDS: Final = (
    *("memory", "pages", "datatype", "block_bytes", "pack", "buffer_bytes", "overalloc_bytes", "offset_bytes"),
    *("posted", "queue", "cache", "touch", "live_buffers", "idle_s", "other_bytes", "synchronise", "window"),
    *("window_info", "operation", "design"),
)
_ENGINE: Final = recorded_defaults("p2p", "put")
# Each with its value where a cell does not state it.
KIND: Final[Mapping[str, str]] = {name: _ENGINE[name] for name in _KINDS}


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


def complete(parameters: Parameters) -> dict[str, str]:
    """What a message is, with its length and without how often it is sent; results state blocks by their number."""
    full = {name: parameters.get(name, usual) for name, usual in KIND.items()}
    blocks, length = parameters.get("blocks", "1"), parameters.get(LENGTH, "0")
    if full["datatype"] == "contiguous":
        full["block_bytes"] = "auto"
    elif full["block_bytes"] == "auto" and int(blocks) > 0:
        full["block_bytes"] = str(int(length) // int(blocks))
    if full["buffer_bytes"] == length:
        full["buffer_bytes"] = "message"
    return {**full, LENGTH: length}


@dataclass(frozen=True)
class PriceQuestion:
    """What messages of one kind take, and how much less without a fault.

    number: of the kind.  share: of the run that its calls take, waits taken off where that is known.  slow, fast:
    parameters of the cells.  row, axis: the rule, and what its cells differ in; None: only what they take is asked.
    """

    number: int
    load: Load
    share: float
    slow: Parameters
    row: ProgramPrice | None = None
    axis: str = ""
    fast: Parameters | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """Any of them answers, the first is what a replay measures."""
        return self.row.metrics if self.row is not None else STEADY_METRICS


@dataclass(frozen=True)
class PriceSource:
    """Measurements that price. folder: within the watch."""

    results: Results
    folder: str


@dataclass(frozen=True)
class Price:
    """An answer. as_is_s: of one message in its cell.  saved_s, interval: of that, without the fault."""

    question: PriceQuestion
    as_is_s: float
    saved_s: float = 0.0
    interval: Interval = (0.0, 0.0)


def price(question: PriceQuestion, source: PriceSource) -> Price | None:
    """By the cells of one replay; None: it has none about this message."""
    cells = {cell.cell: cell for cell in source.results.cells if cell.experiment == "p2p"}
    slow, row = complete(question.slow), question.row
    if row is None:
        for cell in cells.values():
            estimate = _steady_s(cell, question.metrics) if complete(cell.parameters) == slow else None
            if estimate is not None:
                return Price(question, estimate)
        return None
    fast = complete(question.fast or {})
    for contrast in source.results.contrasts:
        for side, other, slow_is_b in ((contrast.b, contrast.a, True), (contrast.a, contrast.b, False)):
            if side.cell not in cells or other.cell not in cells or contrast.metric not in row.metrics:
                continue
            if (contrast.axis, side.phase, other.phase) != (question.axis, row.phase, row.remedied_phase):
                continue
            cost = excess(contrast.pairs, slow_is_b)
            kinds = (complete(cells[side.cell].parameters), complete(cells[other.cell].parameters))
            if cost is not None and kinds == (slow, fast):
                as_is_s = float(np.median([pair[int(slow_is_b)] for pair in contrast.pairs]))
                return Price(question, as_is_s, *cost)
    return None


def _steady_s(cell: CellResult, metrics: Sequence[str]) -> float | None:
    known = (cell.metrics[metric].phases.get("steady") for metric in metrics if metric in cell.metrics)
    return next((estimate.value for estimate in known if estimate is not None), None)


LEAST_SHARE: Final = 0.01  # of the run, in calls of all messages that a rule is about: below it, it is not priced
LEAST_LOAD_SHARE: Final = 0.001  # of the run, for messages of one kind among them
WORTH: Final = 0.2  # of the run, in calls of messages, from which a watch measures what they take here


@dataclass(frozen=True)
class Prices:
    """What was measured, and what was not."""

    known: tuple[Price, ...]
    missing: tuple[PriceQuestion, ...]

    @property
    def missing_share(self) -> float:
        """Of the run, in calls of messages of which nothing was measured."""
        known = {price.question.number for price in self.known}
        shares = {question.number: question.share for question in self.missing if question.number not in known}
        return min(sum(shares.values()), 1.0)


def questions_of(loads: Sequence[Load], run_s: float, ranks: int) -> list[PriceQuestion]:
    """What is worth a price and has a cell, most time first.

    Args: run_s: of the program, seconds.  ranks: of it.
    """
    questions: list[PriceQuestion] = []
    if run_s <= 0 or ranks <= 0:
        return questions
    share = [seconds_of(load, ranks) / ranks / run_s for load in loads]
    for row in PRICES:
        about = [number for number, load in enumerate(loads) if holds(row.when, load)]
        if sum(share[number] for number in about) < LEAST_SHARE:
            continue
        for number in about:
            question = _question(row, number, loads[number], share[number])
            questions += [question] if question and share[number] >= LEAST_LOAD_SHARE else []
    asked = {question.number for question in questions if question.row is not None and question.row.phase == "steady"}
    for number, load in enumerate(loads):
        is_open = share[number] >= LEAST_SHARE and number not in asked and not load.lead.first
        if is_open and (cell := p2p_parameters(load)) is not None:
            questions.append(PriceQuestion(number, load, share[number], cell))
    questions.sort(key=lambda question: question.share, reverse=True)
    return questions


def seconds_of(load: Load, ranks: int) -> float:
    """In the calls of these messages over all ranks, waits taken off where that is known: at most this can be saved."""
    transfer = load.transfer_s(ranks)
    if transfer is not None:
        return transfer * load.count
    return sum(_time_s(side) * ranks for side in (load.sender, load.receiver) if side is not None)


def _time_s(side: MessageClass) -> float:
    return side.transfer_s if side.transfer_s is not None else side.time_s


def _question(row: ProgramPrice, number: int, load: Load, share: float) -> PriceQuestion | None:
    slow = p2p_parameters(load)
    if slow is None:
        return None
    if row.both_sides and not all(holds(row.when, Load(side, side, load.count, load.bytes)) for side in load.sides):
        return None
    if row.phase != row.remedied_phase:
        return PriceQuestion(number, load, share, slow, row, "phase", slow)
    fast = row.remedied(slow)
    if fast is None:
        return None
    fast = {name: value for name, value in fast.items() if name in slow or slow.get(name) != value}
    axis = next((name for name in fast if fast[name] != {**DEFAULTS, **slow}.get(name)), None)
    if axis is None:
        return None
    return PriceQuestion(number, load, share, slow, row, axis, {**slow, axis: fast[axis]})


def prices_of(questions: Sequence[PriceQuestion], sources: Sequence[PriceSource]) -> Prices:
    """Answers from the first source that has one.  Args: sources: replays, the newest first."""
    known, missing = [], []
    for question in questions:
        answer = next((answered for source in sources if (answered := price(question, source)) is not None), None)
        if answer is None:
            missing.append(question)
        else:
            known.append(answer)
    return Prices(tuple(known), tuple(missing))


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
    folders = [folder for folder in watch.glob(f"{PRICE_FOLDER}*") if (folder / "run.json").is_file()]
    return sorted(folders, key=_number, reverse=True)


def next_price_folder(watch: Path) -> Path:
    """One that is not there yet."""
    number = 1 + max((_number(folder) for folder in watch.glob(f"{PRICE_FOLDER}*")), default=0)
    return watch / (PRICE_FOLDER if number == 1 else f"{PRICE_FOLDER}-{number}")


def _number(folder: Path) -> int:
    last = folder.name.removeprefix(PRICE_FOLDER).removeprefix("-")
    return int(last) if last.isdecimal() else 1


def read_sources(watch: Path, program: WatchedProgram) -> tuple[list[PriceSource], list[str]]:
    """Return the replays, the newest first, and a line for each that can't be used any more."""
    sources: list[PriceSource] = []
    notes: list[str] = []
    for folder in price_folders(watch):
        from slowpath.analyse.build import build_results  # half of what a verdict would import

        try:
            results = build_results(folder)
        except SlowpathError as error:
            notes.append(f"prices: {error}")
            continue
        host = results.run.machine.get("host")
        where = "" if host in program.hosts else f" (measured on {host})"
        sources.append(PriceSource(results, f"{folder.name}{where}"))
    return sources, notes


def settings_of(variables: Mapping[str, str]) -> dict[str, str | None]:
    """Those that reach an MPI library."""
    return {setting.name: setting.value for setting in own_settings(variables) if setting.left_in is None}
