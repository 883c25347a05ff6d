# SPDX-License-Identifier: Apache-2.0
"""Limits of laws: variables near them, points to measure, where they lie, and which variable moves them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

import numpy as np
from msgspec.structs import replace

from slowpath.core.campaign import Campaign, CellsTable, EnvironmentTable, Values
from slowpath.core.cell_results import CellResult
from slowpath.core.results import Finding, Leg, LimitBracket, RemedyResult, Results, Snippet
from slowpath.diagnose.sides import Condition, placements_of
from slowpath.diagnose.state import State
from slowpath.diagnose.tasks import AttributeTask
from slowpath.findings.finding import legs_missing
from slowpath.findings.slow_path import EAGER, Remedy, modulefile_lines, shell_lines
from slowpath.mpi.libraries import AppliesTo
from slowpath.mpi.settings import SwitchVariable, variable_named
from slowpath.stats.estimate import Floats
from slowpath.stats.laws.choose import next_values
from slowpath.stats.laws.law import Bracket

# Variables of the library that may set a limit: those whose value lies near it.

MOST_HEADER_BYTES = 256  # by which a switch may lie from its variable's value


@dataclass(frozen=True)
class SuspectVariable:
    """A variable whose value lies at a limit.  source: who states that it has this value."""

    switch: SwitchVariable
    value_bytes: int
    source: str


def suspects(
    switches: Sequence[SwitchVariable],
    limit: float,
    environ: Mapping[str, str],
    control_variables: Mapping[str, float],
    library: str,
) -> list[SuspectVariable]:
    """Variables whose value lies at the limit: those of the table, whose effect is known, then any others that the
    library has; each nearest first.

    Args: limit: last length before the switch, bytes.  control_variables: MPI_T's numbers, name -> value.
    """
    found: dict[str, SuspectVariable] = {}
    known = {switch.control_variable or switch.variable: switch for switch in switches}
    for name, value in control_variables.items():
        switch = known.get(name) or _of_mpi_t(name, library)
        found[switch.variable] = SuspectVariable(switch, round(value), "MPI_T")
    for switch in switches:
        stated = switch.value(environ)
        if stated is not None and switch.variable not in found:
            source = "your environment" if switch.variable in environ else f"not read; {switch.documented}"
            found[switch.variable] = SuspectVariable(switch, stated, source)
    near = [one for one in found.values() if abs(one.value_bytes - limit) <= MOST_HEADER_BYTES]
    return sorted(near, key=lambda one: (one.switch not in switches, abs(one.value_bytes - limit)))


def _of_mpi_t(name: str, library: str) -> SwitchVariable:
    """A control variable that no table knows."""
    return SwitchVariable(variable_named(name, library), AppliesTo(library), "a limit of the library", name)


def limits_of(finding: Finding) -> list[LimitBracket]:
    """Of its law; the first is the one that the finding is about."""
    return list(finding.law.brackets) if finding.law else []


def maybe_set_by_user(limit: LimitBracket, state: State) -> bool:
    """Whether a variable that the user set has its value in the bracket, or as near as a header is long."""
    values = (switch.value(state.environ) for switch in state.library.switches if switch.variable in state.environ)
    return any(value is not None and holds(limit, value) for value in values)


def holds(limit: LimitBracket, value: int) -> bool:
    """Whether a variable of this value may set the limit."""
    return not limit.unclear and limit.above - MOST_HEADER_BYTES <= value <= limit.up_to + MOST_HEADER_BYTES


def bracket_of(limit: LimitBracket) -> Bracket:
    """As laws have it."""
    return Bracket(limit.covariate, limit.above, limit.up_to)


# Which points to measure so that a limit is known more exactly, and the campaign that measures them.

AT_ONCE = 15
MOST_STEPS_TO_THE_BYTE = 8  # a bracket of a factor of 2 below 1 MiB takes 5, and a step that stays unclear is repeated
ROUNDS = 6
ANCHORS = 4  # points on each side that are known to lie there
_SPAN_RATIO = 0.12  # how far they reach from the bracket
_AROUND = 64  # on each side of an exact limit
SHORT_EFFORT = {"samples": "60", "time_limit_s": "0.008", "warmup_s": "0.002"}  # of each of many points


def points(bracket: Bracket, lowest: int = 1, at_once: int = AT_ONCE, exact: float | None = None) -> tuple[int, ...]:
    """Values to measure: those that divide the bracket, its ends, and anchors beyond them; ascending.

    Args: exact: last value before the limit, where it is known and to be measured once more with its neighbours.
    """
    low, high = int(bracket.above), int(bracket.up_to)
    reach = max(ANCHORS, round(low * _SPAN_RATIO))
    below = [low - reach * i // (ANCHORS - 1) for i in range(ANCHORS)]
    above = [high + reach * i // (ANCHORS - 1) for i in range(ANCHORS)]
    inside = [*next_values(bracket, at_once), *(() if exact is None else (int(exact) + i for i in (-1, 0, 1, 2)))]
    return tuple(sorted({value for value in (*below, *inside, *above) if value >= lowest}))


def around(exact: Bracket) -> Bracket:
    """A wider bracket about an exact one, off its middle, to measure it once more with other points."""
    low = max(min(exact.above, float(ANCHORS)), exact.above - _AROUND)  # anchors below it are numbers above 0, too
    return Bracket(exact.covariate, low, exact.up_to + _AROUND + 5)


def points_campaign(
    bracket: Bracket,
    cell: CellResult,
    under: Condition,
    ranks: int,
    rounds: int = ROUNDS,
    why: str = "",
    exact: float | None = None,
) -> Campaign:
    """The cell of a finding at `points`: one step towards the limit."""
    values: dict[str, Values] = {
        **shortened(cell.parameters),
        bracket.covariate: [str(v) for v in points(bracket, exact=exact)],
    }
    group = CellsTable("limit", cell.experiment, values, [under.environment], [under.placement])
    return Campaign(
        name="refine",
        title=f"Where the limit of {bracket.covariate.replace('_', ' ')} lies"[:80],
        ranks=[ranks],
        rounds=rounds,
        environments=[EnvironmentTable(under.environment, under.variables, under.unset)],
        placements=placements_of([under]),
        cells=[group],
        contrasts=[],
        why=why,
    )


def shortened(parameters: Mapping[str, str]) -> dict[str, str]:
    """The same cell, measured with less effort."""
    return {**parameters, **{name: text for name, text in SHORT_EFFORT.items() if name in parameters}}


# Where times break, to the byte.
#
# The times of a few points on either side of a bracket, and of points inside it, are fitted by a line that breaks at
# one place; every place that fits as well as the best one to within chance stays in the bracket.

_MARGIN = 9.0  # chi^2 by which a place may fit worse than the best and still be the one: 3 standard errors
FEWEST_OUTSIDE = 3  # points on each side of a bracket
_SEEN = 25.0  # chi^2 that a break has to explain to be seen at all
_LEAST_SIGMA = 1e-3
_HUBER = 2.0
_ROUNDS_OF_WEIGHTS = 12
_FEWEST_POINTS = 6
_BESIDE = 2  # points that have to lie on either side of a break outside the bracket


@dataclass(frozen=True)
class Narrowed:
    """bracket: as narrow as the times allow.  jump_ratio: time beyond the break over time before it.  seen: False: no
    break shows."""

    bracket: Bracket
    jump_ratio: float
    seen: bool


@dataclass(frozen=True)
class Times:
    """values: of the covariate, ascending, shape (points,).  launch_s: of launches, shape (launches, points)."""

    values: Sequence[float]
    launch_s: Floats

    @property
    def low_s(self) -> Floats:
        """Lower quartile over launches, shape (points,), seconds: what disturbs a launch only makes it longer."""
        low: Floats = np.quantile(self.launch_s, 0.25, axis=0)
        return low


def narrow(bracket: Bracket, values: Sequence[float], launch_s: Floats) -> Narrowed:
    """What new times say about a limit.

    Args:    values: ascending, shape (points,).  launch_s: shape (launches, points), seconds, medians of launches.
    Returns: the bracket as it was, `seen` False, where no break shows. A bracket beyond it, where the break clearly
             lies among the points on a side of it.
    Raises:  ValueError: fewer than 3 points on a side.
    """
    x = np.asarray(values, dtype=np.float64)
    outside = int((x <= bracket.above).sum()), int((x >= bracket.up_to).sum())
    if min(outside) < FEWEST_OUTSIDE:
        needed = f"{FEWEST_OUTSIDE} on each side are needed"
        raise ValueError(f"{outside[0]} and {outside[1]} points outside the bracket; {needed}")
    centre, sigma = _centres(launch_s)
    places = _places(x, bracket, centre, sigma)
    best = min(places, key=lambda i: _fit(_broken(x, i), centre, sigma)[0])
    rest = centre - _broken(x, best) @ _fit(_broken(x, best), centre, sigma)[1]
    sigma = max(sigma, 1.4826 * float(np.median(np.abs(rest))))
    costs = {i: _fit(_broken(x, i), centre, sigma) for i in places}
    least, found = min(costs.values(), key=lambda pair: pair[0])
    if _fit(_curved(x), centre, sigma)[0] - least < _SEEN:
        return Narrowed(bracket, 1.0, False)
    kept = [i for i in places if costs[i][0] - least < _MARGIN]
    inside = Bracket(bracket.covariate, float(x[min(kept) - 1]), float(x[max(kept)]))
    return Narrowed(inside, float(np.exp(found[2])), True)


def _places(x: Floats, bracket: Bracket, centre: Floats, sigma: float) -> list[int]:
    """Points before which the times may break: those of the bracket, unless a break beyond it fits clearly better."""
    inside = [i for i in range(1, x.size) if x[i - 1] >= bracket.above and x[i] <= bracket.up_to]
    beyond = [i for i in range(_BESIDE, x.size - _BESIDE + 1) if i not in inside]
    if not beyond:
        return inside
    best, other = (min(_fit(_broken(x, i), centre, sigma)[0] for i in some) for some in (inside, beyond))
    return inside if best <= other + _MARGIN else beyond


def _centres(launch_s: Floats) -> tuple[Floats, float]:
    """The logarithm of each point's time, and its standard error, alike for all points.

    The lower quartile over launches: what disturbs a launch makes it longer and never shorter, and it disturbs some
    points of it and not others.
    """
    logs = np.log(launch_s)
    typical = np.median(logs, axis=0)
    logs = logs - np.median(logs - typical, axis=1, keepdims=True)  # what a launch adds to all of its points
    centre: Floats = np.quantile(logs, 0.25, axis=0)
    spread = np.median(np.abs(logs - np.median(logs, axis=0)), axis=0)
    return centre, max(1.36 * 1.4826 * float(np.median(spread)) / np.sqrt(logs.shape[0]), _LEAST_SIGMA)


def _broken(x: Floats, split: int) -> Floats:
    """Columns of a line that jumps and bends before point `split`; the third one's weight is the jump's height."""
    behind = (np.arange(x.size) >= split).astype(np.float64)
    scaled = (x - (x[split - 1] + x[split]) / 2) / x[-1]
    return np.stack([np.ones_like(x), scaled, behind, behind * scaled], axis=1)


def _curved(x: Floats) -> Floats:
    """Columns of a parabola, so that curvature is not taken for a break."""
    scaled = (x - x.mean()) / x[-1]
    return np.stack([np.ones_like(x), scaled, scaled**2], axis=1)


def _fit(matrix: Floats, y: Floats, sigma: float) -> tuple[float, Floats]:
    """chi^2 by Huber's loss, which grows with the square up to 2 sigma and straight on from there, and the weights of
    the columns. A disturbed point is a few terms of 2 sigma and not all of the sum.
    """
    weights = np.ones_like(y)
    for _ in range(_ROUNDS_OF_WEIGHTS):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(matrix * root[:, None], y * root, rcond=None)[0]
        off = np.abs(y - matrix @ found) / sigma
        weights = np.where(off > _HUBER, _HUBER / np.maximum(off, 1e-12), 1.0)
    loss = np.where(off > _HUBER, 2 * _HUBER * off - _HUBER**2, off**2)
    return float(loss.sum()), np.asarray(found, dtype=np.float64)


def times_of(results: Results, covariate: str, metric: str, phase: str) -> Times | None:
    """The times of a run along a covariate; None when launches lack points."""
    found: list[tuple[float, list[float]]] = []
    for cell in results.cells:
        estimate = cell.estimate(metric, phase)
        if estimate is not None:
            found.append((float(cell.parameters[covariate]), estimate.launch_values))
    launches = max((len(times) for _, times in found), default=0)
    whole = sorted((value, times) for value, times in found if len(times) == launches)
    if launches == 0 or len(whole) < _FEWEST_POINTS:
        return None
    return Times([value for value, _ in whole], np.array([times for _, times in whole], dtype=np.float64).T)


# What setting a variable to another value showed about a protocol switch, and what that makes of a finding.

NEAR = (-64, -16, -4, -2, -1, 0, 1, 2, 4, 16, 64)  # bytes from the expected place at which it is measured
SIDE_EFFECTS = (
    "memory of the library's buffers",
    "messages between the old and the new threshold use the other protocol",
)
AND = " and "  # between variables each of which moves one limit
_LEAST_BESIDE = 3  # points on either side of a break that its two times are medians of
_REMAINS = 0.5  # of the new jump, in logarithms, from which on a jump at the old place is a switch that stayed


@dataclass(frozen=True)
class Attribution:
    """moved: the switch was seen where it was expected, and not where it had been. One alone is no cause: lowering a
    limit that comes into play later adds a switch and leaves the old one.

    before_s, after_s: times on the two sides of the switch, where the variable put it.
    """

    task: AttributeTask
    moved: bool
    text: str
    before_s: float
    after_s: float

    def applied(self, finding: Finding) -> Finding:
        """The finding with its cause named, or with the variable ruled out; proven is what a trial makes it."""
        finding = self._at_limit(finding)
        seen = finding.legs.explained
        seen = replace(seen, evidence=[*seen.evidence, self.text])
        if not self.moved:
            return replace(finding, legs=replace(finding.legs, explained=seen))
        own, before = self._remedy(), {f"set {name}" for name in self.task.also}
        others = [remedy for remedy in finding.remedies if remedy.name not in {own.name, *before}]
        finding = replace(finding, remedies=[own, *others])
        explained = Leg(state="shown", text=self._cause(), evidence=seen.evidence)
        legs = replace(finding.legs, explained=explained)
        return replace(
            finding,
            status="proven" if finding.status == "proven" else "explained",
            legs=legs,
            cause=self._cause(),
            hypotheses=[],
            missing=legs_missing(legs),
            rivals=[],
        )

    def _cause(self) -> str:
        names = names_of(self.task)
        if not self.task.also:
            return f"{names} sets the length at which the library changes its protocol."
        return f"The library changes its protocol at the lower of the limits that {names} set; each moves it."

    def _at_limit(self, finding: Finding) -> Finding:
        """The limit carries what moved it, and what was seen with each variable that was set to another value."""
        if finding.law is None:
            return finding
        brackets = [self._attributed(bracket) if self._meant(bracket) else bracket for bracket in finding.law.brackets]
        return replace(finding, law=replace(finding.law, brackets=brackets))

    def _meant(self, limit: LimitBracket) -> bool:
        return limit.above == self.task.limit_bytes

    def _attributed(self, limit: LimitBracket) -> LimitBracket:
        texts = [*([limit.attribution] if limit.attribution else []), self.text]
        limit = replace(limit, attribution=". ".join(texts))
        if not self.moved:
            return limit
        return replace(limit, attributed_to=names_of(self.task), movers=movers_of(self.task))

    def _remedy(self) -> RemedyResult:
        """The first of `remedies_of` as a finding lists it."""
        remedy = remedies_of(self.task, None)[0]
        shell, modulefile = (lines(remedy.variables, remedy.unset) for lines in (shell_lines, modulefile_lines))
        return RemedyResult(
            name=remedy.name,
            text=remedy.text,
            phrase=remedy.words,
            snippet=Snippet(shell=shell, modulefile=modulefile),
            removed_ratio=None,
            side_effects=list(SIDE_EFFECTS),
            verdict="not tried",
            reason=self.text,
            own_settings=list(remedy.unset),
        )


def attribution(task: AttributeTask, results: Results) -> Attribution | None:
    """None when the run has no times to judge by."""
    times = times_of(results, "message_bytes", task.metric, task.phase)
    if times is None:
        return None
    found = narrow(Bracket("message_bytes", times.values[2], times.values[-3]), times.values, times.launch_s)
    split = int(np.searchsorted(times.values, found.bracket.above, side="right"))
    place = _expected(task, found)
    remains = place is not None and _remains(task, times, found)
    return Attribution(
        task=task,
        moved=place is not None and not remains,
        text=_words(task, found, place, remains),
        before_s=float(np.median(times.low_s[max(0, split - _LEAST_BESIDE) : split])),
        after_s=float(np.median(times.low_s[split : split + _LEAST_BESIDE])),
    )


def names_of(task: AttributeTask) -> str:
    """What a limit that the task moves is attributed to, in words."""
    return AND.join(movers_of(task))


def movers_of(task: AttributeTask) -> tuple[str, ...]:
    """The variables that a limit is attributed to if the task moves it."""
    return (*task.also, task.variable)


def places(task: AttributeTask) -> tuple[int, ...]:
    """Last lengths before the switch that the new value may give: as far from it as from the old one, or, where another
    limit nearly coincides, at the value itself.
    """
    return tuple(dict.fromkeys((task.expected_bytes, task.moved_bytes - 1, task.moved_bytes)))


def _expected(task: AttributeTask, found: Narrowed) -> int | None:
    """The place among those expected at which the switch was seen."""
    low, high = found.bracket.above, found.bracket.up_to
    if not found.seen or high - low > 2 * max(NEAR):
        return None
    return next((place for place in places(task) if low <= place < high), None)


def _remains(task: AttributeTask, times: Times, found: Narrowed) -> bool:
    """Whether a switch still shows at the old place, next to the one at the new place below it."""
    kept = [i for i, value in enumerate(times.values) if value > found.bracket.up_to + max(NEAR)]
    values = [times.values[i] for i in kept]
    old = Bracket("message_bytes", task.limit_bytes - 1, task.limit_bytes + 2)
    if min(sum(value <= old.above for value in values), sum(value >= old.up_to for value in values)) < _LEAST_BESIDE:
        return False
    there = narrow(old, values, times.launch_s[:, kept])
    is_near = there.bracket.above <= task.limit_bytes < there.bracket.up_to
    return there.seen and is_near and abs(np.log(there.jump_ratio)) > _REMAINS * abs(np.log(found.jump_ratio))


def _words(task: AttributeTask, found: Narrowed, place: int | None, remains: bool) -> str:
    low, high = found.bracket.above, found.bracket.up_to
    changed = f"Setting {task.variable} from {task.value_bytes} ({task.value_source}) to {task.moved_bytes}"
    if not found.seen:
        return f"{changed}: no switch shows between {task.expected_bytes} and {task.limit_bytes} B"
    where = f"{low:.0f} B" if high - low <= 1 else f"a place between {low:.0f} and {high:.0f} B"
    if remains:
        return f"{changed} adds a switch at {where} but leaves the old one at {task.limit_bytes} B"
    if place is not None:
        return f"{changed} moves the switch from {task.limit_bytes} B to {where}; expected: {place} B"
    if low <= task.limit_bytes < high:
        return f"{changed} leaves the switch at {where}; expected: {task.expected_bytes} B"
    return f"{changed} moves the switch from {task.limit_bytes} B to {where}, not to {task.expected_bytes} B"


def remedies_of(task: AttributeTask, library: str | None) -> list[Remedy]:
    """What a trial can toggle: the user's own setting of the variable taken away first, then the variable moved."""
    name, variables = task.variable, task.remedy_variables
    joined = AND.join(variables)
    values = AND.join(f"{one}={value}" for one, value in variables.items())
    moved = Remedy(
        name=f"set {joined}",
        text=f"Set {values}: {task.effect}.",
        axes=("environment",),
        control=EAGER,
        side_effects=SIDE_EFFECTS,
        applies=AppliesTo(library),
        variables=variables,
    )
    if not task.set_by_user or task.also:
        return [moved]
    unset = changed(
        moved,
        name=f"unset {name}",
        text=f"Unset {name}, which is {task.value_bytes} in your environment: {task.effect}.",
        variables={},
        unset=(name,),
    )
    return [unset, moved]
