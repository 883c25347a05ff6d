# SPDX-License-Identifier: Apache-2.0
"""Observations of slow paths, from slowdowns, screenings, floors and launches that were ended. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.core.cell_results import CellResult, OverFloor
from slowpath.core.results import ContrastResult
from slowpath.core.units import format_time, side_values
from slowpath.core.units import ratio_words as with_interval
from slowpath.findings.facts import (
    CLEAR_RATIO,
    LAW_RATIO,
    OF_MESSAGES,
    SPEAKING,
    Difference,
    Facts,
    Ratio,
    Slowdown,
    is_switched_out,
    memory,
    once,
    ratio_words,
    sizes,
    slowdown_words,
    times_words,
    where_words,
)
from slowpath.findings.laws import lines_along, named
from slowpath.findings.slow_path import Observation, observed
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.law import FittedLaw, cost_words
from slowpath.stats.screening import FactorEffect, Levels, decided, effects

# Groups of cells that vary many parameters at once, and what each of them does by itself (stats.screening).


@dataclass(frozen=True, kw_only=True)
class Screened(Difference):
    """One of several parameters that were varied at once: times are means over all runs at either of its levels.

    parameter: of the cells.  side: sender or receiver, where it is that side's alone; None: it has no sides.
    slow_value, fast_value: its levels.  slow, fast: cells at these levels that differ least in other things.  factors:
    varied at once, this one among them.  cells: all runs.
    """

    parameter: str
    side: str | None
    slow_value: str
    fast_value: str
    factors: int
    cells: tuple[CellResult, ...]


FEWEST_FACTORS = 2
MOST_LOST = 0.25  # of the cells at either level of a factor, whose ranks lost their processors to others

_SIDES = ("sender", "receiver")


@dataclass(frozen=True)
class Factor:
    """A parameter, or a side's part of it, that has two values in a group of cells."""

    parameter: str
    side: int | None
    lower: str
    upper: str

    def value(self, cell: CellResult) -> str:
        """Of a cell."""
        return (
            side_values(cell.parameters[self.parameter])[self.side or 0]
            if self.side is not None
            else (cell.parameters[self.parameter])
        )


def screened(cells: Iterable[CellResult], minimum_effect: float) -> Iterator[Screened]:
    """All effects of all such groups, in the order of the cells; `ratio.beyond` is that it is decided."""
    for group in _groups(cells).values():
        factors = factors_of(group)
        if len(factors) < FEWEST_FACTORS or len(group) >= 2 ** len(factors):
            continue  # every combination is there: contrasts speak of it
        yield from _of_group(group, factors, minimum_effect)


def factors_of(cells: Sequence[CellResult]) -> list[Factor]:
    """What varies between cells: the lower value is that of the first cell."""
    found: list[Factor] = []
    first = cells[0].parameters
    for name in first:
        values = list(dict.fromkeys(cell.parameters.get(name, "") for cell in cells))
        if len(values) == 1:
            continue
        sides = [list(dict.fromkeys(side_values(value)[side] for value in values)) for side in (0, 1)]
        if len(values) == 2 and not any(":" in value for value in values):
            found.append(Factor(name, None, *values))
        else:
            found += [Factor(name, i, *values) for i, values in enumerate(sides) if len(values) == 2]
    return found


def _groups(cells: Iterable[CellResult]) -> Mapping[tuple[object, ...], list[CellResult]]:
    """Cells of one group of the campaign in one place, those that were not measured among them."""
    groups: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        length = cell.parameters.get("message_bytes")
        groups[cell.group, cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy, length].append(cell)
    return groups


