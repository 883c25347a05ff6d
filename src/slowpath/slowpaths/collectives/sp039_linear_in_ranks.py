# SPDX-License-Identifier: Apache-2.0
"""SP039: rounds that grow with the number of ranks where its logarithm suffices."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import Rival
from slowpath.core.study_results import RankPoint, RankScaling
from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import ALONE, Observation, Remedy, SlowPath, Support, Tried, tunings
from slowpath.slowpaths.collectives.scalings import growth_words, needed, point_at, predicted_words, rank_scalings

# Each has algorithms of about log2 p rounds (mpi/algorithms); of an all-to-all of short messages a line may be best.
LOGARITHM_SUFFICES = frozenset(
    {"barrier", "bcast", "gather", "scatter", "allgather", "reduce", "allreduce", "reduce_scatter_block"}
    | {"scan", "exscan"}
)
MOST_BYTES = 1024  # of longer messages each byte costs, not each round: a ring or a chain may be best
CLEAR_RATIO = 2.0  # rounds over ceil(log2 p); logarithmic algorithms up and down a tree take no more
LEAST_EXPONENT = 0.5
COUNTED = "messages_by_sockets"
FORCED = "logarithmic_by_sockets"
REMEDIED = ("scan", "exscan", "barrier")  # by the one that follows
REMEDY = "logarithmic algorithms in Open MPI"


def observe(facts: Facts) -> Sequence[Observation]:
    """Stretches of one algorithm whose rounds follow p, of short messages and the library's own choice."""
    every = [scaling for scaling in rank_scalings(facts) if scaling.quantity == "rounds"]
    return [_observation(facts, one, every) for one in every if _is_asked(facts, one) and _is_linear(one)]


def _is_asked(facts: Facts, one: RankScaling) -> bool:
    """Not of a mock-up, and not where somebody may have forced an algorithm."""
    cell = facts.cells[one.points[0].cell]
    is_own = facts.as_found(cell) or facts.setting(cell) == COUNTED
    is_short = int(cell.parameters.get("message_bytes", "0")) <= MOST_BYTES
    return (
        is_own
        and one.collective in LOGARITHM_SUFFICES
        and cell.parameters.get("way", "library") == "library"
        and (is_short or one.collective == "barrier")
    )


def _worst(one: RankScaling) -> RankPoint:
    return max(one.points, key=lambda point: (point.value / needed(point.ranks), point.ranks))


def _is_linear(one: RankScaling) -> bool:
    """More rounds than logarithmic algorithms take, and more with each rank: by the law, or by the known algorithm."""
    worst = _worst(one)
    if worst.value <= CLEAR_RATIO * needed(worst.ranks):
        return False
    if one.interval is not None:
        return one.interval[0] > LEAST_EXPONENT
    return one.law is None and bool(worst.algorithms)


def _article(label: str) -> str:
    return "An" if label[0] in "aeiou" else "A"


def _observation(facts: Facts, one: RankScaling, every: Sequence[RankScaling]) -> Observation:
    cells = [facts.cells[point.cell] for point in one.points]
    worst = _worst(one)
    forced = _forced(facts, one, every)
    known = " or ".join(worst.algorithms) or "an algorithm that is not known"
    first, last = one.points[0].ranks, one.points[-1].ranks
    tried = [_tried(facts, one, forced, every)] if forced else []
    return Observation(
        about=f"rounds of {one.label}",
        place=facts.place(cells, [f"{one.label}, {first} to {last} ranks"]),
        text=f"{_article(one.label)} {one.label} takes {worst.value:.0f} rounds of messages at {worst.ranks} ranks, "
        f"but {needed(worst.ranks)} suffice: {known}; {growth_words(one)}, counted at {first} to {last} "
        f"ranks.{predicted_words(one, needed)}",
        metric="rounds",
        phase="steady",
        ratio=None,
        interval=None,
        excess_s=None,
        affects_default=None,
        cells=tuple(cell.cell for cell in cells),
        evidence=tuple(
            f"{point.ranks} ranks: {point.value:.0f} rounds, {' or '.join(point.algorithms) or 'unknown algorithm'}"
            for point in one.points
        ),
        doubts=_doubts(facts, one),
        slow_cells=(worst.cell,),
        fast_cells=tuple(point.cell for point in forced.points if point.ranks == worst.ranks) if forced else (),
        tried=tuple(tried),
    )


def _doubts(facts: Facts, one: RankScaling) -> tuple[str, ...]:
    if facts.setting(facts.cells[one.points[0].cell]) != COUNTED:
        return ()
    return ("counted with every message through a socket; the library may choose differently through shared memory",)


