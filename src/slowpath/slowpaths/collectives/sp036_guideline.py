# SPDX-License-Identifier: Apache-2.0
"""SP036: a collective that is slower than an equivalent built from other MPI calls."""

from __future__ import annotations

import json
from collections.abc import Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_bytes, format_time, ratio_words
from slowpath.findings.facts import Facts as Facts
from slowpath.findings.observation import Observation, observed
from slowpath.findings.price import CollectivesPrice
from slowpath.findings.remedy import COLL_LIBRARY, COLLECTIVES, ProgramRemedy, Remedy
from slowpath.findings.slow_path import SlowPath
from slowpath.mpi.guidelines import MADE_BY_OTHERS
from slowpath.slowpaths.collectives.violations import LEAST, SPLIT, WAY, Violation, violations

DISTURBED = 0.2  # of the calls that a rank came late to
# Of 2 ranks, the low end of the ratio from which on it is a fault. In 341 findings of healthy machines (MPICH 5.0.2,
# Open MPI 5.0.11, Intel MPI 2021.18.1; 16 to 64 cores) the largest low end is 3.4: exscan of MPICH.
FAULT = 6.0

# Both sides of a guideline without a mock-up: (axis, slow value, fast value) -> subject and reference of its sentence.
_WORDS = {
    ("start", "blocking", "nonblocking"): ("A blocking {0}", "a nonblocking one and its MPI_Wait take"),
    ("start", "persistent", "blocking"): ("A persistent {0} (MPI_Start and MPI_Wait)", "a blocking one takes"),
    ("in_place", "on", "off"): ("{0} in place", "it takes out of place"),
    ("op", "sum", "user"): ("{0} with MPI_SUM", "it takes with a user's op"),
    ("shape", "one_type", "elements"): ("{0} of one element of a contiguous type", "it takes of n elements"),
}


def observe(facts: Facts) -> Sequence[Observation]:
    """One observation for each collective and the way that is proven for some of its lengths."""
    return [_observation(facts, violation) for violation in violations(facts)]


def _observation(facts: Facts, one: Violation) -> Observation:
    subject, reference = _sides(one)
    spans = _where(one)
    where = f", for {spans}" if one.ranges else f" {spans}".rstrip()
    times = f"{format_time(one.slow_s)} vs {format_time(one.fast_s)}"
    # A ratio of several lengths is not that of the two times, which are of one.
    if len({end for ends in one.ranges for end in ends}) > 1:
        shown = f"; at {_bytes(one)} {times}"
    else:
        shown = f": {times}" + (f" at {_bytes(one)}" if one.ranges else "")
    ratio = ratio_words(one.ratio.value, one.ratio.interval)
    doubts = tuple(filter(None, (_disturbed(cell) for cell in (one.slow, one.fast))))
    return observed(
        one,
        about=_about(one),
        place=facts.place([one.slow, one.fast], [one.collective, *([spans] if spans else [])]),
        text=f"{subject} takes {ratio} what {reference}{where}{shown}.",
        affects_default=True if one.axis == WAY else None,
        cells=one.cells,
        contrasts=one.contrasts,
        axis=one.axis,
        evidence=_evidence(one, ratio),
        doubts=doubts,
        is_sure_fault=one.ranks == 2 and not doubts and (one.ratio.interval or (0.0,))[0] >= FAULT,
    )


def _sides(one: Violation) -> tuple[str, str]:
    if one.axis == WAY:
        return f"The library's own {one.collective}", f"its {one.right} takes"
    if one.axis == SPLIT:
        pieces = int(one.slow.parameters["message_bytes"]) // int(one.right)
        return f"One {one.collective}", f"{pieces} calls of {format_bytes(int(one.right))} take"
    subject, reference = _WORDS.get(
        (one.axis, one.left, one.right), ("{0} with " + f"{one.axis} {one.left}", f"it takes with {one.right}")
    )
    words = subject.format(one.collective)
    return words[0].upper() + words[1:], reference


def _where(one: Violation) -> str:
    """`64 KiB to 1 MiB on 4 ranks`."""
    spans = [" to ".join(dict.fromkeys(format_bytes(end) for end in ends)) for ends in one.ranges]
    ranks = f"on {one.ranks} ranks" if one.ranks else ""
    return f"{' and '.join(spans)} {ranks}".strip()


def _bytes(one: Violation) -> str:
    return format_bytes(int(one.slow.parameters["message_bytes"]))


def _disturbed(cell: CellResult) -> str | None:
    """Late starts: the times are those of the other calls, where these are enough."""
    found = cell.repetitions
    if found is None or not found.late or found.late < DISTURBED * found.all:
        return None
    return f"a rank arrived late in {found.late} of {found.all} calls of '{cell.label}' for an unmeasured reason"


