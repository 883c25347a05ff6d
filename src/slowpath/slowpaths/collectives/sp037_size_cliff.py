# SPDX-License-Identifier: Apache-2.0
"""SP037: a length from which on a collective takes far more than its bytes, or at which a longer message is faster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.finding_results import Rival
from slowpath.core.units import format_time, listed
from slowpath.findings.facts import Facts, ratio_words, sizes, times_words
from slowpath.findings.slow_path import Observation, SlowPath, Support, Tried, observed
from slowpath.slowpaths.collectives.cliffs import Cliff, cliffs
from slowpath.slowpaths.collectives.under import excess_words
from slowpath.slowpaths.remedies import MALLOC_KEEPS_WHAT_IS_FREED

FAULTS = 0.5  # of the pages of the message
LEAST_GONE = 0.5
WITHIN = 1.1
ALGORITHM = "the library changes its algorithm or its protocol at this length"
SHARED = (
    "messages between two ranks, which they share, take another protocol from this length on (see SP013)",
    "the library has the same limit in the tables of each of them",
)


def observe(facts: Facts) -> Sequence[Observation]:
    """The worst step of each collective's line of lengths; one observation of those that step at the same length."""
    groups: dict[tuple[object, ...], list[Cliff]] = defaultdict(list)
    for cliff in cliffs(facts):
        groups[_same(cliff)].append(cliff)
    found = list[Observation]()
    for group in groups.values():
        if len({one.collective for one in group}) > 1:
            found.append(_of_several(facts, group))
        else:
            found += [_observation(facts, one) for one in group]
    return found


def _same(one: Cliff) -> tuple[object, ...]:
    """Equal for cliffs that look like one. What page faults may account for is each collective's own buffer."""
    faulted = one.faults is None or one.faults >= FAULTS * one.pages
    own = one.slow.cell if faulted or one.shorter else None
    place = (one.slow.mpi, one.slow.environment, one.slow.placement)
    return (own, place, sizes([one.slow]), sizes([one.fast]), one.pieces, _case(one))


def _of_several(facts: Facts, group: Sequence[Cliff]) -> Observation:
    """Said once, with the worst one's numbers. A remedy has to help each of them, so that the least helped speaks."""
    ordered = sorted(group, key=lambda one: -one.ratio.value)
    worst = ordered[0]
    names = listed(list(dict.fromkeys(cliff.collective for cliff in ordered)))
    slow, fast = sizes([worst.slow]), sizes([worst.fast])
    return replace(
        _observation(facts, worst),
        about=f"several collectives, more than their bytes at {slow}{_case(worst)}",
        place=facts.place([cell for cliff in group for cell in cliff.cells], [names]),
        text=f"{names.capitalize()} of {slow}{_case(worst)} are {ordered[-1].ratio.value:.2f}x to "
        f"{ratio_words(worst.ratio)} slower than {worst.pieces} of {fast} (as many bytes); {worst.collective}: "
        f"{times_words(worst)}.",
        cells=tuple(dict.fromkeys(cell.cell for cliff in group for cell in cliff.cells)),
        evidence=tuple(
            f"{cliff.collective}: {ratio_words(cliff.ratio)}, {times_words(cliff)}: pairs of launches of two cells"
            for cliff in ordered
        ),
        hypotheses=SHARED,
        tried=_for_each(group),
    )


def _for_each(group: Sequence[Cliff]) -> tuple[Tried, ...]:
    """The remedy where it helps least; its controls have to stay for each."""
    found = [one for cliff in group for one in _tried(cliff)]
    if len(found) < len(group):
        return ()
    least = min(found, key=lambda one: one.removed[1])
    return (replace(least, held=all(one.held for one in found)),)


