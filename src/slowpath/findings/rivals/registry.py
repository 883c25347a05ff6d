# SPDX-License-Identifier: Apache-2.0
"""The rivals of each rule's cause, by its code. A rule that is not here has none written down yet. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.witness import sides
from slowpath.findings.evidence.words import HUGE_PAGE_BYTES, parameter
from slowpath.findings.rivals.collectives import CLOSES, CORES, COUNTS, OPENS, PATHS, SIZES
from slowpath.findings.rivals.counted import LINEAR
from slowpath.findings.rivals.judges import by_design, by_law, by_variation, by_witness, never
from slowpath.findings.rivals.kinds import (
    CAPACITY,
    COLD,
    NOT_BY_BYTES,
    NOT_BY_PAGES,
    SIDE,
    UNTOUCHED,
    USER,
    WAITING,
    claim,
)
from slowpath.findings.rivals.late import IN_TIME
from slowpath.findings.rivals.rival import RivalKind, RuleRivals, Varied
from slowpath.findings.rule import Observation


def _one_way_on_host(cell: CellResult) -> bool:
    return parameter(cell, "pattern") == "one_way" and parameter(cell, "memory", "host") == "host"


def _round_trips(evidence: Evidence, seen: Observation) -> bool:
    return all(parameter(cell, "pattern") == "ping_pong" for cell in sides(evidence, seen))


# Longer by a huge page: a shorter buffer than that has none.
_ON_HUGE = {"pages": "huge", "overalloc_bytes": str(HUGE_PAGE_BYTES)}
_HUGE = Varied(_ON_HUGE, _ON_HUGE, applies=_one_way_on_host)

_SMALL_PAGES = RivalKind(
    "small pages",
    "A single copy is slow from these pages (SP008): on huge pages the two ways differ no more.",
    claim("kernel", "pages"),
    "the same contrast on huge pages",
    by_variation(_HUGE, "on huge pages"),
    _HUGE,
    hypotheses=("single copy is slow from these pages",),
)
_COLD_UNTOUCHED = RivalKind(
    "cold cache",
    "Memory that nobody has written is in no cache either: its bytes are fetched from memory.",
    claim("cold cache", "message"),
    "page faults of the message, counted: what is only cold has none",
    by_witness("page faults, or the kernel's time for them, were counted"),
)
_CACHE_LEVEL = RivalKind(
    "level of a cache",
    "Longer messages leave a level of the processor's caches.",
    claim("cold cache", "message"),
    "the switch known to the byte, and a variable or the library's own table that has it",
    by_witness("the switch is where the library's own table has it, to the byte"),
)
_LIBRARY_PATH = RivalKind(
    "another path",
    "The library takes another path through its code, without a lock that waits.",
    claim("user", "nothing"),
    "counted waits for locks on the two levels",
    by_witness("waits for locks were counted under the higher level"),
)
_BANDWIDTH = RivalKind(
    "shared bandwidth",
    "Message and computation slow each other down in memory.",
    claim("user", "bytes"),
    "calls of MPI_Test in the same computation",
    by_witness("calls of MPI_Test, which free no bandwidth, help"),
)
_SYNCHRONISATION = RivalKind(
    "synchronisation",
    "The end of a burst is most of a put's time.",
    claim("waiting", "nothing"),
    "bursts of more puts; this program does not make them for a finding yet",
    never("the share of the synchronisation was not measured: take more puts a burst (parameter puts)"),
    hypotheses=("the synchronisation is most of a put's time",),
)
_DISTANCE = RivalKind(
    "distance",
    "The ranks are farther apart in one placement: they share no cache, or no socket.",
    claim("path", "bytes"),
    "the processors that ranks were allowed, and how often they were taken away",
    by_witness("ranks share a processor, or lose theirs, on the slow side alone"),
    hypotheses=("the ranks are farther apart",),
)
_FAR_RANK = RivalKind(
    "distance or clock",
    "The slow rank's processor is farther away, or slower.",
    claim("path"),
    "involuntary switches of the slow rank against another one",
    by_witness("the slow rank loses its processor more than twice as often as another one"),
    hypotheses=("its processor is slower", "it is farther away"),
)
_TLB = RivalKind(
    "TLB",
    "Small pages cost TLB misses of the processor that copies.",
    claim("user", "pages"),
    "system time against user time: a miss of the TLB costs no system time",
    by_witness("the kernel's time accounts for the excess"),
    hypotheses=("the TLB covers less of the buffer (user time)",),
)
_UNCACHED = RivalKind(
    "slow memory",
    "Pinned memory is uncached or far away, for everybody.",
    claim("cold cache", "bytes"),
    "the kernel's time, and the pages that were observed",
    by_witness("the kernel's time accounts for the excess, on small pages"),
    hypotheses=("the mapping is uncached or far away (a local copy is slow, too)",),
)
_OTHER_CHANGES = RivalKind(
    "another change of the variable",
    "The variable changes more than the path, as the protocol or the collective algorithm.",
    claim("path"),
    "bytes through sockets and calls of single copies on both sides",
    by_witness("the counted calls differ as the two paths do"),
)
_COPY_OF_CONSTANT = RivalKind(
    "constant",
    "A late receive costs a constant: a search, an allocation, and no copy.",
    claim("user", "nothing"),
    "several lengths: a copy costs by the byte (law 'bytes')",
    by_law(("bytes",), "law '{law}': it costs by the byte", true_of=("constant",)),
)
_RENDEZVOUS = RivalKind(
    "rendezvous",
    "The transfer waits for the receive.",
    claim("waiting", "message"),
    "receives posted before, whose receiver is outside the library as well (posted=before): both hold the transfer",
    by_design(lambda _, __: True, "the receive that was posted before holds the transfer as well", ""),
    hypotheses=("the transfer waits for the receive (rendezvous)",),
)
_GRADUAL = RivalKind(
    "clock of the processor",
    "The processor raises its clock while the first messages run.",
    claim("user", "uses"),
    "several uses of one buffer: a clock rises gradually, a gate opens at one use (law 'repetition')",
    by_law(("repetition",), "law '{law}': it ends at one use, and not gradually"),
)
_GAPS = RivalKind(
    "lines and pages of the gaps",
    "A message with gaps touches more cache lines and pages, whoever copies it.",
    claim("cold cache", "blocks"),
    "round trips of one buffer, which are as warm as they get, or the same with warm bytes (cache=warm)",
    by_design(_round_trips, "round trips of one buffer, in one block and in many, are as warm as they get",
              "the gaps were not warm"),
)  # fmt: skip
_CONNECTION = RivalKind(
    "first message of the pair",
    "The pair of ranks connects: it is the first message of all, and not of the buffer.",
    claim("kernel", "nothing"),
    "an exchange of other memory in front of each cell, which is not timed",
    by_design(lambda _, __: True, "the ranks had exchanged messages of other memory before", ""),
)
_STAGED_OR_SLOW_GPU = RivalKind(
    "slow copies of the GPU",
    "Copies to and from this GPU are slow by themselves.",
    claim("copy", "bytes"),
    "the rate of a copy without MPI in the same launch",
    never("copies without MPI are not compared with it yet"),
)
_OTHER_TRANSPORTS = RivalKind(
    "other transports",
    "GPU support brings other transports with it.",
    claim("path"),
    "calls of the GPU's driver, which no witness counts",
    never("no witness counts the driver's calls"),
    hypotheses=("GPU support brings other transports with it",),
)
_ORDER_OF_ARRIVAL = RivalKind(
    "cost of an arrival",
    "Each message or receive in front costs when it arrives, and not when it is searched.",
    claim("user", "queue"),
    "none: what a library does inside itself leaves no trace but its time",
    never("no witness counts the steps of a search"),
)
_MAPPED_TWICE = RivalKind(
    "memory of the window",
    "The memory behind this window is slower, whatever the library does.",
    claim("cold cache", "bytes"),
    "instructions of a put and its synchronisation, counted one by one",
    by_witness("the slow side takes a quarter more instructions, or more"),
)

_PAGES_THEMSELVES = RivalKind(
    "pages themselves",
    "The window's memory has more pages, or dearer ones, than the program's.",
    claim("kernel", "pages"),
    "page faults of a rank, counted for the same length with and without MPI",
    by_witness("no more page faults were counted than without MPI"),
    hypotheses=("its memory is of another kind than the program's", "the library writes to the pages itself"),
)
_CHAIN = RivalKind(
    "late ranks",
    "Ranks come late, and the more there are the later the last one.",
    claim("waiting", "nothing"),
    "ranks set off by a common deadline, and a time from the last begin to the last end",
    by_design(lambda _, __: True, "times run from the last rank's begin to the last rank's end", ""),
)

_FIRST_USE = (COLD, UNTOUCHED, WAITING, SIDE)

RIVALS: Mapping[str, RuleRivals] = {
    "SP001": RuleRivals(claim("kernel", "pages"), (COLD, NOT_BY_BYTES, UNTOUCHED, WAITING, USER, SIDE)),
    "SP002": RuleRivals(claim("kernel", "allocation"), (COLD, NOT_BY_PAGES, UNTOUCHED, WAITING, USER, SIDE)),
    "SP003": RuleRivals(claim(None, "buffers"), (CAPACITY, WAITING, SIDE)),
    "SP004": RuleRivals(claim("path", "uses"), (_GRADUAL, WAITING)),
    "SP005": RuleRivals(claim(None, "nothing"), (_CONNECTION, *_FIRST_USE)),
    "SP006": RuleRivals(claim(None, "message"), _FIRST_USE),
    "SP007": RuleRivals(claim("kernel", "pages"), (_UNCACHED, WAITING)),
    "SP008": RuleRivals(claim("kernel", "pages"), (_TLB, WAITING)),
    "SP009": RuleRivals(claim("copy", "message"), (_SMALL_PAGES,)),
    "SP010": RuleRivals(claim("path", "message"), (_OTHER_CHANGES,)),
    "SP011": RuleRivals(claim("waiting", "nothing"), (_DISTANCE,)),
    "SP012": RuleRivals(claim("kernel", "pages"), (_COLD_UNTOUCHED, WAITING)),
    "SP013": RuleRivals(claim("path", "message"), (_CACHE_LEVEL,)),
    "SP014": RuleRivals(claim("user", "nothing"), (_OTHER_TRANSPORTS,)),
    "SP015": RuleRivals(claim(None, "blocks"), (_GAPS, WAITING)),
    "SP016": RuleRivals(claim("waiting", "nothing"), (_LIBRARY_PATH,)),
    "SP017": RuleRivals(claim("waiting", "message"), (_BANDWIDTH,)),
    "SP018": RuleRivals(claim("path", "message"), (_SYNCHRONISATION,)),
    "SP019": RuleRivals(claim("user", "nothing"), (_MAPPED_TWICE,)),
    "SP020": RuleRivals(claim("copy", "message"), (IN_TIME, _COPY_OF_CONSTANT, _RENDEZVOUS)),
    "SP021": RuleRivals(claim("user", "queue"), (_ORDER_OF_ARRIVAL,)),
    "SP022": RuleRivals(claim("waiting", "nothing"), (_FAR_RANK,)),
    "SP023": RuleRivals(claim("kernel", "allocation"), (COLD, NOT_BY_PAGES, WAITING, USER, SIDE)),
    "SP024": RuleRivals(claim("kernel", "pages"), (COLD, UNTOUCHED, WAITING, USER, SIDE)),
    "SP039": RuleRivals(claim("path", "ranks"), LINEAR),
    "SP037": RuleRivals(claim("kernel", "pages"), SIZES),
    "SP038": RuleRivals(claim("path", "elements"), COUNTS),
    "SP040": RuleRivals(claim("path", "calls"), OPENS),
    "SP041": RuleRivals(claim("path", "communicators"), CLOSES),
    "SP042": RuleRivals(claim("path", "nothing"), PATHS),
    "SP043": RuleRivals(claim(None, "nothing"), (_CHAIN,)),
    "SP044": RuleRivals(claim("kernel", "allocation"), (_PAGES_THEMSELVES, WAITING)),
    "SP046": RuleRivals(claim("waiting", "nothing"), CORES),
}


def rivals_of(code: str) -> tuple[RivalKind, ...]:
    """Of a rule; empty: none is written down."""
    found = RIVALS.get(code)
    return found.rivals if found else ()
