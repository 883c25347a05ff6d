# SPDX-License-Identifier: Apache-2.0
"""Calls that a program could do without, planted in a program of ranks; of each the corrected twin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from slowpath.findings.program_pattern import S_PER_BYTE
from slowpath.slowpaths.program.outside import USUAL_RATIO
from slowpath.watch.record.layout import EventKind
from support.watch_record import BASE_NS, buffer_class
from support.watched_program import CALL_S, ELSEWHERE, HERE, ITERATIONS, STEP_S, THERE, Program


def small_messages(program: Program, twin: bool) -> None:
    for _ in range(ITERATIONS):
        program.compute()
        if twin:
            program.message(0, 1, 200 * 8)
        else:
            sent = [program.send(0, 1) for _ in range(200)]
            for at in sent:
                program.receive(1, 0, at)


def exchanges(program: Program, twin: bool) -> None:
    """Two ranks exchange elements one by one, in steps with little computing between them, or all at once."""
    for _ in range(ITERATIONS):
        program.compute(5e-6)
        for number in range(1 if twin else 50):
            size = 400 if twin else 8
            sent = [program.send(rank, 1 - rank, size, offset=8 * number) for rank in (0, 1)]
            for rank in (0, 1):
                program.receive(rank, 1 - rank, sent[1 - rank], size)


def small_collectives(program: Program, twin: bool, call: str = "MPI_Allreduce", step: int = 8, size: int = 8) -> None:
    more_s = 15 * size * S_PER_BYTE if twin else 0.0
    for _ in range(ITERATIONS):
        program.compute(20e-6)
        for number in range(1 if twin else 16):
            program.compute(0.0 if step else 0.2e-6)
            program.all(call, size=16 * size if twin else size, offset=step * number, took_s=4e-6 + more_s)


def nonblocking(program: Program, twin: bool, is_each: bool = False) -> None:
    """Started one by one; each is completed at once, or all together, which takes as long for each."""
    call, completes = ("MPI_Start", "MPI_Wait") if is_each else ("MPI_Iallreduce", "MPI_Waitall")
    count = 1 if twin else 16
    for _ in range(ITERATIONS):
        program.compute(20e-6)
        for rank in program.job.ranks:
            at, sent = program.now[0], []
            for number in range(count):
                sent.append(rank.icollective(call, start_s=at, end_s=at + CALL_S - STEP_S, site=HERE,
                                             message_bytes=128 // count, start_offset=8 * number))  # fmt: skip
                at += CALL_S
                if is_each or number == count - 1:
                    end = at + 2 * CALL_S * len(sent)
                    rank.wait(*sent, start_s=at, end_s=end, site=THERE, call=completes)
                    at, sent = end + STEP_S, []
        program.now = [at] * program.ranks


def started_together(program: Program, twin: bool) -> None:
    """Persistent sends to one rank, all started by one call: parts of what is sent, or the whole."""
    count = 1 if twin else 32
    for _ in range(ITERATIONS):
        program.compute()
        start = program.now[0]
        end = start + count * CALL_S
        sent = [
            program.at(0).isend(1, start_s=start, end_s=end, message_bytes=2048 // count, site=HERE,
                                call="MPI_Startall",
                                extra=EventKind.PERSISTENT | (EventKind.PART if number else EventKind(0)))
            for number in range(count)
        ]  # fmt: skip
        program.at(0).wait(*sent, start_s=end, end_s=end + CALL_S, site=ELSEWHERE)
        program.now[0] = end + CALL_S + STEP_S
        for _ in sent:
            program.receive(1, 0, start, 2048 // count)


def fences(program: Program, twin: bool, size: int = 2048, call: str = "MPI_Put") -> None:
    """Puts or gets with both neighbours, with a fence behind each, or behind all."""
    kind = EventKind.COLLECTIVE | EventKind.ONE_SIDED | EventKind.WAIT
    for _ in range(ITERATIONS):
        program.compute()
        for number in range(12):
            for rank in program.job.ranks:
                start, peer = program.now[0], (rank.rank + 1 - number % 2 * 2) % program.ranks
                side = EventKind.SEND if call == "MPI_Put" else EventKind.RECEIVE
                rank.event(call, start, start + CALL_S / 4, EventKind.ONE_SIDED | side, peer=peer, bytes=size,
                           site=THERE, start_offset=size * number)  # fmt: skip
                if not twin or number == 11:
                    start += CALL_S / 4 + STEP_S
                    rank.collective("MPI_Win_fence", start_s=start, end_s=start + 2 * CALL_S, kind=kind, site=HERE)
            ends = 2 * CALL_S + STEP_S if not twin or number == 11 else 0.0
            program.now = [program.now[0] + CALL_S / 4 + STEP_S + ends] * program.ranks
        program.all(size=2048, site=ELSEWHERE)


def made_anew(program: Program, twin: bool) -> None:
    """A window in each iteration, or one."""
    for number in range(ITERATIONS):
        program.compute()
        if not twin or number == 0:
            program.all("MPI_Win_create", size=0, took_s=30e-6)
        program.all(size=2048, site=ELSEWHERE, took_s=4e-6)
        if not twin or number == ITERATIONS - 1:
            program.all("MPI_Win_free", size=0, site=THERE, took_s=20e-6)


def barriers(program: Program, twin: bool) -> None:
    for _ in range(500):
        program.compute(10e-6)
        if not twin:
            program.all("MPI_Barrier", size=0, site=THERE, took_s=2e-6)
        program.all(size=64, took_s=4e-6)
        if not twin:
            program.all("MPI_Barrier", size=0, site=ELSEWHERE, took_s=2e-6)


def never_freed(program: Program, twin: bool) -> None:
    for _ in range(30):
        program.compute()
        program.all("MPI_Comm_dup", size=0, took_s=0.2e-6)
        program.all(size=2048, site=ELSEWHERE)
        if twin:
            for rank in program.job.ranks:
                rank.profile_row("MPI_Comm_free", 50, 1, site=THERE)


def chained(program: Program) -> None:
    at = program.send(0, 1, 2048, offset=64)
    for rank in (1, 2, 3):
        program.receive(rank, rank - 1, at, 2048, offset=4096)
        at = program.send(rank, (rank + 1) % 4, 2048, offset=64)
    program.receive(0, 3, at, 2048, offset=4096)


def chain(program: Program, twin: bool) -> None:
    """A shift round the ring: each receives first, or all send at once."""
    for _ in range(100):
        program.compute(20e-6)
        if twin:
            sent = [program.send(rank, (rank + 1) % 4, 2048, offset=64) for rank in range(4)]
            for rank in range(4):
                program.receive(rank, (rank + 3) % 4, sent[(rank + 3) % 4], 2048, offset=4096)
        else:
            chained(program)


def broadcast(program: Program, twin: bool) -> None:
    """Eight ranks: one sends to each other one, or all broadcast in three steps."""
    for _ in range(40):
        program.compute(20e-6)
        if twin:
            program.all("MPI_Bcast", size=2048, root=0, took_s=3 * CALL_S)
        else:
            sent = [program.send(0, rank, 2048, offset=64) for rank in range(1, program.ranks)]
            for rank, at in enumerate(sent, 1):
                program.receive(rank, 0, at, 2048, offset=64)
            program.all(size=2048, site=ELSEWHERE)


def received_late(program: Program, twin: bool) -> None:
    """Messages in another order than they come: each receive passes over those that came before."""
    count = 600
    for _ in range(2):
        program.compute()
        sent = [program.send(0, 1, 2048, tag=number) for number in range(count)]
        program.now[1] = max(program.now[1], program.now[0])
        for number in range(count) if twin else reversed(range(count)):
            program.call_s = CALL_S + (0.0 if twin else number * 10e-9)
            program.receive(1, 0, sent[number], 2048, tag=number)
        program.call_s = CALL_S
        program.all(size=2048, site=ELSEWHERE)


def late_rank(program: Program, twin: bool) -> None:
    """Rank 1 computes twice as long as the others, or as long as they do."""
    for _ in range(40):
        program.compute()
        if not twin:
            program.now[1] += 100e-6
        program.all(size=2048, site=ELSEWHERE)


def another_rank(program: Program, twin: bool) -> None:
    """Another rank computes longer before each reduction, or they reduce after four parts, which are even in sum."""
    for number in range(80):
        program.compute(20e-6)
        program.now[number % 4] += 200e-6
        if not twin or number % 4 == 3:
            program.all(size=2048, site=ELSEWHERE)


def turns(program: Program, twin: bool) -> None:
    """Each rank computes when it has the message of the one before, or before it receives that."""
    work_s = 100e-6
    for _ in range(40):
        if twin:
            program.compute(work_s)
        at = 0.0
        for rank in range(4):
            if rank:
                program.receive(rank, rank - 1, at, 2048)
            program.now[rank] += 0.0 if twin else work_s
            if rank < 3:
                at = program.send(rank, rank + 1, 2048)
        program.all(size=2048, site=ELSEWHERE)


def others_compute(program: Program, work_s: float) -> None:
    """As much as ranks 0 and 1, which only wait for each other."""
    program.now[2:] = [at + work_s for at in program.now[2:]]


def senders_wait(program: Program, twin: bool) -> None:
    """Rank 0 sends a long message and computes; rank 1 computes before it receives, or after."""
    for _ in range(40):
        work_s = 1e-3
        start = program.now[0]
        others_compute(program, work_s)
        if not twin:
            program.now[1] += work_s
        went = max(program.now[:2]) + 100e-6  # by rendezvous, when both are there
        program.at(0).send(1, start_s=start, end_s=went, message_bytes=2**20, site=HERE)
        program.at(1).receive(0, start_s=program.now[1], end_s=went, message_bytes=2**20, site=THERE)
        program.now[0] = went + work_s
        program.now[1] = went + (work_s if twin else 0.0)
        program.all(size=2048, site=ELSEWHERE)


def unpacked(program: Program, twin: bool) -> None:
    """Three ranks compute, send to rank 0 by rendezvous, and exchange; it unpacks after each message, or after all."""
    for _ in range(40):
        program.now[1:] = [at + 1e-3 for at in program.now[1:]]
        for rank in (1, 2, 3):
            went = max(program.now[0], program.now[rank]) + 20e-6
            program.at(rank).send(0, start_s=program.now[rank], end_s=went, message_bytes=2**20, site=HERE)
            program.at(0).receive(rank, start_s=program.now[0], end_s=went, message_bytes=2**20, site=THERE)
            program.now[0], program.now[rank] = went + (0.0 if twin else 300e-6), went
        program.now[0] += 900e-6 if twin else 0.0
        for rank, sent in [(rank, program.send(rank, rank % 3 + 1, site=ELSEWHERE)) for rank in (1, 2, 3)]:
            program.receive(rank % 3 + 1, rank, sent, site=ELSEWHERE)


def new_buffers(program: Program, twin: bool) -> None:
    """Two buffers of 1 MiB in each iteration, whose pages are touched before the call, or two for all."""
    rounds, pages, fault_s = 40, 2 * 256, 500e-9 * USUAL_RATIO
    for number in range(rounds):
        program.compute(pages * fault_s if not twin or number == 0 else 0.0)
        program.all(size=2048, site=ELSEWHERE)
    for rank in program.job.ranks:
        faults = 100 + pages * (1 if twin else rounds)
        for moment, at_s, count in (("begin", 0.0, 0), ("end", max(program.now), faults)):
            rank.say("at", f"{moment} ns={BASE_NS + round(at_s * 1e9)} minor_faults={count} resident_bytes={2**24} "
                     f"fault_ns={480 if count else 520}")  # fmt: skip
        rank.profile_row("MPI_Send", 50, 2 * (1 if twin else rounds), 2**20, site=HERE, flags=1,
                         buffer_class=buffer_class(2), allocation_bytes=2**20)  # fmt: skip


def vectors(program: Program, twin: bool) -> None:
    """Memory that MPI does not see, given back in each iteration: counts of faults at samples show it, or none grow."""
    rounds, pages, fault_s = 200, 1024, 500e-9
    work_s = pages * fault_s * USUAL_RATIO
    for number in range(rounds):
        program.compute(0.0 if twin and number else work_s)
        if number % 2 == 0:
            for rank in program.job.ranks:
                rank.sample(program.now[0], minor_faults=pages * (1 if twin else number + 1))
        program.all(size=2048, site=HERE, took_s=20e-6)
        program.all(size=2048, site=ELSEWHERE, took_s=20e-6)
    for rank in program.job.ranks:
        for moment, at_s, count in (("begin", 0.0, 0), ("end", max(program.now), pages * (1 if twin else rounds))):
            rank.say("at", f"{moment} ns={BASE_NS + round(at_s * 1e9)} minor_faults={count} resident_bytes={2**24} "
                     f"most_resident_bytes={2**24 + pages * 4096} fault_ns=500")  # fmt: skip


def small_writes(program: Program, twin: bool, piece_bytes: int = 20) -> None:
    """All ranks write a file in pieces of 20 bytes, or in larger ones, which save 0.7 of the system calls."""
    for number in range(200):
        program.compute(380e-6 if twin else 1e-3)
        for rank in program.job.ranks:
            done = number + 1
            rank.sample(program.now[0] - 2e-6, ran_ns=done * 1_000_000, system_us=done * (10 if twin else 900),
                        writes=done * (1 if twin else 1000), written_bytes=done * 1000 * piece_bytes)  # fmt: skip
        program.all(size=2048, site=HERE, took_s=20e-6)


def target_away(program: Program, twin: bool) -> None:
    """Rank 0 locks and computes; rank 1 computes, and the lock is granted when it calls MPI, or at once."""
    work_s, took_s = 1e-3, 5e-6
    for _ in range(40):
        start = program.now[0]
        others_compute(program, work_s)
        program.now[1] += work_s
        granted = (start if twin else program.now[1]) + took_s
        program.at(0).event("MPI_Win_lock", start, granted, EventKind.ONE_SIDED | EventKind.WAIT, peer=1, site=HERE)
        program.now[0] = granted + work_s
        program.all(size=2048, site=ELSEWHERE, took_s=2 * took_s)


def synchronous(program: Program, twin: bool) -> None:
    """Rank 0 sends a short message and computes; rank 1 computes and receives: MPI_Ssend waits for that."""
    work_s = 1e-3
    for _ in range(40):
        start = program.now[0]
        others_compute(program, work_s)
        program.now[1] += work_s
        kind = EventKind.SEND if twin else EventKind.SEND | EventKind.SYNCHRONOUS
        ended = (start if twin else program.now[1]) + CALL_S
        call = "MPI_Send" if twin else "MPI_Ssend"
        program.at(0).send(1, start_s=start, end_s=ended, message_bytes=64, site=HERE, call=call, kind=kind)
        program.at(1).receive(0, start_s=program.now[1], end_s=program.now[1] + CALL_S, message_bytes=64, site=THERE)
        program.now[0], program.now[1] = ended + work_s, program.now[1] + CALL_S
        program.all(size=2048, site=ELSEWHERE)


def polls(program: Program, twin: bool) -> None:
    """Rank 1 looks for a message after each 10 us of its work, or after each 500 us."""
    poll_s, work_s, pieces = 1e-6, 10e-6, 100
    for _ in range(40):
        sent = program.now[0] = program.now[0] + work_s * pieces
        others_compute(program, work_s * pieces)
        for piece in range(pieces):
            program.now[1] += work_s
            if not twin or piece % 50 == 49:
                at_s = program.now[1]
                kind = EventKind.NOTHING | EventKind.WAIT
                program.at(1).event("MPI_Test", at_s, at_s + poll_s, kind, requests=1, site=THERE)
                program.now[1] += poll_s
        at = program.send(0, 1)
        program.at(1).event("MPI_Test", program.now[1], program.now[1] + poll_s, EventKind.WAIT, requests=1, site=THERE)
        program.now[1] += poll_s
        program.receive(1, 0, max(sent, at))
        program.all(size=2048, site=ELSEWHERE)


def epochs(program: Program, twin: bool, of: str = "") -> None:
    """Rank 0 locks, puts and unlocks for each element, or for all of them.  Args: of: `_all`, to two ranks in turn."""
    for _ in range(ITERATIONS):
        program.compute()
        for number in range(64):
            opens = [(f"MPI_Win_lock{of}", EventKind.ONE_SIDED)] if not twin or number == 0 else []
            closes = [(f"MPI_Win_unlock{of}", EventKind.ONE_SIDED | EventKind.WAIT)] if not twin or number == 63 else []
            for call, kind in (*opens, ("MPI_Put", EventKind.ONE_SIDED | EventKind.SEND), *closes):
                size, site, peer = (4096, THERE, 1 + number % 2 * bool(of)) if call == "MPI_Put" else (0, HERE, 1)
                one_sided(program, call, kind, size, site, peer=peer)
        program.all(size=2048, site=ELSEWHERE)


def one_sided(
    program: Program, call: str, kind: EventKind, size: int, site: int, took_s: float = CALL_S, peer: int = 1
) -> None:
    start = program.now[0]
    program.at(0).event(call, start, start + took_s, kind, peer=peer, bytes=size, site=site)
    program.now[0] = start + took_s + STEP_S


def waits_for_any(program: Program, twin: bool) -> None:
    """Rank 1 waits for any of 2,000 requests, 400 times, or for all of them."""
    for _ in range(ITERATIONS):
        program.compute()
        at, posts = program.now[1], list[int]()
        for _ in range(400):
            posts.append(program.at(1).irecv(0, start_s=at, end_s=at + 0.1e-6, message_bytes=2048, site=THERE))
            at += 0.1e-6 + STEP_S
        program.now[0] = at
        for _ in range(400):
            program.send(0, 1, 2048)
        for number, serials in enumerate([posts] if twin else [[post] for post in posts]):
            start, at = at, max(program.now) if number == 0 else at  # the first one waits until all were sent
            program.at(1).wait(*serials, start_s=start, end_s=at + 2e-6, given=2000, site=ELSEWHERE,
                               call="MPI_Waitall" if twin else "MPI_Waitany")  # fmt: skip
            at += 2e-6 + STEP_S
        program.now[1] = at
        program.all(size=4096, site=ELSEWHERE)


def atomic_reads(program: Program, twin: bool) -> None:
    """Reads of 4 KiB that change nothing, by accumulate calls or by gets."""
    for _ in range(40):
        program.compute()
        for number in range(20):
            call = "MPI_Get" if twin else "MPI_Get_accumulate"
            took_s = 1.22e-6 if twin else 10e-6
            one_sided(program, call, EventKind.ONE_SIDED | EventKind.RECEIVE, 4096 + number, HERE, took_s)
        program.all(size=2048, site=ELSEWHERE)


def created_window(program: Program, twin: bool, call: str = "MPI_Win_create") -> None:
    """Gets from a window of the program's memory, 5 us each, or from one of MPI_Win_allocate, 0.7 us."""
    program.all("MPI_Win_allocate" if twin else call, size=0, site=THERE, took_s=30e-6)
    for _ in range(40):
        program.compute()
        for number in range(20):
            took_s = 0.7e-6 if twin else 5e-6
            one_sided(program, "MPI_Get", EventKind.ONE_SIDED | EventKind.RECEIVE, 4096 + number, HERE, took_s)
        program.all(size=2048, site=ELSEWHERE)


