# SPDX-License-Identifier: Apache-2.0
"""What each of the program's messages costs too much: which cells would show it, and what they showed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from slowpath.core.result import Interval
from slowpath.core.results import Results
from slowpath.core.units import format_bytes
from slowpath.findings.price import DEFAULTS, ProgramPrice
from slowpath.findings.remedy import Parameters
from slowpath.slowpaths.registry import PRICES
from slowpath.watch.measured_prices import LENGTH, Excess, WantedPrice, measured_in, price, price_by_law
from slowpath.watch.messages import GPU_MEMORY, MEMORY, Load, ProgramFacts, holds, p2p_parameters
from slowpath.watch.results import MessageClass, Price, SavingBasis

LEAST_SHARE: Final = 0.01  # of the run, in calls of all messages that a rule is about: below it, it is not priced
LEAST_LOAD_SHARE: Final = 0.001  # of the run, for messages of one kind among them
NOT_MEASURED: Final = "nothing was measured for it yet"


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
    def asked(self) -> WantedPrice:
        """In the words of contrasts."""
        row = self.row
        return WantedPrice(
            row.experiment,
            self.axis,
            self.slow,
            self.fast,
            row.metrics,
            row.phase,
            row.remedied_phase,
            int(self.slow[LENGTH]),
        )


@dataclass(frozen=True)
class PriceSource:
    """Measurements that price. folder: as the user named it, or within the watch."""

    results: Results
    folder: str
    basis: SavingBasis


@dataclass(frozen=True)
class PricedLoad:
    """A price, held against what the program's own messages take.

    per_message_s, interval: what a message costs too much.  as_is_s: what the whole message takes in the cell as it is;
    None: not known.  capped: the price was above the message's own transfer time in the program, and is that time.
    """

    question: PriceQuestion
    per_message_s: float
    interval: Interval
    as_is_s: float | None
    basis: SavingBasis
    source: str
    capped: bool

    @property
    def result(self) -> Price:
        """As results.json has it."""
        source = f"{self.source}; limited to the time of such a message in this program" if self.capped else self.source
        return Price(
            class_id=self.question.load.lead.id,
            per_message_s=self.per_message_s,
            interval=self.interval,
            basis=self.basis,
            source=source,
        )


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
    """Answers from the first source that has one: contrasts of any before laws of any.

    Args: sources: in the order of trust, the replay first.
    """
    measured = [(source, measured_in(source.results, source.folder)) for source in sources]
    priced: list[PricedLoad] = []
    unpriced: list[Unpriced] = []
    for question in questions:
        answers = [(source, price(question.asked, every)) for source, every in measured]
        answers += [
            (source, price_by_law(question.row.rule, question.asked, source.results.findings, source.folder))
            for source in sources
        ]
        found = next(((source, answer) for source, answer in answers if isinstance(answer, Excess)), None)
        if found is None:
            why = next((answer for _, answer in answers if isinstance(answer, str)), None)
            what = f"{question.row.rule} {question.row.name}, {words(question.load)}"
            unpriced.append(Unpriced(f"{what}: {why or NOT_MEASURED}", is_measured=why is not None))
        else:
            priced.append(_held(question, found[1], found[0].basis, ranks))
    return Prices(tuple(priced), tuple(dict.fromkeys(unpriced)))


def _held(question: PriceQuestion, found: Excess, basis: SavingBasis, ranks: int) -> PricedLoad:
    """No message can be made faster by more than it takes."""
    most = question.load.transfer_s(ranks)
    low, high = found.interval
    value, capped = found.per_message_s, False
    if most is not None and value > most:
        value, capped = most, True
    if most is not None:
        low, high = min(low, most), min(high, max(most, value))
    return PricedLoad(question, value, (low, high), found.as_is_s, basis, found.source, capped)


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