def _about(one: Violation) -> str:
    """The same over runs, whatever the lengths come out as."""
    other = {WAY: one.right, SPLIT: f"pieces of {one.right} B"}.get(one.axis, f"{one.axis} {one.left}")
    ranks = f", {one.ranks} ranks" if one.ranks else ""
    return f"{one.collective} against {other}{ranks}"


def _evidence(one: Violation, ratio: str) -> tuple[str, ...]:
    lines = [
        f"{ratio}: chosen among {one.rivals + 1} ways in {one.chose} launches, compared with the library in "
        f"{one.proved} others; p {one.p:.2g} after Holm's correction",
        "later calls only: the set-up by the first call (workspace, communicators) is not included",
    ]
    if one.axis == WAY and one.ranks:
        rows = [
            {
                "collective": one.collective,
                "ranks": [one.ranks, one.ranks],
                "bytes": list(ends),
                "mockup": one.right,
            }
            for ends in one.ranges or ((0, 0),)
        ]
        lines.append(f"tuning.json: {', '.join(json.dumps(row) for row in rows)}")
    return tuple(lines)


REPLACED_COLLECTIVE = Remedy(
    "replaced collective",
    "Preload libslowpath-coll.so with the tuning.json row in the evidence: it calls the mock-up instead of the "
    "library's collective, in this range only.",
    ("way",),
    side_effects=("a mock-up's first call on a communicator sets up its workspace",),
    sources=("docs/results/collectives.md",),
    variables={"SLOWPATH_COLL": "tuning.json"},
    replaces_calls=True,
    untried="needs more than one run; slowpath diagnose tries it if libslowpath-coll.so is next to the engine",
    phrase="tuned collectives (slowpath tune)",
)

PROGRAM_COLLECTIVES = ProgramRemedy(
    COLLECTIVES,
    "Replace collectives that the replay found slow by equivalents built from other MPI calls.",
    "collectives report",
    "docs/results/collectives.md",
    preload=COLL_LIBRARY,
    screened=False,
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP036",
    name="guideline violated",
    title="A collective is slower than an equivalent built from other MPI calls",
    what="A collective can be made of other calls: a broadcast is a scatter and an allgather, an allgather a gather "
    "and a broadcast. The library's own call knows the machine and should never be slower than such a mock-up "
    "(docs/results/collectives.md). The same holds for a message in pieces, for nonblocking and persistent forms, in "
    "place, with a built-in op and with one big type.",
    shows=f"The library's own call takes more than {100 * (LEAST - 1):.0f} % longer than another way to the same "
    f"result, in the same launches. From {FAULT:g} times on, by the low end with 2 ranks, it is a fault: healthy "
    "libraries show no such thing.",
    why="The library chooses its algorithm by tables that were made on other machines, or has but one algorithm for a "
    "collective, a form of it or a number of ranks.",
    needs="Both ways as interleaved cells of the same launches, 4 rounds or more: every fourth round chooses the best "
    "mock-up of neighbouring lengths, the others prove it. Later calls alone: a mock-up's first call sets up workspace "
    "and communicators.",
    remedy="Let libslowpath-coll.so replace the collective for this range, by the row of tuning.json in the evidence; "
    "or force another algorithm of the library.",
    false_alarms="With more ranks than cores the times are the scheduler's. A mock-up may need more memory than the "
    "library's own call. What is faster with all ranks entering together may not be with a late one.",
    sources=(
        "Träff, Gropp, Thakur 2010, doi 10.1109/TPDS.2009.53",
        "Hunold, Carpen-Amarie 2018, doi 10.1145/3242661",
        "docs/results/collectives.md",
    ),
    observe=observe,
    cause="The library's own other calls do the same in less time.",
    hypotheses=(
        "another algorithm of the library would be faster here",
        "the library has no other algorithm for this collective",
    ),
    needs_law=False,
    out_of_reach="Which algorithm the library took: time alone does not say.",
    kind="opportunity",
    probes=(
        *(f"{collective} by other calls" for collective in MADE_BY_OTHERS),
        "collectives: reductions in place",
    ),
    remedies=(REPLACED_COLLECTIVE,),
    program_remedies=(PROGRAM_COLLECTIVES,),
    prices_collectives=CollectivesPrice(
        metric="collective_work_s",
        remedy="collectives by other calls",
        text="Let libslowpath-coll.so make {what} for this length and number of ranks.",
        side_effects=("later calls only: the first call on a communicator sets up its own memory",),
        tries=PROGRAM_COLLECTIVES.key,
    ),
)