def own_part(program: Program, twin: bool) -> None:
    """Half of an exchange goes to the rank itself, or nothing of it."""
    for _ in range(40):
        program.compute()
        end = max(program.now) + (0.5e-3 if twin else 1e-3)
        for rank in program.job.ranks:
            rank.collective("MPI_Alltoallv", start_s=program.now[rank.rank], end_s=end, site=HERE, root=-1,
                            message_bytes=2**20 if twin else 2**21, tag=0 if twin else 500)  # fmt: skip
        program.now = [end + STEP_S] * program.ranks


def two_in_one(program: Program, twin: bool, then: str = "MPI_Bcast", both: str = "MPI_Allreduce") -> None:
    for _ in range(100):
        program.compute(20e-6)
        for call, site in ((both, HERE),) if twin else (("MPI_Reduce", HERE), (then, THERE)):
            program.all(call, size=4096, root=-1 if twin else 0, site=site, took_s=8e-6)


Plant = Callable[[Program, bool], None]
# By code, and in words where one code has several.
PLANTS: dict[str, Plant] = {
    "SP079 messages": small_messages,
    "SP079 exchanges": exchanges,
    "SP079 reductions": small_collectives,
    "SP079 rows": partial(small_collectives, call="MPI_Reduce", size=2048),
    "SP079 waited at once": partial(nonblocking, is_each=True),
    "SP079 scans": partial(small_collectives, call="MPI_Exscan", step=0),
    "SP079 gathers": partial(small_collectives, call="MPI_Neighbor_allgather"),
    "SP079 nonblocking": nonblocking,
    "SP079 started together": started_together,
    "SP079 fences": fences,
    "SP079 fenced gets": partial(fences, call="MPI_Get"),
    "SP079 by hand": broadcast,
    "SP080 searches": received_late,
    "SP080 window": created_window,
    "SP080 dynamic window": partial(created_window, call="MPI_Win_create_dynamic"),
    "SP082 buffers": new_buffers,
    "SP082 vectors": vectors,
    "SP082 writes": small_writes,
    "SP081 synchronous": synchronous,
    "SP081 barriers": barriers,
    "SP081 chain": chain,
    "SP081 late rank": late_rank,
    "SP081 another rank": another_rank,
    "SP081 turns": turns,
    "SP081 receive late": senders_wait,
    "SP081 unpacked": unpacked,
    "SP081 target away": target_away,
    "SP081 polls": polls,
    "SP083 made anew": made_anew,
    "SP083 never freed": never_freed,
    "SP079 epochs": epochs,
    "SP079 epochs of all": partial(epochs, of="_all"),
    "SP079 any": waits_for_any,
    "SP079 atomic reads": atomic_reads,
    "SP079 own part": own_part,
    "SP079 two in one": two_in_one,
    "SP079 reduced and scattered": partial(two_in_one, then="MPI_Scatter", both="MPI_Reduce_scatter_block"),
}