def _of_group(group: Sequence[CellResult], factors: Sequence[Factor], minimum_effect: float) -> Iterator[Screened]:
    metric = next((one for one in OF_MESSAGES if any(one in cell.metrics for cell in group)), None)
    if metric is None:
        return
    there, times = _measured(group, metric)
    if not there:
        return
    levels: Levels = np.array(
        [[1 if factor.value(cell) == factor.upper else -1 for factor in factors] for cell in there]
    )
    found = effects(levels, times)
    if found is None:
        return
    lost = np.array([is_switched_out(cell) for cell in there])
    for column, (effect, factor, held) in enumerate(zip(found, factors, decided(found, minimum_effect), strict=True)):
        # Others would take processors whatever the factor. At one of its levels alone: what is slow gives them away.
        disturbed = min(lost[levels[:, column] == side].mean() for side in (-1, 1)) > MOST_LOST
        yield _fact(effect, factor, held and not disturbed, there, times, metric, len(factors))


def _measured(group: Sequence[CellResult], metric: str) -> tuple[list[CellResult], Floats]:
    """Cells that all launches measured, and their times, shape (launches, cells), seconds."""
    found = [(cell, one.launch_values) for cell in group if (one := cell.estimate(metric, "steady")) is not None]
    launches = max((len(values) for _, values in found), default=0)
    kept = [(cell, values) for cell, values in found if len(values) == launches]
    return [cell for cell, _ in kept], np.array([values for _, values in kept], dtype=np.float64).T


def _fact(
    effect: FactorEffect,
    factor: Factor,
    held: bool,
    cells: Sequence[CellResult],
    times: Floats,
    metric: str,
    factors: int,
) -> Screened:
    ratio, interval = effect.ratio, effect.interval
    slow_value, fast_value = factor.upper, factor.lower
    if ratio < 1:
        ratio, slow_value, fast_value = 1 / ratio, fast_value, slow_value
        interval = (1 / interval[1], 1 / interval[0]) if interval else None
    logs = np.median(np.log(times), axis=0)
    slow = [i for i, cell in enumerate(cells) if factor.value(cell) == slow_value]
    fast = [i for i, cell in enumerate(cells) if factor.value(cell) == fast_value]
    one, other = _nearest(cells, slow, fast)
    fast_s = float(np.exp(logs[fast].mean()))
    return Screened(
        slow=one,
        fast=other,
        metric=metric,
        slow_s=fast_s * ratio,
        fast_s=fast_s,
        ratio=Ratio(ratio, interval, held and not effect.with_factors),
        parameter=factor.parameter,
        side=None if factor.side is None else _SIDES[factor.side],
        slow_value=slow_value,
        fast_value=fast_value,
        factors=factors,
        cells=tuple(cells),
    )


def _nearest(cells: Sequence[CellResult], slow: Sequence[int], fast: Sequence[int]) -> tuple[CellResult, CellResult]:
    """A cell of each level, of those that share most parameters the first."""
    pairs = [(cells[i], cells[j]) for i in slow for j in fast]
    return min(pairs, key=lambda pair: len(pair[0].parameters.items() ^ pair[1].parameters.items()))


@once
def _decided(facts: Facts) -> tuple[Screened, ...]:
    return tuple(effect for effect in screened(facts.every_cell, facts.minimum_effect) if effect.ratio.beyond)


def screened_effects(facts: Facts, *parameters: str) -> list[Screened]:
    """Return what these parameters do where many were varied at once, where that is decided and clear."""
    decided = _decided(facts)
    return [effect for effect in decided if effect.parameter in parameters and effect.ratio.least > CLEAR_RATIO]


# Facts become observations: contrasts that ask the same thing in one place, first messages, growing costs.


@dataclass(frozen=True, kw_only=True)
class Growth(Difference):
    """Along one number the time follows another law than a constant: the slowest point against the least number."""

    phase: str
    slow_value: float
    fast_value: float
    law: FittedLaw
    cells: tuple[CellResult, ...]


POLL = "poll_s"  # of a call that finds nothing
GROWTH_METRICS = (*SPEAKING, "receive_s", POLL)


