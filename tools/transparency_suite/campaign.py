# SPDX-License-Identifier: Apache-2.0
"""Which program is run in which way, and the table of what came of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from slowpath.mpi.mpi import Mpi

from .programs import COLLECTIVES, FAMILIES, UNFIT, Outcome, run_random
from .tables import tables
from .ways import BOTH, NATIVE, REPLACED, WATCHED, Way

#: What a launch takes beside its calls, on a busy machine.
LAUNCH_S = 1.5
LEAST_S = 0.3
LEAST_CALLS = 60  # among which some are replaced
USED_UP, FEW_COMMUNICATORS = "communicators", 8


@dataclass(frozen=True)
class Part:
    """One run of a random program. table: its number, where collectives are replaced."""

    family: str
    way: str
    ranks: int
    table: int | None = None


def parts(mpi: Mpi, ranks: Sequence[int], only: Sequence[str] = ()) -> list[Part]:
    """Every family in every way: those of replaced collectives with every table, the others with one in turn.

    What the library fails natively is left out.
    """
    unfit = UNFIT.get(mpi.name, {})
    chosen = [family for family in FAMILIES if (not only or family in only) and family not in unfit]
    count = len(tables(mpi))
    return [
        part for number in ranks for index, family in enumerate(chosen) for part in _of(family, number, index, count)
    ]


def _of(family: str, ranks: int, index: int, count: int) -> Iterator[Part]:
    yield Part(family, NATIVE, ranks)
    yield Part(family, WATCHED, ranks)
    for table in range(count) if family in COLLECTIVES else [(index + ranks) % count]:
        yield Part(family, REPLACED, ranks, table)
        yield Part(family, BOTH, ranks, (table + 1) % count)


@dataclass(frozen=True)
class Runner:
    """Runs parts. libraries: the folder with the preloads.  first: as in Way."""

    mpi: Mpi
    program: Path
    libraries: Path
    folder: Path
    first: tuple[str, ...] = ()
    natively: dict[int, int] = field(default_factory=dict)  # communicators at a time, by ranks

    def run(self, part: Part, seed: int, seconds: float, calls: int = 0) -> Outcome:
        """One of them."""
        table = None if part.table is None else tables(self.mpi)[part.table]
        way = Way(part.way, self.libraries, self.folder, table, self.first if part.way != NATIVE else ())
        if part.family == USED_UP and part.way != NATIVE and part.ranks not in self.natively:
            self.run(replace(part, way=NATIVE, table=None), seed, LEAST_S)
        outcome = run_random(self.mpi, self.program, part.family, way, part.ranks, seed, seconds, calls)
        if outcome.communicators is not None and part.way == NATIVE:
            self.natively[part.ranks] = outcome.communicators
        return replace(_with_replacements(part, self._with_communicators(outcome)), table=part.table)

    def _with_communicators(self, outcome: Outcome) -> Outcome:
        """As many must be possible at a time as natively, but for a few of our own."""
        wanted = self.natively.get(outcome.ranks, 0) - FEW_COMMUNICATORS
        if outcome.communicators is None or outcome.communicators >= wanted:
            return outcome
        line = f"{outcome.communicators} communicators at a time instead of {self.natively[outcome.ranks]}"
        return replace(outcome, wrong=outcome.wrong + 1, lines=(*outcome.lines, line))


def _with_replacements(part: Part, outcome: Outcome) -> Outcome:
    """A run that should replace collectives and replaced none shows nothing."""
    is_empty = part.table is not None and part.family in COLLECTIVES and not sum(outcome.replaced.values())
    if not (is_empty and outcome.is_right and outcome.calls > LEAST_CALLS):
        return outcome
    return replace(outcome, wrong=1, lines=(*outcome.lines, "no call was replaced"))


def seconds_of_each(minutes: float, count: int) -> float:
    """What each of so many runs gets."""
    return max(LEAST_S, minutes * 60 / max(1, count) - LAUNCH_S)


def left_out(mpis: Iterable[Mpi], only: Sequence[str]) -> list[str]:
    """Families of which nothing is shown, with the reason, a line each."""
    return [
        f"left out under {mpi.name}: {family}: {reason}"
        for mpi in mpis
        for family, reason in UNFIT.get(mpi.name, {}).items()
        if family in only
    ]


def replaced_calls(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Calls by mock-up, of all ranks and runs."""
    found: Counter[str] = Counter()
    for outcome in outcomes:
        found.update(outcome.replaced)
    return dict(sorted(found.items()))


def results_table(outcomes: Sequence[Outcome]) -> str:
    """Suite and MPI a row, in Markdown: per way runs, calls, differences and crashes."""
    rows: dict[tuple[str, str], dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        rows[outcome.suite, outcome.mpi][outcome.way].append(outcome)
    ways = (NATIVE, WATCHED, REPLACED, BOTH)
    head = "| suite | MPI | " + " | ".join(f"{way}: runs, calls, different, crashed" for way in ways) + " |"
    lines = [head, "|---" * (2 + len(ways)) + "|"]
    for (suite, mpi), found in sorted(rows.items()):
        lines.append(f"| {suite} | {mpi} | " + " | ".join(_cell(found[way]) for way in ways) + " |")
    return "\n".join(lines)


def _cell(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return "not run"
    calls, wrong = sum(outcome.calls for outcome in outcomes), sum(outcome.wrong for outcome in outcomes)
    return f"{len(outcomes)}, {calls:,}, {wrong}, {sum(outcome.is_crashed for outcome in outcomes)}"


def as_json(outcomes: Sequence[Outcome]) -> str:
    """All runs, and the calls that each mock-up replaced."""
    kept = {"runs": [asdict(outcome) for outcome in outcomes], "replaced_calls": replaced_calls(outcomes)}
    return json.dumps(kept, indent=1) + "\n"
