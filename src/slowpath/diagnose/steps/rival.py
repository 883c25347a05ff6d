# SPDX-License-Identifier: Apache-2.0
"""Rival: the causes of all findings are distinguished from what would look the same, in one run.

The cells that a finding rests on are measured again as they are and with one thing changed, in the same launches:
findings/rivals says what to change, and what it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from slowpath.core.campaign import Campaign, CellsTable
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, Results
from slowpath.diagnose.sides import Condition, condition, environments_of, placements_of
from slowpath.diagnose.state import Proposal, State
from slowpath.diagnose.steps.kind import StepConclusion, StepKind, unchanged
from slowpath.diagnose.tasks import RivalTask
from slowpath.findings.order import by_cost
from slowpath.findings.rivals.rival import Varied
from slowpath.slowpaths.registry import known

ROUNDS = 6
MOST_CELLS = 48  # in all


def propose(state: State) -> Iterator[Proposal]:
    """One run for all findings with a rival that a measurement can refute; none for findings that later steps bring."""
    if state.tasks(RivalTask):
        return
    campaign = rival_campaign(state)
    if campaign is not None:
        yield Proposal(RivalTask(), campaign, "distinguish each cause from its rivals")


def summary(_: RivalTask, before: StepConclusion, after: StepConclusion) -> str:
    """`5 rivals refuted, 1 true, 2 standing; no slow path after all: SP002`."""
    states = [rival.state for finding in after.findings for rival in finding.rivals]
    counts = [f"{states.count(state)} {word}" for state, word in _WORDS.items() if state in states]
    left = {finding.id for finding in after.findings}
    gone = [finding.rule for finding in before.findings if finding.id not in left]
    over = [f"no slow path after all: {', '.join(gone)}"] if gone else []
    return "; ".join([*([", ".join(counts)] if counts else []), *over]) or "nothing was distinguished"


_WORDS = {"refuted": "rivals refuted", "true": "true", "standing": "standing"}

RIVAL = StepKind(RivalTask, unchanged, summary, adds_evidence=True)


@dataclass
class _RivalBook:
    """Cells to measure, each once, by what they are and under what they run."""

    cells: dict[str, tuple[CellResult, Mapping[str, str], Condition]] = field(default_factory=dict)

    def room(self) -> int:
        """Cells that it still takes."""
        return MOST_CELLS - len(self.cells)

    def add(self, cell: CellResult, changes: Mapping[str, str], under: Condition) -> None:
        parameters = {**cell.parameters, **changes}
        name = f"{sorted(parameters.items())} {cell.experiment} {under.environment} {under.placement}"
        self.cells.setdefault(name, (cell, parameters, under))


def rival_campaign(state: State) -> Campaign | None:
    """None when no rival stands that a measurement can refute."""
    book = _RivalBook()
    for finding in by_cost(state.findings):
        results = state.seen_in(finding)
        pair = _sides(finding, results)
        for varied in _wanted(finding):
            if pair is None or book.room() < 4 or not all(varied.applies(cell) for cell in pair):
                continue
            for cell, changes in zip(pair, varied.changes(*pair), strict=True):
                book.add(cell, {}, condition(cell, results))
                book.add(cell, changes, condition(cell, results))
    if not book.cells:
        return None
    entries = list(book.cells.values())
    return Campaign(
        name="rival",
        title="What else would look the same?",
        ranks=[state.ranks],
        rounds=ROUNDS,
        environments=environments_of([under for _, _, under in entries]),
        placements=placements_of([under for _, _, under in entries]),
        cells=[
            CellsTable(f"cell {number}", cell.experiment, parameters, [under.environment], [under.placement])
            for number, (cell, parameters, under) in enumerate(entries, start=1)
        ],
        contrasts=[],
        why="Each cell unchanged and with one change: if the excess disappears, the named cause is wrong.",
    )


def _wanted(finding: Finding) -> list[Varied]:
    """What would refute the rivals that stand."""
    standing = {rival.name for rival in finding.rivals if rival.state == "standing"}
    path = known(finding.rule)
    rivals = path.rivals if path else ()
    return [kind.varied for kind in rivals if kind.varied is not None and kind.name in standing]


def _sides(finding: Finding, results: Results) -> tuple[CellResult, CellResult] | None:
    """The slow and the fast cell that the finding's text is about; None: it has none."""
    cells = {cell.cell: cell for cell in results.cells}
    slow, fast = (next(iter(numbers), None) for numbers in (finding.slow_cells, finding.fast_cells))
    if slow is None or fast is None or slow not in cells or fast not in cells:
        return None
    return cells[slow], cells[fast]