def growths(facts: Facts, covariate: str, names: Sequence[str], *, phase: str = "steady") -> Iterator[Growth]:
    """Lines over a covariate that follow another of these laws than a constant, beyond the minimum effect.

    The slowest point is held against the one with the least of what is swept: what a user would compare with.
    """
    laws = named(names)
    for line in lines_along(facts, covariate, phase=phase, metrics=GROWTH_METRICS):
        values = line.sweep.covariates[covariate]
        slow, fast = line.slowest, int(values.argmin())
        ratio = line.picked_ratio(slow, fast)
        if not ratio.beyond or ratio.least < LAW_RATIO or (law := line.among(laws)).fits in (None, "constant"):
            continue
        yield Growth(
            slow=line.cells[slow],
            fast=line.cells[fast],
            metric=line.sweep.metric,
            slow_s=float(line.centre_s[slow]),
            fast_s=float(line.centre_s[fast]),
            ratio=ratio,
            phase=line.sweep.phase,
            slow_value=float(values[slow]),
            fast_value=float(values[fast]),
            law=law,
            cells=line.cells,
        )


MOST_EVIDENCE = 6  # lines of one finding

Key = tuple[object, ...]

LawOf = Callable[[Sequence[Slowdown]], FittedLaw | None]


@dataclass(frozen=True)
class Wording:
    """subject, reference: of a sentence "<subject> are 2.0x slower than <reference>"; {size} stands for the length of
    the messages ("{size}messages from small pages", "from huge pages").  about: as Observation.about.
    affects_default: None: as the contrasts have it, else what the rule knows better.
    """

    subject: str
    reference: str
    about: str
    affects_default: bool | None = None


def grouped(found: Iterable[Slowdown], key: Callable[[Slowdown], Key]) -> list[list[Slowdown]]:
    """Groups in the order of their first members."""
    groups: dict[Key, list[Slowdown]] = defaultdict(list)
    for slowdown in found:
        groups[key(slowdown)].append(slowdown)
    return list(groups.values())


def place_key(cell: CellResult, *without: str) -> Key:
    """Library, environment, placement, memory and pages of a cell, less what is compared."""
    parts = {"mpi": cell.mpi, "environment": cell.environment, "placement": cell.placement}
    parts |= {name: cell.parameters.get(name) for name in ("memory", "pages", "experiment")}
    return tuple(value for name, value in parts.items() if name not in without)


def slowdown_observed(
    facts: Facts, group: Sequence[Slowdown], wording: Wording, law_of: LawOf | None = None
) -> Observation:
    """One observation of contrasts that show one thing: the one with the largest excess speaks for all of them, of
    those that begin at what users have who change nothing, where there are such.
    """
    speaks = [slowdown for slowdown in group if slowdown.metric == _first_metric(group)]
    top = max(speaks, key=lambda one: (one.affects_default is True, one.excess_s))
    lengths = sizes(slowdown.slow for slowdown in group)
    size = sizes([top.slow])
    subject = wording.subject.format(size=f"{size} " if size else "")
    span = f" ({lengths})" if lengths else ""
    also = f"; {len(speaks)} contrasts{span} agree" if len(speaks) > 1 else ""
    text = (
        f"{subject[0].upper()}{subject[1:]} are {ratio_words(top.ratio)} slower than {wording.reference}: "
        f"{times_words(top)}{also}."
    )
    return observed(
        top,
        about=wording.about,
        place=facts.place([slowdown.slow for slowdown in group], _group_words(group, lengths)),
        text=text,
        phase=top.slow_phase,
        affects_default=_default_side(group) if wording.affects_default is None else wording.affects_default,
        cells=tuple(dict.fromkeys(cell.cell for slowdown in group for cell in (slowdown.slow, slowdown.fast))),
        contrasts=tuple(dict.fromkeys(slowdown.contrast for slowdown in group)),
        axis=top.axis,
        law=law_of(speaks) if law_of else None,
        evidence=tuple(slowdown_words(slowdown) for slowdown in _strongest(speaks)),
        exports=facts.variables(top.fast) if facts.as_found(top.slow) else {},
        unsets=tuple(facts.variables(top.slow)) if facts.as_found(top.fast) else (),
        doubts=tuple(dict.fromkeys(text for slowdown in group for text in slowdown.suspect)),
        slow_cells=tuple(dict.fromkeys(slowdown.slow.cell for slowdown in [top, *speaks])),
        fast_cells=tuple(dict.fromkeys(slowdown.fast.cell for slowdown in [top, *speaks])),
    )