def _observation(facts: Facts, one: Cliff) -> Observation:
    slow, fast = sizes([one.slow]), sizes([one.fast])
    against = f"one of {fast}" if one.shorter else f"{one.pieces} of {fast}, which are as many bytes"
    faults = "" if not one.faults or one.faults < 1 else f"; {one.faults:.0f} more page faults a call"
    return observed(
        one,
        about=f"{one.collective}, {'longer is faster' if one.shorter else 'more than its bytes'}{_case(one)}",
        place=facts.place(one.cells, [one.collective]),
        text=f"{one.collective.capitalize()} of {slow}{_case(one)} is {ratio_words(one.ratio)} slower than "
        f"{against}: {times_words(one)}{faults}.",
        affects_default=True,
        cells=tuple(cell.cell for cell in one.cells),
        axis="message_bytes",
        evidence=(f"{ratio_words(one.ratio)}: pairs of launches of two cells",),
        hypotheses=() if _may_be_memory(one) else (ALGORITHM,),
        tried=_tried(one),
    )


def _may_be_memory(one: Cliff) -> bool:
    """Not where the time stayed although malloc kept what is freed."""
    gone = one.under.gone if one.under else None
    return gone is None or gone[2] >= LEAST_GONE


def _case(one: Cliff) -> str:
    """`, nonblocking`: what is not plain about its cells."""
    p = one.slow.parameters
    plain = {"start": "blocking", "op": "sum", "shape": "elements", "in_place": "off"}
    found = [
        p[name] if name != "in_place" else "in place" for name, usual in plain.items() if p.get(name, usual) != usual
    ]
    return "".join(f", {word.replace('_', ' ')}" for word in found)


def _tried(one: Cliff) -> tuple[Tried, ...]:
    under = one.under
    if under is None or under.gone is None or under.remedy is None:
        return ()
    words = "; ".join(f"{name}, which has no such faults: {ratio:.2f}x" for name, ratio in one.flat[:3])
    held = all(1 / WITHIN <= ratio <= WITHIN for _, ratio in one.flat)
    return (Tried(under.remedy, under.gone, words or None, held, under.launches),)


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Page faults of each call: memory that the library takes and gives back every time."""
    one = next(cliff for cliff in cliffs(facts) if cliff.slow.cell == seen.slow_cells[0])
    if one.faults is None:
        return Support("missing", "page faults were not recorded")
    line = f"{_faults_words(one.faults)}, for a message of {one.pages:.0f} pages; {format_time(one.excess_s)} longer"
    if one.shorter or one.faults < FAULTS * one.pages:
        why = "page faults do not explain it; a change of algorithm there was not tested"
        return Support("missing", why, (line,))
    if one.under is None or one.under.gone is None:
        return Support("missing", "page faults grow with it; the same with freed memory kept was not measured", (line,))
    gone = f"keeping freed memory removes {excess_words(one.under.gone)} of the excess"
    if one.under.gone[1] < LEAST_GONE:
        return Support("missing", f"page faults grow with it, but {gone}", (line, gone))
    return Support("shown", "page faults, which account for the time", (line, gone), "kernel")


def _faults_words(faults: float) -> str:
    """`446 more page faults a call`; what comes out below one is none more."""
    return f"{faults:.0f} more page faults a call" if faults >= 1 else "no more page faults a call"


SIZES = (Rival(name="another algorithm", cause="The library changes its algorithm or its protocol at this length."),)


SLOW_PATH: SlowPath = SlowPath(
    code="SP037",
    name="size cliff",
    title="A collective slows down abruptly at a message size",
    what="Of two neighbouring lengths the shorter one takes longer, or the longer one more than 1.25 times what its "
    "bytes take in pieces: algorithms switch by old tables, or malloc asks the system for a temporary buffer "
    "at each call from 128 KiB on.",
    needs="Lengths of each collective, at most four times apart, in the same launches. Explained when page faults "
    "of a call grow by the message's pages and the time goes where malloc keeps what is freed.",
    remedy="Let malloc keep what is freed (GLIBC_TUNABLES); else send in pieces, or force another algorithm.",
    observe=observe,
    cause="The library takes memory from the system for each call, and every page of it is faulted in again.",
    witnesses=witnesses,
    hypotheses=(
        ALGORITHM,
        "the library takes memory from the system for each call",
    ),
    needs_law=False,
    kind="opportunity",
    rivals=SIZES,
    probes=(
        "collectives: lengths",
        "collectives: lengths of reductions in order",
    ),
    remedies=(MALLOC_KEEPS_WHAT_IS_FREED,),
)