def _forced(facts: Facts, one: RankScaling, every: Sequence[RankScaling]) -> RankScaling | None:
    """The same with the logarithmic algorithm forced, where it has the worst point."""
    ranks = _worst(one).ranks
    return next((other for other in _twins(facts, one, every) if point_at(other, ranks) is not None), None)


def _twins(facts: Facts, one: RankScaling, every: Sequence[RankScaling]) -> list[RankScaling]:
    """The same collective in the forced state."""
    return [
        other
        for other in every
        if (other.label, other.mpi, other.placement) == (one.label, one.mpi, one.placement)
        and facts.setting(facts.cells[other.points[0].cell]) == FORCED
    ]


def _tried(facts: Facts, one: RankScaling, forced: RankScaling, every: Sequence[RankScaling]) -> Tried:
    """The excess at the worst point, and collectives that nobody forced, which must send what they sent."""
    worst = _worst(one)
    now = point_at(forced, worst.ranks)
    left = now.value if now else worst.value
    excess = worst.value - needed(worst.ranks)
    removed = max(0.0, min(1.0, (worst.value - left) / excess))
    cells = [facts.cells[point.cell].messages for point in (worst, now) if point]
    held, control = _control(facts, one, every)
    return Tried(
        remedy=REMEDY,
        removed=(removed, removed, removed),
        control=control,
        held=held,
        launches=min(counts.launches for counts in cells if counts),
        evidence=(
            f"{worst.ranks} ranks: {worst.value:.0f} rounds -> {left:.0f}, "
            f"{' or '.join(now.algorithms) if now else 'unknown'}",
        ),
        is_counted=True,
    )


def _control(facts: Facts, one: RankScaling, every: Sequence[RankScaling]) -> tuple[bool, str | None]:
    """Whether collectives of which no algorithm is forced send the same messages in both states."""
    pairs = [
        (other.collective, before, point)
        for other in every
        if other.collective not in REMEDIED and (other.mpi, other.environment) == (one.mpi, one.environment)
        for twin in _twins(facts, other, every)
        for point in twin.points
        if (before := point_at(other, point.ranks)) is not None
    ]
    if not pairs:
        return False, None
    same = all((a.value, a.algorithms) == (b.value, b.algorithms) for _, a, b in pairs)
    names = ", ".join(dict.fromkeys(name for name, _, _ in pairs))
    return same, f"{names}, with no forced algorithm, {'send' if same else 'do not send'} what they sent"


def witnesses(facts: Facts, seen: Observation) -> Support:
    """The messages themselves."""
    counts = facts.cells[seen.slow_cells[0]].messages
    if counts is None:
        return Support("missing", "no messages were counted")
    if not counts.settled:
        return Support("missing", "half of the calls have another chain of messages, so more calls are needed")
    return Support(
        "shown", f"counted in {counts.calls} calls of {counts.launches} launches with identical results: {counts.text}"
    )


LINEAR = (
    Rival(name="ranks that come late", cause="Ranks arrived late, so messages followed each other unnecessarily."),
    Rival(
        name="an unusual call",
        cause="The library falls back to a simple algorithm only for this op, type or kind of call.",
    ),
)

LOGARITHMIC_ALGORITHMS = tunings(
    Remedy(
        "logarithmic algorithms",
        "Force the library's algorithms whose rounds grow with the logarithm of the number of ranks.",
        ("algorithm",),
        control=ALONE,
        side_effects=("another algorithm may be faster for long messages of the same collective",),
    )
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP039",
    name="linear in ranks",
    title="A collective's rounds grow linearly with the ranks where a logarithm suffices",
    what="A collective that goes from rank to rank needs as many rounds as there are ranks; trees and doublings "
    "need the logarithm. Open MPI's MPI_Scan and MPI_Exscan go from rank to rank.",
    needs="Messages counted (coll, pattern=messages) at several numbers of ranks up to 1 KiB; more ranks are "
    "predicted only where the law of the fewer predicts the most. No time is looked at.",
    remedy="Force the logarithmic algorithm, or use a mock-up of it; look at the rounds again.",
    observe=observe,
    cause="The library's algorithm sends one message after the other, as many as there are ranks.",
    witnesses=witnesses,
    hypotheses=("the library's algorithm is linear", "the library falls back for this type, op or communicator"),
    needs_law=False,
    kind="property",
    rivals=LINEAR,
    probes=("rounds over ranks",),
    remedies=(*LOGARITHMIC_ALGORITHMS,),
)