def _group_words(group: Sequence[Slowdown], lengths: str) -> list[str]:
    return [f"{memory(slowdown.slow for slowdown in group)} memory", *([f"messages of {lengths}"] if lengths else [])]


def _first_metric(group: Sequence[Slowdown]) -> str:
    there = {slowdown.metric for slowdown in group}
    return next((name for name in SPEAKING if name in there), group[0].metric)


def _strongest(group: Sequence[Slowdown]) -> list[Slowdown]:
    return sorted(group, key=lambda one: one.excess_s, reverse=True)[:MOST_EVIDENCE]


def _default_side(group: Sequence[Slowdown]) -> bool | None:
    sides = {slowdown.affects_default for slowdown in group}
    return sides.pop() if len(sides) == 1 else (True if True in sides else None)


WordingOf = Callable[[Slowdown | Screened], Wording]
Which = Callable[[Slowdown | Screened], bool]


def every(_one: Slowdown | Screened) -> bool:
    """Whichever side is slow."""
    return True


def levels(one: Slowdown | Screened) -> tuple[str, str]:
    """The parameter's slow and fast value as the cells have it: a contrast has them in words."""
    if isinstance(one, Screened):
        return one.slow_value, one.fast_value
    return one.slow.parameters.get(one.axis, ""), one.fast.parameters.get(one.axis, "")


def alone_or_screened(
    facts: Facts, parameters: Sequence[str], wording: WordingOf, law_of: LawOf | None = None, which: Which = every
) -> list[Observation]:
    """What a parameter does by itself, one observation for each `about`; else what it does in a screening design.

    Args: which: of the differences, by their slow and fast value.
    """
    alone = [
        slowdown
        for slowdown in facts.slowdowns(*parameters, phase="steady")
        if which(slowdown) and not is_switched_out(slowdown.slow)
    ]
    groups = grouped(alone, lambda one: (wording(one).about, *place_key(one.slow)))
    found = [slowdown_observed(facts, group, wording(_top(group)), law_of) for group in groups]
    there = {
        (observation.about, observation.place.mpi, observation.place.environment, observation.place.placement)
        for observation in found
    }
    best: dict[Key, Screened] = {}
    for effect in filter(which, screened_effects(facts, *parameters)):
        key = (wording(effect).about, *place_key(effect.slow, "pages"))
        if key not in best or effect.excess_s > best[key].excess_s:
            best[key] = effect
    seen = [_screened(facts, one, wording(one)) for one in best.values()]
    return found + [
        observation
        for observation in seen
        if (observation.about, observation.place.mpi, observation.place.environment, observation.place.placement)
        not in there
    ]


def _top(group: Sequence[Slowdown]) -> Slowdown:
    speaks = (slowdown for slowdown in group if slowdown.metric == _first_metric(group))
    return max(speaks, key=lambda one: (one.affects_default is True, one.excess_s))


def _screened(facts: Facts, one: Screened, wording: Wording) -> Observation:
    lengths = sizes(one.cells)
    subject = wording.subject.format(size=f"{lengths} " if lengths else "")
    others = f"{one.factors - 1} other things varied at once, in {len(one.cells)} cells"
    return observed(
        one,
        about=wording.about,
        place=facts.place(one.cells, where_words(one.cells)),
        text=f"{subject[0].upper()}{subject[1:]} are {ratio_words(one.ratio)} slower than {wording.reference}: "
        f"{times_words(one)}, with {others}.",
        affects_default=wording.affects_default,
        cells=tuple(cell.cell for cell in one.cells),
        axis=one.parameter,
        evidence=(f"{ratio_words(one.ratio)}: mean of every launch over {len(one.cells)} runs of a screening design",),
        slow_cells=(),
        fast_cells=(),
        is_screened=True,
    )


@dataclass(frozen=True)
class GrowthWording:
    """covariate: what is swept. about: as Observation.about. slow, fast: sentences with the places {slow}, {fast}; slow
    may have the place {what}: A message, or A poll that finds nothing.
    """

    covariate: str
    about: str
    slow: str
    fast: str


def growths_observed(facts: Facts, wording: GrowthWording, laws: Sequence[str]) -> list[Observation]:
    """Lines over a number that follow another of these laws than a constant."""
    return [_growth(facts, wording, growth) for growth in growths(facts, wording.covariate, laws)]


def _growth(facts: Facts, wording: GrowthWording, one: Growth) -> Observation:
    limits = "".join(f"; the step lies above {b.above:g}, up to {b.up_to:g}" for b in one.law.brackets)
    what = "A poll that finds nothing" if one.metric == POLL else "A message"
    subject = wording.slow.format(slow=f"{one.slow_value:g}", what=what)
    reference = wording.fast.format(fast=f"{one.fast_value:g}")
    return observed(
        one,
        about=wording.about,
        place=facts.place(one.cells, where_words(one.cells)),
        text=f"{subject} is {ratio_words(one.ratio)} slower than {reference}: {times_words(one)}; "
        f"{f'cost: {cost_words(one.law)}' if one.law.name else 'no law of its growth holds'}{limits}.",
        phase=one.phase,
        affects_default=None,
        cells=tuple(cell.cell for cell in one.cells),
        law=one.law,
        evidence=(f"{ratio_words(one.ratio)}: pairs of launches of two cells",),
    )


# Cells of messages or puts held against the machine's floor, and how far above it they lie.

MARGIN = 3.0  # above the highest factor of a healthy library: other machines are not those that were measured
FEWEST_CELLS = 2  # one alone may be slow by what is particular to it, which other rules see
FEWEST_LAUNCHES = 3


def limit_of(highest: Mapping[str, float]) -> float:
    """From here on a cell is far above the floor.  Args: highest: library -> largest factor of its healthy cells."""
    return MARGIN * max(highest.values())


@dataclass(frozen=True)
class JudgedCell:
    """A cell that has a floor, and what healthy libraries do.  highest: library -> largest factor of its cells."""

    cell: CellResult
    over: OverFloor
    highest: Mapping[str, float]

    @property
    def fastest(self) -> float:
        """Fastest messages or puts over the floor."""
        return self.over.fastest_ratio or 0.0

    @property
    def excess(self) -> float:
        return self.fastest / limit_of(self.highest)

    @property
    def is_far(self) -> bool:
        return self.over.fastest_interval is not None and self.over.fastest_interval[0] > limit_of(self.highest)


def with_floor(facts: Facts, experiment: str) -> Iterator[tuple[CellResult, OverFloor]]:
    """Cells of an experiment that can be judged: calm launches enough, ranks on processors of their own."""
    own = {cell.mpi for cell in facts.cells.values() if cell.over_floor and facts.is_default(cell)}
    for cell in facts.cells.values():
        over = cell.over_floor
        if cell.experiment != experiment or over is None or over.level is None or over.fastest_interval is None:
            continue
        # An environment that the plan makes slow on purpose is judged by its contrast.
        if over.calm_launches < FEWEST_LAUNCHES or (cell.mpi in own and not facts.is_default(cell)):
            continue
        taken = facts.processors(cell)
        if taken is None or not taken.shared:
            yield cell, over


def evidence(far: Sequence[JudgedCell]) -> tuple[str, ...]:
    """A line for each of the cells that are farthest above their limits."""
    return tuple(
        f"{judged.cell.label}: {with_interval(judged.over.ratio, judged.over.interval)} the floor of "
        f"{format_time(judged.over.floor_s)}, the fastest "
        f"{with_interval(judged.fastest, judged.over.fastest_interval)}; limit {limit_of(judged.highest):.3g}x"
        for judged in sorted(far, key=lambda judged: -judged.excess)[:MOST_EVIDENCE]
    )


# Launches that were ended since they took many times as long as clean ones, a difference of which a bound is known;
# and launches that do not start at all where clean ones do.
#
# A diagnosis' first step holds launches of the user's own state against clean ones (slowpath.diagnose.steps.own_state).

CAMPAIGN = "state"  # its launches alone are ended for taking long
GIVEN_UP_RATIO = 8.0  # times as long as clean launches, after which one is ended
FEWEST = 3  # launches on either side: one may hang by chance


@dataclass(frozen=True)
class Ended:
    """launches: of the slow cell that were ended.  clean: of the fast one that were measured meanwhile."""

    contrast: ContrastResult
    slow: CellResult
    fast: CellResult
    launches: int
    clean: int


def ended(facts: Facts, axis: str) -> list[Ended]:
    """Contrasts on this axis whose side `b` was ended again and again while `a` was measured."""
    if facts.run.campaign != CAMPAIGN:
        return []
    found = []
    for contrast in facts.contrasts:
        slow, fast = facts.cells.get(contrast.b.cell), facts.cells.get(contrast.a.cell)
        if contrast.axis != axis or contrast.launches >= FEWEST or slow is None or fast is None:
            continue
        rows = (row for row in facts.skipped if row.cell == slow.cell and row.status == "hung")
        launches = sum(row.launches for row in rows)
        measured = fast.estimate(contrast.metric, contrast.a.phase)
        if launches >= FEWEST and measured is not None and measured.launches >= FEWEST:
            found.append(Ended(contrast, slow, fast, launches, measured.launches))
    return found


def ended_observation(facts: Facts, one: Ended, about: str, subject: str, reference: str) -> Observation:
    """The observation of such launches.  Args: subject, reference: of `<subject> take at least 8x as long as ...`."""
    bound = f"{GIVEN_UP_RATIO:g}x"
    return _without_ratio(
        facts,
        one,
        about,
        f"{subject[0].upper()}{subject[1:]} take at least {bound} as long as {reference}: {one.launches} launches "
        f"were stopped after that time, but none of the {one.clean} others.",
        f"{one.launches} launches were stopped after {bound} the time of the longest clean launch",
    )


@dataclass(frozen=True)
class Unstarted:
    """reason: of the last launch that failed.  clean: launches of the fast cell that were measured."""

    contrast: ContrastResult
    slow: CellResult
    fast: CellResult
    reason: str
    clean: int


def unstarted(facts: Facts, axis: str) -> list[Unstarted]:
    """Contrasts on this axis where no cell of side `b`'s environment was measured in any launch, and `a` was."""
    if facts.run.campaign != CAMPAIGN:
        return []
    measured = {(cell.environment, cell.placement) for cell in facts.every_cell if cell.metrics}
    found = []
    for contrast in facts.contrasts:
        slow, fast = facts.cells.get(contrast.b.cell), facts.cells.get(contrast.a.cell)
        if contrast.axis != axis or slow is None or fast is None or (slow.environment, slow.placement) in measured:
            continue
        rows = [row for row in facts.skipped if row.cell == slow.cell and row.status == "failed"]
        clean = fast.estimate(contrast.metric, contrast.a.phase)
        if rows and clean is not None and clean.launches >= FEWEST:
            found.append(Unstarted(contrast, slow, fast, rows[-1].reason, clean.launches))
    return found


def unstarted_observation(facts: Facts, one: Unstarted, about: str, subject: str, reference: str) -> Observation:
    """The observation of such launches.  Args: subject, reference: of `no launch works with <subject>, ...`."""
    return _without_ratio(
        facts,
        one,
        about,
        f"No launch works with {subject}, and {one.clean} {reference} did: {one.reason}",
        f"every launch failed, but {one.clean} clean launches were measured",
    )


def _without_ratio(facts: Facts, one: Ended | Unstarted, about: str, text: str, evidence: str) -> Observation:
    """What is known of a slow side that has no times."""
    return Observation(
        about=about,
        place=facts.place([one.slow]),
        text=text,
        metric=one.contrast.metric,
        phase=one.contrast.b.phase,
        ratio=None,
        interval=None,
        excess_s=None,
        affects_default=True,
        cells=(one.slow.cell, one.fast.cell),
        axis=one.contrast.axis,
        evidence=(evidence,),
        slow_cells=(one.slow.cell,),
        fast_cells=(one.fast.cell,),
    )
